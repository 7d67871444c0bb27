"""The sentences of a corpus → words or vectors in arrays on disk."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from iconotext.recipe import Recipe
from iconotext.train.arrays import ArrayWriter
from iconotext.types import Document

if TYPE_CHECKING:
    from iconotext.features.backbone import TextBackbone
    from iconotext.features.vocabulary import Vocabulary


class SentenceWriter:
    """Writes the sentences of documents, as words or as vectors.

    Args:
        recipe: Names the features.
        work: Folder of the arrays.
        vocabulary: For words; None for vectors.
        stack: Closes the arrays.

    Attributes:
        arrays: Names of what it writes.
        count: Sentences so far.
        dim: Length of a vector, 0 for words.
        name: Of the text backbone, or ``words``.
    """

    def __init__(self, recipe: Recipe, work: Path, vocabulary: Vocabulary | None, stack: ExitStack) -> None:
        self.count = 0
        self._vocabulary = vocabulary
        self._max_tokens = recipe.words.max_tokens if recipe.words else 0
        if vocabulary is not None:
            self.dim, self.name = 0, "words"
            self.arrays = ["words", "word_offsets"]
            self._words = stack.enter_context(ArrayWriter(work / "words", "<i4"))
            self._offsets = stack.enter_context(ArrayWriter(work / "word_offsets", "<i8"))
            self._offsets.append(np.zeros(1, np.int64))
            return
        self._backbone = _backbone(recipe)
        self.dim, self.name = self._backbone.dim, self._backbone.name
        self.arrays = ["sentences"]
        self._vectors = stack.enter_context(ArrayWriter(work / "sentences", "<f2", (self.dim,)))

    def append(self, documents: Sequence[Document]) -> None:
        """Write the sentences of some documents."""
        texts = [sentence.text for document in documents for sentence in document.sentences]
        self.count += len(texts)
        if not texts:
            return
        if self._vocabulary is None:
            self._vectors.append(self._backbone.encode(texts))
            return
        ids = [self._vocabulary.ids(text, max_tokens=self._max_tokens) for text in texts]
        self._offsets.append(self._words.rows + np.cumsum([len(each) for each in ids], dtype=np.int64))
        self._words.append(np.array(list(chain.from_iterable(ids)), np.int32))


def _backbone(recipe: Recipe) -> TextBackbone:
    from iconotext.features import FeatureCache, cached_text, load_dual_encoder, load_text_backbone

    name, dual = recipe.features.text, recipe.dual_encoder
    return cached_text(load_dual_encoder(name).text if dual else load_text_backbone(name), FeatureCache())
