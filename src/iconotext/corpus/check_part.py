"""What can be said of a part of a corpus without the others, in numbers, so that a worker can send it quickly."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from iconotext.corpus.digest_table import digest_of
from iconotext.corpus.document_row import Pictures
from iconotext.corpus.row import SPLITS, Part, Problem
from iconotext.errors import CorpusError

KNOWN = 200_000
"""Images whose whereabouts a worker remembers, about 30 MB; then it forgets them all."""

CODES: dict[str | None, int] = {None: 0, **{split: number for number, split in enumerate(SPLITS, start=1)}}
"""Numbers of the splits."""


@dataclass(slots=True)
class PartSummary:
    """A part in numbers. Arrays by document have one for each row, those by image one for each of its images in order.

    Attributes:
        documents: Number of them, bad ones included.
        problems: Number of the document in the part, and what is wrong with it alone.
        rows: By document that could be read: its number in the part.
        places: By document: what its place begins with (number of the text in ``before``), and its number there.
        before: Beginnings of places, ``line`` or ``train, document``.
        ids: By document: digest of its id.
        splits: By document, see ``CODES``.
        pairs: By document: whether it has relations.
        images: By document: number of its images.
        sources: By image: digest of what the corpus calls it, with ``Whereabouts`` in the last two bits.
        no_images: Documents without images.
        no_sentences: Documents without sentences.
        broken: Why nothing after the part can be read; None where all is well.
    """

    documents: int = 0
    problems: list[tuple[int, Problem]] = field(default_factory=list)
    rows: array[int] = field(default_factory=lambda: array("q"))
    places: tuple[array[int], array[int]] = field(default_factory=lambda: (array("q"), array("q")))
    before: list[str] = field(default_factory=list)
    ids: array[int] = field(default_factory=lambda: array("Q"))
    splits: bytearray = field(default_factory=bytearray)
    pairs: bytearray = field(default_factory=bytearray)
    images: array[int] = field(default_factory=lambda: array("q"))
    sources: array[int] = field(default_factory=lambda: array("Q"))
    no_images: int = 0
    no_sentences: int = 0
    broken: str | None = None


def summarise(folder: Path, files: bool, run: str, part: Part) -> PartSummary:
    """Read a part and look where its pictures are.

    Args:
        folder: That paths of pictures start from.
        files: Whether images are files at all.
        run: Name of the check; what one saw of the pictures does not count for the next.
        part: Of the corpus.
    """
    found = PartSummary()
    known = _known(folder, files, run)
    sources, codes = found.sources, known.codes
    before: dict[str, int] = {}
    try:
        for record in part():
            number, found.documents = found.documents, found.documents + 1
            for problem in record.problems:
                found.problems.append((number, problem))
            row = record.row
            if row is None:
                continue
            words, _, place = record.place.rpartition(" ")
            found.rows.append(number)
            found.places[0].append(before.setdefault(words, len(before)))
            found.places[1].append(int(place))
            found.ids.append(digest_of(row.id))
            found.splits.append(CODES[row.split])
            found.pairs.append(row.relations is not None)
            found.images.append(len(row.images))
            for source in row.images:
                code = codes.get(source)
                sources.append(known.look(source) if code is None else code)
            found.no_images += not row.images
            found.no_sentences += not row.sentences
    except CorpusError as error:
        found.broken = str(error)
    found.before = list(before)
    return found


class _Known:
    """Where the pictures of a folder are, as far as a worker has seen."""

    def __init__(self, pictures: Pictures) -> None:
        self.codes: dict[str, int] = {}
        self._images = pictures

    def look(self, source: str) -> int:
        """Digest and whereabouts of an image."""
        if len(self.codes) >= KNOWN:
            self.codes.clear()
        code = digest_of(source) & ~3 | self._images.whereabouts(source)
        self.codes[source] = code
        return code


@lru_cache(maxsize=1)
def _known(folder: Path, files: bool, run: str) -> _Known:
    """What this worker has seen in this run."""
    return _Known(Pictures(folder, files=files))
