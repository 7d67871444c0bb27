"""Add files to a library: read what is new or changed, encode each picture once, take out what is gone.

Files are worked through some at a time. For each batch the ledger first notes what is about to change, then the
library is written, then the ledger again. A run may end anywhere: the library is whole, and the next run finds in the
ledger which files to look at again and in the library which pictures it need not encode again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

import numpy as np

from iconotext.features.cores import usable_cores
from iconotext.read import Failure
from iconotext.read.address import REMOTE
from iconotext.read.images import inspect
from iconotext.report.embedded import embed
from iconotext.report.readable import encodable
from iconotext.retrieve.items import Arrival, Item, Place, Said, clean
from iconotext.retrieve.library.encode import Encoder
from iconotext.retrieve.library.files import Found, digest_of, file_state, picture_date
from iconotext.retrieve.library.ledger import Entry, Ledger
from iconotext.retrieve.library.store import Library
from iconotext.types import Image, LinkedDocument

BATCH = 256
"""Pictures between two commits, about what is lost when a run is killed."""

SECONDS = 10.0
"""Time between two commits while documents are read, which takes longer than looking at pictures."""

TIDY_AFTER = 100
"""Batches after which the pieces that their commits left are joined; then after twice as many each time, since joining
writes everything anew."""

THUMBNAIL = 420
"""Pixels of the longer side of the small picture that is kept for one without a file of its own."""


@dataclass(slots=True)
class Report:
    """What came of the files that were named.

    Attributes:
        added: Pictures that the library did not have.
        encoded: Pictures that the encoder looked at.
        unchanged: Files, pictures and documents, that are as they were.
        documents: Documents that were read.
        removed: Pictures that have no place any more.
        left_out: Pictures that cannot be read or are too small: place and reason.
        failures: Documents and folders that cannot be read: place and reason.
    """

    added: int = 0
    encoded: int = 0
    unchanged: int = 0
    documents: int = 0
    removed: int = 0
    left_out: list[tuple[str, str]] = field(default_factory=list)
    failures: list[tuple[str, str]] = field(default_factory=list)


@dataclass(slots=True)
class _Change:
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


def add_files(
    library: Library, ledger: Ledger, files: Iterable[Found], encoder: Encoder, report: Report
) -> Iterator[Found]:
    """Add files; yields each when it is in the library, or known to have nothing for it.

    Args:
        library: Where to.
        ledger: Of this library, held by the caller.
        files: As ``find_files`` gives them.
        encoder: How they become what the library stores.
        report: Is filled.

    Raises:
        LibraryError: The library cannot be written.
    """
    files, batches, tidy_after = iter(files), 0, TIDY_AFTER
    with ThreadPoolExecutor(usable_cores(), thread_name_prefix="iconotext-library") as pool:
        while some := list(islice(files, BATCH)):
            named = [file for file in some if _has_text_name(file, report)]
            old = {file: ledger.get(str(file.path)) for file in named}
            pictures = [file for file in named if file.kind == "picture"]
            changes = pool.map(lambda file, old=old: _picture(file, old[file], encoder, report), pictures)
            waiting = [change for change in changes if change is not None]
            due = time.monotonic() + SECONDS
            for file in named:
                if file.kind == "document":
                    change = _document(file, old[file], encoder, report)
                    waiting += [change] if change is not None else []
                if sum(len(change.arrivals) for change in waiting) >= BATCH or time.monotonic() > due:
                    _commit(library, ledger, waiting, encoder, report)
                    waiting, due = [], time.monotonic() + SECONDS
            _commit(library, ledger, waiting, encoder, report)
            batches += 1
            if batches == tidy_after:
                library.tidy()
                tidy_after *= 2
            yield from some


def remove_gone(library: Library, ledger: Ledger, roots: Iterable[Path], report: Report) -> None:
    """Take out what files brought in that do not exist any more.

    Args:
        library: The library.
        ledger: Of this library, held by the caller.
        roots: Files and folders; nothing outside of them is touched.
        report: Is filled.
    """
    known = sorted({path for root in roots for path in ledger.below(str(root))})
    take_out(library, ledger, (path for path in known if not _exists(path)), report)


def take_out(library: Library, ledger: Ledger, paths: Iterable[str], report: Report) -> None:
    """Take out what files brought in, and forget them.

    Args:
        library: The library.
        ledger: Of this library, held by the caller.
        paths: Files that the ledger knows.
        report: Is filled.
    """
    paths = iter(paths)
    while some := set(islice(paths, BATCH)):
        entries = [entry for path in some if (entry := ledger.get(path)) is not None]
        # Should this run end before its last line, and a file come back, it must be looked at again.
        ledger.put(replace(entry, state="", settings="") for entry in entries)
        stored = library.items({digest for entry in entries for digest in entry.digests})
        left = {
            digest: tuple(place for place in item.places if place.owner not in some) for digest, item in stored.items()
        }
        library.update([replace(stored[digest], places=places) for digest, places in left.items() if places])
        gone = [digest for digest, places in left.items() if not places]
        library.remove(gone)
        report.removed += len(gone)
        ledger.forget(some)


def restore_ledger(library: Library, ledger: Ledger) -> None:
    """See that the ledger knows every file that the library has something of, though it be a new one.

    What is known of a file again is only what it brought in: it is looked at in the next run, and found when deleted.
    """
    if library.count() == 0:
        ledger.clear()  # the table was made anew, or nothing is lost by looking again
    elif ledger.is_empty():
        brought: dict[str, list[str]] = {}
        for digest, places in library.places():
            for owner in {place.owner for place in places}:
                brought.setdefault(owner, []).append(digest)
        ledger.put(Entry(owner, "", "", tuple(digests)) for owner, digests in brought.items())


def _exists(path: str) -> bool:
    try:
        Path(path).stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:  # it cannot be seen at present, which is no reason to forget it
        return True
    return True


def _has_text_name(file: Found, report: Report) -> bool:
    name = str(file.path)
    if encodable(name) == name:
        return True
    report.left_out.append((encodable(name), "its name is not UTF-8: rename it"))
    return False


def _picture(file: Found, old: Entry | None, encoder: Encoder, report: Report) -> _Change | None:
    """What has changed about a picture's file; None if nothing has."""
    path, settings = str(file.path), encoder.looked_at(file)
    state = file_state(file.path) or ""
    if old is not None and old.problem is None and (old.state, old.settings) == (state, settings):
        report.unchanged += 1
        return None
    try:
        digest = digest_of(file.path)
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
        report.left_out.append((path, problem))
        if old is not None and old.digests:  # what it brought in stays until it can be read again, or is gone
            return None
        return _Change(path, old, Entry(path, state, settings, (), problem))
    (image,) = inspect([Image(path, file.path)])
    if image.problem is not None:
        problem = image.problem.removeprefix(f"{path}: ")
        report.left_out.append((path, problem))
        return _Change(path, old, Entry(path, state, settings, (), problem))
    arrival = Arrival(digest, file.path, [Place(file=path)], picture_date(file.path, otherwise=file.path))
    return _Change(path, old, Entry(path, state, settings, (digest,)), [arrival])


