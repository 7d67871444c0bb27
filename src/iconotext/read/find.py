"""The search for documents in folders: which files are read, and their names."""

from __future__ import annotations

import hashlib
import logging
import os
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.errors import DocumentError, SettingError
from iconotext.plain_text import counted
from iconotext.read.format import TEMPLATES, formats_by_suffix, formats_in_words, lacks_extra, suffix_format

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

    from iconotext.read.settings import ReadSettings

logger = logging.getLogger(__name__)

LEFT_OUT = (".*/", "node_modules/", "site-packages/", "_layouts/", "_includes/", "_site/", "_build/", "_book/")
"""Folders without the user's own documents, as patterns of a ``.gitignore``."""

BUILT = {
    "public": ("hugo.toml", "hugo.yaml", "hugo.json", "config.toml", "gatsby-config.js"),
    "site": ("mkdocs.yml", "mkdocs.yaml"),
    "build": ("docusaurus.config.js", "docusaurus.config.ts", "conf.py", "package.json"),
    "dist": ("package.json",),
    "book": ("book.toml",),
}
"""Folder to marker files: if one of these is beside it, a site generator fills the folder with repeated texts."""

OWN_PAGE, TEMPLATE, EXCLUDED = "iconotext page", "HTML template", "excluded file"
"""Reasons for skipping a file, besides its suffix."""

TEXTS = frozenset(".doc .djvu .eml .fb2 .mobi .odp .pages .ppt .textile .txt".split())
"""Suffixes of text files that users may expect to be read; others (pictures, scripts, styles) are not documents."""

PICTURES = "pictures in templates"
"""The key under which ``skipped`` counts the pictures of templates that were not read."""

KINDS = 8  # maximum number of kinds of files, or folders, that a message names
_HEAD = 64 * 2**10  # bytes at the beginning of an HTML file that are read to find out whether it is a document

_MARK = b'<meta name="generator" content="iconotext">'
_PICTURE = re.compile(rb"!\[[^\]\n]{0,1000}\]\(|<(?:img|Image)\b")
_CODE = re.compile(rb"(\{[{%#]|[%}#]\}|<(?:script|style)\b|</(?:script|style))", re.IGNORECASE)


def find_documents(
    paths: Iterable[Path | str],
    settings: ReadSettings | None = None,
    *,
    suffixes: Container[str] | None = None,
    skipped: Counter[str] | None = None,
) -> Iterator[tuple[Path, Path | None]]:
    """Find the documents at paths, each once: (file, the named folder; None if the file itself was named).

    In a folder, every file with a known suffix counts, in order of name, except those excluded by ``LEFT_OUT``,
    ``BUILT``, ``settings.include`` and ``settings.exclude``, HTML templates with more tags than text, and pages that
    iconotext made. A named file always counts, whatever its suffix. A folder that cannot be listed is returned like a
    file, so that reading it reports the reason.

    Args:
        settings: ``include`` and ``exclude`` are used.
        suffixes: Suffixes of files in folders, in lower case; default: those of documents.
        skipped: Counts skipped files in folders, by suffix or as ``OWN_PAGE``, ``TEMPLATE`` or ``EXCLUDED``, and
            skipped folders, by name with ``/`` at the end; each is also logged (level INFO). And pictures in skipped
            templates, as ``PICTURES``.

    Raises:
        SettingError: ``include`` or ``exclude`` has an invalid pattern.
        TypeError: ``paths`` is a text, each of whose letters would be a path, ``/`` among them.
    """
    from iconotext.read.settings import ReadSettings

    if isinstance(paths, str):
        raise TypeError(f"paths are a list, such as [{paths!r:.60}]")

    settings = settings or ReadSettings()
    skipped = Counter() if skipped is None else skipped
    digests: set[bytes] = set()  # of paths, since there may be millions
    for path in map(Path, paths):
        for file, folder in _in_folder(path, settings, suffixes, skipped) if path.is_dir() else [(path, None)]:
            key = hashlib.blake2b(os.fsencode(os.path.realpath(file)), digest_size=16).digest()
            if key not in digests:
                digests.add(key)
                yield file, folder


