"""A document as the rules see it: its pictures and passages with their places, and the references between them.

``read_page`` reads one; ``Page`` has the facts about a whole document that several rules need.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from io import BytesIO
from itertools import accumulate, islice
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from iconotext.check.language import main_language
from iconotext.errors import ImageError
from iconotext.evidence.labels import Label, cited_labels, is_caption, own_labels, unlabelled
from iconotext.plain_text import shortened
from iconotext.read import ReadSettings, find_documents, read_flows
from iconotext.read.address import SITE_MARKERS, Addresses, site_folder
from iconotext.read.blocks import Block, FlowImage
from iconotext.read.captions import attach_captions, shown_caption
from iconotext.read.format import all_formats, suffix_format
from iconotext.read.html import read_whole_page
from iconotext.read.text_file import decode_text
from iconotext.types import Function, Kind

_LINE_END = re.compile(r"\r\n?|\n")
_WORD = re.compile(r"\w+")
_BETWEEN = r"(?:<[^<>]{0,300}>|[^\w<]){1,30}"  # what may stand between two words of a passage in its file

_WITHOUT_SITE = re.compile(r"(?:https?:)?//[^/]*+", re.IGNORECASE)

MAX_BESIDE = 5_000
"""Maximum length, in characters, of the text beside a picture; no alternative text repeats more."""

MAX_FILES = 5_000
"""Most files of a site, or of a folder, that are looked at for one document."""

FIRST_WORDS = 5
"""Words by which the beginning of a passage is found in the file."""

FIGURE_NAME = re.compile(r"(?:fig|figure|abb)[-:_.]\w", re.IGNORECASE)
"""The beginning of an identifier that an author gave to a figure: ``fig-map``, ``fig:map``."""

SHOWN = 60
"""Maximum number of characters that a message quotes."""

Number = tuple[str, str]
"""Family and number of a label, without the part: Figure 3a is a part of Figure 3."""


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a picture or a passage.

    Attributes:
        path: The document, as the user named it.
        line: Line in a file of text, from 1; None if unknown.
        column: Character in that line, from 1; None if unknown.
        at: Position in characters from the beginning of the file, or of the EPUB's part; None if unknown.
        part: The chapter of an EPUB that contains it.
        page: Page of a PDF, from 1.
        heading: The heading above it, in a format without lines.
    """

    path: str
    line: int | None = None
    column: int | None = None
    at: int | None = None
    part: str | None = None
    page: int | None = None
    heading: str | None = None

    @property
    def inside(self) -> str | None:
        """The place in a file without lines: its page, slide or cell."""
        page = f"page {self.page}" if self.page is not None else None
        return self.part or page or (f'under "{shortened(self.heading, 40)}"' if self.heading else None)

    def __str__(self) -> str:
        """Return the place as compilers print it: ``docs/a.md:12:3``."""
        behind = [str(number) for number in (self.line, self.column) if number is not None]
        return ":".join([self.path, *([self.inside] if self.inside and not behind else []), *behind])


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a document, with all facts for judging it.

    Attributes:
        index: Its number among the pictures of the document, from 0.
        block: Number of its block.
        sources: Its addresses, the preferred one first.
        alt: Its alternative text; "" if it is empty, None if there is none.
        beside: The texts of its own block and of the blocks before and after it, without captions.
        language: ISO 639-1 code declared by the document, or None.
        cited: Whether a link in the document leads to it.
        decorative: Whether the source marks it as decoration.
        function: What it does if it is the only content of a link or a button.
        alt_unknown: Whether code, another element or a title names it in place of an alternative text.
        sides: Width and height at which it is shown, in pixels; None if not given.
        anchors: Identifiers by which the document may point at it.
        pixels: Width and height of a picture inside the document; None if unknown or elsewhere.
        weight: Size in bytes of a picture inside the document; None if it is elsewhere.
        problem: Why it cannot be used, if the reader has found that out.
    """

    place: Place
    index: int
    sources: tuple[str, ...]
    block: int = 0
    alt: str | None = None
    caption: str | None = None
    beside: tuple[str, ...] = ()
    language: str | None = None
    cited: bool = False
    decorative: bool = False
    function: Function | None = None
    alt_unknown: bool = False
    sides: tuple[int | None, int | None] | None = None
    anchors: tuple[str, ...] = ()
    pixels: tuple[int, int] | None = None
    weight: int | None = None
    problem: str | None = None

    @property
    def source(self) -> str:
        """The address of the picture, for messages."""
        return self.sources[0]

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels at the beginning of its caption, else of its alternative text."""
        return own_labels(self.caption or "") or own_labels(self.alt or "")

    @property
    def names(self) -> list[Number | str]:
        """The numbers of its labels, and its anchors, each once."""
        numbers: list[Number | str] = [number(label) for label in self.labels]
        return list(dict.fromkeys([*numbers, *self.anchors]))


