"""Follows opened files: a file that changes on disk is linked again, and folders are searched for new documents.

Sizes and times are polled. Notifications of the system are not used: network drives do not send them, and they stop if
a folder has more files than the system can watch. Polling takes at most a twentieth of the time, however many files
there are. A change counts only if two polls in a row give the same, so that a file is hardly ever read while it is
being written. If it is, or is missing for a moment, the next poll finds it complete; verdicts depend on a document's
contents.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

from iconotext.errors import DocumentError, FullDiskError
from iconotext.serve import work
from iconotext.serve.followed import File, files_now
from iconotext.serve.jobs import Jobs
from iconotext.serve.records import Collection

logger = logging.getLogger(__name__)

PAUSE, FOLDER_PAUSE = 0.5, 2.0
"""Seconds between two polls of documents' files, and of folders."""

SHARE = 20
"""The pause between two polls is at least this many times as long as a poll takes."""

GONE = 5.0
"""Seconds after which a document whose file is gone is removed, if there are no verdicts about it."""


class Follower:
    """Polls the files of opened collections, in a thread of its own, so that a drive that hangs stops nothing else."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._files: dict[int, tuple[File, ...]] = {}  # document to its files at the last poll
        self._found: dict[str, tuple[tuple[str, str], ...]] = {}  # collection to its documents at the last poll
        self._gone: dict[int, float] = {}  # document to the time since which its file is missing
        self._told: set[str] = set()  # collections that were reported as too large
        self._closed = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=each, daemon=True)
            for each in ((self._look_at_files, PAUSE), (self._look_through_folder, FOLDER_PAUSE))
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Stop polling."""
        self._closed.set()
        for thread in self._threads:
            thread.join(5)  # not forever: a drive may hang

    def _run(self, look: Callable[[Collection], None], pause: float) -> None:
        took = 0.0
        while not self._closed.wait(max(pause, SHARE * took)):
            begin = time.monotonic()
            try:
                for collection in self._jobs.store.collections():
                    if collection.found and not collection.own and not self._closed.is_set():
                        look(collection)
            except FullDiskError:
                pass  # nothing was noted, so the next look finds it again
            except Exception:  # a bug must not end polling silently
                logger.exception("what changed on the disk cannot be told")
            took = time.monotonic() - begin

    def _look_at_files(self, collection: Collection) -> None:
        for document, then in self._jobs.followed.all(collection.id).items():
            now = files_now(file.path for file in then)
            if now != then and self._files.get(document) == now:
                self._jobs.followed.link_again(document, now)
                self._tell(collection)
            self._files[document] = now

    def _look_through_folder(self, collection: Collection) -> None:
        if not Path(collection.folder).is_dir():  # a single opened file, or a missing drive
            return
        try:
            found = work.documents_in(collection.folder, self._jobs.within(collection), self._jobs.settings.max_files)
        except DocumentError as error:  # too many documents: keep the known ones
            if collection.id not in self._told:
                logger.warning("%s: its folder is not followed: %s", collection.name, error)
                self._told.add(collection.id)
            return
        if not found:  # a missing drive, or everything is being rewritten: each document reports its missing file
            return
        before, self._found[collection.id] = self._found.get(collection.id), found
        if before != found:
            return
        now, paths = time.monotonic(), {path for _, path in found}
        entries = self._jobs.store.entries(collection.id)
        missing = {entry.id: self._gone.get(entry.id, now) for entry in entries if entry.path not in paths}
        self._gone = {id_: since for id_, since in self._gone.items() if id_ not in {e.id for e in entries}} | missing
        gone = [id_ for id_, since in missing.items() if now - since > GONE]
        known = {(entry.name, entry.path) for entry in entries}
        if (gone or not known.issuperset(found)) and self._jobs.followed.set_documents(collection.id, found, gone):
            self._tell(collection)

    def _tell(self, collection: Collection) -> None:
        self._jobs.wake()
        self._jobs.events.tell("collection", id=collection.id)
