"""How many links are others once a model has gone on learning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from iconotext.corpus.store import read_corpus
from iconotext.encoder import load_encoder
from iconotext.links.evidence import weigh_evidence

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from iconotext.encoder import Encoder
    from iconotext.types import Document

DOCUMENTS = 200
"""Documents that are linked twice, the first of the corpora."""


class Changes(NamedTuple):
    """Images, and how many of them have another best sentence than before.

    Attributes:
        images: That were linked.
        picture: With the picture as the only evidence.
        all: With all evidence, as ``iconotext link`` has it.
    """

    images: int
    picture: int
    all: int


def changed_links(before: str, after: Path, corpora: Sequence[Path]) -> Changes:
    """Link documents with two models.

    Args:
        before: A model, as ``load_encoder`` takes it.
        after: Folder of the other one.
        corpora: Where documents are. One picture with its captions has no link to choose: what has neither layout nor
            a second image does not count.

    Raises:
        CorpusError, FeatureError: A corpus or a model cannot be read.
    """
    encoders = [load_encoder(name) for name in (before, str(after))]
    images = picture = every = 0
    for document in islice(_with_a_choice(corpora), DOCUMENTS):
        (old, old_all), (new, new_all) = (_best_sentences(encoder, document) for encoder in encoders)
        images += len(old)
        picture += int((old != new).sum())
        every += int((old_all != new_all).sum())
    return Changes(images, picture, every)


def _with_a_choice(corpora: Sequence[Path]) -> Iterator[Document]:
    for document in chain.from_iterable(map(read_corpus, corpora)):
        if document.sentences and (document.has_layout or len(document.images) > 1):
            yield document


def _best_sentences(encoder: Encoder, document: Document) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(images,) the best sentence of each image that can be read: by the picture alone, and by all evidence."""
    read = encoder.read(document)
    found = weigh_evidence(
        read.document, read.similarity, encoder.text_backbone.encode, sentence_vectors=read.caption_vectors
    )
    good = [number for number, image in enumerate(read.document.images) if image.problem is None]
    return read.similarity[:, good].argmax(0), found.confidence[:, good].argmax(0)
