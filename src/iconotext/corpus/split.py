"""Division of a corpus into train, validation and test that share no picture, not even through other documents."""

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
    """The shares of validation and test; the rest is for training. ``SettingError`` if nothing is left for training."""

    validation: float = 0.1
    test: float = 0.1

    def __post_init__(self) -> None:
        if not (self.validation >= 0 and self.test >= 0 and self.validation + self.test < 1):
            raise SettingError(
                f"validation {self.validation} and test {self.test}: give shares from 0 that leave some for training"
            )

    def counts(self, total: int) -> dict[Split, int]:
        """Return the numbers of validation and test items among ``total``, rounded."""
        return {"validation": round(self.validation * total), "test": round(self.test * total)}


PICTURES = 50  # wanted number of validation pictures: with fewer, differences between epochs are hard to see


def at_least_two(shares: Shares, count: int, images: int) -> Shares:
    """Enlarge shares above 0 so that each split gets two documents, else one, while two are left for training.

    A loss compares documents: with a single validation document the loss is always 0. Validation also gets enough
    documents for ``PICTURES`` on average, up to a quarter of all.
    """
    held_out = (shares.validation, shares.test)
    enough = min(-(-PICTURES * count // max(images, 1)), count // 4)
    for least in (2, 1):
        if count - least * sum(share > 0 for share in held_out) >= 2:
            larger = [max(share, least / count) if share else 0 for share in held_out]
            if shares.validation and count - enough - round(larger[1] * count) >= 2:
                larger[0] = max(larger[0], enough / count)
            with suppress(SettingError):  # the other share leaves none for training
                return replace(shares, validation=larger[0], test=larger[1])
    return shares


def assign_splits(documents: Iterable[Document], shares: Shares, *, seed: int = 0) -> list[Split]:
    """Choose a random split for each document, iterated once; documents that share a picture get the same one.

    Pictures are the same if they have the same bytes or, without files, the same id. Only numbers about each document
    are stored. Groups of documents that do not fit into the rest of a share go to training, so validation and test may
    be smaller than their shares.

    Raises:
        CorpusError: No group of documents is small enough for validation or test.
    """
    keys = ImageKeys()
    groups = connected([keys.of(image) for image in document.images] for document in documents)
    return grouped_splits(groups, shares, seed=seed)


def grouped_splits(group_of: Sequence[int], shares: Shares, *, seed: int = 0) -> list[Split]:
    """Assign splits as ``assign_splits`` does, for the group number of each document, from ``connected``."""
    groups = grouped(group_of)
    random.Random(f"split {seed}").shuffle(groups)
    counts = shares.counts(len(group_of))
    return filled_splits(groups, counts, "documents that share pictures", "ask for a larger share")


def filled_splits(groups: Sequence[Sequence[int]], counts: Mapping[Split, int], noun: str, advice: str) -> list[Split]:
    """Return the split of each item: groups fill the splits in order, as far as they fit; the rest is for training.

    Raises ``CorpusError`` if no group is small enough for a split, with ``noun`` for a group's members and ``advice``.
    """
    room = dict(counts)
    splits: list[Split] = ["train"] * sum(map(len, groups))
    for group in groups:
        split = next((name for name, left in room.items() if len(group) <= left), None)
        if split is not None:
            room[split] -= len(group)
            for member in group:
                splits[member] = split
    for name, number in counts.items():
        if number and room[name] == number:
            raise CorpusError(
                f"{name} would be empty: the smallest group of {noun} has {min(map(len, groups))}, more than the "
                f"{number} asked for; {advice}"
            )
    return splits


def share_out(splits: Sequence[Split | None], shares: Shares, *, seed: int = 0) -> list[Split]:
    """Give items without a split a random one; the others keep theirs. ``SettingError`` if all have one."""
    free = array("q", (i for i, split in enumerate(splits) if split is None))
    if splits and not free:
        raise SettingError("all have a split already: leave out validation=... and test=...")
    random.Random(f"photos {seed}").shuffle(free)  # with another word, all corpora with random splits would change
    result: list[Split] = [split or "train" for split in splits]
    start = 0
    for split, count in shares.counts(len(free)).items():
        for i in free[start : start + count]:
            result[i] = split
        start += count
    return result


def connected(keys: Iterable[Iterable[Hashable]]) -> list[int]:
    """Return the group number of each item; items that share a key are in one group, also through other items.

    Args:
        keys: For each item the keys that it may share with others: texts, bytes, or tuples of them. Iterated once. 16
            bytes are stored for each key, half of them a hash; the probability that any two of ten million are equal is
            3 in a million.

    Returns:
        For each item the number, from 0, of the first item of its group.
    """
    import numpy as np

    hashes, items, total = array("q"), array("q"), 0
    for number, item_keys in enumerate(keys):
        before = len(hashes)
        hashes.extend(map(hash, item_keys))
        items.extend([number] * (len(hashes) - before))
        total = number + 1
    key = np.frombuffer(hashes, np.int64)
    order = np.argsort(key, kind="stable")
    key, item = key[order], np.frombuffer(items, np.int64)[order]
    same = key[1:] == key[:-1]
    one, other = item[:-1][same], item[1:][same]  # neighbours among the items with a key
    group = np.arange(total)
    # Not scipy's connected_components: scipy comes with an extra, and every corpus is split and checked.
    while (apart := group[one] != group[other]).any():
        one, other = one[apart], other[apart]
        # Of two connected groups, the later one points to the earlier one; then every pointer is followed to its end.
        np.minimum.at(group, np.maximum(group[one], group[other]), np.minimum(group[one], group[other]))
        while ((further := group[group]) != group).any():
            group = further
    numbers: list[int] = group.tolist()
    return numbers


def grouped(groups: Sequence[int]) -> list[list[int]]:
    """Return the numbers of the items in each group, in order; the group of the first item comes first."""
    members: dict[int, list[int]] = {}
    for number, group in enumerate(groups):
        members.setdefault(group, []).append(number)
    return list(members.values())
