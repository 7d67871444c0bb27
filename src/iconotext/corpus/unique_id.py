"""Ids for documents of formats that do not promise any."""

from __future__ import annotations


class UniqueIds:
    """Gives each document an id of its own, the same ones every time a file is read."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}  # with the number that the next one of the name may try

    def take(self, name: str) -> str:
        """The name, with ``#2``, ``#3``, ... behind it where it is taken."""
        number = self._taken.get(name)
        if number is None:
            self._taken[name] = 2
            return name
        while (found := f"{name}#{number}") in self._taken:
            number += 1
        self._taken[name] = number + 1
        self._taken[found] = 2
        return found
