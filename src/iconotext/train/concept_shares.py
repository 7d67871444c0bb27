"""How much there is for concepts to bridge: regions that have one, and words of sentences that name one (Li 2021)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from iconotext.embed.folder import VOCABULARY
from iconotext.features.vocabulary import load_vocabulary, words_of

if TYPE_CHECKING:
    from iconotext.train.prepared import Prepared


def concept_shares(prepared: Prepared) -> dict[str, float]:
    """``regions``: the share of the regions that have a concept; ``words``: that of the words which are in its name.

    Punctuation is no word here. There is no ``words`` where sentences do not come as words.

    Args:
        prepared: A corpus with regions.
    """
    found: dict[str, float] = {}
    if prepared.regions is not None:
        found["regions"] = float(np.mean(prepared.regions.concepts >= 0))
    if prepared.words is not None:
        words = load_vocabulary(prepared.folder / VOCABULARY).words
        names = {word for name in prepared.meta["concepts"] for word in words_of(name)}
        counts = np.bincount(prepared.words.ids, minlength=len(words))
        letters = np.array([number == 0 or any(map(str.isalnum, word)) for number, word in enumerate(words)])
        bridged = np.array([word in names for word in words]) & letters
        found["words"] = float(counts[bridged].sum() / max(counts[letters].sum(), 1))
    return found


def describe_shares(shares: Mapping[str, float]) -> str:
    """The shares in words."""
    said = [f"{100 * shares['regions']:.3g} % of the regions have a concept"]
    if "words" in shares:
        said.append(f"{100 * shares['words']:.3g} % of the words of the sentences are words of a concept's name")
    return "; ".join(said)
