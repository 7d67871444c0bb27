"""Writes the sentences of a corpus, and their posteriors by other evidence, to arrays on disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from iconotext.embed.trained import CAPTIONS
from iconotext.features.model_folder import folder_of_model, revised_name
from iconotext.features.vocabulary import UNKNOWN, Vocabulary, words_of
from iconotext.links.language import is_foreign, no_meaning
from iconotext.links.weighing import weigh_evidence
from iconotext.recipe import Recipe
from iconotext.recipe.encoders import TowerSettings
from iconotext.train.arrays import ArrayWriter
from iconotext.train.prepared import Prepared, span_places

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.features.backbone import TextBackbone
    from iconotext.types import Document, Evidence

AT_ONCE = 4096
"""Documents whose words are counted at a time."""


def sentence_writer(
    recipe: Recipe, work: Path, vocabulary: Numbers | None, stack: ExitStack, backbone: TextBackbone | None
) -> SentenceWriter:
    """The writer for sentences as the recipe reads them: as words, as a dual encoder's tokens, or as vectors."""
    if recipe.words is not None and vocabulary is not None:
        longest = recipe.words.max_tokens
        return WordWriter("words", lambda texts: [vocabulary.ids(t, max_tokens=longest) for t in texts], work, stack)
    if isinstance(recipe.text, TowerSettings):
        from iconotext.features.huggingface import Tokens

        folder = folder_of_model(recipe.features.text)
        tokens = Tokens(recipe.features.text, folder)
        return WordWriter(revised_name(recipe.features.text, folder), tokens.ids, work, stack)
    assert backbone is not None  # see ``caption_backbone``
    return SentenceVectorWriter(backbone, work, stack)


class OwnWords:
    """Numbers words in order of appearance, until the training documents, and so the vocabulary, are known.

    Attributes:
        numbers: Word to number, for all words so far.
    """

    def __init__(self) -> None:
        self.numbers = {UNKNOWN: 0}

    def ids(self, text: str, *, max_tokens: int) -> list[int]:
        """See ``Vocabulary.ids``."""
        return [self.numbers.setdefault(word, len(self.numbers)) for word in words_of(text)[:max_tokens]] or [0]


def count_words(prepared: Prepared, documents: NDArray[np.int64], own: Sequence[str]) -> Counter[str]:
    """How often each word occurs in some documents, counting only what the recipe reads of a sentence.

    Args:
        own: The words, by their numbers in the arrays.
    """
    assert prepared.words is not None
    ids, offsets = prepared.words
    found = Counter[str]()
    for some in np.array_split(documents, len(documents) // AT_ONCE + 1):
        places = span_places(offsets, span_places(prepared.sentence_offsets, some))
        numbers, counts = np.unique(ids[places], return_counts=True)
        found.update({own[number]: count for number, count in zip(numbers.tolist(), counts.tolist(), strict=True)})
    del found[UNKNOWN]  # stands for sentences without words
    return found


Numbers = Vocabulary | OwnWords
"""Maps words to numbers."""


class WordWriter:
    """Writes sentences as the numbers of their words, or tokens.

    Attributes:
        arrays: Names of the arrays that it writes.
        dim: Length of a vector; 0 for words.
        name: Of the text backbone, or ``words``.
    """

    arrays: tuple[str, ...] = ("words", "word_offsets")
    dim = 0

    def __init__(
        self, name: str, ids: Callable[[Sequence[str]], list[list[int]]], work: Path, stack: ExitStack
    ) -> None:
        self.name, self._ids = name, ids
        self._words = stack.enter_context(ArrayWriter(work / "words", "<i4"))
        self._offsets = stack.enter_context(ArrayWriter(work / "word_offsets", "<i8"))
        self._offsets.append(np.zeros(1, np.int64))

    def append(self, texts: Sequence[str]) -> None:
        """Write sentences, at least one."""
        ids = self._ids(texts)
        self._offsets.append(self._words.rows + np.cumsum([len(each) for each in ids], dtype=np.int64))
        self._words.append(np.array(list(chain.from_iterable(ids)), np.int32))


def caption_backbone(recipe: Recipe) -> TextBackbone | None:
    """The text backbone for sentences, or for captions (posterior objective); None if neither is needed.

    Raises:
        FeatureError: The backbone cannot be loaded.
    """
    from iconotext.features import FeatureCache, cached_text, load_dual_encoder, load_text_backbone

    if not recipe.objective.posterior and (recipe.words is not None or isinstance(recipe.text, TowerSettings)):
        return None
    name = CAPTIONS if recipe.words else recipe.features.text
    return cached_text(
        load_dual_encoder(name).text if recipe.dual_encoder else load_text_backbone(name), FeatureCache()
    )


class SentenceVectorWriter:
    """Writes sentences as vectors of the text backbone; see ``WordWriter``."""

    arrays: tuple[str, ...] = ("sentences",)

    def __init__(self, backbone: TextBackbone, work: Path, stack: ExitStack) -> None:
        self._backbone = backbone
        self.dim, self.name = backbone.dim, backbone.name
        self._vectors = stack.enter_context(ArrayWriter(work / "sentences", "<f2", (self.dim,)))

    def append(self, texts: Sequence[str]) -> None:
        """See ``WordWriter``."""
        self._vectors.append(self._backbone.encode(texts))


SentenceWriter = WordWriter | SentenceVectorWriter

TEACHERS: tuple[Evidence, ...] = ("caption", "layout", "reference")
"""The evidence from which the picture learns; never itself."""


class PosteriorWriter:
    """Writes the probability of each sentence and image, for the posterior objective; nothing without it.

    Attributes:
        arrays: Names of the arrays that it writes.
    """

    def __init__(self, recipe: Recipe, work: Path, stack: ExitStack, backbone: TextBackbone | None) -> None:
        self.arrays: tuple[str, ...] = ("posteriors",) if recipe.objective.posterior else ()
        self._text = backbone
        if self.arrays:
            self._values = stack.enter_context(ArrayWriter(work / "posteriors", "<f2"))

    def append(self, document: Document, rows: NDArray[np.int64]) -> None:
        """Write a document.

        Args:
            rows: (images,) row of each image, -1 if it is left out.
        """
        if self.arrays and self._text is not None:
            encode = no_meaning if is_foreign(document, self._text.language) else self._text.encode
            found = weigh_evidence(document, None, encode, evidence=TEACHERS)
            self._values.append(found.confidence[:, rows >= 0].ravel())