def _document(file: Found, old: Entry | None, encoder: Encoder, report: Report) -> _Change | None:
    """What has changed about a document; None if neither it nor a picture that it shows has."""
    path, settings, asked = str(file.path), encoder.looked_at(file), encoder.asked_of(file.path)
    if old is not None and old.problem is None and old.settings == settings and _is_current(file.path, old.state):
        report.unchanged += 1
        return None
    own_state = file_state(file.path)
    arrivals: list[Arrival] = []
    pictures: dict[str, str | None] = {}
    kept: set[str] = set()
    missing, number, problem = False, 0, None
    for linked in encoder.link(file.path, file.folder, asked):
        if isinstance(linked, Failure):
            problem = encodable(str(linked.error).removeprefix(f"{path}: "))
            report.failures.append((path, problem))
            continue
        arrivals += _arrivals(linked, file.path, number, report)
        number += len(linked.document.images)
        for image in linked.document.images:
            if isinstance(image.file, Path):
                shown = encodable(str(image.file.resolve()))
                pictures[shown] = file_state(image.file)
            remote = bool(REMOTE.match(image.source))
            if (image.file is None and remote) or _cannot_be_opened(image.file):
                kept.add(clean(image.source) or "")
            if image.file is None and remote:
                missing = missing or bool(asked.get("fetch"))
            else:
                missing = missing or image.file is None or _cannot_be_opened(image.file)
    if problem is not None and old is not None and old.digests:
        return None  # what it brought in stays until it can be read again, or is gone
    report.documents += problem is None
    state = json.dumps({"document": own_state, "pictures": pictures, "missing": missing})
    new = Entry(path, state, settings, tuple(a.digest for a in arrivals), problem)
    return _Change(path, old, new, arrivals, frozenset(kept - {a.places[0].source for a in arrivals}))


