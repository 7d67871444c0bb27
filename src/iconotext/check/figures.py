"""The rules for figures and their files: numbers, references, captions, places, sizes.

A rule takes a picture or a reference and its page, and returns what is wrong and what to do, or None.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path

from iconotext.check.faults import FaultSettings
from iconotext.check.language import words
from iconotext.check.page import FIGURE_NAME, Page, Passage, Reference, quoted, shown
from iconotext.check.picture import Number, Picture, number
from iconotext.check.places import names_at
from iconotext.errors import ImageError
from iconotext.evidence.labels import cited_labels, is_caption, own_labels, pointer, unlabelled
from iconotext.plain_text import counted, data_size
from iconotext.read.address import MADE_BY_CODE, ON_THE_WEB, REMOTE, SCHEME, starts_from_site

NEAR = 2
"""Passages before and after a picture in which "the figure below" or "this picture" may mean it."""

MIN_SIDE = 64
"""Pixels that both sides of a picture have unless it is an icon."""

WASTE = 10
"""Pixels of a file for each pixel at which it is shown, from which they are wasted: three times as sharp as a screen
with one dot for each pixel can be, half as sharp again as one with four dots."""

SMALL = 50_000
"""Bytes of a file that are no waste."""

_CONTINUED = re.compile(
    r"\b(?:cont|contd|continued|fortsetzung|forts|suite|continuación|segue|vervolg)\b", re.IGNORECASE
)

_HERE = re.compile(r"\bhere (?:is|are)\b|\bthese (?:images|pictures|figures|plots|graphs)\b", re.IGNORECASE)

_SIDES = frozenset("left right top bottom middle center links rechts oben unten mitte".split())
"""First words of a caption that speaks of a part of its picture."""

_TEXT_OF_CODE = re.compile(r"[{}<>$*`]|\(\(|%\w+%")
"""Signs of an address that a program completes."""


def _names(picture: Picture) -> list[Number | str]:
    """The numbers of a figure, and the identifiers that its author gave it."""
    numbers = [number(label) for label in picture.labels if not label.family.endswith("table")]
    return [*numbers, *filter(FIGURE_NAME.match, picture.anchors)]


def _title(picture: Picture) -> str:
    """``Figure 3``, or the identifier of a figure without a number."""
    if picture.labels:
        return shown(picture.labels[0])
    return f"the figure {next(filter(FIGURE_NAME.match, picture.anchors))}"


def _mentions(page: Page, picture: Picture) -> list[Passage]:
    """The passages that cite a picture by number or link, and captions of others that do."""
    return [
        passage
        for name in picture.names
        for passage in page.cited.get(name, ())
        if passage.kind != "caption" or passage.block != picture.block
    ]


def _elsewhere(page: Page, name: Number | str) -> bool:
    """Whether another document of the site has an identifier, or a number with that of its chapter."""
    text = name if isinstance(name, str) else name[1]
    return page.files is not None and (isinstance(name, str) or "." in text) and page.files.is_elsewhere(text)


def _is_pointed_at(page: Page, picture: Picture) -> bool:
    """Whether a passage says "the figure below" near a picture, leads to it with a colon, or seems to cite it."""
    at = bisect_left(page.blocks, picture.block)
    near = page.passages[max(at - NEAR, 0) : at + NEAR + 1]  # one of them may be the picture's own block
    if any(pointer(passage.text) or _HERE.search(passage.text) for passage in near):
        return True
    if any(passage.text.rstrip().endswith((":", "：")) for passage in page.passages[max(at - 1, 0) : at]):
        return True
    return not _perhaps_cited(page).isdisjoint([*map(number, picture.labels), *picture.anchors])


@lru_cache(2)
def _perhaps_cited(page: Page) -> set[Number | str]:
    """The numbers that passages seem to cite, and the names of figures that are in their texts."""
    names = {name for picture in page.pictures for name in picture.anchors if FIGURE_NAME.match(name)}
    cited: set[Number | str] = set()
    for passage in page.passages:
        cited |= {number(label) for label in cited_labels(passage.text, doubtful=True)[_skipped(passage) :]}
        starts = (match.start() for match in FIGURE_NAME.finditer(passage.text))
        cited |= {name for name, _ in names_at(passage.text, starts, names)}
    return cited


def _skipped(passage: Passage) -> int:
    """The number of labels with which a passage begins, if it is a caption."""
    return len(own_labels(passage.text)) if is_caption(passage.text) else 0


@lru_cache(2)
def _refers(page: Page) -> bool:
    """Whether a document refers to any of the figures that it numbers or names."""
    return any(_names(picture) and _mentions(page, picture) for picture in page.pictures)


def unmentioned(picture: Picture, page: Page, settings: FaultSettings) -> str | None:
    names = _names(picture)
    if not names or picture.decorative or page.named[names[0]][0] is not picture or _mentions(page, picture):
        return None
    if not _refers(page):
        return None
    if _is_pointed_at(page, picture) or any(_elsewhere(page, name) for name in names):
        return None
    return f"the text refers to other figures but never to {_title(picture)}: say in it what the figure shows"


def missing(reference: Reference, page: Page, settings: FaultSettings) -> str | None:
    label, target = reference.label, reference.target
    name = target if target is not None and FIGURE_NAME.match(target) else None
    # Most links lead to no figure. They end here, before the file is searched for what defines their target.
    if name is None and (
        label is None or _is_there(label.family, label.number, page) or _elsewhere(page, number(label))
    ):
        return None
    if target is not None and (target in page.named or page.defines(target) or _elsewhere(page, target)):
        return None
    if name is not None:
        return f"no figure has the name {quoted(name)} to which the text refers: name the right one"
    return f"there is no {reference.source}: add the figure, or name the right one"


def _is_there(family: str, label: str, page: Page) -> bool:
    """Whether the document has a figure, or does not number its figures in such a way that one would be missing."""
    if (family, label) in page.named or (family, label) in page.headed or " " in family or family == "table":
        return True
    chapter, _, last = label.rpartition(".")
    peers = _peers(page)[family, chapter]
    return not last.isdigit() or len(peers) < 2 or int(last) > max(peers) + 1


@lru_cache(2)
def _peers(page: Page) -> dict[Number, set[int]]:
    """Family and chapter to the numbers of figures."""
    peers: dict[Number, set[int]] = defaultdict(set)
    for name in page.named:
        if not isinstance(name, str):
            chapter, _, last = name[1].rpartition(".")
            peers[name[0], chapter].update([int(last)] if last.isdigit() else [])
    return peers


def leads_elsewhere(reference: Reference, page: Page, settings: FaultSettings) -> str | None:
    if reference.label is None or reference.target is None:
        return None
    labels = [label for picture in page.named.get(reference.target, ()) for label in picture.labels]
    numbers = {number(label) for label in labels if label.family == reference.label.family}
    if not numbers or number(reference.label) in numbers:
        return None
    return f"{quoted(reference.source)} leads to {shown(labels[0])}: correct the number or the link"


def _is_headed(page: Page, before: Picture, picture: Picture) -> bool:
    """Whether a heading stands between two pictures."""
    return bisect_left(page.headings, picture.block) > bisect_left(page.headings, before.block)


@lru_cache(2)
def _counts(page: Page) -> list[list[tuple[int, Picture]]]:
    """Figures that are numbered in the same way, in reading order, each once.

    A count that begins anew at 1 under another heading is another one.
    """
    open_: dict[Number, list[tuple[int, Picture]]] = {}
    counts: list[list[tuple[int, Picture]]] = []
    for picture in page.pictures:
        for label in picture.labels[:1]:
            chapter, _, last = label.number.rpartition(".")
            if not last.isdigit():
                continue
            count = open_.get((label.family, chapter))
            anew = last == "1" and not chapter
            if count is None or (anew and count[-1][0] != 1 and _is_headed(page, count[-1][1], picture)):
                count = open_[label.family, chapter] = []
                counts.append(count)
            # The parts of a figure, and pictures side by side below one number, are one figure.
            again = count and count[-1][0] == int(last)
            if not (again and (label.part or picture.block <= count[-1][1].block + 1)):
                count.append((int(last), picture))
    return counts


@lru_cache(2)
def _out_of_order(page: Page) -> dict[int, str]:
    """Index of a picture to the fault of its number's place; as few pictures as possible."""
    wrong = {}
    for whole in _counts(page):
        firsts: dict[int, Picture] = {}
        for n, picture in whole:
            firsts.setdefault(n, picture)
        count = list(firsts.items())
        rising = _rising([n for n, _ in count])
        higher: list[tuple[int, Picture]] = []  # those before with a higher number than all between, falling
        for at, (n, picture) in enumerate(count):
            while higher and higher[-1][0] < n:
                higher.pop()
            if at not in rising:
                side, other = ("after", higher[-1][1]) if higher else ("before", count[at + 1][1])
                wrong[picture.index] = f"{_title(picture)} stands {side} {_title(other)} ({page.where(other)})"
            higher.append((n, picture))
    return wrong