@dataclass(frozen=True, slots=True)
class Passage:
    """A block of text.

    Attributes:
        block: Its number.
        links: The text of each link to a place in the document, and the identifier of that place.
        heading: The heading above it.
    """

    block: int
    text: str
    kind: Kind = "paragraph"
    links: tuple[tuple[str, str], ...] = ()
    heading: str | None = None

    @property
    def cited(self) -> tuple[Label, ...]:
        """The labels that it cites, without its own if it is a caption."""
        return cited_labels(unlabelled(self.text) if self.kind == "caption" or is_caption(self.text) else self.text)


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference to a figure in a passage, by its label or by a link.

    Attributes:
        label: None for a link whose text has no label.
        target: The identifier of a link's target; None without a link.
        source: As messages name it.
    """

    passage: Passage
    label: Label | None
    target: str | None
    source: str

    @property
    def block(self) -> int:
        """Number of its block."""
        return self.passage.block


def number(label: Label) -> Number:
    """Return a label without its part."""
    return label.family, label.number


def quoted(text: str) -> str:
    """Return the beginning of a text in quotation marks."""
    return f'"{shortened(" ".join(text.split()), SHOWN)}"'


def shown(label: Label) -> str:
    """Return a label for messages: ``Figure 3a``."""
    return f"{label.family.capitalize()} {label.number.upper() if label.number.isalpha() else label.number}{label.part}"


@dataclass(frozen=True, eq=False)
class Page:
    """A document.

    Attributes:
        pictures: In reading order.
        passages: In reading order, without captions of pictures.
        text: The text of the file; None for a format without lines.
        files: Looks up the files of pictures; None where there are none to look up.
    """

    path: str
    format: str
    pictures: Sequence[Picture]
    passages: Sequence[Passage] = ()
    text: str | None = field(default=None, repr=False)
    files: Files | None = field(default=None, repr=False)

    @cached_property
    def language(self) -> str | None:
        """The main language of the text beside the pictures, else the declared one; None if unknown."""
        declared = next((picture.language for picture in self.pictures if picture.language), None)
        return main_language(list({text: None for picture in self.pictures for text in picture.beside})) or declared

    @cached_property
    def captions(self) -> list[Passage]:
        """The captions of pictures, as passages."""
        return [Passage(p.block, p.caption, "caption") for p in self.pictures if p.caption]

    @cached_property
    def references(self) -> list[Reference]:
        """The references of all passages and captions, in reading order."""
        references = []
        for passage in sorted([*self.passages, *self.captions], key=lambda passage: passage.block):
            linked: set[Label | None] = set()
            for text, target in passage.links:
                label = next(iter(cited_labels(text)), None)
                linked.add(label)
                references.append(Reference(passage, label, target, text.strip()))
            for label in dict.fromkeys(passage.cited):
                if label not in linked:
                    references.append(Reference(passage, label, None, shown(label)))
        return references

    @cached_property
    def cited(self) -> dict[Number | str, list[Passage]]:
        """Number, or identifier of a link's target, to the passages and captions that cite it, in reading order."""
        cited: dict[Number | str, list[Passage]] = defaultdict(list)
        for reference in self.references:
            for name in (reference.label and number(reference.label), reference.target):
                if name:
                    cited[name].append(reference.passage)
        return cited

    @cached_property
    def named(self) -> dict[Number | str, list[Picture]]:
        """Number or identifier to the pictures that have it, in reading order."""
        by_name: dict[Number | str, list[Picture]] = defaultdict(list)
        for picture in self.pictures:
            for name in picture.names:
                by_name[name].append(picture)
        return by_name

    @cached_property
    def headed(self) -> set[Number]:
        """The numbers with which a passage begins: captions of figures that are no pictures."""
        return {number(label) for passage in self.passages for label in own_labels(passage.text)}

    def shows(self, picture: Picture) -> bool:
        """Return whether the address of a picture is not that of a document, such as ``BOM.md``."""
        suffix = PurePosixPath(_WITHOUT_SITE.sub("", re.split(r"[?#]", picture.source)[0])).suffix.lower()
        row = suffix_format(PurePosixPath(f"a{suffix}"))
        in_prints = all_formats()[self.format].extra or self.path.lower().endswith((".qmd", ".rmd"))
        return row is None or bool(suffix == ".pdf" and in_prints)

    def where(self, subject: Picture | Passage) -> str:
        """Return the place of a picture or a passage in this document, in words."""
        place = self.place(subject)
        if place.line is not None:
            return f"line {place.line}"
        if place.inside:
            return place.inside
        return f"picture {subject.index + 1}" if isinstance(subject, Picture) else quoted(subject.text)

    def place(self, subject: Picture | Reference | Passage) -> Place:
        """Return the place of a picture, a reference or a passage."""
        if isinstance(subject, Picture):
            return subject.place
        passage = subject.passage if isinstance(subject, Reference) else subject
        if self.text is None:
            return Place(self.path, heading=passage.heading)
        before = bisect_left(self._marks, (passage.block, 0))
        behind = bisect_left(self._marks, (passage.block + 1, 0))
        start = self._marks[before - 1][1] if before else 0
        end = self._marks[behind][1] if behind < len(self._marks) else len(self.text)
        end = end if end > start else len(self.text)  # positions need not rise with the blocks
        first = _WORD.findall(passage.text[:200])[:FIRST_WORDS]
        # Markup that the pattern does not know may stand between two words: then fewer of them are looked for.
        for count in range(len(first), 0, -1):
            pattern = re.compile(r"\b" + _BETWEEN.join(map(re.escape, first[:count])))
            if match := pattern.search(self.text, start, end):
                return _place(self.path, self.text, self._within(subject, match.start(), end))
        return Place(self.path)

    @cached_property
    def _marks(self) -> list[tuple[int, int]]:
        """Block and position of the pictures whose position is known."""
        return [(p.block, p.place.at) for p in self.pictures if p.place.at is not None]

    def _within(self, subject: Reference | Passage, at: int, end: int) -> int:
        """Return where a passage that begins at ``at`` has a reference; ``at`` if it is not seen there."""
        if not isinstance(subject, Reference) or self.text is None:
            return at
        target = subject.target or (subject.label.number if subject.label else "")
        pattern = re.compile(rf"(?<![\w.]){re.escape(target)}(?!\w|\.\d)", re.IGNORECASE)
        match = pattern.search(self.text, at, min(end, at + 3 * len(subject.passage.text) + 200))
        return match.start() if match else at

    def defines(self, name: str) -> bool:
        """Whether the file gives something that is no picture this identifier."""
        names = re.escape(name)
        defined = rf"""(?:\b(?:id|name|label)\s*[=:]\s*["']?|\{{\s*#|label\{{|\[\[|\[#|:name:\s*|_|<){names}(?![\w-])"""
        return self.text is not None and re.search(defined, self.text, re.IGNORECASE) is not None

    @cached_property
    def headings(self) -> list[int]:
        """The blocks of the headings."""
        return [passage.block for passage in self.passages if passage.kind == "heading"]

    @cached_property
    def words_before(self) -> list[int]:
        """The number of words before each block, and of all words."""
        # Sums from the beginning, so that a difference of two is the number of words between any two blocks.
        blocks = [passage.block for passage in self.passages] + [picture.block for picture in self.pictures]
        counts = [0] * (max(blocks, default=-1) + 1)
        for passage in self.passages:
            counts[passage.block] += len(_WORD.findall(passage.text))
        return list(accumulate(counts, initial=0))


