"""The addresses of images in documents: the file that an address means, if the document may use it."""

from __future__ import annotations

import base64
import binascii
import os.path
import posixpath
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, unquote_to_bytes

from iconotext.errors import ImageError, OutsideError
from iconotext.read.settings import ReadSettings

NAME_END = r"\.(?:jpe?g|png|gif|webp|avif|tiff?|bmp|svg)"
IMAGE_NAME = re.compile(NAME_END + r"(?:\?[^\s?#]*)?(?:#[^\s?#]*)?$", re.IGNORECASE)
"""The end of an address that names a picture."""
ON_THE_WEB = re.compile("https?://", re.IGNORECASE)
REMOTE = re.compile(r"^(?:https?:)?//[^/]", re.IGNORECASE)
SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+):")
DRIVE = re.compile(r"^(?:[A-Za-z]:[\\/]|\\\\)")

SERVED = ("", "static", "assets", "public", ".vuepress/public", "website/static")
"""Folders whose files a site serves from its root: Hugo, Docusaurus, Gatsby, Jekyll, Astro, VitePress, VuePress."""

ALIASED = re.compile(r"(?:@site|~?@|~)/")
"""The beginning of an address that starts from the folder of a site, or from its ``src/``."""

ANTORA_IMAGE = re.compile(r"(?:([\w-][\w.-]*+):)?(?:image\$)?([^:$/\\][^:$\\\x00]*+)")
"""An address of Antora: the name of a module, if it is another than that of the page, and a path below its images."""

SITE_MARKERS = tuple(
    ".git hugo.toml hugo.yaml hugo.json config.toml config/_default mkdocs.yml mkdocs.yaml zensical.toml conf.py "
    "docusaurus.config.js docusaurus.config.ts docusaurus.config.mjs gatsby-config.js gatsby-config.ts _config.yml "
    "_config.yaml _quarto.yml _quarto.yaml _bookdown.yml myst.yml antora.yml antora-playbook.yml book.toml book.json "
    "pelicanconf.py .eleventy.js eleventy.config.js eleventy.config.mjs eleventy.config.cjs astro.config.mjs "
    "astro.config.js astro.config.ts .vitepress .vuepress next.config.js next.config.mjs next.config.ts "
    "mint.json docs.json".split()
)
"""Settings of site generators, and git's folder: one of them marks the topmost folder of a site."""

MADE_BY_CODE = "code"
"""``code:NAME`` is the address that readers give to a picture that code makes when a document is rendered."""

MAX_LENGTH = 4_096  # maximum length of an address, as for paths on Linux, since resolving takes quadratic time

MAX_LOOKED_UP = 10_000
"""Maximum number of different addresses in a document, since each may be looked up in many folders."""


class Addresses:
    """Looks up the addresses of one document, each once, at most ``MAX_LOOKED_UP``."""

    def __init__(self, document: Path, within: Path, settings: ReadSettings) -> None:
        self._fetch = settings.fetch
        self._surroundings = (document, within, settings, site_folder(document, within, settings))
        self._results: dict[str, Path | bytes | str] = {}  # by address; a text is the problem

    def open(self, address: str) -> Path | bytes:
        """Return the image at an address, as ``open_address`` finds it."""
        if address[:5].lower() == "data:" or (ON_THE_WEB.match(address) and not self._fetch):  # nothing to look up
            return open_address(address, *self._surroundings)
        if address not in self._results:
            if len(self._results) >= MAX_LOOKED_UP:
                raise ImageError(f"not looked up: the document names more than {MAX_LOOKED_UP:,} addresses: split it")
            try:
                self._results[address] = open_address(address, *self._surroundings)
            except ImageError as error:
                self._results[address] = str(error)
        result = self._results[address]
        if isinstance(result, str):
            raise ImageError(result)
        return result


