"""The scores that a model, or the random baseline, gives to the pairs of documents.

``corpus_part`` reads the documents to score, ``score_documents`` scores them, ``random_scores`` is the baseline.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from iconotext.corpus.shards import corpus_files, documents_of, rows_of
from iconotext.errors import CorpusError
from iconotext.plain_text import counted

if TYPE_CHECKING:
    from iconotext.decide.settings import LinkSettings
    from iconotext.evaluate.results import Scored
    from iconotext.types import Document, FloatMatrix


@dataclass(frozen=True)
class CorpusPart:
    """A corpus, or one split of it, with the number of documents, in all and in every split.

    Attributes:
        path: The path as the user named it.
        files: The corpus file, or the shards of a folder.
    """

    path: Path
    split: str | None
    count: int
    splits: Counter[str | None]
    files: tuple[Path, ...]

    def documents(self) -> Iterator[Document]:
        """The documents in order, one in memory at a time."""
        return self.of(self.split)

    def of(self, split: str | None) -> Iterator[Document]:
        """The documents of another split; None for all."""
        inside = self.files != (self.path,)
        return (d for file in self.files for d in documents_of(file, split=split, inside=inside))


def corpus_part(path: Path, split: str | None) -> CorpusPart:
    """Read the whole corpus once, so that its errors are found before the work begins."""
    files = corpus_files(path)
    splits: Counter[str | None] = Counter()
    file_of: dict[str, Path] = {}
    for file in files:
        for row in rows_of(file):
            splits[row.split] += 1
            if file_of.setdefault(row.id, file) != file:
                raise CorpusError(f"{file}: {row.id!r} is also the id of a document in {file_of[row.id]}")
    count = splits.total() if split is None else splits[split]
    if not count:
        splits_text = ", ".join(f"{name or 'no split'} ({number})" for name, number in splits.items()) or "none at all"
        missing = "no documents" if split is None else f"no documents with the split {split}"
        raise CorpusError(f"{path}: {missing}; it has {splits_text}")
    return CorpusPart(path, split, count, splits, files)


def random_scores(identifier: str, sentences: int, images: int, *, seed: int = 0) -> FloatMatrix:
    """Random scores for a document.

    Args:
        identifier: Of the document; decides the numbers together with ``seed``, so that they do not depend on other
            documents or their order.

    Returns:
        (sentences, images) float32, uniform from 0 to 1.
    """
    digest = hashlib.sha256(f"{seed}\0{identifier}".encode("utf-8", "surrogatepass")).digest()
    random = np.random.default_rng(int.from_bytes(digest[:16], "little"))
    return random.random((sentences, images), dtype=np.float32)


NAMED = 3
"""Largest number of documents with images that cannot be encoded that are reported one by one."""


class UnseenImages:
    """Counts images that cannot be encoded: their pairs have the score 0 and still count.

    Args:
        say: Called with messages about the first documents with such images, and at the end about all.
        from_file: Whether images are looked up in a file, so that they need no file of their own.

    Attributes:
        documents: Number of documents with such images.
        images: Number of such images.
        total: Number of all images.
    """

    def __init__(self, say: Callable[[str], None], *, from_file: bool = False) -> None:
        self.documents = self.images = self.total = 0
        self._say, self._from_file = say, from_file

    def see(self, document: Document) -> None:
        """Count one document, and report it if it is among the first with images that cannot be encoded."""
        problems = [
            image.problem or "has no file"
            for image in document.images
            if image.problem or (image.file is None and not self._from_file)
        ]
        self.total += len(document.images)
        self.images += len(problems)
        self.documents += bool(problems)
        if problems and self.documents <= NAMED:
            unseen = f"{len(problems)} of {len(document.images)} pictures cannot be seen and still count"
            self._say(f"document {document.id!r}: {unseen}: {problems[0]}")

    def finish(self) -> None:
        """Report the number of the other documents."""
        if self.documents > NAMED:
            of = f"{self.images:,} of {counted(self.total, 'picture')} in all"
            self._say(f"and {counted(self.documents - NAMED, 'more document')}: {of}")


def score_documents(
    model: str,
    documents: Iterable[Document],
    linking: LinkSettings,
    *,
    seed: int = 0,
    say: Callable[[str], None] = lambda _: None,
) -> Iterator[Scored]:
    """Score documents, one at a time, with a ``model`` as for ``load_encoder``, or ``random`` for the baseline.

    A document that cannot be linked ends it: figures without it would be misleading.
    """
    from iconotext.evaluate.results import Scored
    from iconotext.linker import Linker
    from iconotext.read import Failure

    if model == "random":
        for document in documents:
            sizes = len(document.sentences), len(document.images)
            yield Scored.of(document, random_scores(document.id, *sizes, seed=seed))
        return
    linker = Linker.load(model, linking)
    unseen = UnseenImages(say, from_file=linker.encoder.image_source.from_file)
    for linked in linker.link_all(documents):
        if isinstance(linked, Failure):
            raise linked.error
        unseen.see(linked.document)
        yield Scored.of(linked.document, linked.similarity)
    unseen.finish()
    if set(linking.evidence) == {"picture"} and unseen.images == unseen.total > 0:
        raise CorpusError(
            f"none of {unseen.total:,} pictures could be looked at, so there is nothing to measure: build the corpus "
            "with its pictures (images=...), or name a model that was trained on the features beside it"
        )
