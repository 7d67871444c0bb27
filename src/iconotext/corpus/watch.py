"""Progress of long work, for whoever wants to show it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

Item = TypeVar("Item")


class Watch(Protocol):
    """Passes items on, and shows how many of ``total`` have come; 0 where that is unknown."""

    def __call__(self, items: Iterable[Item], *, total: int, label: str) -> Iterator[Item]:
        """Pass them on."""


def unwatched(items: Iterable[Item], *, total: int, label: str) -> Iterator[Item]:
    """Pass items on, and show nothing."""
    yield from items
