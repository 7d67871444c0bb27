"""Which of the places of a picture a search speaks of."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from iconotext.library.items import Place


def _within(places: Sequence[Place], folder: str | None) -> list[Place]:
    """The places that the search is about."""
    return list(places) if folder is None else [place for place in places if place.within(folder)]


def own_relations(places: Sequence[Place], folder: str | None, wanted: int | None) -> tuple[float, ...] | None:
    """What the picture's own text says of the relations: where the wanted one is most probable, else the first."""
    own = [place.relations for place in _within(places, folder) if place.relations is not None]
    if not own:
        return None
    return own[0] if wanted is None else max(own, key=lambda odds: odds[wanted])


def shown_place(places: Sequence[Place], folder: str | None, wanted: int | None) -> Place:
    """The place to show: a document that says something before one that says nothing, and a document before a file.

    One that is gone since the library was brought up to date comes after all that are there.
    """
    allowed = _within(places, folder) or list(places)

    def worth(place: Place) -> tuple[bool, float, bool, bool]:
        odds = place.relations[wanted] if wanted is not None and place.relations is not None else -np.inf
        there = len(allowed) == 1 or _is_there(place)
        return there, float(odds), place.text is not None, place.document is not None

    best = max(allowed, key=worth)  # the first of equals
    if best.file is None:
        files = [place.file for place in allowed if place.file is not None]
        return replace(best, file=next(filter(os.path.exists, files), next(iter(files), None)))
    return best


def _is_there(place: Place) -> bool:
    return all(os.path.exists(file) for file in (place.file, place.document) if file is not None)


def different_places(places: Sequence[Place]) -> int:
    """How many places there are; a file, and a document that shows that very file, are one."""
    shown = {place.file for place in places if place.document is not None and place.file is not None}
    return sum(place.document is not None or place.file not in shown for place in places)
