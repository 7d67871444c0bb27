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
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Choices:
    """In ``Annotated``: the texts that a value may be, where other packages may add some."""

    names: Callable[[], tuple[str, ...]]


@cache
def plugins(group: str, kind: type[T]) -> tuple[T, ...]:
    """Return the entries of installed packages for one table, in the order of their names.

    A broken entry costs one line on stderr, once a process, and nothing else.

    Args:
        group: Group of entry points, such as ``iconotext.readers``.
        kind: Row type of the table, which every entry must be an instance of.
    """
    loaded: list[T] = []
    for point in sorted(entry_points(group=group), key=lambda point: point.name):
        try:
            entry = point.load()
        except Exception as error:  # code of others, which may fail in any way
            reason = f"{type(error).__name__}: {error}"
        else:
            if isinstance(entry, kind):
                loaded.append(entry)
                continue
            reason = f"its entry is of type {type(entry).__name__}, not {kind.__name__}"
        say_broken(point, reason)
    return tuple(loaded)


def say_broken(point: EntryPoint, reason: str) -> None:
    """Print a line on stderr about an entry that cannot be used."""
    package = point.dist.name if point.dist else "an unknown package"
    reason = " ".join(reason.split())
    print(f"iconotext: {point.name} of {package} ({point.group}) is left out: {reason}", file=sys.stderr)
