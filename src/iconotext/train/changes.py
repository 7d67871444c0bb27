"""Counts how many links change when a model is trained further."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from iconotext.corpus.store import read_corpus
from iconotext.encoder import load_encoder
from iconotext.pipeline import Linker, LinkSettings
from iconotext.types import Document

DOCUMENTS = 200
"""Number of documents that are linked by both models, the first of the corpora."""


class Changes(NamedTuple):
    """How many images get another best sentence than before, by the picture alone, and with all evidence."""

    images: int
    picture: int
    all: int


def changed_links(before: str, after: Path, corpora: Sequence[Path]) -> Changes:
    """Link documents with two models.

    Args:
        before: A model, as for ``load_encoder``.
        after: Folder of the other model.
        corpora: Corpora of documents. A picture with only its captions has no choice of links: documents without layout
            and with a single image are skipped.

    Raises:
        CorpusError, FeatureError: A corpus or a model cannot be read.
    """
    encoders = [load_encoder(name) for name in (before, str(after))]
    best = LinkSettings(select="best", min_confidence=0, relations="none")
    alone, all_kinds = (
        [Linker(encoder, best.model_copy(update={"evidence": kinds})) for encoder in encoders]
        for kinds in (("picture",), best.evidence)
    )
    images = picture = every = 0
    for document in islice(_with_a_choice(corpora), DOCUMENTS):
        old, new = (_best_sentences(linker, document) for linker in alone)
        images += len(old)
        picture += sum(new[image] != sentence for image, sentence in old.items())
        old, new = (_best_sentences(linker, document) for linker in all_kinds)
        every += sum(new[image] != sentence for image, sentence in old.items())
    return Changes(images, picture, every)


def _with_a_choice(corpora: Sequence[Path]) -> Iterator[Document]:
    for document in chain.from_iterable(map(read_corpus, corpora)):
        if document.sentences and (document.has_layout or len(document.images) > 1):
            yield document


def _best_sentences(linker: Linker, document: Document) -> dict[int, int]:
    """Image number to the number of its best sentence, for images that can be read."""
    return {link.image: link.sentence for link in linker.link(document).links}
