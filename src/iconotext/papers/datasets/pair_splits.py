"""Splits of text–image pairs, of the sizes of Alikhani 2021."""

from __future__ import annotations

import random
from collections.abc import Sequence

from iconotext.corpus.row import Split
from iconotext.corpus.split import connected, filled_splits, grouped

PUBLISHED = {"CITE++": {"train": 3439, "test": 860}, "Clue": {"train": 6047, "test": 1512}}
"""Pairs of training (of which a tenth is validation) and of test in Alikhani 2021."""

TEST = 0.2
"""Share of the pairs for test, as published."""

VALIDATION = 0.1
"""Share of the others for validation."""

HELD_OUT: tuple[Split, ...] = ("test", "validation")

Keys = tuple[bytes, bytes]
"""What a pair may have in common with others: digests of its picture and of its text."""


def sizes(pairs: int) -> dict[Split, int]:
    """Pairs of each split; those of training and validation together, and of test, are ``PUBLISHED`` for its pairs.

    >>> sizes(1000)
    {'train': 720, 'validation': 80, 'test': 200}
    """
    test = round(TEST * pairs)
    validation = round(VALIDATION * (pairs - test))
    return {"train": pairs - test - validation, "validation": validation, "test": test}


def split_pairs(keys: Sequence[Keys], *, seed: int = 0, group: bool = False) -> list[Split]:
    """Choose a split for each pair, at random.

    The published splits are random by pair, so the same picture or the same text can be in training and in test.
    With ``group``, pairs that share one go together, and those that hang together through others; splits may then be
    a little smaller than asked for.

    Raises:
        CorpusError: So many hang together that a split would be empty.
    """
    # Another side is another key: a picture and a text may have the same digest.
    groups = grouped(connected(enumerate(key) for key in keys) if group else range(len(keys)))
    random.Random(f"pairs {seed}").shuffle(groups)
    wanted: dict[Split, int] = {split: sizes(len(keys))[split] for split in HELD_OUT}
    return filled_splits(groups, wanted, "pairs that share a picture or a text", "leave out group=True")


def leaks(keys: Sequence[Keys], splits: Sequence[Split]) -> dict[str, int]:
    """How many pairs of validation and test share something with a pair of training."""
    trained = [{key[side] for key, split in zip(keys, splits, strict=True) if split == "train"} for side in (0, 1)]
    others = [key for key, split in zip(keys, splits, strict=True) if split != "train"]
    return {
        "picture": sum(key[0] in trained[0] for key in others),
        "text": sum(key[1] in trained[1] for key in others),
        "either": sum(key[0] in trained[0] or key[1] in trained[1] for key in others),
    }
