"""A document as the rules see it: its pictures and passages with their places, and the references between them.

``read_page`` reads one; ``Page`` has the facts about a whole document that several rules need.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, islice
from pathlib import Path, PurePosixPath

from iconotext.check.files import Files
from iconotext.check.language import main_language
from iconotext.check.picture import Number, Picture, number, pixels
from iconotext.check.places import Finder, Place, names_at, place_at
from iconotext.evidence.labels import Label, cited_labels, is_caption, own_labels, unlabelled
from iconotext.plain_text import shortened
from iconotext.read import ReadSettings, read_flows
from iconotext.read.blocks import Block, FlowImage
from iconotext.read.captions import attach_captions, shown_caption
from iconotext.read.format import all_formats, suffix_format
from iconotext.read.html import read_whole_page
from iconotext.read.text_file import decode_text
from iconotext.types import Kind

_WORD = re.compile(r"\w+")

_DEFINES = re.compile(r"""(?=((?:\b(?:id|name|label)\s*+[=:]\s*+["']?|\{\s*+#|label\{|\[\[|\[#|:name:\s*+|_|<)))""")
"""The text before an identifier that is given to something, in lower case; it may begin within another one."""

_GOES_ON = re.compile(r"[\w-]")

_WITHOUT_SITE = re.compile(r"(?:https?:)?//[^/]*+", re.IGNORECASE)

MAX_BESIDE = 5_000
"""Maximum length, in characters, of the text beside a picture; no alternative text repeats more."""

FIGURE_NAME = re.compile(r"(?:fig|figure|abb)[-:_.]\w", re.IGNORECASE)
"""The beginning of an identifier that an author gave to a figure: ``fig-map``, ``fig:map``."""

SHOWN = 60
"""Maximum number of characters that a message quotes."""


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
        start = self._finder.passage(passage.block, passage.text)
        if start is None:
            return Place(self.path)
        if isinstance(subject, Reference):
            target = subject.target or (subject.label.number if subject.label else "")
            start = self._finder.word(target, start, 3 * len(passage.text) + 200) or start
        return place_at(self.path, self.text, start)

    @cached_property
    def _finder(self) -> Finder:
        """Finds passages in the text of the file."""
        return Finder(self.text or "", [(p.block, p.place.at) for p in self.pictures if p.place.at is not None])

    def defines(self, name: str) -> bool:
        """Whether the file gives something that is no picture this identifier, the target of a reference."""
        return name.lower() in self._defined

    @cached_property
    def _defined(self) -> set[str]:
        """The identifiers that are targets of references, and that the file gives to something, in lower case."""
        targets = {reference.target.lower() for reference in self.references if reference.target}
        text = (self.text or "").lower()
        starts = (match.end(1) for match in _DEFINES.finditer(text))
        return {name for name, end in names_at(text, starts, targets) if not _GOES_ON.match(text, end)}

    @cached_property
    def blocks(self) -> list[int]:
        """The blocks of the passages, in rising order."""
        return [passage.block for passage in self.passages]

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
        heading = headings[n] if text is None else None
        place = Place(path, at=at, part=image.part, page=image.page, heading=heading, box=image.box)
        pictures.append(
            Picture(
                place=place if at is None or text is None else place_at(path, text, at, image.part),
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
                pixels=None if image.file is None else pixels(image.file),
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
