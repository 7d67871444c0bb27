"""Puts alternative texts into a document's bytes without changing anything else.

The gap of each picture is found by trial: every gap gets a mark, the document is read as usual, and the pictures show
which mark they have. The result is read again in the same way, and is accepted only if it differs from before in
nothing but the new texts.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from iconotext.alt_text.gaps import Gap, find_gaps
from iconotext.alt_text.zip_members import replace_members
from iconotext.errors import DocumentError
from iconotext.plain_text import counted
from iconotext.read import ReadSettings, read_flows, read_isolated
from iconotext.read.archive import open_archive
from iconotext.read.blocks import Flow, FlowImage
from iconotext.read.format import file_format
from iconotext.read.text_file import MARKS, text_encoding

WRITABLE = frozenset(("markdown", "html", "docx", "epub"))
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
        """Its bytes, with texts in the gaps of these numbers."""
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
    """The bytes of a document with alternative texts for some of its pictures.

    Args:
        data: Its bytes.
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
            raise DocumentError(f"{path}: alternative texts can be put into Markdown, HTML, DOCX and EPUB only")
        before = _read(copy, settings)
        images = list(_images(before))
        wrong = [number for number in alts if not 0 <= number < len(images) or (images[number].alt and not over)]
        if wrong:
            raise DocumentError(f"{path}: picture {wrong[0]} is not there, or has an alternative text")
        parts = list(_parts(copy, data, format_, settings, over))
        trial = {(p, n): f"iconotextmark{p}x{n}x" for p, part in enumerate(parts) for n in range(len(part.gaps))}
        copy.write_bytes(_written(data, parts, trial))
        found = _found(before, _read(copy, settings), trial)
        lost = [number for number in alts if number not in found]
        if lost:
            raise DocumentError(
                f"{path}: {counted(len(lost), 'picture')} ({images[lost[0]].sources[0]:.80}) cannot be given an "
                "alternative text, as of the markup there too little is known: write it by hand"
            )
        texts = {found[number]: " ".join(text.split()) for number, text in alts.items()}
        if any(not text and not parts[p].gaps[n].quote for (p, n), text in texts.items()):
            raise DocumentError(
                f"{path}: only a tag <img> without a role can mark a picture as decoration: do so by hand"
            )
        result = _written(data, parts, texts)
        copy.write_bytes(result)
        _check(path, _read(copy, settings), _expected(before, {n: texts[found[n]] for n in alts}))
    changes = []
    for p, part in enumerate(parts):
        own = {n: text for (q, n), text in texts.items() if q == p}
        if own:
            changed = part.with_texts(own)[len(part.mark) :].decode(part.codec)
            changes.append((part.name, part.text, changed))
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
            found = archive.find(name)
            part = None if found is None else _part(name, archive.read(found), format_, over)
            if part is not None and part.gaps:
                yield part


def _part(name: str, data: bytes, format_: str, over: bool) -> Part | None:
    """A text with its gaps; None if decoding and encoding would change its bytes."""
    encoding = text_encoding(data, name, html=format_ != "markdown")
    mark = next((mark for mark, marked in MARKS if marked == encoding and data.startswith(mark)), b"")
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


def _written(data: bytes, parts: list[Part], texts: Mapping[tuple[int, int], str]) -> bytes:
    """The file with texts in some gaps, keyed by number of part and gap."""
    changed: dict[str, bytes] = {}
    for p, part in enumerate(parts):
        own = {n: text for (q, n), text in texts.items() if q == p}
        if own:
            changed[part.name] = part.with_texts(own)
    if not changed:
        return data
    return changed[""] if "" in changed else replace_members(data, changed)


def _images(flows: Iterable[Flow]) -> Iterable[FlowImage]:
    return (image for flow in flows for block in flow.blocks for _, image in block.images)


def _found(before: list[Flow], marked: list[Flow], trial: Mapping[tuple[int, int], str]) -> dict[int, tuple[int, int]]:
    """Number of a picture to its gap; pictures that share one, or have none, are left out."""
    gaps = {mark: gap for gap, mark in trial.items()}
    old, new = list(_images(before)), list(_images(marked))
    if [image.sources for image in old] != [image.sources for image in new]:
        return {}
    alts = [image.alt or "" for image in new]
    return {n: gaps[alt] for n, alt in enumerate(alts) if alt in gaps and alts.count(alt) == 1}


def _expected(before: list[Flow], alts: Mapping[int, str]) -> list[Flow]:
    """The expected result of reading the written file."""
    numbers = count()

    def with_text(image: FlowImage) -> FlowImage:
        alt = alts.get(next(numbers))
        return image if alt is None else replace(image, alt=alt, decorative=image.decorative or not alt)

    return _changed(before, with_text)


def _changed(flows: Iterable[Flow], change: Callable[[FlowImage], FlowImage]) -> list[Flow]:
    """The flows with ``change`` applied to each image."""
    return [
        replace(
            flow,
            blocks=[replace(b, images=[(offset, change(image)) for offset, image in b.images]) for b in flow.blocks],
        )
        for flow in flows
    ]


def _check(path: Path, read: list[Flow], expected: list[Flow]) -> None:
    """Raise ``DocumentError`` if the result of reading is not as expected, ignoring places in the file."""
    if _changed(read, _anywhere) == _changed(expected, _anywhere):
        return
    pairs = zip(_images(read), _images(expected), strict=False)
    name = next((f" ({wanted.sources[0]:.80})" for got, wanted in pairs if got.alt != wanted.alt), "")
    raise DocumentError(f"{path}: with such a text{name} it would read differently: write it by hand")


def _anywhere(image: FlowImage) -> FlowImage:
    return replace(image, at=None)
