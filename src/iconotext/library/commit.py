"""Bring what changed files hold into the library: encode what is new, write it, and note it in the ledger.

The ledger first notes what is about to change, then the library is written, then the ledger again. A run may end
anywhere: the library is whole, and the next run finds in the ledger which files to look at again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from iconotext.library.encode import Intake
from iconotext.library.items import Arrival, Item, Place
from iconotext.library.ledger import Entry, Ledger
from iconotext.library.match import said_of
from iconotext.library.report import Report
from iconotext.library.store import Library
from iconotext.report.embedded import embed
from iconotext.types import Image

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix

THUMBNAIL = 420
"""Pixels of the longer side of the small picture that is kept for one without a file of its own."""


@dataclass(slots=True)
class Change:
    """A file that is new or has changed.

    Attributes:
        path: The file.
        old: What the ledger knows of it.
        new: What it will know.
        arrivals: The pictures it brings in.
        kept: Addresses of pictures, as the document writes them, that cannot be had at present: what the library has
            of them stays.
    """

    path: str
    old: Entry | None
    new: Entry
    arrivals: list[Arrival] = field(default_factory=list)
    kept: frozenset[str] = frozenset()


def commit(library: Library, ledger: Ledger, changes: Sequence[Change], intake: Intake, report: Report) -> None:
    """Bring changes into the library and the ledger."""
    if not changes:
        return
    arrivals = _merged(arrival for change in changes for arrival in change.arrivals)
    before = {digest for change in changes if change.old is not None for digest in change.old.digests}
    # Should this run end before its last line, the next one must find what it may have left in the library.
    ledger.put(Entry(change.path, "", "", _digests(change)) for change in changes)
    stored = library.items(before | set(arrivals))
    kept = {change.path: change.kept for change in changes}
    problems = _write(library, stored, arrivals, kept, intake, report)
    ledger.put(_settled(change, stored, problems) for change in changes)


def _digests(change: Change) -> tuple[str, ...]:
    return tuple(dict.fromkeys(digest for entry in (change.old, change.new) if entry for digest in entry.digests))


def _stays(place: Place, kept: Mapping[str, Set[str]]) -> bool:
    """Whether a place that the library has stays, where the files of ``kept`` have changed."""
    return place.owner not in kept or (place.source or "") in kept[place.owner]


def _merged(arrivals: Iterable[Arrival]) -> dict[str, Arrival]:
    """Arrivals by digest; of one that comes several times, all places and the earliest date.

    What the camera wrote is part of the content, and so the same for all.
    """
    found: dict[str, Arrival] = {}
    for arrival in arrivals:
        known = found.setdefault(arrival.digest, replace(arrival, places=[]))
        known.places += arrival.places
        known.date = min(filter(None, (known.date, arrival.date)), default=None)
        known.inside = known.inside or arrival.inside
    return found


def _settled(change: Change, stored: dict[str, Item], problems: dict[str, str]) -> Entry:
    """The new entry of a file: with the pictures that it keeps, without those that turned out to be unreadable."""
    entry, kept = change.new, {change.path: change.kept}
    had = [digest for digest in (change.old.digests if change.old else ()) if digest in stored]
    staying = [
        digest
        for digest in had
        if any(place.owner == change.path and _stays(place, kept) for place in stored[digest].places)
    ]
    digests = tuple(
        digest for digest in dict.fromkeys([*entry.digests, *staying]) if digest not in problems or digest in stored
    )
    bad = [problems[digest] for digest in entry.digests if digest in problems]
    return replace(entry, digests=digests, problem=entry.problem or next(iter(bad), None))


def _write(
    library: Library,
    stored: dict[str, Item],
    arrivals: dict[str, Arrival],
    kept: Mapping[str, Set[str]],
    intake: Intake,
    report: Report,
) -> dict[str, str]:
    """Write what the changed files bring and take; returns the problems of pictures by digest.

    Args:
        library: The library to write.
        stored: What it has of the pictures in question.
        arrivals: What the files bring.
        kept: The files: places that they brought in earlier are replaced, but not those with these addresses.
        intake: How to encode.
        report: Counts what came of the files; changed here.
    """
    stale = {digest for digest, item in stored.items() if item.relation_model != intake.relation_name}
    # A stale one that cannot be encoded at present stays as it is: it is in neither ``items`` nor ``fresh``.
    items = {digest: item for digest, item in stored.items() if digest not in arrivals or digest not in stale}
    fresh, problems = intake.encode([a for digest, a in arrivals.items() if digest not in items])
    report.encoded += len(fresh)
    items |= fresh
    for digest, problem in problems.items():
        report.left_out += [(place.image, problem) for place in arrivals[digest].places]
    insert, update, remove = [], [], []
    for digest, item in items.items():
        arrival = arrivals.get(digest)
        was = stored[digest].places if digest in stored else ()
        places = [place for place in was if _stays(place, kept)]
        if arrival is not None:
            places += _related(arrival.places, item, intake)
        now = replace(item, places=tuple(sorted(places, key=_order)))
        if arrival is not None:
            now = replace(now, date=min(filter(None, (item.date, arrival.date)), default=None), taken=arrival.taken)
            now = replace(now, thumbnail=now.thumbnail or _thumbnail(arrival))
        if not places:
            remove.append(digest)
        elif digest not in stored:
            insert.append(now)
        elif digest in fresh or _kept(now) != (was, *_kept(item)[1:]):
            update.append(now)
    said = _said([*insert, *update], intake)
    library.insert([replace(item, said=said[item.digest]) for item in insert])
    library.update([replace(item, said=said[item.digest]) for item in update])
    library.remove(remove)
    report.added += len(insert)
    report.removed += len(remove)
    return problems


def with_places(item: Item, places: tuple[Place, ...]) -> Item:
    """A picture that has fewer places than before: what is said of it there stays, and no more."""
    had = dict(zip(said_of(item.places), () if item.said is None else item.said, strict=False))
    left = [had[text] for text in said_of(places) if text in had]
    return replace(item, places=places, said=np.stack(left) if left else None)


def _kept(item: Item) -> tuple[object, ...]:
    """What may change about a picture that stays the same."""
    return item.places, item.date, item.taken, item.thumbnail


def _said(items: Sequence[Item], intake: Intake) -> dict[str, FloatMatrix | None]:
    """(texts, dim) vectors of what is said of pictures, by digest; None where nothing is."""
    texts = {item.digest: said_of(item.places) for item in items}
    several = list(dict.fromkeys(text for some in texts.values() for text in some))
    vectors = dict(zip(several, intake.encoder.encode_sentences(several), strict=True)) if several else {}
    return {digest: np.stack([vectors[t] for t in some]) if some else None for digest, some in texts.items()}


def _related(places: Sequence[Place], item: Item, intake: Intake) -> list[Place]:
    """Places with the relations between the picture and what their documents say of it."""
    texts = sorted({text for place in places if (text := _english(place))})
    if intake.relation_model is None or item.offsets is None or not texts:
        return list(places)
    odds = dict(zip(texts, intake.relation_model.text_logits(texts) + item.offsets, strict=True))
    return [
        replace(place, relations=tuple(round(float(x), 4) for x in odds[text])) if (text := _english(place)) else place
        for place in places
    ]


def _english(place: Place) -> str | None:
    """What a document says of the picture, if in English."""
    return place.text if place.document is not None and place.language == "en" else None


def _order(place: Place) -> tuple[str, int, str]:
    return (place.document or "", place.number or 0, place.file or "")


def _thumbnail(arrival: Arrival) -> str | None:
    if arrival.inside is None:
        return None
    return embed([Image("", arrival.inside)], [0], longer_side=THUMBNAIL)[0].uri
