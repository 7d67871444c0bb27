"""Documents on the web: ``fetch_page`` puts them into a folder, where they are read like all others."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urljoin, urlsplit

from iconotext.errors import DocumentError, ImageError

if TYPE_CHECKING:
    from iconotext.read.blocks import Flow, FlowImage

ADDRESS = re.compile(r"https?:/", re.IGNORECASE)
ACCEPT = "text/html,application/xhtml+xml,application/pdf,text/markdown;q=0.9,*/*;q=0.5"
SUFFIXES = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "text/markdown": ".md",
    "text/x-markdown": ".md",
    "application/pdf": ".pdf",
    "application/epub+zip": ".epub",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
}
UNTYPED = ("", "text/plain", "application/octet-stream", "binary/octet-stream", "application/zip")
"""Content types without information, for which the suffix of the address is used."""

BASE = re.compile(r"<base\s[^<>]{0,1000}?\bhref\s*=\s*(?:\"([^\"<>]*)\"|'([^'<>]*)'|([^\s\"'<>]+))", re.IGNORECASE)
NAME = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a fetched file."""

    address: str  # after all redirects
    base: str  # base of its relative addresses


def is_address(text: object) -> bool:
    """Return whether the name of a document is an address on the web."""
    return isinstance(text, str) and ADDRESS.match(text) is not None


def fetch_page(address: str, folder: Path) -> tuple[Path, Origin]:
    """Fetch a document, from a public address that robots.txt allows, within limits; returns file and origin.

    Args:
        folder: For the file; created. The file's name is derived from the address.
    """
    from iconotext.read.web.polite import PoliteFetcher, Politeness

    try:
        final_address, answer = PoliteFetcher(Politeness(interval=0.2)).follow(address.partition("#")[0], accept=ACCEPT)
    except ImageError as error:  # the fetcher's error, whatever it fetches
        raise DocumentError(f"{address}: {error}") from error
    kind, _, parameters = (answer.headers.get("Content-Type") or "").partition(";")
    kind = kind.strip().lower()
    name = Path(unquote(urlsplit(final_address).path)).name
    suffix = SUFFIXES.get(kind, Path(name).suffix.lower() if kind in UNTYPED else None)
    if suffix is None:
        raise DocumentError(f"{address}: {kind[:60]}, which is no document that iconotext reads")
    body, base = answer.body, final_address
    if suffix == ".html":
        body, base = _html(body, parameters, final_address)
    stem = name.removesuffix(Path(name).suffix) or urlsplit(final_address).hostname or "page"
    file = folder / (NAME.sub("-", stem)[:80].strip(".-") + suffix)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file.write_bytes(body)
    except OSError as error:
        raise DocumentError(f"{address}: cannot be kept in {folder}: {error.strerror or error}") from error
    return file, Origin(final_address, base)


def from_the_web(flow: Flow, origin: Origin) -> Flow:
    """Make the addresses of a flow's images absolute; only addresses on the web are kept."""
    blocks = [
        replace(block, images=[(offset, _on_the_web(image, origin)) for offset, image in block.images])
        for block in flow.blocks
    ]
    return replace(flow, blocks=blocks)


def _on_the_web(image: FlowImage, origin: Origin) -> FlowImage:
    if image.file is not None or image.problem is not None:
        return image
    sources = []
    for source in image.sources:
        with contextlib.suppress(ValueError):  # not a valid address
            whole = source if source[:5].lower() == "data:" else urljoin(origin.base, source.strip())
            if whole[:5].lower() == "data:" or ADDRESS.match(whole):
                sources.append(whole)
    if not sources:
        return replace(image, problem="its address leads to nothing on the web")
    return replace(image, sources=tuple(sources))


def _html(body: bytes, parameters: str, address: str) -> tuple[bytes, str]:
    """Return a page with the encoding that its server declared, if any, and the base of its relative addresses."""
    declared = re.search(r"charset\s*=\s*[\"']?([\w.:-]{1,40})", parameters, re.IGNORECASE)
    if declared and not body.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):  # byte order marks count more
        body = f'<meta charset="{declared[1]}">'.encode() + body
    base = BASE.search(body[: 2**16].decode("utf-8", "replace"))
    href = next(filter(None, base.groups()), "") if base else ""
    try:
        whole = urljoin(address, href)
    except ValueError:
        whole = address
    return body, whole if ADDRESS.match(whole) else address
