"""Captions of photographs that nobody took, in many languages: the same ones in each.

``phrases`` has a file for each language, and a line of it says the same in each: after a line with the order of the
parts, people and animals (``S``), several of them (``P``), what they do (``V``, for one and for several), where or when
(``W``), names of things (``N``), and whole captions (``C``). Any of the first three kinds make a caption: "A boy with a
backpack rides a bicycle on a bridge". Ours, written for this; nothing that figures are measured on was looked at.
"""

from __future__ import annotations

import random
from collections.abc import Set
from itertools import accumulate, pairwise
from pathlib import Path

FOLDER = Path(__file__).with_name("phrases")
KINDS = {"S": 101, "P": 32, "V": 162, "W": 90, "N": 176, "C": 100}
"""Number of phrases of each kind, in the order of the files."""

WHOLE, PLACED, SEVERAL = 0.32, 0.75, 0.25
"""Shares of captions that are one phrase; of the others, that say where; and that are about several."""


def phrases(language: str) -> tuple[list[str], dict[str, list[str]]]:
    """The order of subject, verb and place in a language, and its phrases by kind."""
    order, *lines = (FOLDER / f"{language}.txt").read_text(encoding="utf-8").splitlines()
    places = pairwise(accumulate(KINDS.values(), initial=0))
    return order.split(), {kind: lines[start:end] for kind, (start, end) in zip(KINDS, places, strict=True)}


def translated_captions(languages: Set[str], count: int, *, seed: int = 0) -> tuple[list[str], list[str]]:
    """Make as many captions in each of the languages that have phrases, and the English one for each of them."""
    draw = random.Random(seed)
    drawn = [_drawn(draw) for _ in range(count)]
    others = [path.stem for path in sorted(FOLDER.glob("*.txt")) if path.stem in languages - {"en"}]
    english = _written("en", drawn)
    return [text for language in others for text in _written(language, drawn)], english * len(others)


def _drawn(draw: random.Random) -> list[tuple[str, int]]:
    """Draw the kinds and numbers of the phrases of one caption."""
    if draw.random() < WHOLE:
        kinds = draw.choice(["N", "C", "S"])
    else:
        kinds = ("P" if draw.random() < SEVERAL else "S") + ("VW" if draw.random() < PLACED else "V")
    return [(kind, draw.randrange(KINDS[kind])) for kind in kinds]


def _written(language: str, drawn: list[list[tuple[str, int]]]) -> list[str]:
    order, of_kind = phrases(language)
    texts = []
    for caption in drawn:
        parts = {"S" if kind == "P" else kind: of_kind[kind][number] for kind, number in caption}
        if "V" in parts:
            one, several = parts["V"].split("|")
            parts["V"] = several if caption[0][0] == "P" else one
        ordered = [parts[kind] for kind in (order if "V" in parts else parts) if kind in parts]
        text = " ".join(ordered)
        texts.append(text[0].upper() + text[1:])
    return texts