def _cannot_be_opened(picture: Path | bytes | None) -> bool:
    """Whether a picture's file is there and cannot be read: for now, perhaps."""
    if not isinstance(picture, Path):
        return False
    try:
        with picture.open("rb"):
            return False
    except FileNotFoundError:
        return False
    except (OSError, ValueError):
        return True


def _is_current(document: Path, state: str) -> bool:
    """Whether a document and the pictures that it shows are as they were; never where it lacks some."""
    try:
        known = json.loads(state)
    except ValueError:
        return False
    if known["missing"] or known["document"] != file_state(document):
        return False
    return all(file_state(Path(path)) == before for path, before in known["pictures"].items())


def _arrivals(linked: LinkedDocument, path: Path, first: int, report: Report) -> list[Arrival]:
    """The pictures of a linked document; its first image has the number ``first`` in the file."""
    found = []
    for number, image in enumerate(linked.document.images):
        place = _place(linked, number, path, first)
        if image.file is None or image.problem is not None:
            problem = encodable(image.problem or "file not found")
            if not problem.startswith("the same picture as"):
                report.left_out.append((f"{path}: {clean(image.source) or number}", problem))
            continue
        try:
            digest = digest_of(image.file)
        except OSError as error:
            report.left_out.append((f"{path}: {place.source}", f"cannot be read: {error.strerror or error}"))
            continue
        date = picture_date(image.file, otherwise=image.file if isinstance(image.file, Path) else path)
        inside = image.file if isinstance(image.file, bytes) else None
        found.append(Arrival(digest, image.file, [place], date, inside))
    return found


def _place(linked: LinkedDocument, number: int, path: Path, first: int) -> Place:
    image = linked.document.images[number]
    links = sorted((link for link in linked.links if link.image == number), key=lambda link: -link.confidence)
    texts = linked.document.sentences
    file = encodable(str(image.file.resolve())) if isinstance(image.file, Path) else None
    return Place(
        file=file,
        document=str(path),
        number=first + number,
        source=clean(image.source),
        caption=clean(image.caption),
        alt=clean(image.alt),
        sentences=tuple(Said(encodable(texts[link.sentence].text), round(link.confidence, 6)) for link in links),
        language=linked.document.language,
    )


def _commit(library: Library, ledger: Ledger, changes: Sequence[_Change], encoder: Encoder, report: Report) -> None:
    """Bring changes into the library and the ledger."""
    if not changes:
        return
    arrivals = _merged(arrival for change in changes for arrival in change.arrivals)
    before = {digest for change in changes if change.old is not None for digest in change.old.digests}
    # Should this run end before its last line, the next one must find what it may have left in the library.
    ledger.put(Entry(change.path, "", "", _digests(change)) for change in changes)
    stored = library.items(before | set(arrivals))
    kept = {change.path: change.kept for change in changes}
    problems = _write(library, stored, arrivals, kept, encoder, report)
    ledger.put(_settled(change, stored, problems) for change in changes)


