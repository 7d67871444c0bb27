"""Write changes of files to a library: encode new pictures, write the table, and record the files in the ledger.

``commit`` does all of it. First the ledger forgets the files, then the library is written, then the ledger records the
files. So a run may be killed at any time: the library stays consistent, and the next run reads these files again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from iconotext.library.changes import Change, Report
from iconotext.library.items import Arrival, Item, Place, said_of
from iconotext.library.ledger import Entry, Ledger
from iconotext.library.models import Models
from iconotext.library.store import Library
from iconotext.report.embedded import embed
from iconotext.types import Image

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix


THUMBNAIL = 420
"""Longer side, in pixels, of the thumbnail that is stored for a picture without a file of its own."""


def commit(
    library: Library,
    ledger: Ledger,
    changes: Sequence[Change],
    report: Report,
    *,
    brought: Set[str],
    models: Models | None = None,
) -> None:
    """Write changes to the library and the ledger.

    Args:
        changes: Changes of different files.
        brought: Owners of the library's pictures at the beginning of the run.
        models: Encode new pictures; None if files are only removed.
    """
    if not changes:
        return
    of_file = {change.path: change for change in changes}
    arrivals = _merged(arrival for change in changes for arrival in change.arrivals)
    ledger.forget(of_file)
    stored = library.items(arrivals) | library.brought_by(of_file.keys() & brought)
    items, problems = dict(stored), dict[str, str]()
    if models is not None:
        stale = {digest for digest in arrivals if digest in stored and not models.made(stored[digest])}
        fresh, problems = models.encode(
            [a for digest, a in arrivals.items() if digest in stale or digest not in stored]
        )
        report.encoded += len(fresh)
        # A picture of another model that cannot be encoded at present stays as it is.
        items = {digest: item for digest, item in stored.items() if digest not in stale} | fresh
    for digest, problem in problems.items():
        report.left_out += [(place.image, problem) for place in arrivals[digest].places]
    for digest, item in items.items():
        was = stored[digest].places if digest in stored else ()
        staying = tuple(place for place in was if _stays(place, of_file.get(place.owner)))
        items[digest] = _with_arrival(replace(item, places=staying), arrivals.get(digest), models)
    _write(library, stored, list(items.values()), report, models)
    ledger.put(_entries(changes, problems))


def _merged(arrivals: Iterable[Arrival]) -> dict[str, Arrival]:
    """Digest to arrival; arrivals of the same picture are joined, with all places and the earliest date.

    The camera's date is part of the content, and so the same for all.
    """
    found: dict[str, Arrival] = {}
    for arrival in arrivals:
        known = found.setdefault(arrival.digest, replace(arrival, places=[]))
        known.places += arrival.places
        known.date = min(filter(None, (known.date, arrival.date)), default=None)
        known.picture = arrival.picture if isinstance(arrival.picture, bytes) else known.picture
    return found


def _stays(place: Place, change: Change | None) -> bool:
    return change is None or (place.source or "") in change.kept


def _with_arrival(item: Item, arrival: Arrival | None, models: Models | None) -> Item:
    if arrival is None or models is None:
        return replace(item, places=_ordered(item.places))
    return replace(
        item,
        places=_ordered([*item.places, *_related(arrival.places, item, models)]),
        date=min(filter(None, (item.date, arrival.date)), default=None),
        taken=arrival.taken,
        thumbnail=item.thumbnail or _thumbnail(arrival),
    )


def _ordered(places: Iterable[Place]) -> tuple[Place, ...]:
    return tuple(sorted(places, key=lambda place: (place.document or "", place.number or 0, place.file or "")))


def _related(places: Sequence[Place], item: Item, models: Models) -> list[Place]:
    texts = sorted({text for place in places if (text := _english(place))})
    if models.relation_model is None or item.offsets is None or not texts:
        return list(places)
    odds = dict(zip(texts, models.relation_model.text_logits(texts) + item.offsets, strict=True))
    return [
        replace(place, relations=tuple(round(float(x), 4) for x in odds[text])) if (text := _english(place)) else place
        for place in places
    ]


def _english(place: Place) -> str | None:
    """The document's text about the picture, if in English."""
    return place.text if place.document is not None and place.language == "en" else None


def _thumbnail(arrival: Arrival) -> str | None:
    if not isinstance(arrival.picture, bytes) or any(place.member is not None for place in arrival.places):
        return None
    return embed([Image("", arrival.picture)], [0], longer_side=THUMBNAIL)[0].uri


def _write(
    library: Library, stored: dict[str, Item], new: Sequence[Item], report: Report, models: Models | None
) -> None:
    insert = [item for item in new if item.places and item.digest not in stored]
    update = [item for item in new if item.places and _differs(item, stored.get(item.digest))]
    remove = [item.digest for item in new if not item.places]
    library.insert(_with_said(insert, stored, models))
    library.update(_with_said(update, stored, models))
    library.remove(remove)
    report.added += len(insert)
    report.removed += len(remove)


def _differs(item: Item, stored: Item | None) -> bool:
    """Whether a stored picture must be written again; always if it was encoded again."""
    if stored is None:
        return False
    if item.vector is not stored.vector:
        return True
    names = ("places", "date", "taken", "thumbnail")
    return any(getattr(item, name) != getattr(stored, name) for name in names)


def _with_said(items: Sequence[Item], stored: dict[str, Item], models: Models | None) -> list[Item]:
    """Add the vectors of the texts about each picture; only texts new to the library are encoded."""
    texts = {item.digest: said_of(item.places) for item in items}
    vectors: dict[str, FloatMatrix] = {}
    for digest in texts.keys() & stored.keys():
        known = stored[digest]
        vectors |= zip(said_of(known.places), () if known.said is None else known.said, strict=True)
    several = list(dict.fromkeys(text for some in texts.values() for text in some if text not in vectors))
    if several and models is not None:
        vectors |= zip(several, models.encoder.encode_sentences(several), strict=True)
    return [
        replace(item, said=np.stack([vectors[text] for text in texts[item.digest]]) if texts[item.digest] else None)
        for item in items
    ]


def _entries(changes: Iterable[Change], problems: dict[str, str]) -> list[Entry]:
    found = []
    for change in changes:
        if change.entry is not None:
            bad = (problems[arrival.digest] for arrival in change.arrivals if arrival.digest in problems)
            found.append(replace(change.entry, problem=change.entry.problem or next(bad, None)))
    return found
