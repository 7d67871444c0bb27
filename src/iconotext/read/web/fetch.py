"""A single web request, with limits on size, time and redirects; proxies of the environment are not used."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from iconotext.errors import ImageError, UnreachableError

if TYPE_CHECKING:
    import urllib3

HOSTS = IPv6Network("2000::/3")
"""Global unicast: all of IPv6 that is given to hosts. It leaves out 5f00::/16, NAT64 and addresses of IPv4 in IPv6."""

SPECIAL = tuple(
    map(
        ip_network,
        # The special-purpose registries of IANA (RFC 6890), whether or not they call a block reachable: services of
        # the network itself (AS112, relays) are no place for images either.
        (
            "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 "
            "192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 "
            "198.51.100.0/24 203.0.113.0/24 224.0.0.0/3 "  # multicast, reserved, broadcast
            "2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3ffe::/16 3fff::/20"
        ).split(),
    )
)
"""Blocks that are not public. The last line is IPv6: protocols such as Teredo, documentation, 6to4, AS112, 6bone."""


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address, or a name."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def is_public(address: str) -> bool:
    """Return whether an IP address is on the public internet; ``ValueError`` if it is not an IP address."""
    ip = ip_address(address.split("%")[0])
    return (isinstance(ip, IPv4Address) or ip in HOSTS) and not any(ip in block for block in SPECIAL)


MAX_BYTES = 30 * 2**20
MAX_SECONDS = 30.0
MAX_REDIRECTS = 5
MOVED = (301, 302, 303, 307, 308)
PORTS = {"http": 80, "https": 443}

AGENT = "iconotext"  # our name for servers, in requests and for their robots.txt

Lookup = Callable[[str, int], str]
"""Maps a host and a port to the IP address to connect to; raises ``ImageError`` if that is not allowed."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a server."""

    status: int
    headers: Mapping[str, str]  # by name, ignoring case
    body: bytes  # empty for another status than 200, unless ``request`` reads the body of errors, too


def fetch(address: str) -> bytes:
    """Fetch the bytes at an ``http`` or ``https`` address.

    Every host on the way is looked up once, all its addresses must be public, and the connection goes to the address
    that was checked, so that a name that resolves differently the second time has no effect.
    """
    deadline = time.monotonic() + MAX_SECONDS

    def ask(place: str) -> Answer:
        headers = {"Accept": "image/*"}
        return request("GET", place, headers=headers, lookup=public_address, deadline=deadline, max_bytes=MAX_BYTES)

    return follow(address, ask)[1].body


def follow(address: str, ask: Callable[[str], Answer]) -> tuple[str, Answer]:
    """Follow redirects to an answer of status 200; return the address that it came from, and the answer.

    ``ask`` looks up and judges each address anew: a public server may redirect to a private one.
    """
    for _ in range(MAX_REDIRECTS + 1):
        answer = ask(address)
        if answer.status == 200:
            return address, answer
        if answer.status not in MOVED:
            raise ImageError(f"not fetched: {urlsplit(address).hostname} answered {answer.status}")
        address = redirected(address, answer)
    raise ImageError(f"not fetched: more than {MAX_REDIRECTS} redirects")


def redirected(address: str, answer: Answer) -> str:
    """Return the target of a redirect; ``ImageError`` if it is not an address."""
    try:
        return urljoin(address, answer.headers.get("Location") or "")
    except ValueError as error:
        raise ImageError("not fetched: redirected to something that is not an address") from error


def public_address(host: str, port: int) -> str:
    """Return the first address of a host, if all its addresses are public.

    Raises:
        UnreachableError: The name is unknown.
        ImageError: It leads to a private, loopback or otherwise reserved address.
    """
    try:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UnreachableError(f"not fetched: the name {host} cannot be looked up") from error
    addresses = [str(answer[4][0]) for answer in answers]
    if not addresses or not all(map(is_public, addresses)):
        raise ImageError(f"not fetched: {host} is not a public address")
    return addresses[0]


