"""The changes that a file brings to a library: compare it with its ledger entry, and list the pictures in it.

``image_change`` and ``document_change`` make the ``Change`` of a file, or None if it is unchanged; ``arrivals_of``
lists the pictures of a linked document. ``Report`` collects the counts and problems of a run.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from iconotext.evidence.ocr import text_in
from iconotext.images import copied_from, copies, copy_problem, inspect, plain_name
from iconotext.library.files import Found, digest_of, file_state, image_date
from iconotext.library.items import Arrival, Place, Said, clean
from iconotext.library.ledger import Entry, Ledger
from iconotext.library.models import Models
from iconotext.plain_text import encodable
from iconotext.read import Failure
from iconotext.read.address import REMOTE
from iconotext.system.object_store import address_of
from iconotext.system.strict_json import parse_json
from iconotext.types import Image, LinkedDocument


@dataclass(slots=True)
class Report:
    """Counts and problems of a run.

    Attributes:
        added: Pictures that are new in the library.
        encoded: Pictures that were encoded.
        unchanged: Pictures and documents, as files, that have not changed.
        documents: Documents that were read.
        shards: Shards, or results of shards, that were read.
        shards_unchanged: Shards, or results of shards, that have not changed.
        shards_with_results: Shards that were not read, since a result replaces them.
        removed: Pictures that are no longer in any place.
        left_out: Pictures that cannot be read or are too small, and files in folders that have the suffix of a shard
            but are not shards: place and reason.
        failures: Documents, shards and folders that cannot be read: place and reason.
        reasons: Why rows, documents and pictures of shards could not be used, with counts.
        examples: Some of these problems, with their places.
    """

    added: int = 0
    encoded: int = 0
    unchanged: int = 0
    documents: int = 0
    shards: int = 0
    shards_unchanged: int = 0
    shards_with_results: int = 0
    removed: int = 0
    left_out: list[tuple[str, str]] = field(default_factory=list)
    failures: list[tuple[str, str]] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Change:
    """A file that is new, has changed, or is gone.

    Attributes:
        entry: The new entry in the ledger; None for a file that is gone.
        arrivals: The pictures that it brings in.
        kept: Addresses, as the document writes them, of pictures that cannot be read at present; their places stay in
            the library.
    """

    path: str
    entry: Entry | None = None
    arrivals: list[Arrival] = field(default_factory=list)
    kept: frozenset[str] = frozenset()


def smaller_copies(files: Sequence[Found], ledger: Ledger, models: Models) -> dict[Path, Path]:
    """Picture files that are smaller copies of others, see ``images.copies``: path of the copy to path of the other.

    Files with the same name are compared again only if one of them is new, has changed or is gone.
    """
    groups: dict[tuple[str, int], list[Found]] = defaultdict(list)
    for file in files:
        if file.kind == "picture":
            groups[plain_name(str(file.path)), models.reading(file.path).min_side].append(file)
    found: dict[Path, Path] = {}
    for (_, min_side), group in groups.items():
        if len(group) < 2:
            continue
        paths = [file.path for file in group]
        entries = [ledger.get(str(path)) for path in paths]
        known = {
            path: copied_from(entry.problem if entry else None) for path, entry in zip(paths, entries, strict=True)
        }
        current = all(
            entry is not None and (entry.state, entry.settings) == (file_state(file.path), models.looked_at(file))
            for file, entry in zip(group, entries, strict=True)
        )
        if current and {other for other in known.values() if other} <= {str(path) for path in paths}:
            found |= {path: Path(other) for path, other in known.items() if other}
            continue
        several = [(str(path), path) for path in paths]
        numbers = copies(several, min_side=min_side)
        found |= {paths[copy]: paths[other] for copy, other in numbers.items()}
    return found


def image_change(
    file: Found,
    old: Entry | None,
    brought: Set[str],
    models: Models,
    report: Report,
    copied: Mapping[Path, Path] = MappingProxyType({}),
) -> Change | None:
    """The change of a picture's file; None if unchanged.

    Args:
        brought: Owners of pictures in the library.
        copied: From ``smaller_copies``.
    """
    path, settings = str(file.path), models.looked_at(file)
    state = file_state(file.path) or ""
    if file.path in copied:
        problem = copy_problem(str(copied[file.path]))
        report.left_out.append((path, problem))
        return Change(path, Entry(path, state, settings, problem))
    if old == Entry(path, state, settings):
        report.unchanged += 1
        return None
    try:
        digest = digest_of(file.path)
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
        report.left_out.append((path, problem))
        # Its picture stays until the file can be read again, or is gone.
        return None if path in brought else Change(path, Entry(path, state, settings, problem))
    reading = models.reading(file.path)
    (image,) = inspect([Image(path, file.path)], min_side=reading.min_side, max_pixels=reading.max_pixels)
    if image.problem is not None:
        problem = image.problem.removeprefix(f"{path}: ")
        report.left_out.append((path, problem))
        return Change(path, Entry(path, state, settings, problem))
    arrival = Arrival(
        digest,
        file.path,
        [Place(file=path, written=models.written(file.path))],
        *image_date(file.path, otherwise=file.path),
    )
    return Change(path, Entry(path, state, settings), [arrival])


def is_unchanged(document: Found, old: Entry | None, models: Models) -> bool:
    """Whether the document, its pictures and the settings for reading them are all unchanged."""
    expected = old and Entry(str(document.path), old.state, models.looked_at(document))
    return old is not None and old == expected and _is_current(document.path, old.state)


def document_change(file: Found, old: Entry | None, brought: Set[str], models: Models, report: Report) -> Change | None:
    """The change of a document; None if it and its pictures are unchanged. See ``image_change``."""
    path, settings, asked = str(file.path), models.looked_at(file), models.asked_of(file.path)
    if is_unchanged(file, old, models):
        report.unchanged += 1
        return None
    own_state = file_state(file.path)
    arrivals: list[Arrival] = []
    pictures: dict[str, str | None] = {}
    kept: set[str] = set()
    missing, number, problem = False, 0, None
    for linked in models.link(file.path, file.folder, asked):
        if isinstance(linked, Failure):
            problem = encodable(str(linked.error).removeprefix(f"{path}: "))
            report.failures.append((path, problem))
            continue
        arrivals += arrivals_of(linked, file.path, number, report.left_out)
        number += len(linked.document.images)
        for image in linked.document.images:
            if isinstance(image.file, Path):
                pictures[encodable(str(image.file.resolve()))] = file_state(image.file)
            unfetched = image.file is None and bool(REMOTE.match(image.source))
            closed = _cannot_be_opened(image.file)
            if unfetched or closed:
                kept.add(clean(image.source) or "")
            missing = missing or (bool(asked.get("fetch")) if unfetched else closed or image.file is None)
    if problem is not None and path in brought:
        return None  # the document's pictures stay until it can be read again, or is gone
    report.documents += problem is None
    state = json.dumps({"document": own_state, "pictures": pictures, "missing": missing})
    there = {arrival.places[0].source for arrival in arrivals}
    return Change(path, Entry(path, state, settings, problem), arrivals, frozenset(kept - there))


def _cannot_be_opened(picture: Path | bytes | None) -> bool:
    """Whether a picture's file exists and cannot be read, perhaps only temporarily."""
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
    try:
        known = parse_json(state)
        if known["missing"] or known["document"] != file_state(document):
            return False
        return all(file_state(Path(path)) == before for path, before in known["pictures"].items())
    except (ValueError, KeyError, TypeError, AttributeError):  # damaged
        return False


