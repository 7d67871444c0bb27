"""What can be said of a part of a corpus without the others, in a form that a worker can send quickly."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from iconotext.corpus.image_files import ImageFiles
from iconotext.corpus.row import SPLITS, Part, Problem
from iconotext.corpus.texts import Texts, digest_of
from iconotext.errors import CorpusError

KNOWN = 200_000
"""Images whose whereabouts a worker remembers, about 30 MB."""

CODES: dict[str | None, int] = {None: 0, **{split: number for number, split in enumerate(SPLITS, start=1)}}
"""Numbers of the splits."""


@dataclass(slots=True)
class PartSummary:
    """A part in columns.

    Attributes:
        documents: Number of them, bad ones included.
        problems: Number of the document in the part, and what is wrong with it alone.
        numbers: Of each document that could be read: its number in the part. The next five have an entry for each, too.
        ids: With digests.
        places: Where it stands in the file.
        splits: See ``CODES``.
        pairs: Whether it has relations.
        images: How many it has.
        sources: Of each image of these documents: what the corpus calls it, with digests.
        whereabouts: Of each image: see ``Whereabouts``.
        no_images: Documents without images.
        no_sentences: Documents without sentences.
        broken: Why nothing after the part can be read; None where all is well.
    """

    documents: int = 0
    problems: list[tuple[int, Problem]] = field(default_factory=list)
    numbers: array[int] = field(default_factory=lambda: array("q"))
    ids: Texts = field(default_factory=Texts)
    places: Texts = field(default_factory=Texts)
    splits: bytearray = field(default_factory=bytearray)
    pairs: bytearray = field(default_factory=bytearray)
    images: array[int] = field(default_factory=lambda: array("q"))
    sources: Texts = field(default_factory=Texts)
    whereabouts: bytearray = field(default_factory=bytearray)
    no_images: int = 0
    no_sentences: int = 0
    broken: str | None = None


def summarise(folder: Path, files: bool, run: str, part: Part) -> PartSummary:
    """Read a part and look where its images are.

    Args:
        folder: That paths of images start from.
        files: Whether images are files at all.
        run: Name of the check; what one saw of the images does not count for the next.
        part: Of the corpus.
    """
    found = PartSummary()
    look = _look(folder, files, run)
    try:
        for record in part():
            number, found.documents = found.documents, found.documents + 1
            found.problems += [(number, problem) for problem in record.problems]
            row = record.row
            if row is None:
                continue
            found.numbers.append(number)
            found.ids.add(row.id, digest_of(row.id))
            found.places.add(record.place)
            found.splits.append(CODES[row.split])
            found.pairs.append(row.relations is not None)
            found.images.append(len(row.images))
            for source in row.images:
                digest, where = look(source)
                found.sources.add(source, digest)
                found.whereabouts.append(where)
            found.no_images += not row.images
            found.no_sentences += not row.sentences
    except CorpusError as error:
        found.broken = str(error)
    return found


@lru_cache(maxsize=1)
def _look(folder: Path, files: bool, run: str) -> Callable[[str], tuple[int, int]]:
    """Digest and whereabouts of an image, as far as this worker has seen them in this run."""
    images = ImageFiles(folder, files=files)
    return lru_cache(KNOWN)(lambda source: (digest_of(source), int(images.whereabouts(source))))