def request(
    method: str,
    address: str,
    *,
    headers: Mapping[str, str],
    lookup: Lookup,
    deadline: float,
    max_bytes: int,
    body: bytes | None = None,
    silence: float = 10.0,
    errors: bool = False,
) -> Answer:
    """Make a single request, without following redirects.

    Args:
        address: ``http`` or ``https``.
        headers: More headers; the host and our name are added.
        deadline: Time, by ``time.monotonic``, at which the connection is closed.
        max_bytes: Maximum size of the body.
        body: The bytes to send, if any.
        silence: Maximum number of seconds between two bytes of the answer.
        errors: Whether the body of an answer with another status than 200 is read, too.

    Raises:
        UnreachableError: No connection, too slow, or closed early.
        ImageError: Refused, not a valid address, or too large.
    """
    import urllib3

    host, port, target, secure = _parts(address)
    ip = lookup(host, port)
    timeout = urllib3.Timeout(connect=min(10.0, _left(deadline)), read=min(silence, _left(deadline)))
    pool: urllib3.HTTPConnectionPool
    if secure:
        # The connection goes to the address that was checked; the certificate must be that of the name.
        pool = urllib3.HTTPSConnectionPool(ip, port, server_hostname=host, assert_hostname=host, timeout=timeout)
    else:
        pool = urllib3.HTTPConnectionPool(ip, port, timeout=timeout)
    netloc = urlsplit(address).netloc.rpartition("@")[2]
    try:
        with pool, _cut_off_at(deadline, pool):
            answer = pool.request(
                method,
                target,
                body=body,
                headers={"Host": netloc, "User-Agent": AGENT, **headers},
                redirect=False,
                retries=False,
                preload_content=False,
                decode_content=True,
            )
            try:
                chunks = answer.stream(2**16) if answer.status == 200 or errors else ()
                return Answer(answer.status, answer.headers, _limited(chunks, deadline, max_bytes))
            finally:
                answer.close()
    except (urllib3.exceptions.HTTPError, OSError, UnicodeError, ValueError) as error:
        _left(deadline)  # raises the right error, since closing the connection at the deadline causes many kinds
        raise UnreachableError(f"not fetched from {host}: {type(error).__name__}") from error


def _parts(address: str) -> tuple[str, int, str, bool]:
    try:
        parts = urlsplit(address)
        port = parts.port or PORTS.get(parts.scheme)
    except ValueError as error:
        raise ImageError("not fetched: not a valid address") from error
    if port is None or parts.scheme not in PORTS or not parts.hostname:
        raise ImageError(f"not fetched: {parts.scheme or 'an empty scheme'} is neither http nor https")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return parts.hostname, port, target, parts.scheme == "https"


@contextlib.contextmanager
def _cut_off_at(deadline: float, pool: urllib3.HTTPConnectionPool) -> Iterator[None]:
    """Close the connections of a pool at the deadline.

    A time limit for every read does not stop an answer that sends one byte every nine seconds.
    """
    connections: list[Any] = []
    sockets: list[socket.socket] = []  # a connection forgets its socket before the body is read
    connection_class = pool.ConnectionCls

    def noted(*arguments: Any, **options: Any) -> Any:
        connection: Any = connection_class(*arguments, **options)
        connect = connection.connect

        def connected() -> None:
            connect()
            sockets.append(connection.sock)

        connection.connect = connected
        connections.append(connection)
        return connection

    def cut() -> None:
        for sock in (*sockets, *(connection.sock for connection in connections)):
            with contextlib.suppress(OSError, AttributeError):  # not connected yet, or no longer
                sock.shutdown(socket.SHUT_RDWR)

    pool.ConnectionCls = noted  # type: ignore[assignment]  # urllib3 wants a class, and only calls it
    timer = threading.Timer(_left(deadline), cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _limited(chunks: Iterable[bytes], deadline: float, max_bytes: int) -> bytes:
    body = bytearray()
    for chunk in chunks:
        body += chunk
        if len(body) > max_bytes:
            raise ImageError(f"not fetched: larger than {max_bytes / 2**20:g} MiB")
        _left(deadline)
    _left(deadline)  # raises, since a body of unknown length looks complete when the connection is closed
    return bytes(body)


def _left(deadline: float) -> float:
    """Return the seconds until a deadline; ``UnreachableError`` if it has passed."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise UnreachableError("not fetched: took longer than allowed")
    return left