def no_documents(
    paths: Iterable[Path | str], settings: ReadSettings, skipped: Counter[str], *, formats: str | None = None
) -> DocumentError:
    """Return the error for paths without any document.

    It says how many files are there, and of which kinds.
    """
    names = ", ".join(map(str, paths))
    filters = [name for name in ("include", "exclude") if getattr(settings, name)]
    folders = sorted(kind for kind in skipped if kind.endswith("/"))
    if filters and (skipped[EXCLUDED] or (settings.exclude and folders)):
        left_out = " and ".join(f"{name}=..." for name in filters)
        return DocumentError(f"no documents in {names} but those that {left_out} leaves out")
    counts = {kind: n for kind, n in skipped.items() if not kind.endswith("/") and kind != PICTURES}
    kinds = Counter({kind or "without suffix": n for kind, n in counts.items()})
    parts = ", ".join(f"{number:,} {kind}" for kind, number in kinds.most_common(KINDS))
    parts += f" and {len(kinds) - KINDS:,} other kinds" if len(kinds) > KINDS else ""
    total = kinds.total()
    unread = "which is not read" if total == 1 else "none of which is read"
    files = f"{counted(total, 'file')} there, {unread} ({parts})" if total else "no files there"
    also = f"; folders left out: {', '.join(folders[:KINDS])}" if folders else ""
    if any(map(lacks_extra, kinds)):
        also += '; some of these are read after: pip install "iconotext[formats]"'
    return DocumentError(f"no documents in {names}: {files}{also}; read are {formats or formats_in_words()}")


def unread_lines(skipped: Counter[str], *, every: bool = False) -> Iterator[str]:
    """Yield lines for the user on the skipped files and folders of ``find_documents``.

    Args:
        every: Whether to name all, and not only those that users may miss.
    """
    names = []
    for kind, number in skipped.most_common():
        if kind == PICTURES:
            continue
        if kind.endswith("/"):
            if every or not kind.startswith("."):
                names.append(kind)
        elif (
            every or kind in TEXTS | TEMPLATES or kind in formats_by_suffix() or kind in (EXCLUDED, OWN_PAGE, TEMPLATE)
        ):
            plural = "s" if number > 1 and " " in kind else ""  # of a reason in words, not of a suffix
            names.append(f"{number:,} {kind or 'without suffix'}{plural}")
    if names:
        yield f"Not read: {', '.join(names)}"
    if skipped[PICTURES]:
        pictures = counted(skipped[PICTURES], "picture")
        yield f"The templates among these hold {pictures}: link the pages that are made of them"
    if any(map(lacks_extra, skipped)):
        yield 'Some of these are read after: pip install "iconotext[formats]"'


def is_excluded(file: Path, root: Path, settings: ReadSettings) -> bool:
    """Return whether ``settings.include`` and ``settings.exclude`` exclude a file below a named folder."""
    name = file.relative_to(root).as_posix()
    exclude, include = _patterns(settings.exclude), _patterns(settings.include)
    return exclude.match_file(name) or bool(settings.include and not include.match_file(name))


