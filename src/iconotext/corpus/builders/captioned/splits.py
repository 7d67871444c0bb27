"""Which split a photograph goes to, where its source does not say, or says it otherwise than is wanted."""

from __future__ import annotations

import random
from array import array
from collections.abc import Collection, Sequence

from iconotext.corpus.row import Split
from iconotext.corpus.split import Shares
from iconotext.errors import SettingError


def validation_as_test(splits: Collection[Split | None]) -> list[Split | None]:
    """Photographs for validation become those for test, and those for training get free to be shared out.

    For sets of photographs that come with two splits, where models are to be chosen on others than they are judged on.

    Args:
        splits: Of each photograph.

    Raises:
        SettingError: There are none for validation, or some for test already.
    """
    if "validation" not in splits or "test" in splits:
        why = "has none for validation" if "validation" not in splits else "has photographs for test already"
        raise SettingError(f"--test-on-validation is for data without a test split, and this {why}: leave it out")
    return ["test" if split == "validation" else None for split in splits]


def share_out(splits: Sequence[Split | None], shares: Shares, *, seed: int = 0) -> list[Split]:
    """Give photographs without a split one, at random; those that have one keep it.

    Args:
        splits: Of each photograph.
        shares: Of those without a split.
        seed: Another one, another choice.

    Raises:
        SettingError: All photographs have a split.
    """
    free = array("q", (i for i, split in enumerate(splits) if split is None))
    if splits and not free:
        raise SettingError("all photographs have a split already: leave out --validation and --test")
    random.Random(f"photos {seed}").shuffle(free)
    result: list[Split] = [split or "train" for split in splits]
    start = 0
    for split, count in shares.counts(len(free)).items():
        for i in free[start : start + count]:
            result[i] = split
        start += count
    return result
