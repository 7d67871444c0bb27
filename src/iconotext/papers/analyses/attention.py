"""Which words of a sentence a model attends to (Alikhani 2021, Fig. 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from iconotext.errors import FeatureError

if TYPE_CHECKING:
    from iconotext.embed.folder import StoredModel


class WordWeight(NamedTuple):
    """How much a word counts.

    Attributes:
        word: As it is read.
        known: Whether the model knows it; words that it does not know share one vector.
        weight: 0 to 1; those of a sentence sum to 1.
    """

    word: str
    known: bool
    weight: float


def word_weights(stored: StoredModel, sentence: str) -> list[WordWeight]:
    """The words of a sentence that are read, and their weights.

    Raises:
        FeatureError: The model has no attention over words.
    """
    import torch

    from iconotext.embed.lstm import WordLSTM
    from iconotext.features.vocabulary import words_of

    text, settings = stored.model.text, stored.recipe.words
    if not isinstance(text, WordLSTM) or text.attention is None or stored.vocabulary is None or settings is None:
        raise FeatureError(
            f'the model {stored.name} has no attention over words: text.kind = "lstm" with text.attention has one'
        )
    ids = stored.vocabulary.ids(sentence, max_tokens=settings.max_tokens)
    with torch.inference_mode():
        weights = text.attention_weights(torch.tensor(ids), torch.tensor([len(ids)])).tolist()
    words = words_of(sentence)[: settings.max_tokens]
    return [WordWeight(word, number > 0, weight) for word, number, weight in zip(words, ids, weights, strict=False)]