class Files:
    """Looks up the files of a document's pictures, each once, and names in the other documents of its site."""

    def __init__(self, path: Path, within: Path, reading: ReadSettings) -> None:
        self._path, self._within = path, within.resolve()
        self._addresses = Addresses(path, within, reading)
        self._site = site_folder(path, within, reading)
        self.has_root = reading.root is not None or any((self._site / marker).exists() for marker in SITE_MARKERS)
        """Whether the folder is known in which addresses that begin with ``/`` are looked up."""

    def file(self, picture: Picture) -> Path | bytes:
        """Return the file of a picture outside the document, or its content.

        Raises:
            ImageError: None of its addresses leads to a file; the first one's reason.
        """
        problems = [ImageError(picture.problem)] if picture.problem else []
        for source in () if picture.problem else picture.sources:
            try:
                return self._addresses.open(source)
            except ImageError as error:
                problems.append(error)
        raise problems[0] if problems else ImageError("no address")

    def size(self, picture: Picture) -> tuple[int, int] | None:
        """Return the width and height of a picture in pixels; None if they are unknown, or for a drawing."""
        if picture.weight is not None:
            return picture.pixels
        if picture.source.lower().endswith((".svg", ".svgz")):
            return None
        try:
            return _pixels(self.file(picture))
        except ImageError:
            return None

    def weight(self, picture: Picture) -> int:
        """Return the size of a picture's file in bytes; 0 if there is none."""
        if picture.weight is not None:
            return picture.weight
        try:
            file = self.file(picture)
        except ImageError:
            return 0
        return len(file) if isinstance(file, bytes) else file.stat().st_size

    def names_beside(self, source: str) -> list[str]:
        """Return the names of the files in the folder of an address, if documents may have pictures there."""
        folder = (self._path.parent / unquote(source)).parent
        if not folder.resolve().is_relative_to(self._within) or not folder.is_dir():
            return []
        return sorted(file.name for file in islice(folder.iterdir(), MAX_FILES))

    def is_elsewhere(self, name: str) -> bool:
        """Return whether another document of the site has a figure's identifier, or a number such as 3.2."""
        return bool(site_names(self._site, self._path.suffix).get(name, set()) - {self._path.resolve()})


