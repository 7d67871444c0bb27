"""``iconotext analyze attention``: which words of a sentence a model attends to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from iconotext.cli.common import known_errors
from iconotext.cli.options import Json
from iconotext.cli.output import say, say_json

if TYPE_CHECKING:
    from iconotext.embed.folder import StoredModel

BAR = 30
"""Characters of the longest bar."""


def attention(
    model: Annotated[str, typer.Argument(help="Folder of a model with attention over words.", show_default=False)],
    sentences: Annotated[list[str], typer.Argument(metavar="SENTENCE...", show_default=False)],
    json: Json = False,
) -> None:
    """Show how much each word of a sentence counts for a model with attention (Alikhani 2021, Fig. 7).

    The weights of a sentence sum to 1. Words that the model does not know share one vector; they are in brackets.

    **Examples**

    - `iconotext analyze attention models/cmcm "The start of the race."`
    - `iconotext analyze attention models/cmca "The start of the race." --json`
    """
    with known_errors():
        from pathlib import Path

        from iconotext.embed.folder import init_folder, load_model

        stored = load_model(init_folder(model) if model == "default" else Path(model))
        found = [word_weights(stored, sentence) for sentence in sentences]
        if json:
            rows = [
                {"sentence": sentence, "words": [{"word": word, "known": known, "weight": weight}
                                                 for word, known, weight in words]}
                for sentence, words in zip(sentences, found, strict=True)
            ]  # fmt: skip
            say_json(rows)
            return
        for words in found:
            longest = max((len(word) + 2 for word, _, _ in words), default=0)
            highest = max((weight for _, _, weight in words), default=1)
            for word, known, weight in words:
                shown = word if known else f"({word})"
                say(f"{shown:{longest}} {weight:5.2f} {'█' * round(BAR * weight / highest)}".rstrip())
            say()


def word_weights(stored: StoredModel, sentence: str) -> list[tuple[str, bool, float]]:
    """Each word that is read, whether the model knows it, and its weight.

    Raises:
        FeatureError: The model has no attention over words.
    """
    import torch

    from iconotext.embed.lstm import WordLSTM
    from iconotext.errors import FeatureError
    from iconotext.features.vocabulary import words_of

    text = stored.model.text
    words = stored.recipe.words
    if not isinstance(text, WordLSTM) or text.attention is None or stored.vocabulary is None or words is None:
        raise FeatureError(
            f'the model {stored.name} has no attention over words: text.kind = "lstm" with text.attention has one'
        )
    ids = stored.vocabulary.ids(sentence, max_tokens=words.max_tokens)
    with torch.inference_mode():
        weights = text.attention_weights(torch.tensor(ids), torch.tensor([len(ids)])).tolist()
    read = words_of(sentence)[: words.max_tokens]
    return [(word, number > 0, weight) for word, number, weight in zip(read, ids, weights, strict=False)]
