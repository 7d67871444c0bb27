"""The changes that a picture, a document or a shard brings to a library: compare it with the ledger, list its pictures.

``image_change`` and ``document_change`` make the ``Change`` of a file, or None if it is unchanged; ``shard_changes``
yields the changes of a shard, part by part. The ledger records each part as it records a file. So a run that was killed
goes on with the next part, and memory does not grow with the shard.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import chain, groupby, islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from iconotext.corpus.shards import EXAMPLES, Counts, Shard, find_shards, reason_of, shard_documents
from iconotext.errors import CorpusError
from iconotext.evidence.picture import text_in
from iconotext.images import copied_from, copies, copy_problem, inspect, plain_name
from iconotext.library.commit import Change, Entry, Ledger, Report
from iconotext.library.files import SourceFile, digest_of, file_state, image_date
from iconotext.library.items import Arrival, Place, clean, file_of, part_name
from iconotext.library.models import Models
from iconotext.plain_text import encodable
from iconotext.read import Failure
from iconotext.read.address import REMOTE
from iconotext.system.object_store import address_of, local_files
from iconotext.system.strict_json import parse_json
from iconotext.types import Image, LinkedDocument, LinkedSentence

if TYPE_CHECKING:
    from iconotext.types import Document


def smaller_copies(files: Sequence[SourceFile], ledger: Ledger, models: Models) -> dict[Path, Path]:
    """Find picture files that are smaller copies of others, see ``images.copies``: copy to other file.

    Files with the same name are compared again only if one of them is new, has changed or is gone.
    """
    groups: dict[tuple[str, int], list[SourceFile]] = defaultdict(list)
    for file in files:
        if file.kind == "picture":
            groups[plain_name(str(file.path)), models.reading(file.path).min_side].append(file)
    smaller: dict[Path, Path] = {}
    for (_, min_side), group in groups.items():
        if len(group) < 2:
            continue
        paths = [file.path for file in group]
        entries = [ledger.get(str(path)) for path in paths]
        stored = {
            path: copied_from(entry.problem if entry else None) for path, entry in zip(paths, entries, strict=True)
        }
        current = all(
            entry is not None and (entry.state, entry.settings) == (file_state(file.path), models.settings_key(file))
            for file, entry in zip(group, entries, strict=True)
        )
        if current and {other for other in stored.values() if other} <= {str(path) for path in paths}:
            smaller |= {path: Path(other) for path, other in stored.items() if other}
            continue
        named_paths = [(str(path), path) for path in paths]
        numbers = copies(named_paths, min_side=min_side)
        smaller |= {paths[copy]: paths[other] for copy, other in numbers.items()}
    return smaller


def image_change(
    file: SourceFile,
    old: Entry | None,
    owners: Set[str],
    models: Models,
    report: Report,
    copied: Mapping[Path, Path] = MappingProxyType({}),
) -> Change | None:
    """Return the change of a picture's file; None if unchanged.

    Args:
        owners: Owners of pictures in the library.
        copied: From ``smaller_copies``.
    """
    path, settings = str(file.path), models.settings_key(file)
    state = file_state(file.path) or ""

    def left_out(problem: str) -> Change:
        report.left_out.append((path, problem))
        return Change(path, Entry(path, state, settings, problem))

    if file.path in copied:
        return left_out(copy_problem(str(copied[file.path])))
    if old == Entry(path, state, settings):
        report.unchanged += 1
        return None
    try:
        digest = digest_of(file.path)
    except OSError as error:
        change = left_out(f"cannot be read: {error.strerror or error}")
        return None if path in owners else change  # a picture stays until its file can be read again, or is gone
    reading = models.reading(file.path)
    (image,) = inspect([Image(path, file.path)], min_side=reading.min_side, max_pixels=reading.max_pixels)
    if image.problem is not None:
        return left_out(image.problem.removeprefix(f"{path}: "))
    place = Place(file=path, written=models.written(file.path))
    arrival = Arrival(digest, file.path, [place], *image_date(file.path, otherwise=file.path))
    return Change(path, Entry(path, state, settings), [arrival])


def is_unchanged(document: SourceFile, old: Entry | None, models: Models) -> bool:
    """Return whether the document, its pictures and the settings for reading them are all unchanged."""
    # The state is not compared as a text: it names the pictures, whose files ``_is_current`` looks at.
    expected = old and Entry(str(document.path), old.state, models.settings_key(document))
    return old is not None and old == expected and _is_current(document.path, old.state)


def document_change(
    file: SourceFile, old: Entry | None, owners: Set[str], models: Models, report: Report
) -> Change | None:
    """Return the change of a document; None if it and its pictures are unchanged. See ``image_change``."""
    path, settings, file_settings = str(file.path), models.settings_key(file), models.settings_of(file.path)
    if is_unchanged(file, old, models):
        report.unchanged += 1
        return None
    own_state = file_state(file.path)
    arrivals: list[Arrival] = []
    pictures: dict[str, str | None] = {}
    unreadable: set[str] = set()
    missing, number, problem = False, 0, None
    for linked in models.link(file.path, file.folder, file_settings):
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
                unreadable.add(clean(image.source) or "")
            missing = missing or (bool(file_settings.get("fetch")) if unfetched else closed or image.file is None)
    if problem is not None and path in owners:
        return None  # the document's pictures stay until it can be read again, or is gone
    report.documents += problem is None
    state = json.dumps({"document": own_state, "pictures": pictures, "missing": missing})
    sources = {arrival.places[0].source for arrival in arrivals}
    return Change(path, Entry(path, state, settings, problem), arrivals, frozenset(unreadable - sources))


def _cannot_be_opened(picture: Path | bytes | None) -> bool:
    """Return whether a picture's file exists and cannot be read, perhaps only temporarily."""
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
        recorded = parse_json(state)
        if recorded["missing"] or recorded["document"] != file_state(document):
            return False
        return all(file_state(Path(path)) == before for path, before in recorded["pictures"].items())
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
    """Yield the pictures of a linked document; its first image has the number ``first`` in the file.

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


AROUND = 2
"""Paragraphs before a picture, and after it, whose words find it."""

LONGEST = 20
"""At most this many sentences before a picture, and after it: a paragraph may be a whole chapter."""


def text_around(document: Document, image: Image, paragraphs: int = AROUND) -> tuple[str, ...]:
    """Return the sentences of the paragraphs around an image, without headings; () if its place is unknown."""
    if image.position is None:
        return ()
    before = _first_paragraphs(document, range(image.position - 1, -1, -1), paragraphs)
    after = _first_paragraphs(document, range(image.position, len(document.sentences)), paragraphs)
    return (*before[::-1], *after)


def _first_paragraphs(document: Document, numbers: Iterable[int], most: int) -> list[str]:
    """The sentences of the first paragraphs among those with the given numbers; of long ones, only the first."""
    running = (sentence for number in numbers if not (sentence := document.sentences[number]).heading)
    paragraphs = islice(groupby(running, key=lambda sentence: sentence.block), most)
    return [encodable(sentence.text) for sentence in islice(chain.from_iterable(p for _, p in paragraphs), LONGEST)]


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
        sentences=tuple(
            LinkedSentence(encodable(texts[link.sentence].text), round(link.confidence, 6)) for link in links
        ),
        around=text_around(linked.document, image),
        language=linked.document.language,
    )


PART = 256
"""A part ends at this many documents or pictures, whichever comes first."""


def parts_of(owners: Iterable[str]) -> dict[str, int]:
    """Return the number of parts of each shard: 1 + the number of the last part that brought in a picture."""
    parts: dict[str, int] = {}
    for owner in owners:
        if (file := file_of(owner)) != owner:
            parts[file] = max(parts.get(file, 0), int(owner.rpartition("#")[2]) + 1)
    return parts


def shard_changes(
    file: SourceFile, ledger: Ledger, parts: Mapping[str, int], models: Models, report: Report
) -> Iterator[Change]:
    """Yield the changes of a shard, part by part; commit each before asking for the next.

    Args:
        parts: Shard to number of parts in the library, from ``parts_of``.
    """
    path, settings = address_of(file.path), models.settings_key(file)
    stored = ledger.get(path)
    certain = file.folder is None or stored is not None or path in parts
    try:
        (shard,) = find_shards([path])
    except CorpusError as error:  # its pictures stay
        _note(report, path, str(error), certain=certain)
        return
    state = _state(shard)
    if stored == Entry(path, state, settings):
        report.shards_unchanged += 1
        return
    counts, number = Counts(), 0
    try:
        for batch in _batches(_linked(shard, counts, models, file)):
            name = part_name(path, number)
            entry = Entry(name, state, settings)
            if ledger.get(name) != entry:
                yield Change(name, entry, list(_arrivals(batch, file.path, number, shard, counts)))
            number += 1
    except CorpusError as error:
        counts.problem = str(error)
    certain = certain or counts.documents["read"] > 0
    report.shards += certain
    report.documents += counts.documents["written"]
    report.reasons.update(counts.reasons)
    report.examples += counts.examples[: EXAMPLES - len(report.examples)]
    if counts.problem is not None:  # parts behind the problem stay
        _note(report, path, counts.problem, certain=certain)
    else:
        yield from (Change(part_name(path, surplus)) for surplus in range(number, parts.get(path, 0)))
        yield Change(path, Entry(path, state, settings))


def _linked(shard: Shard, counts: Counts, models: Models, file: SourceFile) -> Iterator[LinkedDocument | Failure]:
    with local_files(*(part.address for part in (shard.file, *shard.beside))) as paths:
        documents: Iterator[Document] = shard_documents(shard, paths, counts)
        yield from models.link.link_all(documents, models.settings_of(file.path))


def _batches(documents: Iterable[LinkedDocument | Failure]) -> Iterator[list[LinkedDocument | Failure]]:
    """Divide the documents of a shard into parts, whose ends depend on the shard alone, so every run has the same."""
    batch: list[LinkedDocument | Failure] = []
    pictures = 0
    for linked in documents:
        batch.append(linked)
        pictures += len(linked.document.images) if isinstance(linked, LinkedDocument) else 0
        if max(len(batch), pictures) >= PART:
            yield batch
            batch, pictures = [], 0
    if batch:
        yield batch


def _arrivals(
    batch: Sequence[LinkedDocument | Failure], path: Path, part: int, shard: Shard, counts: Counts
) -> Iterator[Arrival]:
    """Yield the pictures of a part; the reasons of unusable documents and pictures are counted."""
    for linked in batch:
        if isinstance(linked, Failure):
            counts.note(f"document: {reason_of(str(linked.error))}", f"{linked.path}: {linked.error}")
            continue
        counts.documents["written"] += 1
        problems: list[tuple[str, str]] = []
        yield from arrivals_of(linked, path, 0, problems, part=part, dated=Path(shard.file.address))
        for place, problem in problems:
            counts.note(f"picture: {reason_of(problem)}", f"{place}: {problem}")


def _state(shard: Shard) -> str:
    """Return sizes and versions of all files of a shard."""
    return json.dumps({part.address: f"{part.size}:{part.version}" for part in (shard.file, *shard.beside)})


def _note(report: Report, path: str, problem: str, *, certain: bool) -> None:
    """Report a shard that cannot be read to its end; if not ``certain``, the file may not be a shard at all."""
    problem = encodable(problem.removeprefix(f"{path}: "))
    (report.failures if certain else report.left_out).append((path, problem))
