"""The server's scheduler: chooses the next work from the database, so that after a crash the next start continues.

Collections take turns, one document at a time, so that a large one does not hold up the others. The documents of a
collection are found first, then linked. When all are linked, new verdicts are learned, and all documents are weighed
again with the result. The page of such a document is written when somebody opens it.

Begin with ``Jobs``; routes get it as ``TheJobs``.
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
from typing import Annotated, Any

from fastapi import Depends, Request

from iconotext.alt_text.captioner import Captioner
from iconotext.errors import DocumentError, FullDiskError, IconotextError
from iconotext.serve import work
from iconotext.serve.alt_text_work import AltTexts
from iconotext.serve.events import Events
from iconotext.serve.pool import BusyError, Pool
from iconotext.serve.results import STAMP
from iconotext.serve.settings import ServeSettings
from iconotext.serve.sources import Place, without_place
from iconotext.serve.store import Collection, Entry, Picture, Store
from iconotext.serve.verdicts import Answer, agreed
from iconotext.serve.work import FoundDocuments, Judgeable, Learned, LinkResult, Task
from iconotext.system.threads import in_background

logger = logging.getLogger(__name__)

RETRY_SECONDS = 5.0
"""Seconds until a retry, when too many calls wait, the disk is full, or a result could not be stored."""

WHOLE = -1
"""Stands in for a document's id when the work is on a whole collection."""


