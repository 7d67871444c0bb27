"""Two models on the same documents: where one is better, and what they say of the same pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class Difference(NamedTuple):
    """A document that both models were measured on; ``gain`` is the AUC of the second less that of the first."""

    number: int
    title: str
    first: float
    second: float
    gain: float


class Compared(NamedTuple):
    """What two models say of a picture.

    Attributes:
        picture: Its number, caption, data and gold sentences.
        sides: Of each model the likeliest sentences with their similarity, and the rank of the first gold one.
    """

    picture: Mapping[str, Any]
    sides: tuple[Mapping[str, Any], Mapping[str, Any]]
    same: bool


def differences(first: Sequence[Mapping[str, Any]], second: Sequence[Mapping[str, Any]]) -> list[Difference]:
    """The documents with a defined AUC, those where the second model gains most first."""
    found = [
        Difference(number, one["title"], one["auc"], two["auc"], two["auc"] - one["auc"])
        for number, (one, two) in enumerate(zip(first, second, strict=True))
        if one["auc"] is not None and two["auc"] is not None
    ]
    return sorted(found, key=lambda each: (-each.gain, each.number))


def agreement_of(first: Sequence[Mapping[str, Any]], second: Sequence[Mapping[str, Any]]) -> list[Compared]:
    """The pictures of a document, those on whose best sentence the models differ first, each kind in reading order."""
    found = [
        Compared(one, (one, two), bool(one["best"]) and one["best"][0][0] == two["best"][0][0])
        for one, two in zip(first, second, strict=True)
    ]
    return sorted(found, key=lambda each: (each.same, each.picture["number"]))


def ranked(rows: Sequence[Mapping[str, Any]]) -> list[tuple[int, Mapping[str, Any]]]:
    """Number and scores of the documents with a defined AUC, the hardest one first."""
    defined = [(number, row) for number, row in enumerate(rows) if row["auc"] is not None]
    return sorted(defined, key=lambda each: (each[1]["auc"], each[1]["p1"], each[0]))
