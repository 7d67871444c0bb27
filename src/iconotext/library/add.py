"""Works through the files that are added to a library or removed from it, in batches.

``commit`` writes each batch, so that a run may be killed at any time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

from iconotext.features.cores import usable_cores
from iconotext.library.changes import Change, Report, document_change, image_change, is_unchanged, smaller_copies
from iconotext.library.commit import commit
from iconotext.library.files import Found
from iconotext.library.items import file_of
from iconotext.library.ledger import Ledger
from iconotext.library.models import Models
from iconotext.library.shards import parts_of, shard_changes
from iconotext.library.store import Library
from iconotext.plain_text import encodable

BATCH = 256
"""Pictures between two commits; about as many are lost when a run is killed."""

AHEAD = 32
"""Documents that are encoded together."""

SECONDS = 10.0
"""Seconds between two commits while documents are read, which takes longer than looking at pictures."""

TIDY_AFTER = 100
"""After this many commits their fragments are joined; next after twice as many, and so on, since joining rewrites the
whole table."""


def add_files(
    library: Library, ledger: Ledger, found_files: Sequence[Found], brought: Set[str], models: Models, report: Report
) -> Iterator[Found]:
    """Add files; yields each file when it is in the library, or known to have nothing for it."""
    files, commits, tidy_after, parts = iter(found_files), 0, TIDY_AFTER, parts_of(brought)
    copied = smaller_copies(found_files, ledger, models)

    def bring(changes: Sequence[Change]) -> None:
        nonlocal commits, tidy_after
        commit(library, ledger, changes, report, brought=brought, models=models)
        commits += bool(changes)
        if commits == tidy_after:
            library.tidy()
            tidy_after *= 2

    with ThreadPoolExecutor(usable_cores(), thread_name_prefix="iconotext-library") as pool:
        while some := list(islice(files, BATCH)):
            named = [file for file in some if _has_text_name(file, report)]
            old = {file: ledger.get(str(file.path)) for file in named}
            pictures = [file for file in named if file.kind == "picture"]
            found = pool.map(
                lambda file, old=old: image_change(file, old[file], brought, models, report, copied), pictures
            )
            waiting = [change for change in found if change is not None]
            due = time.monotonic() + SECONDS
            documents = [file for file in named if file.kind == "document"]
            for start in range(0, len(documents), AHEAD):
                ahead = documents[start : start + AHEAD]
                models.encode_ahead(file for file in ahead if not is_unchanged(file, old[file], models))
                for file in ahead:
                    change = document_change(file, old[file], brought, models, report)
                    waiting += [change] if change is not None else []
                    if sum(len(change.arrivals) for change in waiting) >= BATCH or time.monotonic() > due:
                        bring(waiting)
                        waiting, due = [], time.monotonic() + SECONDS
            bring(waiting)
            for file in named:
                if file.kind == "shard":
                    for change in shard_changes(file, ledger, parts, models, report):
                        bring([change])
            yield from some


def take_out(library: Library, ledger: Ledger, files: Sequence[str], brought: Set[str], report: Report) -> None:
    """Remove the pictures that files brought in, and forget the files."""
    for start in range(0, len(files), BATCH):
        some = files[start : start + BATCH]
        ledger.forget({file_of(owner) for owner in some})  # parts of a shard are removed: read it again
        commit(library, ledger, [Change(owner) for owner in some], report, brought=brought)


def brought_files(library: Library) -> set[str]:
    """The owners of the library's pictures: files, and parts of shards."""
    return {file for some in library.column("owners") for file in some}


def _has_text_name(file: Found, report: Report) -> bool:
    name = str(file.path)
    if encodable(name) == name:
        return True
    report.left_out.append((encodable(name), "its name is not UTF-8: rename it"))
    return False
