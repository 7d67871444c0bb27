"""``iconotext analyze attention``: which words of a sentence a model attends to."""

from __future__ import annotations

from typing import Annotated

import typer

from iconotext.cli.common import known_errors
from iconotext.cli.options import Json
from iconotext.cli.output import say, say_json

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
        from iconotext.papers.analyses.attention import word_weights

        stored = load_model(init_folder(model) if model == "default" else Path(model))
        found = [word_weights(stored, sentence) for sentence in sentences]
        if json:
            say_json(
                [
                    {"sentence": sentence, "words": [each._asdict() for each in words]}
                    for sentence, words in zip(sentences, found, strict=True)
                ]
            )
            return
        for words in found:
            longest = max((len(each.word) + 2 for each in words), default=0)
            highest = max((each.weight for each in words), default=1)
            for each in words:
                shown = each.word if each.known else f"({each.word})"
                say(f"{shown:{longest}} {each.weight:5.2f} {'█' * round(BAR * each.weight / highest)}".rstrip())
            say()