def _rising(numbers: Sequence[int]) -> set[int]:
    """The places of a longest rising sequence."""
    ends: list[int] = []  # the lowest last number of a rising sequence of each length, and its place
    places: list[int] = []
    before: list[int | None] = []
    for at, n in enumerate(numbers):
        length = bisect_left(ends, n)
        before.append(places[length - 1] if length else None)
        ends[length : length + 1] = [n]
        places[length : length + 1] = [at]
    rising: set[int] = set()  # read backwards from the end of the longest one
    place = places[-1] if places else None
    while place is not None:
        rising.add(place)
        place = before[place]
    return rising


def out_of_order(picture: Picture, page: Page, settings: FaultSettings) -> str | None:
    wrong = _out_of_order(page).get(picture.index)
    return wrong and f"{wrong}: number them in their order"


@lru_cache(2)
def _number_used_twice(page: Page) -> dict[int, Picture]:
    """Index of a picture to an earlier one with another caption and the same number."""
    twice = {}
    for count in _counts(page):
        firsts: dict[int, Picture] = {}
        for n, picture in count:
            first = firsts.setdefault(n, picture)
            texts = [unlabelled(p.caption or p.alt or "") for p in (picture, first)]
            if first is not picture and not _CONTINUED.search(texts[0]) and words(texts[0]) != words(texts[1]):
                twice[picture.index] = first
    return twice


