"""Splits of text–image pairs, of the sizes of Alikhani 2021."""

from __future__ import annotations

import random
from collections.abc import Sequence

from iconotext.corpus.row import Split
from iconotext.errors import CorpusError

TEST = 0.2
"""Share of the pairs for test: 860 of the 4,299 of CITE++, 1,512 of the 7,559 of Clue, as published."""

VALIDATION = 0.1
"""Share of the others for validation."""

HELD_OUT: tuple[Split, ...] = ("test", "validation")

Keys = tuple[bytes, bytes]
"""What a pair may have in common with others: digests of its picture and of its text."""


def sizes(pairs: int) -> dict[Split, int]:
    """Pairs of each split.

    >>> sizes(4299), sizes(7559)
    ({'train': 3095, 'validation': 344, 'test': 860}, {'train': 5442, 'validation': 605, 'test': 1512})
    """
    test = round(TEST * pairs)
    validation = round(VALIDATION * (pairs - test))
    return {"train": pairs - test - validation, "validation": validation, "test": test}


def split_pairs(keys: Sequence[Keys], *, seed: int = 0, group: bool = False) -> list[Split]:
    """Choose a split for each pair, at random.

    The published splits are random by pair, so the same picture or the same text can be in training and in test.
    With ``group``, pairs that share one go together, and those that hang together through others; splits may then be
    a little smaller than asked for.

    Args:
        keys: Of each pair.
        seed: Another one, another choice.
        group: Whether pairs that share something go together.

    Raises:
        CorpusError: So many hang together that a split would be empty.
    """
    groups = _groups(keys) if group else [[number] for number in range(len(keys))]
    random.Random(f"pairs {seed}").shuffle(groups)
    wanted = sizes(len(keys))
    room = dict(wanted)
    splits: list[Split] = ["train"] * len(keys)
    for members in groups:
        for split in HELD_OUT:
            if len(members) <= room[split]:
                room[split] -= len(members)
                for number in members:
                    splits[number] = split
                break
    for split in HELD_OUT:
        if wanted[split] and room[split] == wanted[split]:
            raise CorpusError(
                f"{split} would be empty: the smallest group of pairs that share a picture or a text has "
                f"{min(map(len, groups))}, more than the {wanted[split]} asked for; leave out --group"
            )
    return splits


def leaks(keys: Sequence[Keys], splits: Sequence[Split]) -> dict[str, int]:
    """How many pairs of validation and test share something with a pair of training."""
    trained = [{key[side] for key, split in zip(keys, splits, strict=True) if split == "train"} for side in (0, 1)]
    others = [key for key, split in zip(keys, splits, strict=True) if split != "train"]
    return {
        "picture": sum(key[0] in trained[0] for key in others),
        "text": sum(key[1] in trained[1] for key in others),
        "either": sum(key[0] in trained[0] or key[1] in trained[1] for key in others),
    }


def _groups(keys: Sequence[Keys]) -> list[list[int]]:
    """Numbers of pairs that hang together, each group in order."""
    parent = list(range(len(keys)))

    def root(number: int) -> int:
        while parent[number] != number:
            parent[number] = number = parent[parent[number]]
        return number

    first: dict[tuple[int, bytes], int] = {}
    for number, key in enumerate(keys):
        for side, digest in enumerate(key):
            other = root(first.setdefault((side, digest), number))
            mine = root(number)
            parent[max(other, mine)] = min(other, mine)
    groups: dict[int, list[int]] = {}
    for number in range(len(keys)):
        groups.setdefault(root(number), []).append(number)
    return list(groups.values())
