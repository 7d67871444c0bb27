"""What is to be done next, read off the store: so a kill loses nothing, and what is left is done after the next start.

Collections take turns, a document at a time: a large one does not keep the others waiting. Of each, the documents are
found first, then linked; once all are, what people said meanwhile is learned, and all are linked again with that.
"""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Any, TypeVar

from iconotext.errors import IconotextError
from iconotext.serve import work
from iconotext.serve.agreement import agreed
from iconotext.serve.events import Events
from iconotext.serve.pool import BusyError, Pool
from iconotext.serve.records import Collection, Entry, Picture
from iconotext.serve.settings import ServeSettings
from iconotext.serve.store import Store
from iconotext.serve.work import Found, Made, Place

Result = TypeVar("Result")

logger = logging.getLogger(__name__)

AGAIN = 5.0
"""Seconds after which a full queue is tried again."""

WHOLE = -1
"""In place of a document: work on a whole collection."""


class Jobs:
    """Keeps the processes of the pool at work.

    Args:
        store: Says what there is to do, and remembers what was done.
        pool: Does it.
        settings: Of the server.
        events: Told of every step.
    """

    def __init__(self, store: Store, pool: Pool, settings: ServeSettings, events: Events) -> None:
        self.store, self.pool, self.settings, self.events = store, pool, settings, events
        self._changed = threading.Condition()
        self._at_work: dict[str, set[int]] = {}
        self._after = ""  # the collection that had its turn
        self._closed = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """There may be something to do."""
        with self._changed:
            self._changed.notify()

    def close(self) -> None:
        """Begin nothing any more."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def remove(self, collection: Collection) -> None:
        """Forget a collection and remove its files, those that were dropped included."""
        self.store.remove_collection(collection.id)
        shutil.rmtree(self.linked_folder(collection.id), ignore_errors=True)
        if collection.own:
            shutil.rmtree(collection.folder, ignore_errors=True)
        self.events.tell("collection", id=collection.id)

    def linked_folder(self, collection: str) -> Path:
        """Where what was found in the documents of a collection is kept."""
        return self.settings.data.absolute() / "linked" / collection

    def entry_folder(self, entry: Entry) -> Path:
        """Where what was found in a document is kept."""
        return self.linked_folder(entry.collection) / str(entry.id)

    def within(self, collection: Collection) -> str:
        """The folder that the documents of a collection and their pictures must lie in."""
        root = self.settings.root
        return collection.folder if collection.own or root is None else str(root.absolute())

    def place(self, collection: Collection, entry: Entry) -> Place:
        """Where a document is."""
        return Place(entry.path, entry.name, self.within(collection))

    def judged(self, collection: str) -> dict[int, dict[int, tuple[int, ...]]]:
        """By document what most reviewers said of its pictures."""
        found: dict[int, dict[int, tuple[int, ...]]] = {}
        for (document, picture), sentences in agreed(self.store.verdicts(collection)).items():
            found.setdefault(document, {})[picture] = sentences
        return found

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._closed:
                    return
                try:
                    began = self._begin()
                except BusyError:
                    began = False
                except Exception:  # a bug of ours must not end all work in silence
                    logger.exception("what to do next cannot be told")
                    began = False
                if not began:
                    self._changed.wait(AGAIN)

    def _begin(self) -> bool:
        """Begin one piece of work; False where none is left, or as much is at work as can be."""
        if sum(map(len, self._at_work.values())) >= self.settings.workers:
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
            self._submit(collection, WHOLE, self._when_found, work.find, collection.folder, within, most)
            return True
        entry = self.store.next_entry(collection.id, at_work)
        if entry is not None:
            self._link(collection, entry)
            return True
        last = self.store.last_change(collection.id)
        if at_work or last == collection.learned:
            return False
        entries, judged = self.store.entries(collection.id), self.judged(collection.id)
        said = {entry.name: judged[entry.id] for entry in entries if entry.id in judged}

        def learned(_: Collection, told: tuple[str, str | None] | IconotextError) -> None:
            if isinstance(told, IconotextError):
                logger.warning("%s: what was said cannot be learned: %s", collection.name, told)
                told = collection.habits, collection.habit
            self.store.set_habits(collection.id, *told, last)

        places = [self.place(collection, entry) for entry in entries]
        self._submit(collection, WHOLE, learned, work.learn, places, said)
        return True

    def _link(self, collection: Collection, entry: Entry) -> None:
        judged = self.judged(collection.id).get(entry.id, {})
        before = {p.number: p.best for p in self.store.pictures(collection.id) if p.document == entry.id}

        def linked(_: Collection, made: Made | IconotextError) -> None:
            if isinstance(made, IconotextError):
                self.store.set_failed(entry.id, collection.round, _without(str(made), entry))
                return
            pictures = [Picture(entry.id, *each) for each in made.pictures]
            same = entry.digest == made.known["digest"]
            changed = [
                (p.number, before[p.number], p.best)
                for p in pictures
                if same and p.number in before and p.number not in judged and before[p.number] != p.best
            ]
            self.store.set_linked(entry.id, collection.round, made.known, pictures, changed)

        addresses = "/", f"/collections/{collection.id}/review"
        place, folder = self.place(collection, entry), str(self.entry_folder(entry))
        self._submit(collection, entry.id, linked, work.link, place, collection.habits, judged, folder, addresses)

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
        """Let a process do something, and ``then`` remember what came of it, an error of ours included."""
        future = self.pool.submit(function, self.settings.max_seconds, *arguments)
        self._at_work.setdefault(collection.id, set()).add(document)

        def done(future: Future[Any]) -> None:
            try:
                if not self._closed and self.store.collection(collection.id) is not None:
                    then(collection, _result(future))
            except CancelledError:
                pass  # the server ends; the next one does it
            except Exception:
                logger.exception("%s: what was done cannot be remembered", collection.name)
            finally:
                with self._changed:
                    self._at_work[collection.id].discard(document)
                    self._changed.notify()
                self.events.tell("collection", id=collection.id)

        future.add_done_callback(done)


def _result(future: Future[Result]) -> Result | IconotextError:
    try:
        return future.result()
    except IconotextError as error:
        return error


def _without(message: str, entry: Entry) -> str:
    """A message about a document without where it lies on this machine: the page is not only for its owner."""
    return message.replace(f"{entry.path}: ", "").replace(entry.path, Path(entry.path).name)