class Jobs:
    """The scheduler: a thread gives work to the pool's processes, and writes their results to the database."""

    def __init__(self, store: Store, pool: Pool, settings: ServeSettings, captioner: Captioner | None = None) -> None:
        self.store, self.pool, self.settings, self.captioner = store, pool, settings, captioner
        self.captioner_slots = asyncio.Semaphore(captioner.settings.requests if captioner else 1)
        """Limits the pictures about which the captioner is asked at a time."""
        self.alt_texts = AltTexts(store)
        self.events = Events()
        self.requests = settings.data.absolute() / "asked"
        """Folder for files of requests; they are removed after the request."""
        self.exports = settings.data.absolute() / "exports"
        """Folder for files that are sent once and then removed."""
        for folder in (self.requests, self.exports):
            shutil.rmtree(folder, ignore_errors=True)  # left by a server that was killed
        self.unpacking_slots = asyncio.Semaphore(2)
        """Limits uploads that are unpacked at a time, since the contents of a zip are in memory."""
        self._wakeup = threading.Condition()
        self._at_work: dict[str, set[int]] = {}
        self._after = ""  # the collection that had the last turn
        self._closed = False
        self._paused_until = 0.0
        """When to try again, after a result could not be stored; 0 if the last one could."""
        self._thread = in_background(self._run)

    def wake(self) -> None:
        """Check now whether there is work to do."""
        with self._wakeup:
            self._wakeup.notify()

    def close(self) -> None:
        """Start no more work."""
        with self._wakeup:
            self._closed = True
            self._wakeup.notify()
        self._thread.join()

    def remove(self, collection: Collection) -> None:
        """Delete a collection, its results, and uploaded files."""
        try:
            self.store.remove_collection(collection.id)
        except FullDiskError:
            self._remove_files(collection)  # makes room
            self.store.remove_collection(collection.id)
        self._remove_files(collection)
        self.events.send("collection", id=collection.id)

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
        """The folder that must contain the collection's documents and pictures."""
        root = self.settings.root
        return collection.folder if collection.own or root is None else str(root.absolute())

    def place(self, collection: Collection, entry: Entry) -> Place:
        """The place of a document."""
        return Place(entry.path, entry.name, self.within(collection))

    def judged(self, collection: str) -> dict[int, dict[int, tuple[int, ...]]]:
        """The sentences that most reviewers chose, by document and picture, for a collection."""
        judged: dict[int, dict[int, tuple[int, ...]]] = {}
        for (document, picture), answer in agreed(self.store.verdicts(collection)).items():
            judged.setdefault(document, {})[picture] = answer.sentences
        return judged

    def _answers(self, entry: Entry) -> dict[str, dict[int, Answer]]:
        """The answers of most reviewers for a document's pictures, by digest of the version of its file."""
        verdicts = self.store.verdicts_of(entry.id)
        digests = {verdict.digest for verdict in verdicts}
        return {
            digest: {picture: a for (_, picture), a in agreed([v for v in verdicts if v.digest == digest]).items()}
            for digest in digests
        }

    def _run(self) -> None:
        while True:
            with self._wakeup:  # held from choosing until waiting: a ``wake`` between them would be lost
                if self._closed:
                    return
                try:
                    began = self._begin()
                except BusyError:
                    began = False
                except Exception:  # a bug must not stop all work silently
                    logger.exception("the next work cannot be chosen")
                    began = False
                if not began:
                    self._wakeup.wait(RETRY_SECONDS)

    def _begin(self) -> bool:
        """Start one piece of work; False if there is none, or if all processes are busy."""
        if sum(map(len, self._at_work.values())) >= self.settings.workers or time.monotonic() < self._paused_until:
            return False
        # In turn: first the collections behind the one that had the last turn, then the others from the beginning.
        for collection in sorted(self.store.collections(), key=lambda c: (c.id <= self._after, c.id)):
            if self._begin_of(collection):
                self._after = collection.id
                return True
        return False

    def _begin_of(self, collection: Collection) -> bool:
        at_work = self._at_work.get(collection.id, set())
        if WHOLE in at_work or (collection.found and collection.problem is not None):
            return False  # with a problem it has no documents; if some come, ``Store.set_folder`` removes the problem
        if not collection.found:
            self._find(collection)
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

    def _find(self, collection: Collection) -> None:
        within, most = self.within(collection), self.settings.max_files
        labels = self.store.saved(collection.id).labels

        def save(result: FoundDocuments | IconotextError) -> None:
            if isinstance(result, IconotextError):
                problem = str(result).replace(f"{collection.folder}/", "").replace(collection.folder, collection.name)
                self.store.set_documents(collection.id, (), "", None, problem)
            else:
                self.store.set_documents(collection.id, result.documents, result.habits, result.habit, None)

        self._submit(collection, WHOLE, save, work.find, collection.folder, within, most, labels)

    def _link(self, collection: Collection, entry: Entry) -> None:
        before = self._before_verdicts(collection.id).get(entry.id, {})

        def save(result: LinkResult | IconotextError) -> None:
            if isinstance(result, IconotextError):
                self.store.follow_own(entry.id, entry.path)
                self.store.set_failed(entry.id, collection.round, without_place(str(result), entry.path))
                return
            pictures = [Picture(entry.id, *row) for row in result.pictures]
            same = entry.digest == result.columns["digest"]
            changed = _moved_pictures(before, pictures) if same and self.store.last_change(collection.id) else []
            self.store.follow(entry.id, result.files)
            self.alt_texts.set_wanted(entry.id, result.keys_to_describe)
            # Last: if the server is killed before, the next one links the document again.
            self.store.set_linked(entry.id, collection.round, result.columns, pictures, changed)

        self._submit(collection, entry.id, save, work.link, self._task(collection, entry))

    def _learn(self, collection: Collection, last: int) -> None:
        # Without verdicts, pictures move because files changed, which must not be shown as an effect of verdicts.
        before = self._before_verdicts(collection.id) if last else {}

        def save(result: Learned | IconotextError) -> None:
            if isinstance(result, IconotextError):
                logger.warning("%s: nothing can be learned from the verdicts: %s", collection.name, result)
                self.store.set_learned(collection, collection.habits, collection.habit, last, {})
                return
            documents = {}
            for entry, (links, rows) in result.documents.items():
                pictures = [Picture(entry, *row) for row in rows]
                documents[entry] = links, pictures, _moved_pictures(before.get(entry, {}), pictures)
            self.store.set_learned(collection, result.habits, result.habit, last, documents)

        self._submit(collection, WHOLE, save, work.learn, self._judgeable(collection), collection.habits)

    def _judgeable(self, collection: Collection) -> list[Judgeable]:
        judged, pictures = self.judged(collection.id), self._before_verdicts(collection.id)
        return [
            Judgeable(
                entry.id,
                str(self.entry_folder(entry)),
                entry.digest,
                frozenset(pictures.get(entry.id, ())),
                judged.get(entry.id, {}),
            )
            for entry in self.store.entries(collection.id)
            if entry.state == "done" and entry.digest is not None
        ]

    def _task(self, collection: Collection, entry: Entry) -> Task:
        home = f"/collections/{collection.id}"
        pages = {"Review": "review", "Alternative texts": "alt-text"}
        return Task(
            self.place(collection, entry),
            collection.habits,
            self._answers(entry),
            folder=str(self.entry_folder(entry)),
            leads={name: f"{home}/{page}?document={entry.id}" for name, page in pages.items()},
            stamp=f"{collection.round} {self.store.last_change(collection.id, entry.id)}",
        )

    def _before_verdicts(self, collection: str) -> dict[int, dict[int, int | None]]:
        """The most likely sentence of each picture before any verdict, by document and picture."""
        best: dict[int, dict[int, int | None]] = {}
        for picture in self.store.pictures(collection):
            best.setdefault(picture.document, {})[picture.number] = picture.best
        for entry in self.store.entries(collection):
            for number, before, _ in json.loads(entry.changed):
                best[entry.id][number] = before
        return best

    async def current_file(self, entry: Entry, name: str) -> Path:
        """The reading view of a document, or its JSON, written again if more verdicts have been learned since.

        Raises:
            IconotextError: The document can no longer be read.
            BusyError: Too many calls are waiting.
        """
        collection, folder = self.store.collection(entry.collection), self.entry_folder(entry)
        assert collection is not None
        task = self._task(collection, entry)
        if not _has_stamp(folder, task.stamp):
            future = self.pool.submit(work.view, self.settings.max_seconds, task)
            try:
                digest = await asyncio.wrap_future(future)
            except DocumentError:
                if entry.problem is None or not (folder / name).is_file():
                    raise
                return folder / name  # the old view; the page reports beside it that the document cannot be read
            if digest != entry.digest:  # its file has changed
                self.store.link_again(entry.id)
                self.wake()
        return folder / name

    def _submit(
        self,
        collection: Collection,
        document: int,
        save: Callable[[Any], None],
        function: Callable[..., Any],
        *arguments: Any,
    ) -> None:
        """Call a function in a process, and then call ``save`` with its result or error."""
        future = self.pool.submit(function, self.settings.max_seconds, *arguments)
        self._at_work.setdefault(collection.id, set()).add(document)

        def done(future: Future[Any]) -> None:
            try:
                if self._closed:
                    return
                if self.store.collection(collection.id) is None:
                    self._remove_files(collection)  # the process may have written files after they were removed
                    return
                try:
                    result = future.result()
                except FullDiskError:
                    raise
                except IconotextError as error:
                    result = error
                save(result)
                self._paused_until = 0.0
            except CancelledError:
                pass  # the server is stopping: the next one does the work
            except FullDiskError:
                if not self._paused_until:
                    logger.warning("the disk is full: free some space, and the work goes on")
                self._paused_until = time.monotonic() + RETRY_SECONDS
            except Exception:
                if self.store.collection(collection.id) is None:  # it was removed in this moment
                    self._remove_files(collection)
                    return
                logger.exception("%s: the result of a process cannot be stored", collection.name)
                self._paused_until = time.monotonic() + RETRY_SECONDS  # else the same work begins again now
            finally:
                with self._wakeup:
                    self._at_work[collection.id].discard(document)
                    self._wakeup.notify()
                self.events.send("collection", id=collection.id, document=None if document == WHOLE else document)

        future.add_done_callback(done)


def _moved_pictures(
    before: Mapping[int, int | None], pictures: Sequence[Picture]
) -> list[tuple[int, int | None, int | None]]:
    return [(p.number, before[p.number], p.best) for p in pictures if p.number in before and before[p.number] != p.best]


def _has_stamp(folder: Path, stamp: str) -> bool:
    try:
        return (folder / STAMP).read_text(encoding="ascii") == stamp
    except OSError:
        return False


def of_app(name: str) -> Any:
    """The object that the application stores under a name, as a parameter of a route."""

    async def stored(request: Request) -> Any:
        return getattr(request.app.state, name)

    return Depends(stored)


TheJobs = Annotated[Jobs, of_app("jobs")]
"""The jobs of the server, with its store and its settings."""