def arrivals_of(
    linked: LinkedDocument,
    path: Path,
    first: int,
    left_out: list[tuple[str, str]],
    *,
    part: int | None = None,
    dated: Path | None = None,
) -> Iterator[Arrival]:
    """The pictures of a linked document; its first image has the number ``first`` in the file.

    Args:
        left_out: The pictures that cannot be used are appended: place and reason.
        part: Number of the part of a shard, if the document is in a shard.
        dated: File whose time is the date of pictures without a file and a camera's date; default: ``path``.
    """
    for number, image in enumerate(linked.document.images):
        name = f"{path if part is None else linked.document.id}: {clean(image.source) or number}"
        if image.file is None or image.problem is not None:
            file = f"{image.file}: " if isinstance(image.file, Path) else ""
            problem = encodable((image.problem or "file not found").removeprefix(file))
            if not problem.startswith("the same picture as"):
                left_out.append((name, problem))
            continue
        try:
            digest = digest_of(image.file)
        except OSError as error:
            left_out.append((name, f"cannot be read: {error.strerror or error}"))
            continue
        date = image_date(image.file, otherwise=image.file if isinstance(image.file, Path) else dated or path)
        place = _place(linked, number, path, first)
        if part is not None:
            place = replace(place, part=part, id=encodable(linked.document.id), member=image.member)
        yield Arrival(digest, image.file, [place], *date)


def _place(linked: LinkedDocument, number: int, path: Path, first: int) -> Place:
    image = linked.document.images[number]
    links = sorted((link for link in linked.links if link.image == number), key=lambda link: -link.confidence)
    texts = linked.document.sentences
    file = encodable(str(image.file.resolve())) if isinstance(image.file, Path) else None
    return Place(
        file=file,
        document=address_of(path),
        number=first + number,
        source=clean(image.source),
        caption=clean(image.caption),
        alt=clean(image.alt),
        written=clean(text_in(image)),
        sentences=tuple(Said(encodable(texts[link.sentence].text), round(link.confidence, 6)) for link in links),
        language=linked.document.language,
    )
