"""Compares two models on the same documents: where one is better, and which sentences both choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class Difference(NamedTuple):
    """A document on which both models were evaluated; ``gain`` is the second AUC minus the first."""

    number: int
    title: str
    first: float
    second: float
    gain: float


class Compared(NamedTuple):
    """The sentences that two models choose for a picture.

    Attributes:
        picture: Its number, caption, data and gold sentences.
        sides: For each model the most likely sentences with similarities, and the rank of the first gold sentence.
    """

    picture: Mapping[str, Any]
    sides: tuple[Mapping[str, Any], Mapping[str, Any]]
    same: bool


def differences(first: Sequence[Mapping[str, Any]], second: Sequence[Mapping[str, Any]]) -> list[Difference]:
    """The documents with a defined AUC, by descending gain."""
    found = [
        Difference(number, one["title"], one["auc"], two["auc"], two["auc"] - one["auc"])
        for number, (one, two) in enumerate(zip(first, second, strict=True))
        if one["auc"] is not None and two["auc"] is not None
    ]
    return sorted(found, key=lambda each: (-each.gain, each.number))


def agreement_of(first: Sequence[Mapping[str, Any]], second: Sequence[Mapping[str, Any]]) -> list[Compared]:
    """The pictures of a document: first those for which the models choose different sentences; in reading order."""
    found = [
        Compared(one, (one, two), bool(one["best"]) and one["best"][0][0] == two["best"][0][0])
        for one, two in zip(first, second, strict=True)
    ]
    return sorted(found, key=lambda each: (each.same, each.picture["number"]))


def ranked(rows: Sequence[Mapping[str, Any]]) -> list[tuple[int, Mapping[str, Any]]]:
    """Number and scores of the documents with a defined AUC, by ascending AUC."""
    defined = [(number, row) for number, row in enumerate(rows) if row["auc"] is not None]
    return sorted(defined, key=lambda each: (each[1]["auc"], each[1]["p1"], each[0]))
