"""Which things hang together: those that share something, directly or over others that do."""

from __future__ import annotations

from collections.abc import Hashable, Iterable


def connected(keys: Iterable[Iterable[Hashable]]) -> list[int]:
    """For each thing the number of its group; things that have a key in common are in one, also over other things.

    Args:
        keys: What each thing may have in common with others. Read once, and only the keys are kept.

    Returns:
        Numbers that are equal within a group and differ between groups: the number, from 0, of one of its things.
    """
    parent: list[int] = []
    first_with: dict[Hashable, int] = {}

    def root(number: int) -> int:
        while parent[number] != number:
            parent[number] = number = parent[parent[number]]
        return number

    for number, some in enumerate(keys):
        parent.append(number)
        for key in some:
            parent[root(number)] = root(first_with.setdefault(key, number))
    return [root(number) for number in range(len(parent))]


def grouped(groups: Iterable[int]) -> list[list[int]]:
    """The numbers of the things in each group, in order; the group of the first thing comes first.

    Args:
        groups: Of each thing, as ``connected`` gives them.
    """
    found: dict[int, list[int]] = {}
    for number, group in enumerate(groups):
        found.setdefault(group, []).append(number)
    return list(found.values())