def site_folder(document: Path, within: Path, settings: ReadSettings) -> Path:
    """Return the topmost folder in which addresses that begin with ``/`` are looked up; a document cannot choose it.

    It is ``within``, or without ``settings.root`` a folder above it: the nearest one of the document's folder and
    those above that has one of ``SITE_MARKERS``. The user's own folder is no site, even if it has one.
    """
    top = within.resolve()
    if settings.root is not None:
        return top
    folder = document.parent.resolve()
    for parent in (folder, *folder.parents):
        if parent in (Path(parent.anchor), _home()):  # many people keep the settings of their programs there with git
            break
        if any(os.path.exists(os.path.join(parent, marker)) for marker in SITE_MARKERS):
            return parent if top.is_relative_to(parent) else top
    return top


def _home() -> Path | None:
    try:
        return Path.home().resolve()
    except (OSError, RuntimeError):  # a user without one
        return None


def open_address(address: str, document: Path, within: Path, settings: ReadSettings, site: Path) -> Path | bytes:
    """Return the image at an address in a document.

    Relative addresses start from the document's folder and must not leave ``within``. One that begins with ``/`` starts
    from ``settings.root``; else from the nearest parent folder of the document in which it exists, directly or in a
    folder that sites serve (``static/``, ...), up to ``site``.
    """
    address = address.strip()
    if address[:5].lower() == "data:":
        return _embedded(address)
    if len(address) > MAX_LENGTH:
        raise ImageError(f"an address of {len(address):,} characters: more than {MAX_LENGTH:,} are not looked up")
    # ``//images/a.jpg`` may be a path on the site with one slash too many.
    is_path = address.startswith("//") and _on_site(unquote(_path_part(address)), document, settings, site) is not None
    if REMOTE.match(address) and not is_path:
        if not settings.fetch:
            raise ImageError("a picture on the web: the option fetch fetches it")
        from iconotext.read.web.fetch import fetch

        return fetch(f"https:{address}" if address.startswith("//") else address)
    if file := _of_antora(address, document, settings, site):
        return file
    if SCHEME.match(address) or DRIVE.match(address):
        return _absolute(address, settings)
    # The whole address as it is written comes last: a "?" or "#" in it may be a part of the file's name.
    for path in dict.fromkeys((*_spellings(_path_part(address)), address)):
        if "\x00" in path:
            raise ImageError("not found: its address has a zero byte in it")
        if aliased := ALIASED.match(path):
            rest = path[aliased.end() :]
            file = _on_site(rest, document, settings, site) or _on_site(f"src/{rest}", document, settings, site)
        elif path[:1] in ("/", "\\"):
            # A site at example.org/wiki/ may write /wiki/a.png for its a.png.
            below = path.lstrip("/\\").partition("/")[2]
            file = _on_site(path, document, settings, site) or _on_site(below, document, settings, site)
        else:
            file = inside(document.parent / path, within, settings) or _beside_content(path, document, settings, site)
        if file is not None:
            return file
    if address.startswith("/") and settings.allow_outside and Path(address).is_file():
        return Path(address)
    if starts_from_site(address):
        raise ImageError(
            "not found between the document's folder and its site's: the option root names the site's folder"
        )
    raise ImageError("not found beside the document")


def starts_from_site(address: str) -> bool:
    """Return whether an address starts from the folder of a site, and not from that of the document."""
    return address[:1] in ("/", "\\") or ALIASED.match(address) is not None


def _spellings(path: str) -> Iterator[str]:
    """Yield a path as it is written and without ``%20``, each also with its accents composed and decomposed."""
    for spelling in (path, unquote(path)):
        yield from (spelling, unicodedata.normalize("NFC", spelling), unicodedata.normalize("NFD", spelling))


def _path_part(address: str) -> str:
    return re.split(r"[?#]", address, maxsplit=1)[0].replace("\\", "/")


