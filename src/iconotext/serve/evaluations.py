"""Evaluates models on the server's corpus, a few seconds at a time; results are stored by model and corpus contents."""

from __future__ import annotations

import hashlib
import json
import logging
import threading
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from iconotext.embed.folder import RECIPE, VOCABULARY, WEIGHTS
from iconotext.errors import CorpusError, IconotextError
from iconotext.evaluate.results import DocumentScores
from iconotext.features.fingerprint import digest_of
from iconotext.serve import model_work
from iconotext.serve.followed import File, files_now
from iconotext.serve.jobs import AGAIN, Jobs
from iconotext.serve.model_folders import ModelFolder
from iconotext.serve.model_work import EVALUATION, Slice, Task
from iconotext.serve.pool import BusyError

logger = logging.getLogger(__name__)

VERSION = "1"
"""Version of stored evaluations."""


@dataclass(slots=True)
class Measuring:
    """The progress of evaluating a model.

    Attributes:
        split: The part of the corpus that is used; None for all of it.
        problem: Why it ended without figures.
    """

    scores: list[tuple[DocumentScores, str]] = field(default_factory=list)
    of: int = 0
    split: str | None = None
    ended: bool = False
    problem: str | None = None


class Evaluations:
    """Running and stored evaluations."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._home = jobs.settings.data.absolute() / "models"
        self._lock = threading.Lock()
        self._measuring: dict[Task, Measuring] = {}

    def task(self, model: ModelFolder) -> Task | None:
        """The current model and corpus; None without a corpus, or if the model does not link."""
        corpus = self._jobs.settings.corpus
        if corpus is None or model.state != "trained":
            return None
        corpus = corpus.absolute()
        files = [model.path / name for name in (RECIPE, WEIGHTS, VOCABULARY) if (model.path / name).exists()]
        try:
            digests = [_digest(each) for each in files_now(map(str, (*files, corpus)))]
        except OSError as error:
            raise CorpusError(f"{Path(error.filename or corpus).name}: cannot be read: {error.strerror}") from error
        parts = [VERSION, str(model.path), str(corpus), *digests]
        key = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
        return Task(str(model.path.absolute()), str(corpus), key)

    def folder(self, task: Task) -> Path:
        """The folder of an evaluation, and of the documents that were looked at."""
        return self._home / task.key

    def kept(self, task: Task) -> dict[str, Any] | None:
        """The stored result: figures as in ``Evaluation.as_dict``, and ``rows``, one per document."""
        try:
            found: dict[str, Any] = json.loads((self.folder(task) / EVALUATION).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return found

    def measuring(self, task: Task) -> Measuring | None:
        """The progress; None if it was not requested, or is finished."""
        return self._measuring.get(task)

    def begin(self, task: Task) -> None:
        """Evaluate a model, unless that is done or running; ``BusyError`` if too much is waiting."""
        with self._lock:
            known = self._measuring.get(task)
            if (known is not None and known.problem is None) or (self.folder(task) / EVALUATION).exists():
                return
            self._measuring[task] = Measuring()
            try:
                self._go_on(task)
            except BusyError:
                del self._measuring[task]
                raise

    def _go_on(self, task: Task) -> None:
        now = self._measuring[task]
        pool, seconds = self._jobs.pool, self._jobs.settings.max_seconds
        future: Future[Any]
        if now.ended:
            future = pool.submit(model_work.keep, seconds, str(self.folder(task)), now.scores, now.split)
        else:
            future = pool.submit(model_work.measure, seconds, task, len(now.scores))
        future.add_done_callback(lambda future: self._told(task, future))

    def _told(self, task: Task, future: Future[Slice | None]) -> None:
        now = self._measuring[task]
        try:
            told = future.result()
            if told is None:
                del self._measuring[task]
            else:
                now.scores += told.scores
                now.of, now.split, now.ended = told.of, told.split, told.ended
                self._again(task)
        except CancelledError:
            return  # the server is stopping
        except IconotextError as error:
            now.scores.clear()
            now.problem = str(error).replace(task.corpus, Path(task.corpus).name).replace(f"{task.model}/", "")
        except Exception:
            logger.exception("%s: what was measured cannot be kept", task.model)
            now.problem = "a bug of iconotext: its log says more"
        self._jobs.events.tell("model", name=Path(task.model).name)

    def _again(self, task: Task) -> None:
        try:
            self._go_on(task)
        except BusyError:
            timer = threading.Timer(AGAIN, self._again, (task,))
            timer.daemon = True
            timer.start()


@lru_cache(1_000)
def _digest(file: File) -> str:
    return digest_of(Path(file.path)).hex()
