"""Documents of one image and the texts that its author wrote about it: captions and alternative texts.

``build_pairs`` makes them. A model learns most from them, since it is certain that the texts belong to the image. Gold
links are not used; the texts are attributes of the image, and not among the sentences in which links are found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from iconotext.corpus.builders.build import BuilderSettings
from iconotext.corpus.builders.photos import Drop, read_photos
from iconotext.corpus.formats.json_lines import first_value
from iconotext.corpus.row import row_of
from iconotext.corpus.store import read_corpus
from iconotext.errors import CorpusError
from iconotext.types import Document, Image, Sentence

if TYPE_CHECKING:
    from iconotext.corpus.builders.build import Build, Values
    from iconotext.corpus.row import Split

MIN_WORDS = 3
"""Number of words of the shortest text that counts: a single word is more often a file name or a label than a
description.
"""


class Settings(BuilderSettings):
    """Make a document of each picture and its captions and alternative texts, which is what a model learns most from.

    **Examples**

    - `iconotext corpus build pairs --source corpus.jsonl --output pairs.jsonl`
    - `iconotext corpus build pairs -s captions.jsonl -o pairs.jsonl --only train`
    """

    source: tuple[Path, ...]
    """Corpus, or captioned photographs (.jsonl). A corpus with captions or alternative texts; may be repeated."""

    only: Literal["train", "validation", "test"] | None = None
    """Only pictures of this split. Also those of none; training then divides them."""


def documents(build: Build, settings: Settings) -> Iterator[Values]:
    """Yield the documents of ``build_pairs``; ``CorpusError`` if no image has a text."""
    pictures = 0
    pairs = build_pairs(settings.source, only=settings.only, drop=build.report.drop)
    for document in build.watch(pairs, label="Reading"):
        pictures += 1
        yield row_of(document, build.folder).model_dump(exclude_none=True)
    if not pictures:
        names = ", ".join(map(str, settings.source))
        raise CorpusError(f"{names}: no picture has a caption or alternative text of at least {MIN_WORDS} words")
    build.report.count("pictures with a text", pictures)


def build_pairs(
    sources: Iterable[Path], *, only: Split | None = None, drop: Drop = lambda rule, item, reason: None
) -> Iterator[Document]:
    """Yield one document for each image that has a text.

    Args:
        sources: Files of captioned photographs (see ``read_photos``), or corpora whose documents have captions or
            alternative texts.
        only: Use images of this split, and images without a split; the documents then have no split, so that training
            divides them.
        drop: Called for every image that is left out: rule, item, reason.
    """
    last_numbers: dict[str, int] = {}
    for path in sources:
        for name, image, texts, split in _photographs(path) if _has_photos(path) else _illustrations(path, drop):
            if only is not None and split not in (only, None):
                drop(f"picture of another split than {only}", name, split or "")
                continue
            number = last_numbers[name] = last_numbers.get(name, -1) + 1
            yield Document(
                id=f"{name}#{number}" if number else name,
                sentences=tuple(map(Sentence, texts)),
                images=(image,),
                links=tuple((sentence, 0) for sentence in range(len(texts))),
                split=None if only is not None else split,
            )


Described = tuple[str, Image, tuple[str, ...], str | None]  # a name, an image, the texts about it, and its split


def _has_photos(path: Path) -> bool:
    """Return whether a file has captioned photographs, by its first line."""
    if path.suffix != ".jsonl":
        return False
    first = first_value(path)  # a broken line is reported when it is read as a corpus
    return isinstance(first, dict) and "image" in first and "sentences" not in first


def _photographs(path: Path) -> Iterator[Described]:
    for photo in read_photos(path):
        name = f"{photo.file.parent.parent.name}/{photo.file.stem}"
        yield name, Image(photo.file.name, photo.file), photo.captions, photo.split


def _illustrations(path: Path, drop: Drop) -> Iterator[Described]:
    for document in read_corpus(path):
        for number, image in enumerate(document.images):
            name = f"{document.id}/{number}"
            if not isinstance(image.file, Path) or image.problem is not None:
                drop("picture that is not there", name, image.problem or f"{image.source}: no file of its own")
                continue
            texts = dict.fromkeys(" ".join(text.split()) for text in (image.caption, image.alt) if text)
            good = tuple(text for text in texts if len(text.split()) >= MIN_WORDS)
            if good:
                yield name, Image(image.source, image.file), good, document.split
            else:
                drop(f"picture without a text of {MIN_WORDS} words", name, "; ".join(texts))
