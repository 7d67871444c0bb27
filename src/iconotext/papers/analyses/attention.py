"""Which words of a sentence a model attends to (Alikhani 2021, Fig. 7)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from iconotext.errors import FeatureError

if TYPE_CHECKING:
    from iconotext.embed.folder import StoredModel
    from iconotext.embed.lstm import WordLSTM


class WordWeight(NamedTuple):
    """The weight of a word, 0 to 1, with sum 1 in a sentence. Unknown words share one vector."""

    word: str
    known: bool
    weight: float


def attention_of(model: str) -> Callable[[str], list[WordWeight]] | None:
    """A function that weighs the words of a sentence with a model (see ``load_encoder``); None without attention."""
    from iconotext.embed.folder import init_folder, is_model_folder, load_model

    stored = load_model(init_folder(model)) if is_model_folder(init_folder(model)) else None
    return partial(word_weights, stored) if stored is not None and _attending(stored) else None


def word_weights(stored: StoredModel, sentence: str) -> list[WordWeight]:
    """The words of a sentence that are read, with their weights; ``FeatureError`` if the model has no attention."""
    import torch

    from iconotext.features.vocabulary import words_of

    text, settings = _attending(stored), stored.recipe.words
    if text is None or stored.vocabulary is None or settings is None:
        raise FeatureError(
            f'the model {stored.name} has no attention over words: text.kind = "lstm" with text.attention has one'
        )
    ids = stored.vocabulary.ids(sentence, max_tokens=settings.max_tokens)
    with torch.inference_mode():
        weights = text.attention_weights(torch.tensor(ids), torch.tensor([len(ids)])).tolist()
    words = words_of(sentence)[: settings.max_tokens]
    return [WordWeight(word, number > 0, weight) for word, number, weight in zip(words, ids, weights, strict=False)]


def _attending(stored: StoredModel) -> WordLSTM | None:
    """The text side of a model if it has attention over words."""
    from iconotext.embed.lstm import WordLSTM

    text = stored.model.text
    return text if isinstance(text, WordLSTM) and text.attention is not None else None
