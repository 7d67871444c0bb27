"""Which things hang together: those that share something, directly or over others that do."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Sequence


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
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    hashes, things, total = array("q"), array("q"), 0
    for number, some in enumerate(keys):
        before = len(hashes)
        hashes.extend(map(hash, some))
        things.extend([number] * (len(hashes) - before))
        total = number + 1
    unique, key = np.unique(np.frombuffer(hashes, np.int64), return_inverse=True)
    del hashes
    # a graph of things and keys, in which every thing stands beside its keys
    thing = np.frombuffer(things, np.int64)
    size = total + len(unique)
    edges = coo_array((np.ones(len(thing), np.bool_), (thing, key + total)), shape=(size, size))
    _, labels = connected_components(edges, directed=False)
    _, first, group = np.unique(labels[:total], return_index=True, return_inverse=True)
    numbers: list[int] = first[group].tolist()
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