def _on_site(path: str, document: Path, settings: ReadSettings, site: Path) -> Path | None:
    path = path.lstrip("/\\")
    folder = document.parent.resolve()
    folders: tuple[Path, ...] = (site,)
    if settings.root is None and folder.is_relative_to(site):  # from the document's folder up to that of the site
        folders = (folder, *folder.parents)[: len(folder.parts) - len(site.parts) + 1]
    for parent in folders:
        for place in SERVED:
            if os.path.isfile(os.path.join(parent, place, path)):  # pathlib takes several times as long
                return inside(parent / place / path, site, settings)
    return None


def _beside_content(path: str, document: Path, settings: ReadSettings, site: Path) -> Path | None:
    """Return the file that Hugo would serve for a relative address on a page under ``content/``.

    ``content/post/trip.md`` is served as ``/post/trip/``: its ``a.png`` is ``static/post/trip/a.png`` or, in some
    themes, ``static/a.png``.
    """
    page = document.parent.resolve() / document.stem
    content = next((parent for parent in page.parents if parent.name == "content"), None)
    if content is None:
        return None
    joined = posixpath.join("/", page.relative_to(content).as_posix(), path)
    for candidate in (posixpath.normpath(joined), posixpath.normpath("/" + path)):  # ".." ends at the site's root
        for place in SERVED[1:]:
            if os.path.isfile(content.parent / place / candidate.lstrip("/")):
                return inside(content.parent / place / candidate.lstrip("/"), site, settings)
    return None


def _of_antora(address: str, document: Path, settings: ReadSettings, site: Path) -> Path | None:
    """Return the file that Antora takes for ``a.png`` or ``module:a.png`` on a page below ``modules/ROOT/pages/``."""
    folder = document.parent.resolve()
    pages = next((parent for parent in (folder, *folder.parents) if parent.name in ("pages", "partials")), None)
    target = ANTORA_IMAGE.fullmatch(address)
    if pages is None or pages.parent.parent.name != "modules" or target is None:
        return None
    file = pages.parent.parent / (target[1] or pages.parent.name) / "images" / unquote(target[2])
    return inside(file, site, settings) if os.path.isfile(file) else None


def inside(path: Path, allowed: Path, settings: ReadSettings) -> Path | None:
    """Return ``path`` if there is a file, else None; ``OutsideError`` if it leads out of ``allowed`` and may not."""
    try:
        resolved = path.resolve()  # before the check: a symbolic link must not lead out
        if not settings.allow_outside and not resolved.is_relative_to(allowed.resolve()):
            raise OutsideError(
                f"outside the folder {allowed.name or allowed}/ that files may come from: the option "
                "root names a wider one, and allow-outside allows all"
            )
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a name that is too long
        raise ImageError(f"not a usable address: {error}") from error
    return path if os.path.isfile(path) else None


def _absolute(address: str, settings: ReadSettings) -> Path:
    scheme = SCHEME.match(address)
    kind = scheme[1].lower() if scheme and not DRIVE.match(address) else "file"
    if kind == MADE_BY_CODE:
        raise ImageError("made by code when the document is rendered: there is no file of it; link the rendered page")
    if kind != "file":
        raise ImageError(f"an address of kind {kind}: cannot be read")
    if not settings.allow_outside:
        raise OutsideError("an absolute address on this machine: the option allow-outside allows it")
    path = Path(unquote(re.sub(r"^file:(?://(?:localhost)?)?", "", address, flags=re.IGNORECASE)))
    if not os.path.isfile(path):
        raise ImageError("not found")
    return path


def _embedded(address: str) -> bytes:
    """Return the bytes in a ``data:`` address."""
    head, comma, body = address.partition(",")
    try:
        if not comma:
            raise ValueError
        if head.rstrip().lower().endswith(";base64"):
            return base64.b64decode(re.sub(r"\s+", "", unquote(body)), validate=True)
        return unquote_to_bytes(body)
    except (ValueError, binascii.Error) as error:
        raise ImageError("a broken data: address") from error
