"""Documents of one picture and the texts that its author wrote about it: captions and alternative texts.

They are what a model learns most from: nothing has to be guessed about which sentence belongs to the picture. No gold
link is looked at; the texts stand with the picture, and are not among the sentences that links are found in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from iconotext.corpus.builders.captioned.photos import Drop, Photo, read_photos
from iconotext.corpus.builders.frame.build import Build, Values
from iconotext.corpus.document_row import row_of
from iconotext.corpus.json_lines import json_lines
from iconotext.corpus.row import Split
from iconotext.corpus.store import read_corpus
from iconotext.errors import CorpusError
from iconotext.types import Document, Image, Sentence

MIN_WORDS = 3
"""Words of the shortest text that counts: a single word is more often a file name or a label than a description."""


def pairs_rows(build: Build, sources: Iterable[Path], *, only: Split | None = None) -> Iterator[Values]:
    """The documents of ``build_pairs`` as rows of a corpus.

    Args:
        build: The frame.
        sources: Corpora, and files of captioned photographs.
        only: See ``build_pairs``.

    Raises:
        CorpusError: A source breaks its format, or no picture has a text.
    """
    found = 0
    for document in build.watch(build_pairs(sources, only=only, drop=build.report.drop), label="Reading"):
        found += 1
        yield row_of(document, build.folder).model_dump(exclude_none=True)
    if not found:
        names = ", ".join(map(str, sources))
        raise CorpusError(f"{names}: no picture has a caption or alternative text of at least {MIN_WORDS} words")
    build.report.count("pictures with a text", found)


def build_pairs(
    sources: Iterable[Path], *, only: Split | None = None, drop: Drop = lambda rule, item, reason: None
) -> Iterator[Document]:
    """One document for each picture that has a text.

    Args:
        sources: Files of captioned photographs (see ``read_photos``), or corpora whose documents have captions or
            alternative texts.
        only: Take what belongs to this split, and what belongs to none; the documents then have no split, so that
            training divides them.
        drop: Told of every picture that is left out: rule, item, reason.

    Raises:
        CorpusError: A file breaks its format.
    """
    taken: dict[str, int] = {}
    for path in sources:
        for name, image, texts, split in _photographs(path) if _has_photos(path) else _illustrations(path, drop):
            if only is not None and split not in (only, None):
                drop(f"picture of another split than {only}", name, split or "")
                continue
            number = taken[name] = taken.get(name, -1) + 1
            yield Document(
                id=f"{name}#{number}" if number else name,
                sentences=tuple(map(Sentence, texts)),
                images=(image,),
                links=tuple((sentence, 0) for sentence in range(len(texts))),
                split=None if only is not None else split,
            )


Described = tuple[str, Image, tuple[str, ...], str | None]
"""A name, a picture, the texts about it, the split it belongs to."""


def _has_photos(path: Path) -> bool:
    """Whether a file is one of captioned photographs, by its first line."""
    if path.suffix != ".jsonl":
        return False
    _, first, _ = next(json_lines(path), (0, None, None))  # where it is broken, reading it as a corpus says how
    return isinstance(first, dict) and "image" in first and "sentences" not in first


def _photographs(path: Path) -> Iterator[Described]:
    for photo in read_photos(path):
        yield _name(photo), Image(photo.file.name, photo.file), photo.captions, photo.split


def _name(photo: Photo) -> str:
    return f"{photo.file.parent.parent.name}/{photo.file.stem}"


def _illustrations(path: Path, drop: Drop) -> Iterator[Described]:
    for document in read_corpus(path):
        for number, image in enumerate(document.images):
            name = f"{document.id}/{number}"
            if image.file is None or image.problem is not None:
                drop("picture that is not there", name, image.problem or f"{image.source}: no file")
                continue
            texts = dict.fromkeys(" ".join(text.split()) for text in (image.caption, image.alt) if text)
            good = tuple(text for text in texts if len(text.split()) >= MIN_WORDS)
            if good:
                alone = Image(image.source, image.file)
                yield name, alone, good, document.split
            else:
                drop(f"picture without a text of {MIN_WORDS} words", name, "; ".join(texts))
