"""One run of a table: train the model, score the test documents, report how it goes on."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from iconotext.errors import CollapseError
from iconotext.papers.tables.processes import Send
from iconotext.recipe import Recipe

if TYPE_CHECKING:
    from iconotext.train.prepared import Prepared

OFTEN = 0.2
"""Seconds between two steps that are reported."""

APPLIED = "applied"
"""Folder within the model's, where another corpus lies while it is scored."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be done.

    Attributes:
        results: File for what is measured on the test documents.
        losses: Whether the loss on the test documents is measured, too.
        applied: Corpus file that the test documents are from; None where it is the one that is trained on.
    """

    recipe: Recipe
    corpus: Path
    prepared: Path
    folder: Path
    kind: Literal["links", "retrieval"]
    results: Path
    about: Mapping[str, Any]
    losses: bool = False
    applied: Path | None = None


def work(job: Job, send: Send) -> None:
    """Train the model, or go on, or do nothing for one that is trained; then measure it.

    Raises:
        IconotextError: See ``train``.
    """
    from iconotext.train.parallel import Forwarded
    from iconotext.train.prepared import open_prepared
    from iconotext.train.run import train

    with contextlib.suppress(CollapseError):  # the table measures it, and marks it
        train(job.recipe, [job.corpus], job.folder, prepared=job.prepared, watcher=Forwarded(send, OFTEN))
    scored = open_prepared(job.prepared) if job.applied is None else _applied(job.recipe, job.applied, job.folder)
    if job.kind == "links":
        from iconotext.papers.tables.links import score_links

        score_links(job.folder, scored, job.results, job.about, losses=job.losses)
    else:
        from iconotext.papers.tables.retrieval import score_retrieval

        score_retrieval(job.folder, scored, job.results)
    shutil.rmtree(job.folder / APPLIED, ignore_errors=True)


def _applied(recipe: Recipe, corpus: Path, folder: Path) -> Prepared:
    """Another corpus in the words that a trained model knows."""
    from iconotext.train.prepare import lock_of, prepare

    prepared = prepare(recipe.model_copy(update={"init": str(folder)}), [corpus], folder / APPLIED)
    lock_of(folder / APPLIED).unlink(missing_ok=True)
    return prepared
