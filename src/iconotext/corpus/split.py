"""Divide a corpus into train, validation and test such that they share no picture, not even over other documents."""

from __future__ import annotations

import random
from array import array
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from iconotext.corpus.image_files import ImageKeys
from iconotext.corpus.row import Split
from iconotext.errors import CorpusError, SettingError
from iconotext.types import Document


@dataclass(frozen=True, slots=True)
class Shares:
    """Which part of something goes into validation and test; the rest is for training.

    Raises:
        SettingError: A share is below 0, or nothing is left to train on.
    """

    validation: float = 0.1
    test: float = 0.1

    def __post_init__(self) -> None:
        if not (self.validation >= 0 and self.test >= 0 and self.validation + self.test < 1):
            raise SettingError(
                f"validation {self.validation} and test {self.test}: give shares from 0 that leave some for training"
            )

    def counts(self, total: int) -> dict[Split, int]:
        """How many of ``total`` go into validation and into test, to the nearest whole number."""
        return {"validation": round(self.validation * total), "test": round(self.test * total)}


PICTURES = 50
"""Pictures that should validate: by fewer, one epoch can hardly be told from another."""


def at_least_two(shares: Shares, count: int, images: int) -> Shares:
    """Shares that give two documents to each split that is to have any, else one, while two are left to train on.

    A loss compares documents: a single one for validation has none to be compared with, and its loss is always 0.
    Validation also gets the documents that have ``PICTURES`` on average, but no more than a quarter for that.
    """
    wanted = (shares.validation, shares.test)
    enough = min(-(-PICTURES * count // max(images, 1)), count // 4)
    for least in (2, 1):
        if count - least * sum(share > 0 for share in wanted) >= 2:
            larger = [max(share, least / count) if share else 0 for share in wanted]
            if shares.validation and count - enough - round(larger[1] * count) >= 2:
                larger[0] = max(larger[0], enough / count)
            with suppress(SettingError):  # the other share is so large that there are none to train on
                return replace(shares, validation=larger[0], test=larger[1])
    return shares


def assign_splits(documents: Iterable[Document], shares: Shares, *, seed: int = 0) -> list[Split]:
    """Choose a split for each document, read once, at random; documents that share a picture go together.

    Pictures are the same if they have the same bytes or, where there are no files, the same id. Of each document only
    numbers are kept. Groups of documents that do not fit into what is left of a share go to training, so shares may
    come out smaller than asked for.

    Raises:
        CorpusError: There is no group of documents that is small enough for validation or test.
    """
    keys = ImageKeys()
    groups = connected([keys.of(image) for image in document.images] for document in documents)
    return grouped_splits(groups, shares, seed=seed)


def grouped_splits(group_of: Sequence[int], shares: Shares, *, seed: int = 0) -> list[Split]:
    """Choose splits as ``assign_splits`` does, given the number of the group of each document (``connected``)."""
    groups = grouped(group_of)
    random.Random(f"split {seed}").shuffle(groups)
    wanted = shares.counts(len(group_of))
    return filled_splits(groups, wanted, "documents that share pictures", "ask for a larger share")


def filled_splits(groups: Sequence[Sequence[int]], wanted: Mapping[Split, int], what: str, advice: str) -> list[Split]:
    """The split of each thing: groups fill the splits in their order, as far as they fit, and the rest is for training.

    Args:
        what: The members of a group, for the error.
        advice: What may help, likewise.

    Raises:
        CorpusError: No group is small enough for a split.
    """
    room = dict(wanted)
    splits: list[Split] = ["train"] * sum(map(len, groups))
    for group in groups:
        split = next((name for name, left in room.items() if len(group) <= left), None)
        if split is not None:
            room[split] -= len(group)
            for member in group:
                splits[member] = split
    for name, number in wanted.items():
        if number and room[name] == number:
            raise CorpusError(
                f"{name} would be empty: the smallest group of {what} has {min(map(len, groups))}, more than the "
                f"{number} asked for; {advice}"
            )
    return splits


def share_out(splits: Sequence[Split | None], shares: Shares, *, seed: int = 0) -> list[Split]:
    """Give things without a split one, at random; those that have one keep it.

    Args:
        shares: Of those without a split.

    Raises:
        SettingError: All have a split.
    """
    free = array("q", (i for i, split in enumerate(splits) if split is None))
    if splits and not free:
        raise SettingError("all have a split already: leave out validation=... and test=...")
    random.Random(f"photos {seed}").shuffle(free)
    result: list[Split] = [split or "train" for split in splits]
    start = 0
    for split, count in shares.counts(len(free)).items():
        for i in free[start : start + count]:
            result[i] = split
        start += count
    return result


def connected(keys: Iterable[Iterable[Hashable]]) -> list[int]:
    """For each thing the number of its group; things that have a key in common are in one, also over other things.

    Args:
        keys: What each thing may have in common with others: texts, bytes, or tuples of them. Read once; of each key 16
            bytes are kept, half of them its hash, which two of ten million have in common with a probability of 3 in a
            million.

    Returns:
        Numbers that are equal within a group and differ between groups: the number, from 0, of its first thing.
    """
    import numpy as np

    hashes, things, total = array("q"), array("q"), 0
    for number, some in enumerate(keys):
        before = len(hashes)
        hashes.extend(map(hash, some))
        things.extend([number] * (len(hashes) - before))
        total = number + 1
    key = np.frombuffer(hashes, np.int64)
    order = np.argsort(key, kind="stable")
    key, thing = key[order], np.frombuffer(things, np.int64)[order]
    same = key[1:] == key[:-1]
    one, other = thing[:-1][same], thing[1:][same]  # neighbours among the things of a key
    group = np.arange(total)
    while (apart := group[one] != group[other]).any():
        one, other = one[apart], other[apart]
        # of two groups that touch, the later one follows the earlier one, then all follow to the end
        np.minimum.at(group, np.maximum(group[one], group[other]), np.minimum(group[one], group[other]))
        while ((further := group[group]) != group).any():
            group = further
    numbers: list[int] = group.tolist()
    return numbers


def grouped(groups: Sequence[int]) -> list[list[int]]:
    """The numbers of the things in each group, in order; the group of the first thing comes first.

    Args:
        groups: Of each thing, as ``connected`` gives them.
    """
    found: dict[int, list[int]] = {}
    for number, group in enumerate(groups):
        found.setdefault(group, []).append(number)
    return list(found.values())
