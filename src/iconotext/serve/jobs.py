"""Decides what is done next, from the store: a crash loses nothing, and the next start continues.

Collections take turns, one document at a time, so that a large one does not hold up the others. The documents of a
collection are found first, then linked. When all are linked, new verdicts are learned, and all documents are weighed
again with the result. The page of such a document is made when somebody opens it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Any, TypeVar

from iconotext.errors import DocumentError, FullDiskError, IconotextError
from iconotext.serve import learn, work
from iconotext.serve.agreement import Answer, agreed
from iconotext.serve.alt_text_store import AltTexts
from iconotext.serve.events import Events
from iconotext.serve.followed import Followed
from iconotext.serve.metrics import Metrics
from iconotext.serve.pool import BusyError, Pool
from iconotext.serve.reading import without_hint
from iconotext.serve.records import Collection, Entry, Picture
from iconotext.serve.settings import ServeSettings
from iconotext.serve.store import Store
from iconotext.serve.views import STAMP
from iconotext.serve.work import Found, Made, Place

Result = TypeVar("Result")

logger = logging.getLogger(__name__)

AGAIN = 5.0
"""Seconds before a full queue, or a full disk, is tried again."""

WHOLE = -1
"""Stands for a document's number if the work is on a whole collection."""


class Jobs:
    """Keeps the pool's processes busy."""

    def __init__(self, store: Store, pool: Pool, settings: ServeSettings, events: Events) -> None:
        self.store, self.pool, self.settings, self.events = store, pool, settings, events
        self.alt_texts, self.followed = AltTexts(store), Followed(store)
        self.metrics = Metrics(pool)
        self.asked_folder = settings.data.absolute() / "asked"
        """Folder for files of requests; they are removed after the request."""
        self.exports = settings.data.absolute() / "exports"
        """Folder for files that are sent once and then removed."""
        for folder in (self.asked_folder, self.exports):
            shutil.rmtree(folder, ignore_errors=True)  # left by a server that was killed
        self.saving = asyncio.Semaphore(2)
        """Limits uploads that are unpacked at a time, since a zip's contents are in memory."""
        self._changed = threading.Condition()
        self._at_work: dict[str, set[int]] = {}
        self._after = ""  # the collection that had the last turn
        self._closed = False
        self._full_until = 0.0
        """When to try again, after the disk was full; 0 if it was not."""
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Wake up: there may be work to do."""
        with self._changed:
            self._changed.notify()

    def close(self) -> None:
        """Start no more work."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def remove(self, collection: Collection) -> None:
        """Delete a collection, its results, and uploaded files."""
        try:
            self.store.remove_collection(collection.id)
        except FullDiskError:
            self._remove_files(collection)  # makes room
            self.store.remove_collection(collection.id)
        self._remove_files(collection)
        self.events.tell("collection", id=collection.id)

    def _remove_files(self, collection: Collection) -> None:
        shutil.rmtree(self.linked_folder(collection.id), ignore_errors=True)
        if collection.own:
            shutil.rmtree(collection.folder, ignore_errors=True)

    def linked_folder(self, collection: str) -> Path:
        """The folder of the results for a collection."""
        return self.settings.data.absolute() / "linked" / collection

    def entry_folder(self, entry: Entry) -> Path:
        """The folder of the results for a document."""
        return self.linked_folder(entry.collection) / str(entry.id)

    def within(self, collection: Collection) -> str:
        """The folder in which the collection's documents and pictures must be."""
        root = self.settings.root
        return collection.folder if collection.own or root is None else str(root.absolute())

    def place(self, collection: Collection, entry: Entry) -> Place:
        """The place of a document."""
        return Place(entry.path, entry.name, self.within(collection))

    def judged(self, collection: str) -> dict[int, dict[int, tuple[int, ...]]]:
        """For a collection, document to what most reviewers said about its pictures."""
        found: dict[int, dict[int, tuple[int, ...]]] = {}
        for (document, picture), answer in agreed(self.store.verdicts(collection)).items():
            found.setdefault(document, {})[picture] = answer.sentences
        return found

    def _said(self, entry: Entry) -> dict[str, dict[int, Answer]]:
        """What most reviewers said about a document's pictures, for each digest of a version of its file."""
        verdicts = self.store.verdicts_of(entry.id)
        digests = {verdict.digest for verdict in verdicts}
        return {
            digest: {picture: a for (_, picture), a in agreed([v for v in verdicts if v.digest == digest]).items()}
            for digest in digests
        }

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._closed:
                    return
                try:
                    began = self._begin()
                except BusyError:
                    began = False
                except Exception:  # a bug must not stop all work silently
                    logger.exception("what to do next cannot be told")
                    began = False
                if not began:
                    self._changed.wait(AGAIN)

    def _begin(self) -> bool:
        """Start one piece of work; False if there is none, or if all processes are busy."""
        if sum(map(len, self._at_work.values())) >= self.settings.workers or time.monotonic() < self._full_until:
            return False
        for collection in sorted(self.store.collections(), key=lambda each: (each.id <= self._after, each.id)):
            if self._begin_of(collection):
                self._after = collection.id
                return True
        return False

    def _begin_of(self, collection: Collection) -> bool:
        at_work = self._at_work.get(collection.id, set())
        if WHOLE in at_work or (collection.found and collection.problem is not None):
            return False
        if not collection.found:
            within, most = self.within(collection), self.settings.max_files
            labels = self.store.saved(collection.id).labels
            self._submit(collection, WHOLE, self._when_found, work.find, collection.folder, within, most, labels)
            return True
        entry = self.store.next_entry(collection.id, at_work)
        if entry is not None:
            self._link(collection, entry)
            return True
        last = self.store.last_change(collection.id)
        if at_work or last == collection.learned:
            return False
        self._learn(collection, last)
        return True

    def _learn(self, collection: Collection, last: int) -> None:
        # Without verdicts, changed files moved the pictures; that is not shown as an effect of verdicts.
        before = self._first(collection.id) if last else {}
        documents = self._judgeable(collection)

        def learned(_: Collection, told: learn.Learned | IconotextError) -> None:
            if isinstance(told, IconotextError):
                logger.warning("%s: what was said cannot be learned: %s", collection.name, told)
                self.store.set_learned(collection, collection.habits, collection.habit, last, {})
                return
            weighed = {}
            for entry, (links, seen) in told.documents.items():
                pictures = [Picture(entry, *each) for each in seen]
                weighed[entry] = links, pictures, _changed(before.get(entry, {}), pictures)
            self.store.set_learned(collection, told.habits, told.habit, last, weighed)

        self._submit(collection, WHOLE, learned, learn.learn, documents)

    def _judgeable(self, collection: Collection) -> list[learn.Judgeable]:
        """The linked documents of a collection, with their verdicts."""
        judged, pictures = self.judged(collection.id), self._first(collection.id)
        return [
            learn.Judgeable(
                entry.id,
                str(self.entry_folder(entry)),
                entry.digest,
                frozenset(pictures.get(entry.id, ())),
                judged.get(entry.id, {}),
            )
            for entry in self.store.entries(collection.id)
            if entry.state == "done" and entry.digest is not None
        ]

    def _link(self, collection: Collection, entry: Entry) -> None:
        before = self._first(collection.id).get(entry.id, {})
        arguments = self._arguments(collection, entry)

        def linked(_: Collection, made: Made | IconotextError) -> None:
            if isinstance(made, IconotextError):
                self.followed.set_failed(entry.id, entry.path)
                self.store.set_failed(entry.id, collection.round, without_place(str(made), entry))
                return
            pictures = [Picture(entry.id, *each) for each in made.pictures]
            same = entry.digest == made.known["digest"]
            changed = _changed(before, pictures) if same and self.store.last_change(collection.id) else []
            self.followed.set_files(entry.id, made.files)
            self.alt_texts.set_wanted(entry.id, made.wanted)
            self.metrics.linked(1, made.known["links"])
            self.store.set_linked(entry.id, collection.round, made.known, pictures, changed)

        self._submit(collection, entry.id, linked, work.link, *arguments)

    def _arguments(
        self, collection: Collection, entry: Entry
    ) -> tuple[Place, str, Mapping[str, Mapping[int, Answer]], str, Mapping[str, str], str]:
        """The arguments of ``work.link`` and ``work.view``."""
        said, home = self._said(entry), f"/collections/{collection.id}"
        stamp = f"{collection.round} {self.store.last_change(collection.id, entry.id)}"
        pages = {"Review": "review", "Alternative texts": "alt-text"}
        leads = {name: f"{home}/{page}?document={entry.id}" for name, page in pages.items()}
        folder = str(self.entry_folder(entry))
        return self.place(collection, entry), collection.habits, said, folder, leads, stamp

    def _first(self, collection: str) -> dict[int, dict[int, int | None]]:
        """Document to the most likely sentence of each of its pictures before any verdict."""
        found: dict[int, dict[int, int | None]] = {}
        for picture in self.store.pictures(collection):
            found.setdefault(picture.document, {})[picture.number] = picture.best
        for entry in self.store.entries(collection):
            for number, before, _ in json.loads(entry.changed):
                found[entry.id][number] = before
        return found

    async def made(self, entry: Entry, name: str) -> Path:
        """The reading view of a document, or its JSON, made again if more has been learned since.

        Raises:
            IconotextError: The document can no longer be read.
            BusyError: Too much is waiting.
        """
        collection, folder = self.store.collection(entry.collection), self.entry_folder(entry)
        assert collection is not None
        arguments = self._arguments(collection, entry)
        if not _has_stamp(folder, arguments[-1]):
            future = self.pool.submit(work.view, self.settings.max_seconds, *arguments)
            try:
                digest = await asyncio.wrap_future(future)
            except DocumentError:
                if entry.problem is None or not (folder / name).is_file():
                    raise
                return folder / name  # the old view; the page says beside it that the document cannot be read
            if digest != entry.digest:  # its file has changed
                self.store.link_again(entry.id)
                self.wake()
        return folder / name

    async def view_by(self, entry: Entry, chosen: Mapping[str, object]) -> str:
        """The reading view of a document by other settings; errors as for ``made``."""
        collection = self.store.collection(entry.collection)
        assert collection is not None
        place, habits, said, folder, leads, _ = self._arguments(collection, entry)
        known = place, habits, said, folder, leads
        future = self.pool.submit(learn.view_by, self.settings.max_seconds, *known, chosen, self._judgeable(collection))
        return await asyncio.wrap_future(future)

    def _when_found(self, collection: Collection, told: Found | IconotextError) -> None:
        if isinstance(told, IconotextError):
            problem = str(told).replace(f"{collection.folder}/", "").replace(collection.folder, collection.name)
            self.store.set_documents(collection.id, (), "", None, problem)
        else:
            self.store.set_documents(collection.id, told.documents, told.habits, told.habit, None)

    def _submit(
        self,
        collection: Collection,
        document: int,
        then: Callable[[Collection, Any], None],
        function: Callable[..., Any],
        *arguments: Any,
    ) -> None:
        """Run a function in a process, and then ``then`` with its result or error."""
        future = self.pool.submit(function, self.settings.max_seconds, *arguments)
        self._at_work.setdefault(collection.id, set()).add(document)

        def done(future: Future[Any]) -> None:
            try:
                if self._closed:
                    return
                if self.store.collection(collection.id) is None:
                    self._remove_files(collection)  # the process may have written files after they were removed
                    return
                then(collection, _result(future))
                self._full_until = 0.0
            except CancelledError:
                pass  # the server is stopping; it is done after the next start
            except FullDiskError:
                if not self._full_until:
                    logger.warning("the disk is full: free some space, and what is left to do is done")
                self._full_until = time.monotonic() + AGAIN
            except Exception:
                logger.exception("%s: what was done cannot be remembered", collection.name)
            finally:
                with self._changed:
                    self._at_work[collection.id].discard(document)
                    self._changed.notify()
                self.events.tell("collection", id=collection.id, document=None if document == WHOLE else document)

        future.add_done_callback(done)


def _changed(before: Mapping[int, int | None], pictures: Sequence[Picture]) -> list[tuple[int, int | None, int | None]]:
    """Pictures whose sentence changed: number, sentence before and now."""
    return [(p.number, before[p.number], p.best) for p in pictures if p.number in before and before[p.number] != p.best]


def _has_stamp(folder: Path, stamp: str) -> bool:
    try:
        return (folder / STAMP).read_text(encoding="ascii") == stamp
    except OSError:
        return False


def _result(future: Future[Result]) -> Result | IconotextError:
    try:
        return future.result()
    except FullDiskError:
        raise
    except IconotextError as error:
        return error


def without_place(message: str, entry: Entry) -> str:
    """A message about a document without its path on this machine, since others may see the page."""
    return without_hint(message.replace(f"{entry.path}: ", "").replace(entry.path, Path(entry.path).name))
