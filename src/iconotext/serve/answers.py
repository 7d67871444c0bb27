"""The server's answers about collections, documents and reviews, computed from the database.

``collection_out`` and ``review_out`` make the JSON answers; ``agreed`` and ``agreement`` combine the verdicts of
reviewers.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from fastapi import HTTPException

from iconotext.evaluate.statistics import krippendorff_alpha
from iconotext.serve.doubt import worths
from iconotext.serve.schemas import ChangedOut, CollectionOut, DocumentOut, PictureOut, RefusedOut, ReviewOut
from iconotext.serve.store import Collection, Entry, Store

if TYPE_CHECKING:
    from iconotext.serve.store import Verdict

Judgement = tuple[int, int]
"""Id of a document, and number of a picture."""


class Answer(NamedTuple):
    """The answer of most reviewers for a picture: its sentences, and the names of those who chose them."""

    sentences: tuple[int, ...]
    reviewers: tuple[str, ...]


def agreed(verdicts: Iterable[Verdict]) -> dict[Judgement, Answer]:
    """The answer that most reviewers gave for each picture; pictures with a tie are left out."""
    found = {}
    for picture, answers in by_picture(verdicts).items():
        (answer, voices), *others = Counter(answers.values()).most_common(2)
        if not others or others[0][1] < voices:
            found[picture] = Answer(answer, tuple(sorted(name for name, said in answers.items() if said == answer)))
    return found


def by_picture(verdicts: Iterable[Verdict]) -> dict[Judgement, dict[str, tuple[int, ...]]]:
    """For each picture, reviewer to answer."""
    found: dict[Judgement, dict[str, tuple[int, ...]]] = {}
    for verdict in verdicts:
        found.setdefault((verdict.document, verdict.picture), {})[verdict.reviewer] = tuple(sorted(verdict.sentences))
    return found


def agreement(verdicts: Sequence[Verdict]) -> float | None:
    """Krippendorff's alpha over the pictures that at least two reviewers judged.

    An answer is the set of chosen sentences. Sentence numbers mean different sentences in different documents, and
    hardly ever the same one for two pictures; so each picture has its own categories, except "none of them".
    """
    units = [
        [("none",) if not said else (picture, said) for said in answers.values()]
        for picture, answers in by_picture(verdicts).items()
    ]
    return krippendorff_alpha(units)


State = Literal["finding", "linking", "learning", "done", "failed"]
"""State of a collection."""


def known_collection(store: Store, identifier: str) -> Collection:
    """A collection; a 404 answer if there is none."""
    found = store.collection(identifier)
    if found is None:
        raise HTTPException(404, "there is no such collection")
    return found


def known_entry(store: Store, identifier: int) -> Entry:
    """A linked document; a 404 answer if it does not exist, and 409 if it is not linked."""
    found = store.entry(identifier) if 0 <= identifier < 2**63 else None
    if found is None:
        raise HTTPException(404, "there is no such document")
    if found.state != "done":
        raise HTTPException(409, found.problem or "it is not linked yet")
    return found


def collection_out(store: Store, collection: Collection) -> CollectionOut:
    """A collection with its documents and progress."""
    pictures = store.pictures(collection.id)
    entries = store.entries(collection.id)
    judged = by_picture(store.verdicts(collection.id))
    counts: dict[int, int] = {}
    for picture in pictures:
        counts[picture.document] = counts.get(picture.document, 0) + 1
    images = {e.id: counts.get(e.id, 0) + e.missing if e.images is None else e.images for e in entries}
    return CollectionOut(
        id=collection.id,
        name=collection.name,
        dropped=collection.own,
        state=state_of(
            collection.problem,
            found=collection.found,
            waiting=any(entry.round < 0 for entry in entries),
            current=is_current(store, collection, entries),
        ),
        problem=collection.problem,
        habit=collection.habit,
        documents=[
            DocumentOut(
                id=entry.id,
                name=entry.name,
                title=entry.title,
                state=entry.state,
                problem=entry.problem,
                sentences=entry.sentences,
                pictures=images[entry.id],
                links=entry.links,
                missing=entry.missing,
                changed=len(_moved(entry, judged)),
            )
            for entry in entries
        ],
        refused=[RefusedOut(name=name, problem=why) for name, why in store.saved(collection.id).refused],
        pictures=sum(images.values()),
        reviewable=len(pictures),
        judged=len(judged),
    )


def _moved(entry: Entry, judged: Container[tuple[int, int]]) -> list[tuple[int, int | None, int | None]]:
    """Pictures that nobody judged, and whose sentence changed because of verdicts about others."""
    return [(number, old, new) for number, old, new in json.loads(entry.changed) if (entry.id, number) not in judged]


def state_of(problem: str | None, *, found: bool, waiting: bool, current: bool) -> State:
    """The state of a collection.

    Args:
        found: Whether its documents are known.
        waiting: Whether one of them was never linked.
        current: Whether all verdicts were learned.
    - is_current
    """
    if problem is not None:
        return "failed"
    if not found:
        return "finding"
    if waiting:
        return "linking"
    return "done" if current else "learning"


def is_current(store: Store, collection: Collection, entries: list[Entry]) -> bool:
    """Whether all verdicts have been learned, and all documents linked with the result."""
    learned = store.last_change(collection.id) == collection.learned
    return learned and all(entry.round == collection.round for entry in entries)


def review_out(store: Store, collection: Collection, reviewer: str | None) -> ReviewOut:
    """The pictures to review; those that the reviewer (or, for None, anybody) has judged come last."""
    verdicts, pictures = store.verdicts(collection.id), store.pictures(collection.id)
    entries = store.entries(collection.id)
    said = by_picture(verdicts)
    done = {key for key, answers in said.items() if reviewer is None or reviewer in answers}
    worth = worths(pictures, done)
    ordered = sorted(pictures, key=lambda p: -worth.get((p.document, p.number), -1.0))
    return ReviewOut(
        pictures=[
            PictureOut(
                document=p.document,
                picture=p.number,
                best=p.best,
                confidence=round(p.confidence, 4),
                worth=round(worth.get((p.document, p.number), 0.0), 4),
                verdicts={name: list(s) for name, s in said.get((p.document, p.number), {}).items()},
            )
            for p in ordered
        ],
        reviewers=sorted({verdict.reviewer for verdict in verdicts}),
        alpha=agreement(verdicts),
        undecided=len(said) - len(agreed(verdicts)),
        changed=[
            ChangedOut(document=entry.id, title=entry.title or entry.name, picture=picture, before=before, now=now)
            for entry in entries
            for picture, before, now in _moved(entry, said)
        ],
        current=is_current(store, collection, entries),
    )
