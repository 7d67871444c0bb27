"""Following opened files: changed files are linked again, new documents are added.

Sizes and times are polled. Notifications of the system are not used: network drives do not send them, and they stop if
a folder has more files than the system can watch. A change counts only if two polls in a row give the same, so that a
file is hardly ever read while it is being written. If it is, or is missing for a moment, the next poll finds it
complete; verdicts depend on a document's contents.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

from iconotext.errors import DocumentError, FullDiskError
from iconotext.serve.jobs import Jobs
from iconotext.serve.sources import File, documents_in, files_now
from iconotext.serve.store import Collection
from iconotext.system.threads import in_background

logger = logging.getLogger(__name__)

PAUSE, FOLDER_PAUSE = 0.5, 2.0
"""Seconds between two polls of documents' files, and of folders, since walking through folders takes longer."""

SHARE = 20
"""The pause between two polls is at least this many times as long as a poll takes: 2,000 documents with 10,000 pictures
took 0.22 s for the files and 0.8 s for the folders."""

GONE = 5.0
"""Seconds after which a document whose file is gone is removed, if there are no verdicts about it."""


class Follower:
    """Polls the files of opened collections in threads of its own, so that a drive that hangs stops nothing else."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._files: dict[int, tuple[File, ...]] = {}  # document to its files at the last poll
        self._documents: dict[str, tuple[tuple[str, str], ...]] = {}  # collection to its documents at the last poll
        self._gone: dict[int, float] = {}  # document to the time since which its file is missing
        self._reported: set[str] = set()  # collections that were reported as too large
        self._closed = threading.Event()
        self._threads = [
            in_background(self._run, self._poll_files, PAUSE),
            in_background(self._run, self._poll_folder, FOLDER_PAUSE),
        ]

    def close(self) -> None:
        """Stop polling."""
        self._closed.set()
        for thread in self._threads:
            thread.join(5)  # not forever: a drive may hang

    def _run(self, poll: Callable[[Collection], None], pause: float) -> None:
        took = 0.0
        while not self._closed.wait(max(pause, SHARE * took)):
            begin = time.monotonic()
            try:
                for collection in self._jobs.store.collections():
                    if collection.found and not collection.own and not self._closed.is_set():
                        poll(collection)
            except FullDiskError:
                pass  # nothing was stored, so the next poll finds the change again
            except Exception:  # a bug must not end polling silently
                logger.exception("changes of opened files cannot be followed")
            took = time.monotonic() - begin

    def _poll_files(self, collection: Collection) -> None:
        for document, before in self._jobs.store.followed(collection.id).items():
            now = files_now(file.path for file in before)
            if now != before and self._files.get(document) == now:  # twice the same: it is not being written
                self._jobs.store.files_changed(document, now)
                self._report_change(collection)
            self._files[document] = now

    def _poll_folder(self, collection: Collection) -> None:
        if not Path(collection.folder).is_dir():  # a single opened file, or a missing drive
            return
        try:
            documents = documents_in(collection.folder, self._jobs.within(collection), self._jobs.settings.max_files)
        except DocumentError as error:  # too many documents: the earlier ones stay
            if collection.id not in self._reported:
                logger.warning("%s: its folder is not followed: %s", collection.name, error)
                self._reported.add(collection.id)
            return
        if not documents:  # a missing drive, or everything is being rewritten: each document reports its missing file
            return
        before, self._documents[collection.id] = self._documents.get(collection.id), documents
        if before != documents:
            return
        now, paths = time.monotonic(), {path for _, path in documents}
        entries = self._jobs.store.entries(collection.id)
        missing = {entry.id: self._gone.get(entry.id, now) for entry in entries if entry.path not in paths}
        # Missing files of other collections stay in the table.
        self._gone = {id_: since for id_, since in self._gone.items() if id_ not in {e.id for e in entries}} | missing
        gone = [id_ for id_, since in missing.items() if now - since > GONE]
        stored = {(entry.name, entry.path) for entry in entries}
        if (gone or not stored.issuperset(documents)) and self._jobs.store.set_folder(collection.id, documents, gone):
            self._report_change(collection)

    def _report_change(self, collection: Collection) -> None:
        self._jobs.wake()
        self._jobs.events.send("collection", id=collection.id)
