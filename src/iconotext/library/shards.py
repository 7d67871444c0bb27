"""Add shards to a library, part by part: linked now, or from the results of ``scale link``.

``shard_changes`` yields the changes of one shard; ``linked_shards`` finds the shards that a result replaces. The ledger
records each part as it records a file. So a run that was killed goes on with the next part, and memory does not grow
with the shard.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.corpus.shard_results import Result, find_result, linked_again
from iconotext.corpus.shards import EXAMPLES, Counts, Shard, find_shards, reason_of, shard_documents
from iconotext.errors import CorpusError
from iconotext.library.changes import Change, Report, arrivals_of
from iconotext.library.files import Found
from iconotext.library.items import Arrival, file_of, part_name
from iconotext.library.ledger import RESULT_OF, Entry, Ledger
from iconotext.library.models import Models
from iconotext.plain_text import counted, encodable
from iconotext.read import Failure
from iconotext.system.object_store import address_of, at_hand, entry, lasting
from iconotext.types import LinkedDocument

if TYPE_CHECKING:
    from iconotext.types import Document

PART = 256
"""A part ends at this many documents or pictures, whichever comes first."""


def parts_of(brought: Iterable[str]) -> dict[str, int]:
    """Number of parts of each shard in the library: 1 + the number of the last part that brought in a picture."""
    parts: dict[str, int] = {}
    for owner in brought:
        if (file := file_of(owner)) != owner:
            parts[file] = max(parts.get(file, 0), int(owner.rpartition("#")[2]) + 1)
    return parts


def linked_shards(
    files: Iterable[Found], ledger: Ledger, brought: Iterable[str], stays: Callable[[str], bool]
) -> tuple[set[Path], dict[Path, Path]]:
    """Find the shards that are replaced by a result of ``scale link``, among ``files`` and those in the library.

    A result replaces its shard while it can be read, whichever of the two was added first. Of several results for one
    shard only one is used: the one in the library, else the first.

    Args:
        brought: The owners of the library's pictures: files, and parts of shards.
        stays: Whether the pictures from this file stay in the library.

    Returns:
        The replaced shards; and each unused result with the result that is used in its place.
    """
    parts, looked_at = parts_of(brought), [file.path for file in files if file.kind == "shard"]
    used: dict[Path, Path] = {}
    unused: dict[Path, Path] = {}
    for shard, result in _results(ledger, parts, looked_at, stays):
        if (other := used.setdefault(lasting(shard), result)) != result:
            unused[result] = other
    return used.keys() & {*looked_at, *map(Path, parts)}, unused


def _results(
    ledger: Ledger, brought: Iterable[str], looked_at: Sequence[Path], stays: Callable[[str], bool]
) -> Iterator[tuple[Path, Path]]:
    """Shards with their results; if a shard has several results, the one to use comes first."""
    noted = {file_of(name): shard for name, shard in ledger.results().items()}
    for name in sorted(filter(stays, noted)):
        yield Path(noted[name]), Path(name)
    forgotten = {Path(name) for name in brought if name not in noted and ledger.get(name) is None and stays(name)}
    for path in (*sorted(forgotten), *looked_at):
        with suppress(CorpusError):  # reported when the shard is read
            if (result := find_result(path)) is not None:
                if path not in forgotten:
                    result.shard()  # else the result cannot be read, and the shard is read instead
                yield Path(result.manifest.inputs[0].address), path


def shard_changes(
    file: Found, ledger: Ledger, parts: Mapping[str, int], models: Models, report: Report
) -> Iterator[Change]:
    """The changes of a shard, part by part; commit each before asking for the next.

    Args:
        parts: Shard to number of parts in the library, from ``parts_of``.
    """
    path, settings = address_of(file.path), models.looked_at(file)
    known, result = ledger.get(path), None
    certain = file.folder is None or known is not None or path in parts
    try:
        result = find_result(file.path)
        shard = find_shards([path])[0] if result is None else result.shard()
    except CorpusError as error:  # its pictures stay
        many = f" ({counted(result.manifest.images.get('usable', 0), 'picture')})" if result is not None else ""
        _note(report, path, f"{error}{many}", certain=certain or result is not None)
        return
    state = _state(file.path, shard, result)
    if known == Entry(path, state, settings):
        report.shards_unchanged += 1
        return
    counts, number = Counts(), 0
    try:
        for some in _some(_linked(result, shard, counts, models, file)):
            name = part_name(path, number)
            entry = Entry(name, state, settings)
            if ledger.get(name) != entry:
                yield Change(name, entry, list(_arrivals(some, file.path, number, shard, counts)))
            number += 1
    except CorpusError as error:
        counts.problem = str(error)
    certain = certain or result is not None or counts.documents["read"] > 0
    report.shards += certain
    report.documents += counts.documents["written"]
    report.reasons.update(counts.reasons)
    report.examples += counts.examples[: EXAMPLES - len(report.examples)]
    if counts.problem is not None:  # parts behind the problem stay
        _note(report, path, counts.problem, certain=certain)
    else:
        yield from (Change(part_name(path, surplus)) for surplus in range(number, parts.get(path, 0)))
        yield Change(path, Entry(path, state, settings))


def _linked(
    result: Result | None, shard: Shard, counts: Counts, models: Models, file: Found
) -> Iterator[LinkedDocument | Failure]:
    if result is not None:
        yield from linked_again(result, shard, counts)
        return
    with at_hand(*(each.address for each in (shard.file, *shard.beside))) as paths:
        documents: Iterator[Document] = shard_documents(shard, paths, counts)
        yield from models.link.link_all(documents, models.asked_of(file.path))


def _some(documents: Iterable[LinkedDocument | Failure]) -> Iterator[list[LinkedDocument | Failure]]:
    """Divide the documents of a shard into parts, whose ends depend on the shard alone, so every run has the same."""
    some: list[LinkedDocument | Failure] = []
    pictures = 0
    for linked in documents:
        some.append(linked)
        pictures += len(linked.document.images) if isinstance(linked, LinkedDocument) else 0
        if max(len(some), pictures) >= PART:
            yield some
            some, pictures = [], 0
    if some:
        yield some


def _arrivals(
    some: Sequence[LinkedDocument | Failure], path: Path, part: int, shard: Shard, counts: Counts
) -> Iterator[Arrival]:
    """The pictures of a part; the reasons of unusable documents and pictures are counted."""
    for linked in some:
        if isinstance(linked, Failure):
            counts.note(f"document: {reason_of(str(linked.error))}", f"{linked.path}: {linked.error}")
            continue
        counts.documents["written"] += 1
        problems: list[tuple[str, str]] = []
        yield from arrivals_of(linked, path, 0, problems, part=part, dated=Path(shard.file.address))
        for place, problem in problems:
            counts.note(f"picture: {reason_of(problem)}", f"{place}: {problem}")


def _state(file: Path, shard: Shard, result: Result | None) -> str:
    """Sizes and times of all files of a shard; for a result, also which shard it replaces."""
    files = [entry(address_of(file)), shard.file, *shard.beside]
    state = {each.address: f"{each.size}:{each.modified}" for each in files if each is not None}
    return json.dumps(state if result is None else {RESULT_OF: shard.file.address} | state)


def _note(report: Report, path: str, problem: str, *, certain: bool) -> None:
    """Report a shard that cannot be read to its end; if not ``certain``, the file may not be a shard at all."""
    problem = encodable(problem.removeprefix(f"{path}: "))
    (report.failures if certain else report.left_out).append((path, problem))