def _digests(change: _Change) -> tuple[str, ...]:
    return tuple(dict.fromkeys(digest for entry in (change.old, change.new) if entry for digest in entry.digests))


def _stays(place: Place, kept: Mapping[str, Set[str]]) -> bool:
    """Whether a place that the library has stays, where the files of ``kept`` have changed."""
    return place.owner not in kept or (place.source or "") in kept[place.owner]


def _merged(arrivals: Iterable[Arrival]) -> dict[str, Arrival]:
    """Arrivals by digest; of one that comes several times, all places and the earliest date."""
    found: dict[str, Arrival] = {}
    for arrival in arrivals:
        known = found.setdefault(arrival.digest, replace(arrival, places=[]))
        known.places += arrival.places
        known.date = min(filter(None, (known.date, arrival.date)), default=None)
        known.inside = known.inside or arrival.inside
    return found


def _settled(change: _Change, stored: dict[str, Item], problems: dict[str, str]) -> Entry:
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
    encoder: Encoder,
    report: Report,
) -> dict[str, str]:
    """Write what the changed files bring and take; returns the problems of pictures by digest.

    Args:
        library: Where to.
        stored: What it has of the pictures in question.
        arrivals: What the files bring.
        kept: The files: places that they brought in earlier are replaced, but not those with these addresses.
        encoder: How to encode.
        report: Is filled.
    """
    stale = {digest for digest, item in stored.items() if item.relation_model != encoder.relation_name}
    # A stale one that cannot be encoded at present stays as it is: it is in neither ``items`` nor ``fresh``.
    items = {digest: item for digest, item in stored.items() if digest not in arrivals or digest not in stale}
    fresh, problems = _encoded([a for digest, a in arrivals.items() if digest not in items], encoder)
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
            places += _related(arrival.places, item, encoder)
        now = replace(item, places=tuple(sorted(places, key=_order)))
        if arrival is not None:
            now = replace(now, date=min(filter(None, (item.date, arrival.date)), default=None))
            now = replace(now, thumbnail=now.thumbnail or _thumbnail(arrival))
        if not places:
            remove.append(digest)
        elif digest not in stored:
            insert.append(now)
        elif digest in fresh or (now.places, now.date, now.thumbnail) != (was, item.date, item.thumbnail):
            update.append(now)
    library.insert(insert)
    library.update(update)
    library.remove(remove)
    report.added += len(insert)
    report.removed += len(remove)
    return problems


def _encoded(arrivals: Sequence[Arrival], encoder: Encoder) -> tuple[dict[str, Item], dict[str, str]]:
    """Items without places by digest, and the problems of those that cannot be read."""
    if not arrivals:
        return {}, {}
    items: dict[str, Item] = {}
    problems: dict[str, str] = {}
    found = encoder.encode([arrival.picture for arrival in arrivals])
    for n, (arrival, problem) in enumerate(zip(arrivals, found.problems, strict=True)):
        vector = found.vectors[n]
        if problem is not None or not np.isfinite(vector).all() or not vector.any():
            where = f"{arrival.picture}: " if isinstance(arrival.picture, Path) else ""
            problems[arrival.digest] = encodable((problem or "it has no features").removeprefix(where))
            continue
        offsets = None if found.offsets is None else found.offsets[n]
        items[arrival.digest] = Item(arrival.digest, (), arrival.date, vector, offsets, encoder.relation_name)
    return items, problems


def _related(places: Sequence[Place], item: Item, encoder: Encoder) -> list[Place]:
    """Places with the relations between the picture and what their documents say of it."""
    texts = sorted({text for place in places if (text := _english(place))})
    if encoder.relation_model is None or item.offsets is None or not texts:
        return list(places)
    odds = dict(zip(texts, encoder.relation_model.text_logits(texts) + item.offsets, strict=True))
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