_NAMES = re.compile(rb"(?:fig|figure|abb)[-:_.][\w:.-]*\w|(?<=[A-Za-z.;])\W{1,3}(\d+(?:[.\-]\d+)+)", re.IGNORECASE)


@lru_cache(2)
def site_names(site: Path, suffix: str) -> dict[str, set[Path]]:
    """Return the identifiers of figures, and numbers with that of a chapter, to the files of one kind with them."""
    names: dict[str, set[Path]] = defaultdict(set)
    for file, _ in islice(find_documents([site], suffixes={suffix.lower()}), MAX_FILES):
        try:
            text = file.read_bytes()
        except OSError:
            continue
        for match in _NAMES.finditer(text):
            number = match[1] and match[1].replace(b"-", b".")
            names[(number or match[0]).decode(errors="replace")].add(file.resolve())
    return names


def _pixels(file: Path | bytes) -> tuple[int, int] | None:
    import imagesize

    try:
        width, height = imagesize.get(BytesIO(file) if isinstance(file, bytes) else file)
    except (OSError, ValueError, struct.error):
        return None
    return (int(width), int(height)) if min(width, height) >= 1 else None


def _place(path: str, text: str, at: int, image: FlowImage | None = None) -> Place:
    starts = _line_starts(text)
    line = bisect_right(starts, at)
    return Place(path, line, at - starts[line - 1] + 1, at, image.part if image else None)


