"""Entries that other packages add to our tables, through entry points of Python packaging.

A package names its entry in its ``pyproject.toml``, for example under ``[project.entry-points."iconotext.readers"]``.
The entry is an object of the table's own row type, so that nothing else distinguishes it from the entries that ship.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Protocol, TypeVar

from iconotext.plain_text import readable


class Row(Protocol):
    """A row of a table that others may add to."""

    @property
    def name(self) -> str:
        """The name, which no other row of the table has."""


T = TypeVar("T", bound=Row)


@dataclass(frozen=True)
class Choices:
    """In ``Annotated``: the texts that a value may be, where other packages may add some."""

    names: Callable[[], tuple[str, ...]]


@cache
def plugins(group: str, kind: type[T], taken: tuple[str, ...]) -> tuple[T, ...]:
    """Return the entries of installed packages for one table, in the order of their names.

    A broken entry, or one whose name is taken, costs one line on stderr, once a process, and nothing else.

    Args:
        group: Group of entry points, such as ``iconotext.readers``.
        kind: Row type of the table, which every entry must be an instance of.
        taken: Names of the rows that ship.
    """
    loaded: list[T] = []
    for point in sorted(entry_points(group=group), key=lambda point: point.name):
        try:
            entry = point.load()
        except (Exception, SystemExit) as error:  # code of others, which may fail in any way
            reason = f"{type(error).__name__}: {error}"
        else:
            reason = _refusal(entry, kind, {*taken, *(row.name for row in loaded)})
            if not reason:
                loaded.append(entry)
                continue
        say_broken(point, reason)
    return tuple(loaded)


def _refusal(entry: Any, kind: type[Row], taken: set[str]) -> str:
    if not isinstance(entry, kind):
        return f"its entry is of type {type(entry).__name__}, not {kind.__name__}"
    name: Any = entry.name  # of any type: nothing checks the code of others
    if not isinstance(name, str):
        return f"its name is of type {type(name).__name__}, not str"
    return f"the name {name} is taken" if name in taken else ""


def say_broken(point: EntryPoint, reason: str) -> None:
    """Print a line on stderr about an entry that cannot be used."""
    package = point.dist.name if point.dist else "an unknown package"
    reason = readable(" ".join(reason.split()))
    print(f"iconotext: {point.name} of {package} ({point.group}) is left out: {reason}", file=sys.stderr)
