"""Writing alternative texts into documents: atomically, and only if a document has not changed since it was read.

``plan_change`` prepares a change and ``write_change`` writes it; ``insert_alts`` makes the new bytes. The place of a
picture is found by trying: all places get a mark, and the document is read again with its reader.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from html import escape, unescape
from io import BytesIO
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from iconotext.errors import DocumentError, OutputError
from iconotext.features.cache import cache_folder
from iconotext.plain_text import counted, listed
from iconotext.read import ReadSettings, read_flows, read_isolated
from iconotext.read.archive import open_archive
from iconotext.read.blocks import Flow, FlowImage
from iconotext.read.format import FORMATS, file_format
from iconotext.read.office import WRITTEN_BY_WORD
from iconotext.read.text_file import BYTE_ORDER_MARKS, text_encoding
from iconotext.system.files import locked, open_atomic

WRITABLE = ("markdown", "html", "docx", "epub")
"""Names of the formats into which alternative texts are written."""

WRITABLE_AND, WRITABLE_OR = (
    listed((row.title for row in FORMATS if row.name in WRITABLE), word) for word in ("and", "or")
)
"""The titles of these formats, for messages and help texts."""

# The header of a member of a zip file, its entry in the directory, and the end of the directory.
LOCAL = struct.Struct("<4s5H3L2H")
ENTRY = struct.Struct("<4s6H3L5H2L")
END = struct.Struct("<4s4H2LH")
HAS_DESCRIPTOR = 0x8
"""Flag of a member whose sizes follow its data."""

TOO_LARGE = 0xFFFFFFFF
"""Value of a size or offset that needs the zip64 format."""


def replace_members(data: bytes, changed: Mapping[str, bytes]) -> bytes:
    """Return the zip file with new contents for some members, compressed like the old ones.

    All other members are copied as they are packed, in the same order, with their dates, permissions and comments;
    ``zipfile`` would compress them anew.

    Raises:
        DocumentError: The zip file cannot be changed in this way: it is larger than 4 GiB, has data before the first
            member, or has two members of the same name that is to change.
    """
    with zipfile.ZipFile(BytesIO(data)) as file:
        infos, directory = file.infolist(), file.start_dir
    names = [info.filename for info in infos]
    if any(names.count(name) != 1 for name in changed):
        raise DocumentError("two files in it have the same name: save it again with the program that made it")
    at = data.rfind(zipfile.stringEndArchive)  # type: ignore[attr-defined]  # b"PK\5\6"
    end = END.unpack_from(data, at)
    if end[6] != directory or any(TOO_LARGE in (i.file_size, i.compress_size, i.header_offset) for i in infos):
        raise DocumentError("an unusual zip file, which cannot be changed in part: save it again")
    in_place = sorted(infos, key=lambda info: info.header_offset)
    # A member reaches from its header to the next one: its descriptor, if it has one, is copied along.
    borders = [*(info.header_offset for info in in_place), directory]
    parts = [data[: borders[0]]]
    length = borders[0]
    moved: dict[int, tuple[int, bytes | None, bytes]] = {}
    for info, start, stop in zip(in_place, borders[:-1], borders[1:], strict=True):
        content = changed.get(info.filename)
        packed = b"" if content is None else _packed(content, info.compress_type)
        part = data[start:stop] if content is None else _local(data, start, content, packed)
        moved[start] = (length, content, packed)
        parts.append(part)
        length += len(part)
    listing = _directory(data[directory:at], moved)
    tail = END.pack(*end[:5], len(listing), length, end[7]) + data[at + END.size :]
    return b"".join([*parts, listing, tail])


def _packed(content: bytes, method: int) -> bytes:
    if method == zipfile.ZIP_STORED:
        return content
    pack = zlib.compressobj(wbits=-15)
    return pack.compress(content) + pack.flush()


def _local(data: bytes, start: int, content: bytes, packed: bytes) -> bytes:
    head = list(LOCAL.unpack_from(data, start))
    head[2] &= ~HAS_DESCRIPTOR  # the sizes are known now, and stand in the header itself
    head[6:9] = zlib.crc32(content), len(packed), len(content)
    names = data[start + LOCAL.size : start + LOCAL.size + head[9] + head[10]]
    return LOCAL.pack(*head) + names + packed


def _directory(listing: bytes, moved: Mapping[int, tuple[int, bytes | None, bytes]]) -> bytes:
    parts, at = [], 0
    while listing[at : at + 4] == b"PK\x01\x02":
        entry = list(ENTRY.unpack_from(listing, at))
        size = ENTRY.size + sum(entry[10:13])
        entry[16], content, packed = moved[entry[16]]  # the offset of the member tells which one it is
        if content is not None:
            entry[3] &= ~HAS_DESCRIPTOR
            entry[7:10] = zlib.crc32(content), len(packed), len(content)
        parts += [ENTRY.pack(*entry), listing[at + ENTRY.size : at + size]]
        at += size
    return b"".join([*parts, listing[at:]])


Markup = Literal["attribute", "markdown", "plain", "shortcode"]

# Quantifiers with + behind them give nothing back: a file of thousands of openings is searched in linear time.
MARKDOWN = re.compile(r"!\[([ \t]{0,20}+)\](?=[(\[])")  # ![](a.png)
FILLED = re.compile(r"!\[((?:\\[^\n]|[^\[\]\\]){0,2000}+)\](?=\(|\[[^\]])")
"""A picture with any text in the brackets, except ``![name][]``, where the text names the address."""
WIKI = re.compile(r"!\[\[[^\[\]|#\n]{1,300}()\]\]")  # ![[a.png]]
SHORTCODE = re.compile(r"\{\{[<%]\s{0,20}+figure(?=\s)")  # {{< figure
FIGURE = re.compile(r"\]\([^()\n]{1,500}+\)\{(?![^{}\n]*\bfig-alt=)[^{}\n#]{0,200}+#fig[-:][\w:.-]{1,200}+(?=[\s}])")
"""A figure of Quarto, with its caption in the brackets: ``![A barn](a.png){#fig-barn}``."""
IMG = re.compile(r"<img(?=[\s/>])", re.IGNORECASE)
INPUT = re.compile(r"<input(?=[\s/>])", re.IGNORECASE)  # <input type="image">, which cannot be decoration
DRAWING = re.compile(r"<(?:[\w-]{1,20}+:)?(docPr|shape|rect|roundrect|oval)(?=[\s/>])")  # <wp:docPr
NAME = re.compile(r"[\s/]*+([^\s/>=<\"'`{}]++)(\s*+=\s*+)?")  # of an attribute, with the equals sign behind it
BARE = re.compile(r"[^\s>\"'`<]*+")  # a value without quotes
ESCAPED = re.compile(r"[\\`*_\[\]<>~|{}$]|&(?=#?\w{1,31};)")
"""Characters that Markdown, or a site generator, could take for markup."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A place for an alternative text.

    Attributes:
        start: Beginning of the range to replace, in characters of the text.
        end: End of the range.
        markup: How text is escaped there.
        quote: For an HTML tag without a role, the quotes around the text; "" for all other markup.
    """

    start: int
    end: int
    markup: Markup
    before: str = ""
    after: str = ""
    quote: str = ""

    def filled(self, text: str) -> str:
        """Return the replacement; an empty text marks the picture of an HTML tag as decoration."""
        if not text and self.quote:
            # An empty text alone looks like one that was forgotten. The role follows ``alt``, in the same quotes.
            empty = self.before + (self.after or self.quote)
            return f"{empty} role={self.quote}presentation{self.after and self.quote}"
        return self.before + escaped(text, self.markup) + self.after


def escaped(text: str, markup: Markup) -> str:
    """Escape a text so that it reads back unchanged; in plain text quotes and brackets cannot be escaped."""
    match markup:
        case "attribute":  # braces too, since site generators read them before HTML is parsed
            return escape(text).replace("{", "&#123;").replace("}", "&#125;")
        case "markdown":
            return ESCAPED.sub(r"\\\g<0>", text)
        case "shortcode":
            return text.replace('"', '\\"')
        case "plain":
            return text


def find_gaps(text: str, format_: str, *, over: bool = False) -> list[Gap]:
    """Find the places for alternative texts where there is none, in order.

    Args:
        text: A Markdown file, an HTML file, a chapter of an EPUB or a part of a DOCX.
        format_: markdown, html, epub or docx.
        over: Also return places with an alternative text, to replace it.
    """
    if format_ == "docx":
        return [replace(gap, quote="") for gap in _tags(text, DRAWING, over)]  # it has no role for decoration
    gaps = [*_tags(text, IMG, over), *(replace(gap, quote="") for gap in _tags(text, INPUT, over))]
    if format_ == "markdown":
        gaps += [Gap(*match.span(1), "markdown") for match in (FILLED if over else MARKDOWN).finditer(text)]
        gaps += [Gap(*match.span(1), "plain", before="|") for match in WIKI.finditer(text)]
        gaps += [Gap(m.end(), m.end(), "plain", ' fig-alt="', '"') for m in FIGURE.finditer(text)]
        gaps += [replace(gap, markup="shortcode", quote="") for gap in _tags(text, SHORTCODE, over)]
    return sorted(gaps, key=lambda gap: gap.start)


def _tags(text: str, opening: re.Pattern[str], over: bool) -> Iterator[Gap]:
    at = 0
    while (begin := opening.search(text, at)) is not None:
        name = "descr" if begin.groups() and begin[1] == "docPr" else "alt"
        gap, at = _tag(text, begin.end(), name, over)
        if gap is not None:
            yield gap


def _tag(text: str, begin: int, name: str, over: bool) -> tuple[Gap | None, int]:
    """Return the gap in a tag whose name ends at ``begin``, and where to continue."""
    gap: Gap | None = Gap(begin, begin, "attribute", f' {name}="', '"')  # unless the tag has the attribute
    has_name, has_role, at = False, False, begin
    while (attribute := NAME.match(text, at)) is not None:
        at = attribute.end()
        value = _value(text, at) if attribute[2] else (at, at)
        if value is None:
            return None, begin  # an unclosed quote: not a tag
        has_role |= attribute[1].lower() == "role"
        if attribute[1].lower() == name and not has_name:
            has_name = True
            gap = _named_gap(text, attribute, value, over)
        at = value[1] + (attribute[2] is not None and text[value[1] : value[1] + 1] in ('"', "'"))
    if gap is not None and not has_role:
        gap = replace(gap, quote=gap.after or text[gap.start - 1])
    return gap, max(at, begin)


def _named_gap(text: str, attribute: re.Match[str], value: tuple[int, int], over: bool) -> Gap | None:
    """Return the gap in a tag with an empty alternative text; None if it has a text that is to stay."""
    start, end = value
    if not over and WRITTEN_BY_WORD.sub("", unescape(text[start:end])).strip():
        return None
    quoted = attribute[2] is not None and text[start - 1 : start] in ('"', "'")
    if quoted:
        return Gap(start, end, "attribute")
    return Gap(attribute.end(1), end, "attribute", '="', '"')


def _value(text: str, at: int) -> tuple[int, int] | None:
    """Return the range of an attribute's value without quotes; None if its quote is not closed."""
    if text[at : at + 1] in ('"', "'"):
        close = text.find(text[at], at + 1)
        return None if close < 0 else (at + 1, close)
    bare = BARE.match(text, at)
    return (at, at) if bare is None else bare.span()


PARTS = (".xml", ".xhtml", ".html", ".htm")
"""Suffixes of members that may have pictures."""


@dataclass(frozen=True, slots=True)
class Part:
    """A text in a document: the file itself, or a member of it.

    Attributes:
        name: Of the member; "" for the file itself.
        mark: The byte order mark before it.
        codec: Its encoding.
        gaps: Places for alternative texts.
    """

    name: str
    text: str
    mark: bytes
    codec: str
    gaps: tuple[Gap, ...]

    def with_texts(self, texts: Mapping[int, str]) -> bytes:
        """Return its bytes, with texts in the gaps of these numbers."""
        parts, at = [], 0
        for number in sorted(texts):
            gap = self.gaps[number]
            parts += [self.text[at : gap.start], gap.filled(texts[number])]
            at = gap.end
        text = "".join([*parts, self.text[at:]])
        return self.mark + text.encode(self.codec, errors="xmlcharrefreplace")


@dataclass(frozen=True, slots=True)
class Inserted:
    """A document with new texts.

    Attributes:
        data: The bytes of the file.
        changes: For each changed part its name ("" for the file itself), and its text before and after.
    """

    data: bytes
    changes: tuple[tuple[str, str, str], ...]


def insert_alts(
    path: Path, data: bytes, alts: Mapping[int, str], settings: ReadSettings, *, over: bool = False
) -> Inserted:
    """Put alternative texts for some pictures into the bytes of a document.

    Args:
        alts: Number of a picture to its text. Without ``over`` the picture must not have one yet. An empty text marks
            it as decoration, which is possible for HTML tags and chapters of EPUB.
        over: Whether to replace existing texts.

    Raises:
        DocumentError: The document cannot be read or has no such picture, a picture has a text or markup that cannot be
            changed, or the result would read back differently.
    """
    settings = settings.model_copy(update={"epub": "book"})
    with TemporaryDirectory(prefix="iconotext-") as folder:
        copy = Path(folder) / path.name
        copy.write_bytes(data)
        format_ = file_format(copy, settings)[0]
        if format_ not in WRITABLE:
            raise DocumentError(f"{path}: alternative texts can be put into {WRITABLE_AND} only")
        before = _read(copy, settings)
        images = list(_images(before))
        wrong = [number for number in alts if not 0 <= number < len(images) or (images[number].alt and not over)]
        if wrong:
            raise DocumentError(f"{path}: picture {wrong[0]} is not there, or has an alternative text")
        parts = list(_parts(copy, data, format_, settings, over))
        # A mark in every gap: read again, the document shows which picture each gap belongs to.
        trial = {(p, n): f"iconotextmark{p}x{n}x" for p, part in enumerate(parts) for n in range(len(part.gaps))}
        copy.write_bytes(_written(data, _changed_parts(parts, trial)))
        gap_of = _gap_of(before, _read(copy, settings), trial)
        lost = [number for number in alts if number not in gap_of]
        if lost:
            raise DocumentError(
                f"{path}: {counted(len(lost), 'picture')} ({images[lost[0]].sources[0]:.80}) cannot be given an "
                "alternative text, since its markup is not understood: write it by hand"
            )
        texts = {gap_of[number]: " ".join(text.split()) for number, text in alts.items()}
        if any(not text and not parts[p].gaps[n].quote for (p, n), text in texts.items()):
            raise DocumentError(
                f"{path}: only a tag <img> without a role can mark a picture as decoration: do so by hand"
            )
        changed = _changed_parts(parts, texts)
        result = _written(data, changed)
        copy.write_bytes(result)
        _check(path, _read(copy, settings), _expected(before, {n: texts[gap_of[n]] for n in alts}))
    changes = (
        (part.name, part.text, changed[part.name][len(part.mark) :].decode(part.codec))
        for part in parts
        if part.name in changed
    )
    return Inserted(result, tuple(changes))


def _read(copy: Path, settings: ReadSettings) -> list[Flow]:
    return read_isolated(read_flows, copy, settings, copy.parent)


def _parts(copy: Path, data: bytes, format_: str, settings: ReadSettings, over: bool) -> Iterable[Part]:
    if format_ in ("markdown", "html"):
        part = _part("", data, format_, over)
        if part is None:
            raise DocumentError("its encoding cannot be written back exactly: save it as UTF-8")
        yield part
        return
    with zipfile.ZipFile(copy) as file:
        names = [info.filename for info in file.infolist() if info.filename.lower().endswith(PARTS)]
    with open_archive(copy, settings.max_bytes) as archive:
        for name in names:
            member = archive.find(name)
            part = None if member is None else _part(name, archive.read(member), format_, over)
            if part is not None and part.gaps:
                yield part


def _part(name: str, data: bytes, format_: str, over: bool) -> Part | None:
    """Return a text with its gaps; None if decoding and encoding would change its bytes."""
    encoding = text_encoding(data, name, html=format_ != "markdown")
    mark = next((mark for mark, marked in BYTE_ORDER_MARKS if marked == encoding and data.startswith(mark)), b"")
    codec = {"utf-8-sig": "utf-8", "utf-16": "utf-16-be" if mark == b"\xfe\xff" else "utf-16-le"}.get(
        encoding, encoding
    )
    try:
        text = data[len(mark) :].decode(codec)
        if text.encode(codec) != data[len(mark) :]:
            return None
    except UnicodeError:
        return None
    return Part(name, text, mark, codec, tuple(find_gaps(text, format_, over=over)))


def _changed_parts(parts: list[Part], texts: Mapping[tuple[int, int], str]) -> dict[str, bytes]:
    """Return name to bytes of the parts that get texts; these are keyed by number of part and gap."""
    of_part: dict[int, dict[int, str]] = {}
    for (p, n), text in texts.items():
        of_part.setdefault(p, {})[n] = text
    return {parts[p].name: parts[p].with_texts(part_texts) for p, part_texts in of_part.items()}


def _written(data: bytes, changed: Mapping[str, bytes]) -> bytes:
    """Return the file with changed parts."""
    if not changed:
        return data
    return changed[""] if "" in changed else replace_members(data, changed)


def _images(flows: Iterable[Flow]) -> Iterable[FlowImage]:
    return (image for flow in flows for block in flow.blocks for _, image in block.images)


def _gap_of(before: list[Flow], marked: list[Flow], trial: Mapping[tuple[int, int], str]) -> dict[int, tuple[int, int]]:
    """Return number of a picture to its gap; pictures that share one, or have none, are left out."""
    gaps = {mark: gap for gap, mark in trial.items()}
    old, new = list(_images(before)), list(_images(marked))
    if [image.sources for image in old] != [image.sources for image in new]:
        return {}
    alts = [image.alt or "" for image in new]
    return {n: gaps[alt] for n, alt in enumerate(alts) if alt in gaps and alts.count(alt) == 1}


def _expected(before: list[Flow], alts: Mapping[int, str]) -> list[Flow]:
    numbers = count()

    def with_text(image: FlowImage) -> FlowImage:
        alt = alts.get(next(numbers))
        return image if alt is None else replace(image, alt=alt, decorative=image.decorative or not alt)

    return _changed(before, with_text)


def _changed(flows: Iterable[Flow], change: Callable[[FlowImage], FlowImage]) -> list[Flow]:
    return [
        replace(
            flow,
            blocks=[replace(b, images=[(offset, change(image)) for offset, image in b.images]) for b in flow.blocks],
        )
        for flow in flows
    ]


def _check(path: Path, actual: list[Flow], expected: list[Flow]) -> None:
    """Raise ``DocumentError`` if the result of reading is not as expected, ignoring places in the file."""
    if _changed(actual, _without_place) == _changed(expected, _without_place):
        return
    pairs = zip(_images(actual), _images(expected), strict=False)
    name = next((f" ({old.sources[0]:.80})" for new, old in pairs if new.alt != old.alt), "")
    raise DocumentError(f"{path}: with such a text{name} it would read differently: write it by hand")


def _without_place(image: FlowImage) -> FlowImage:
    return replace(image, at=None)


MAX_WAIT = 60
"""Seconds to wait for another process that writes into the same document."""

LONG_LINE = 2_000
"""Diffs split longer lines at tags, since Word writes a document as one line."""


@dataclass(frozen=True, slots=True)
class Change:
    """A planned change of a document.

    Attributes:
        path: The document, as the user named it.
        file: The file to write, with symbolic links resolved.
        inserted: Its new bytes, and the differences.
    """

    path: Path
    file: Path
    before: bytes
    inserted: Inserted


def digest(data: bytes) -> str:
    """Return the SHA-256 in hexadecimal, to find out whether a document has changed."""
    return hashlib.sha256(data).hexdigest()


def plan_change(
    path: Path,
    alts: Mapping[int, str],
    settings: ReadSettings,
    *,
    read: str,
    within: Path | None = None,
    over: bool = False,
) -> Change:
    """Plan a document with alternative texts; nothing is written yet.

    Args:
        alts: Number of a picture to its text; see ``insert_alts``.
        read: The ``digest`` of the document for which the texts were made.
        within: The folder that symbolic links must not leave; None for that of the document.

    Raises:
        OutputError: The file has changed, or a symbolic link leads out of the folder.
        DocumentError: See ``insert_alts``; or the file cannot be read.
    """
    try:
        file = path.resolve(strict=True)
        folder = (within or path.parent).resolve(strict=True)
        if not file.is_relative_to(folder):
            raise OutputError(f"cannot write {path}: a symbolic link leads out of {folder}; name the file itself")
        before = file.read_bytes()
    except OSError as error:
        raise DocumentError(f"{path}: cannot be read: {error.strerror or error}") from error
    if digest(before) != read:
        raise OutputError(f"cannot write {path}: it has changed since it was read; make the drafts again")
    return Change(path, file, before, insert_alts(path, before, alts, settings, over=over))


def write_change(change: Change) -> None:
    """Replace the file atomically; its permissions stay. Other processes of iconotext write before or after.

    Raises:
        OutputError: It has changed or moved meanwhile, or cannot be written.
    """
    if change.path.resolve() != change.file:
        raise OutputError(f"cannot write {change.path}: a symbolic link leads elsewhere by now; make the drafts again")
    lock = cache_folder() / "locks" / f"{digest(os.fsencode(change.file))}.lock"  # not beside the user's document
    with (
        locked(lock, f"{change.path} is being written by another process", wait=MAX_WAIT),
        open_atomic(change.file, force=True) as stream,
    ):
        stream.write(change.inserted.data)
        stream.flush()
        # Checked as late as possible: what another program writes between this line and the renaming is lost.
        if change.path.resolve() != change.file or change.file.read_bytes() != change.before:
            raise OutputError(f"cannot write {change.path}: it has changed since it was read; make the drafts again")


def unified_diff(change: Change) -> Iterator[str]:
    """Yield the lines of a unified diff; for a DOCX or EPUB, of the parts in it."""
    for part, before, after in change.inserted.changes:
        name = f"{change.path}{f'!{part}' if part else ''}"
        yield from difflib.unified_diff(_lines(before), _lines(after), name, name, lineterm="")


def _lines(text: str) -> list[str]:
    return [
        piece
        for line in text.splitlines()
        for piece in (line.replace("><", ">\n<").split("\n") if len(line) > LONG_LINE else [line])
    ]