def number_used_twice(picture: Picture, page: Page, settings: FaultSettings) -> str | None:
    first = _number_used_twice(page).get(picture.index)
    if first is None:
        return None
    return f"another figure ({page.where(first)}) is {_title(picture)}, too: give this one a number of its own"


def far(picture: Picture, page: Page, settings: FaultSettings) -> str | None:
    names = _names(picture)
    if not names or page.named[names[0]][0] is not picture:
        return None
    distances = [(_words_between(page, picture, passage), passage) for passage in _mentions(page, picture)]
    if not distances:
        return None
    apart, nearest = min(distances, key=lambda pair: pair[0])
    if apart <= settings.far:
        return None
    side = "after" if nearest.block < picture.block else "before"
    where = page.where(nearest)
    return f"{_title(picture)} stands {apart:,} words {side} the text that refers to it ({where}): move it there"


def _words_between(page: Page, picture: Picture, passage: Passage) -> int:
    first, last = sorted((picture.block, passage.block))
    return max(page.words_before[last] - page.words_before[first + 1], 0) if first < last else 0


def _is_icon(page: Page, picture: Picture) -> bool:
    size = None if page.files is None else page.files.size(picture)
    return size is not None and min(size) < MIN_SIDE


@lru_cache(2)
def _first_captioned(page: Page) -> dict[tuple[bool | str, ...], Picture]:
    """Whether a caption has a label, and its other words, to the first picture with it."""
    firsts: dict[tuple[bool | str, ...], Picture] = {}
    for picture in page.pictures:
        firsts.setdefault((bool(picture.labels), *words(unlabelled(picture.caption or ""))), picture)
    return firsts


