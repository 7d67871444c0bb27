"""Conditions in LanceDB's SQL."""

from __future__ import annotations

from collections.abc import Iterable


def quoted(text: str) -> str:
    """A text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def first_names(share: float) -> str:
    """The condition that a picture's digest is in the first ``share`` (0 to below 1) of all possible digests."""
    return f"digest < '{int(share * 16**8):08x}'"


def one_of(column: str, values: Iterable[str]) -> str:
    """The condition that a column has one of the values."""
    return f"{column} IN ({listed(values)})"


def listed(values: Iterable[str]) -> str:
    """Values as SQL literals, separated by commas."""
    return ", ".join(map(quoted, values))