@lru_cache(2)
def _line_starts(text: str) -> list[int]:
    # Lines as in editors: ended by CR LF, LF or CR.
    return [0, *(end.end() for end in _LINE_END.finditer(text))]


def read_page(format_: str, path: Path, reading: ReadSettings) -> Page:
    """Read a document, a web page including its menus; without limits on memory and time."""
    # Pictures in menus are checked, too. And the main text is found by trafilatura, which iconotext-check does without.
    flows = [read_whole_page(path)] if format_ == "html" else read_flows(format_, path, reading)
    text = decode_text(path, html=format_ == "html") if all_formats()[format_].lines else None
    blocks: list[Block] = []
    alts: list[str | None] = []
    for flow in flows:
        # Captions are found without the alternative texts: repeating one does not make a text a caption.
        alts += [image.alt for block in flow.blocks for _, image in block.images]
        for block in flow.blocks:
            block.images = [(offset, replace(image, alt=None)) for offset, image in block.images]
        blocks += attach_captions(flow.blocks)
    language = next((flow.language for flow in flows if flow.language), None)
    headings: list[str | None] = []  # of each block, the heading above it
    for block in blocks:
        headings.append(block.text if block.kind == "heading" else headings[-1] if headings else None)
    passages = [
        Passage(n, block.text, block.kind, tuple((block.text[a:b], name) for a, b, name in block.targets), heading)
        for n, (block, heading) in enumerate(zip(blocks, headings, strict=True))
        if block.text
    ]
    pictures = _pictures(blocks, headings, alts, path.as_posix(), text, language)
    return Page(path.as_posix(), format_, pictures, passages, text)


def _pictures(
    blocks: Sequence[Block],
    headings: Sequence[str | None],
    alts: Sequence[str | None],
    path: str,
    text: str | None,
    language: str | None,
) -> list[Picture]:
    targets = {name for block in blocks for *_, name in block.targets}
    images = [(n, image) for n, block in enumerate(blocks) for _, image in block.images]
    beside = {n: tuple(_beside(blocks, n)) for n, _ in images}
    positions = _positions([image for _, image in images], text)
    pictures: list[Picture] = []
    for (n, image), alt, at in zip(images, alts, positions, strict=True):
        place = Place(path, at=at, part=image.part, page=image.page, heading=headings[n] if text is None else None)
        pictures.append(
            Picture(
                place=place if at is None or text is None else _place(path, text, at, image),
                index=len(pictures),
                sources=image.sources,
                block=n,
                alt=alt,
                caption=shown_caption(image, alt),
                beside=beside[n],
                language=language,
                cited=bool(targets.intersection(image.anchors)),
                decorative=image.decorative,
                function=image.function,
                alt_unknown=image.alt_unknown or bool(image.title),
                sides=image.sides,
                anchors=image.anchors,
                pixels=None if image.file is None else _pixels(image.file),
                weight=len(image.file) if isinstance(image.file, bytes) else None,
                problem=image.problem,
            )
        )
    return pictures


def _positions(images: Iterable[FlowImage], text: str | None) -> list[int | None]:
    """Where each picture begins in the text of the file: by the reader, else where its address is found, in order."""
    positions: list[int | None] = []
    cursor = 0  # an address is looked for behind that of the picture before
    for image in images:
        at = image.at
        if at is None and text is not None:
            at = next((at for s in image.sources if len(s) > 2 and (at := text.find(s, cursor)) >= 0), None)
            cursor = at or cursor
        positions.append(at)
    return positions


def _beside(blocks: Sequence[Block], number: int) -> Iterator[str]:
    """Yield the text of a block, and of the next ones with text before and after it, at most ten blocks away."""
    ways: tuple[Iterable[Block], ...] = (
        (blocks[number],),
        (blocks[i] for i in range(number - 1, -1, -1)),
        (blocks[i] for i in range(number + 1, len(blocks))),
    )
    for way in ways:
        text = next((block.text for block in islice(way, 10) if block.text), None)
        if text is not None:
            yield text[:MAX_BESIDE]