@lru_cache(2)
def _first_alike(page: Page) -> list[int]:
    """Index of a picture to that of the first one of those before it, without a gap, that have its caption."""
    firsts: list[int] = []
    for picture in page.pictures:
        before = page.pictures[picture.index - 1] if picture.index else None
        firsts.append(firsts[-1] if before and before.caption == picture.caption else picture.index)
    return firsts


def same_caption(picture: Picture, page: Page, settings: FaultSettings) -> str | None:
    caption = words(unlabelled(picture.caption or ""))
    if sum(any(map(str.isalpha, word)) for word in caption) < 2 or (not picture.labels and _is_icon(page, picture)):
        return None  # "50 %", or a button below a caption
    first = _first_captioned(page)[bool(picture.labels), *caption]
    if first.is_same(picture):
        return None
    text_between = bisect_right(page.blocks, first.block) < bisect_left(page.blocks, picture.block)
    if not text_between and _first_alike(page)[picture.index] <= first.index:
        return None  # one caption for all of them
    if not picture.labels and (
        picture.index > first.index + 1 or caption[0] in _SIDES or _is_headed(page, first, picture)
    ):
        return None  # pairs of pictures that are built alike, with "Before" and "After" in each
    text = quoted(picture.caption or "")
    return f"another picture ({page.where(first)}) has the same caption {text}: say what is different"


def no_picture(picture: Picture, page: Page, settings: FaultSettings) -> str | None:
    if page.shows(picture):
        return None
    return f"{quoted(picture.source)} is a document and not shown as a picture: make it a link, or show a picture of it"


def untagged(picture: Picture, page: Page, settings: FaultSettings) -> str | None:
    if page.format != "pdf" or picture.index > 0 or not all(each.alt_unknown for each in page.pictures):
        return None
    return (
        f"the PDF has no tags, so that reading programs find no text for {counted(len(page.pictures), 'picture')}: "
        "export it anew as a tagged PDF (PDF/UA)"
    )


def unused(file: Path, shown: Collection[Path], settings: FaultSettings) -> str | None:
    return None if file.resolve() in shown else "no document shows it: show it, or take it away"


def no_file(picture: Picture, page: Page, settings: FaultSettings) -> str | None:
    if page.files is None or picture.weight is not None or picture.problem is not None:
        return None
    if not all(map(_is_local, picture.sources)):
        return None
    try:
        page.files.file(picture)
    except ImageError as error:
        if starts_from_site(picture.source) and not page.files.has_root:
            return None  # of a site whose folder is not known
        beside = {Path(name).stem: name for name in page.files.names_like(picture.source)}
        near = get_close_matches(Path(picture.source).stem, beside, n=1)
        advice = f"; there is {beside[near[0]]}" if near else ""
        return f"the file {quoted(picture.source)} is {error}{advice}" if str(error).startswith("not found") else None
    return None


def _is_local(source: str) -> bool:
    remote = ON_THE_WEB.match(source) or REMOTE.match(source) or SCHEME.match(source)
    return bool(source) and not remote and not source.startswith(MADE_BY_CODE) and not _TEXT_OF_CODE.search(source)


def wasteful(picture: Picture, page: Page, settings: FaultSettings) -> str | None:
    if picture.sides is None or page.files is None or len(picture.sources) != 1:
        return None
    size, weight = page.files.size(picture), page.files.weight(picture)
    width, height = picture.sides
    ratios = [pixels / side for pixels, side in zip(size or (), (width, height), strict=False) if side]
    if size is None or not ratios or weight < SMALL:
        return None
    pixels = ratios[0] * ratios[-1]  # of one side that is given, the other follows in proportion
    if pixels < WASTE:
        return None
    wide, high = (round(2 * side / ratio) for side, ratio in zip(size, (ratios[0], ratios[-1]), strict=True))
    shown_at = " × ".join(str(side) for side in (width, height) if side)
    return (
        f"shown at {shown_at} pixels, but its file has {size[0]} × {size[1]} ({data_size(weight)}): "
        f"a copy of {wide} × {high} is sharp on every screen"
    )
