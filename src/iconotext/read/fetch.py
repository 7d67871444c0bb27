"""Pictures from the web: only from public addresses, within limits of size, time and redirects."""

from __future__ import annotations

import ipaddress
import socket
import time
from collections.abc import Iterable
from urllib.parse import urljoin, urlsplit

from iconotext.errors import PictureError

MAX_BYTES = 30 * 2**20
MAX_SECONDS = 30.0
MAX_REDIRECTS = 5
PORTS = {"http": 80, "https": 443}


def fetch(address: str) -> bytes:
    """The bytes at an ``http`` or ``https`` address.

    Every host on the way is looked up once, all its addresses must be public, and the connection goes to the address
    that was checked: a name that answers differently the second time gains nothing.

    Raises:
        PictureError: Refused, not there, too large, too slow, or redirected too often.
    """
    deadline = time.monotonic() + MAX_SECONDS
    for _ in range(MAX_REDIRECTS + 1):
        body, moved = _get(address, deadline)
        if moved is None:
            return body
        try:
            address = urljoin(address, moved)
        except ValueError as error:
            raise PictureError("not fetched: redirected to what is no valid address") from error
    raise PictureError(f"not fetched: more than {MAX_REDIRECTS} redirects")


def public_address(host: str, port: int) -> str:
    """The first address of a host, if all its addresses are public.

    Raises:
        PictureError: The name is unknown, or leads to a private, loopback or otherwise reserved address.
    """
    try:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise PictureError(f"not fetched: the name {host} cannot be looked up") from error
    addresses = [str(answer[4][0]) for answer in answers]
    if not addresses or not all(map(is_public, addresses)):
        raise PictureError(f"not fetched: {host} is not a public address")
    return addresses[0]


def is_public(address: str) -> bool:
    """Whether an IP address belongs to the public internet."""
    ip = ipaddress.ip_address(address.split("%")[0])
    inner = getattr(ip, "ipv4_mapped", None) or getattr(ip, "sixtofour", None)
    return ip.is_global and not ip.is_multicast and (inner is None or is_public(str(inner)))


def _get(address: str, deadline: float) -> tuple[bytes, str | None]:
    """(body, None), or (nothing, the address it has moved to)."""
    import urllib3

    try:
        parts = urlsplit(address)
        port = parts.port or PORTS.get(parts.scheme)
    except ValueError as error:
        raise PictureError("not fetched: not a valid address") from error
    if port is None or not parts.hostname:
        raise PictureError(f"not fetched: {parts.scheme or 'an empty scheme'} is neither http nor https")
    host = parts.hostname
    ip = public_address(host, port)
    timeout = urllib3.Timeout(connect=min(10.0, _left(deadline)), read=min(10.0, _left(deadline)))
    pool: urllib3.HTTPConnectionPool
    if parts.scheme == "https":
        pool = urllib3.HTTPSConnectionPool(ip, port, server_hostname=host, assert_hostname=host, timeout=timeout)
    else:
        pool = urllib3.HTTPConnectionPool(ip, port, timeout=timeout)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    headers = {"Host": parts.netloc.rpartition("@")[2], "User-Agent": "iconotext", "Accept": "image/*"}
    try:
        with pool:
            answer = pool.request(
                "GET",
                target,
                headers=headers,
                redirect=False,
                retries=False,
                preload_content=False,
                decode_content=True,
            )
            try:
                if answer.status in (301, 302, 303, 307, 308):
                    return b"", answer.headers.get("Location") or ""
                if answer.status != 200:
                    raise PictureError(f"not fetched: {host} answered {answer.status}")
                return _limited(answer.stream(2**16), deadline), None
            finally:
                answer.close()
    except (urllib3.exceptions.HTTPError, OSError, UnicodeError) as error:
        raise PictureError(f"not fetched from {host}: {type(error).__name__}") from error


def _limited(chunks: Iterable[bytes], deadline: float) -> bytes:
    body = bytearray()
    for chunk in chunks:
        body += chunk
        if len(body) > MAX_BYTES:
            raise PictureError(f"not fetched: larger than {MAX_BYTES // 2**20} MiB")
        _left(deadline)
    return bytes(body)


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise PictureError(f"not fetched: took longer than {MAX_SECONDS:.0f} seconds")
    return left