def _in_folder(
    root: Path, settings: ReadSettings, suffixes: Container[str] | None, skipped: Counter[str]
) -> Iterator[tuple[Path, Path]]:
    """Yield the documents in a folder, as ``find_documents`` does."""
    exclude = _patterns((*LEFT_OUT, *settings.exclude))
    include = _patterns(settings.include) if settings.include else None
    suffixes = formats_by_suffix() if suffixes is None else suffixes
    unlisted: list[Path] = []

    def skip(path: Path, reason: str) -> None:
        if reason in TEMPLATES or reason == TEMPLATE:
            pictures = _pictures_in(path)
            skipped.update({PICTURES: pictures} if pictures else {})
            reason = reason if pictures or reason == TEMPLATE else f"{reason} without pictures"
        skipped[reason] += 1
        logger.info("%s: not read (%s)", path, reason)

    def reason_to_skip(path: Path, name: str) -> str | None:
        suffix = os.path.splitext(path)[1].lower()
        if suffix not in suffixes or lacks_extra(suffix):
            return suffix
        if exclude.match_file(name) or (include and not include.match_file(name)):
            return EXCLUDED
        return _kind_of_page(path)

    for top, folders, files in os.walk(root, onerror=lambda error: unlisted.append(Path(error.filename))):
        folder = Path(top)
        within = "" if folder == root else f"{folder.relative_to(root).as_posix()}/"
        for name in sorted(folders):
            excluded = exclude.check_file(f"{within}{name}/").include  # None if no pattern matches
            if excluded or (excluded is None and any(config in files for config in BUILT.get(name, ()))):
                skip(folder / name, f"{name}/")
                folders.remove(name)  # so that ``os.walk`` does not enter it
        folders.sort()
        for name in sorted(files):
            reason = reason_to_skip(folder / name, within + name)
            if reason is None:
                yield folder / name, root
            else:
                skip(folder / name, reason)
    for path in unlisted:  # reading reports the reason
        yield path, root


@lru_cache
def _patterns(lines: tuple[str, ...]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError as error:
        raise SettingError(f"include, exclude: {error}; patterns are written as in a .gitignore") from error


def _kind_of_page(path: Path) -> str | None:
    """Return ``OWN_PAGE`` or ``TEMPLATE`` for an HTML file that begins like one; None for documents and other files."""
    row = suffix_format(path)
    if row is None or row.name != "html" or not path.is_file():
        return None  # reading says what is wrong with a pipe or a device
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return None  # reading says what is wrong
    if _MARK in head:
        return OWN_PAGE
    return TEMPLATE if _more_tags_than_text(head) else None


def _pictures_in(path: Path) -> int:
    """Return the number of pictures at the beginning of a template; 0 if it cannot be read."""
    if not path.is_file():  # a pipe would block
        return 0
    try:
        with path.open("rb") as file:
            return len(_PICTURE.findall(file.read(_HEAD)))
    except OSError:
        return 0


def _more_tags_than_text(html: bytes) -> bool:
    """Return whether there is more text inside ``{{ }}``, ``{% %}`` and ``{# #}`` than text that readers see."""
    tags, text = 0, []
    inside = b""  # whether the piece is inside a tag ("{"), inside a script or style ("<"), or in the text ("")
    for piece in _CODE.split(html):
        kind = piece[:1] if _CODE.fullmatch(piece) else b""
        if kind and not inside:
            inside = b"" if piece[-1:] == b"}" or piece[:2] == b"</" else kind
        elif inside == b"{":
            tags += len(piece.strip())
            inside = b"" if kind and piece[-1:] == b"}" else inside
        elif inside:
            inside = b"" if piece[:2] == b"</" else inside
        else:
            text.append(piece)
    visible = re.sub(rb"<[^<>]*>", b"", b"".join(text))
    return tags > len(b"".join(visible.split()))


def unique_names(paths: Sequence[Path]) -> list[str]:
    """Return a unique name for every file: its stem, after as many of its folders as needed; in the end its path."""
    names = [path.stem for path in paths]
    for depth in range(2, max((len(path.parts) for path in paths), default=0) + 1):
        names = _longer(names, ["/".join((*p.parts[-depth:-1], p.stem)).lstrip("/") for p in paths])
    return _longer(names, [path.as_posix().lstrip("/") for path in paths])


def _longer(names: list[str], longer: list[str]) -> list[str]:
    """Replace the names that several files have by longer ones."""
    count = Counter(names)
    return [long if count[name] > 1 else name for name, long in zip(names, longer, strict=True)]
