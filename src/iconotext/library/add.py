"""Add files to a library: read what is new or changed, encode each picture once, take out what is gone.

Files are worked through some at a time; ``commit`` brings each batch into the library, so that a run may end anywhere.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from pathlib import Path

from iconotext.features.cores import usable_cores
from iconotext.images import inspect
from iconotext.library.commit import Change, commit, with_places
from iconotext.library.encode import Intake
from iconotext.library.files import Found, digest_of, file_state, image_date
from iconotext.library.items import Arrival, Place, Said, clean
from iconotext.library.ledger import Entry, Ledger
from iconotext.library.report import Report
from iconotext.library.store import Library
from iconotext.plain_text import encodable
from iconotext.read import Failure
from iconotext.read.address import REMOTE
from iconotext.types import Image, LinkedDocument

BATCH = 256
"""Pictures between two commits, about what is lost when a run is killed."""

SECONDS = 10.0
"""Time between two commits while documents are read, which takes longer than looking at pictures."""

TIDY_AFTER = 100
"""Batches after which the pieces that their commits left are joined; then after twice as many each time, since joining
writes everything anew."""


def add_files(
    library: Library, ledger: Ledger, files: Iterable[Found], intake: Intake, report: Report
) -> Iterator[Found]:
    """Add files; yields each when it is in the library, or known to have nothing for it.

    Args:
        library: The library to add to.
        ledger: The ledger of this library, held by the caller.
        files: What ``find_files`` gives.
        intake: How they become what the library stores.
        report: Counts what came of the files; changed here.

    Raises:
        LibraryError: The library cannot be written.
    """
    files, batches, tidy_after = iter(files), 0, TIDY_AFTER
    with ThreadPoolExecutor(usable_cores(), thread_name_prefix="iconotext-library") as pool:
        while some := list(islice(files, BATCH)):
            named = [file for file in some if _has_text_name(file, report)]
            old = {file: ledger.get(str(file.path)) for file in named}
            pictures = [file for file in named if file.kind == "picture"]
            changes = pool.map(lambda file, old=old: _image(file, old[file], intake, report), pictures)
            waiting = [change for change in changes if change is not None]
            due = time.monotonic() + SECONDS
            for file in named:
                if file.kind == "document":
                    change = _document(file, old[file], intake, report)
                    waiting += [change] if change is not None else []
                if sum(len(change.arrivals) for change in waiting) >= BATCH or time.monotonic() > due:
                    commit(library, ledger, waiting, intake, report)
                    waiting, due = [], time.monotonic() + SECONDS
            commit(library, ledger, waiting, intake, report)
            batches += 1
            if batches == tidy_after:
                library.tidy()
                tidy_after *= 2
            yield from some


def remove_gone(library: Library, ledger: Ledger, roots: Iterable[Path], report: Report) -> None:
    """Take out what files brought in that do not exist any more.

    Args:
        library: The library.
        ledger: The ledger of this library, held by the caller.
        roots: Files and folders; nothing outside of them is touched.
        report: Counts what came of the files; changed here.
    """
    known = sorted({path for root in roots for path in ledger.below(str(root))})
    take_out(library, ledger, (path for path in known if not _exists(path)), report)


def take_out(library: Library, ledger: Ledger, paths: Iterable[str], report: Report) -> None:
    """Take out what files brought in, and forget them.

    Args:
        library: The library.
        ledger: The ledger of this library, held by the caller.
        paths: Files that the ledger knows.
        report: Counts what came of the files; changed here.
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
        library.update([with_places(stored[digest], places) for digest, places in left.items() if places])
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


def _image(file: Found, old: Entry | None, intake: Intake, report: Report) -> Change | None:
    """What has changed about a picture's file; None if nothing has."""
    path, settings = str(file.path), intake.looked_at(file)
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
        return Change(path, old, Entry(path, state, settings, (), problem))
    (image,) = inspect([Image(path, file.path)])
    if image.problem is not None:
        problem = image.problem.removeprefix(f"{path}: ")
        report.left_out.append((path, problem))
        return Change(path, old, Entry(path, state, settings, (), problem))
    arrival = Arrival(digest, file.path, [Place(file=path)], *image_date(file.path, otherwise=file.path))
    return Change(path, old, Entry(path, state, settings, (digest,)), [arrival])


def _document(file: Found, old: Entry | None, intake: Intake, report: Report) -> Change | None:
    """What has changed about a document; None if neither it nor a picture that it shows has."""
    path, settings, asked = str(file.path), intake.looked_at(file), intake.asked_of(file.path)
    if old is not None and old.problem is None and old.settings == settings and _is_current(file.path, old.state):
        report.unchanged += 1
        return None
    own_state = file_state(file.path)
    arrivals: list[Arrival] = []
    pictures: dict[str, str | None] = {}
    kept: set[str] = set()
    missing, number, problem = False, 0, None
    for linked in intake.link(file.path, file.folder, asked):
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
    return Change(path, old, new, arrivals, frozenset(kept - {a.places[0].source for a in arrivals}))


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
            file = f"{image.file}: " if isinstance(image.file, Path) else ""
            problem = encodable((image.problem or "file not found").removeprefix(file))
            if not problem.startswith("the same picture as"):
                report.left_out.append((f"{path}: {clean(image.source) or number}", problem))
            continue
        try:
            digest = digest_of(image.file)
        except OSError as error:
            report.left_out.append((f"{path}: {place.source}", f"cannot be read: {error.strerror or error}"))
            continue
        date = image_date(image.file, otherwise=image.file if isinstance(image.file, Path) else path)
        inside = image.file if isinstance(image.file, bytes) else None
        found.append(Arrival(digest, image.file, [place], *date, inside=inside))
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
