"""Conditions in the SQL of LanceDB."""

from __future__ import annotations

from collections.abc import Iterable


def quoted(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def first_names(share: float) -> str:
    """The condition in SQL that a picture is in the first share of the names, which are digests; 0 to below 1."""
    return f"digest < '{int(share * 16**8):08x}'"


def one_of(column: str, values: Iterable[str]) -> str:
    """The condition in SQL that a column has one of some texts."""
    return f"{column} IN ({listed(values)})"


def listed(values: Iterable[str]) -> str:
    """Some texts, between commas."""
    return ", ".join(map(quoted, values))
