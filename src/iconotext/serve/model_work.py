"""Work of the pool's processes for the models page: evaluate a model, show a document, compare two models."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from iconotext.corpus.feature_files import own_features
from iconotext.errors import CorpusError
from iconotext.evaluate.corpus_part import CorpusPart, corpus_part
from iconotext.evaluate.results import DocumentScores, Evaluation, score_document
from iconotext.evaluate.significance import compare
from iconotext.pipeline import Linker, LinkSettings
from iconotext.plain_text import json_text, readable
from iconotext.write import write_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from iconotext.types import LinkedDocument

SLICE = 4.0
"""Seconds after which a process interrupts an evaluation for other waiting work."""

KEPT = 40
"""Number of evaluations kept on disk, the newest ones."""

SHOWN = 3
"""Sentences that are shown for each picture and model."""

EVALUATION, PAGE, PICTURES = "evaluation.json", "page.html", "pictures.json"


class Task(NamedTuple):
    """A model and the corpus to evaluate it on.

    Attributes:
        key: Equal for equal weights, recipe and corpus.
    """

    model: str
    corpus: str
    key: str


class Slice(NamedTuple):
    """The part of an evaluation that took a few seconds.

    Attributes:
        split: The part of the corpus that is used; None for all of it.
    """

    scores: tuple[tuple[DocumentScores, str], ...]
    of: int
    split: str | None
    ended: bool


_walks: dict[tuple[Task, int], tuple[CorpusPart, Iterator[tuple[DocumentScores, str]]]] = {}
"""At most one: where this process interrupted an evaluation."""


def measured_part(corpus: Path) -> CorpusPart:
    """The part of a corpus for evaluation: its test split, or all of it if it has none."""
    whole = corpus_part(corpus, None)
    return corpus_part(corpus, "test") if whole.splits["test"] else whole


def measure(task: Task, done: int) -> Slice:
    """Continue an evaluation for a few seconds; another process may have begun it.

    Raises:
        IconotextError: The corpus cannot be read, or the model cannot be loaded or cannot score a document.
    """
    known = _walks.pop((task, done), None)
    _walks.clear()
    if known is None:
        part = measured_part(Path(task.corpus))
        known = part, _scores(task, part, done)
    part, walk = known
    scores, end = [], monotonic() + SLICE
    for each in walk:
        scores.append(each)
        if monotonic() >= end:
            _walks[task, done + len(scores)] = known
            return Slice(tuple(scores), part.count, part.split, False)
    return Slice(tuple(scores), part.count, part.split, True)


def _scores(task: Task, part: CorpusPart, done: int) -> Iterator[tuple[DocumentScores, str]]:
    from iconotext.evaluate.scores import score_documents
    from iconotext.report.flow import title

    titles: dict[str, str] = {}

    def told() -> Iterator[Any]:
        for document in islice(part.documents(), done, None):
            titles[document.id] = readable(title(document))
            yield document

    for scored in score_documents(task.model, told(), _linking(task)):
        yield score_document(*scored), titles.pop(scored.id, scored.id)


def _linking(task: Task) -> LinkSettings:
    return LinkSettings(evidence=("picture",), image=own_features(task.model, Path(task.corpus)))


def keep(folder: str, scores: Sequence[tuple[DocumentScores, str]], split: str | None) -> None:
    """Write an evaluation, and remove the oldest ones; ``CorpusError`` if no document can be evaluated."""
    evaluation = Evaluation(tuple(each for each, _ in scores))
    if not evaluation.defined:
        why = evaluation.undefined[0].undefined
        raise CorpusError(f"none of {len(scores):,} documents can be measured, the first because {why}")
    rows = [{"title": title, **asdict(each)} for each, title in scores]
    about = evaluation.as_dict(model="", corpus="", split=split)
    write_text(Path(folder) / EVALUATION, json_text({**about, "rows": rows}), force=True)
    own = Path(folder)  # never removed, even if the clock says that another one is as new
    newest = sorted(own.parent.iterdir(), key=lambda each: (each != own, -each.stat().st_mtime_ns))
    for old in newest[KEPT:]:
        shutil.rmtree(old, ignore_errors=True)


def compared(first: str, second: str) -> dict[str, dict[str, Any]]:
    """Metric to difference of two evaluations, given by their folders; see ``evaluate.compare``.

    Raises:
        CorpusError: They are of different documents.
    """
    found = compare(*(Evaluation(tuple(scores_in(Path(folder)))) for folder in (first, second)))
    return {name: asdict(each) for name, each in found.items()}


def scores_in(folder: Path) -> Iterator[DocumentScores]:
    """The scores in a stored evaluation."""
    for row in json.loads((folder / EVALUATION).read_text(encoding="utf-8"))["rows"]:
        yield DocumentScores(**{name: value for name, value in row.items() if name != "title"})


@lru_cache(2)
def _linker(task: Task) -> Linker:
    return Linker.load(task.model, _linking(task))


def show(task: Task, number: int, folder: str, index: str) -> None:
    """Write the reading view of a document, and the most likely sentences of its pictures.

    Args:
        number: Of the document, in the evaluated part.

    Raises:
        CorpusError: There is no such document.
    """
    from iconotext.report.embedded import embed
    from iconotext.report.reading_page import reading_page, shown_images

    document = next(islice(measured_part(Path(task.corpus)).documents(), number, None), None)
    if document is None:
        raise CorpusError("there is no such document in the corpus")
    linked = _linker(task).link(document)
    linked = replace(
        linked, notes=(*linked.notes, _worth(score_document(document.id, linked.similarity, document.links)))
    )
    shown = embed(linked.document.images, shown_images(linked.document))
    write_text(Path(folder) / PAGE, reading_page(linked, index=index, embedded=shown), force=True)
    pictures = [
        {
            "number": number,
            "uri": shown[number].uri if number in shown else None,
            "problem": image.problem or (shown[number].problem if number in shown else "it is not shown"),
            "caption": readable(image.caption or image.alt or ""),
            **_ranked(linked, number),
        }
        for number, image in enumerate(linked.document.images)
    ]
    sentences = [readable(sentence.text) for sentence in document.sentences]
    told = {"sentences": sentences, "language": document.language, "pictures": pictures}
    write_text(Path(folder) / PICTURES, json_text(told), force=True)


def _worth(scores: DocumentScores) -> str:
    """A sentence about how well a document is linked."""
    if scores.auc is None or scores.image_hits is None:
        return f"It cannot be measured, because {scores.undefined}"
    hits = f"{scores.image_hits:g} of {scores.linked_images}"
    return f"AUC {100 * scores.auc:.1f} %; the best sentence is a gold one for {hits} pictures with gold links"


def _ranked(linked: LinkedDocument, picture: int) -> dict[str, Any]:
    """The most likely sentences of a picture, its gold sentences, and the rank of the first gold one, from 1."""
    column: NDArray[np.float32] = linked.similarity[:, picture]
    order = (-column).argsort(kind="stable").tolist()
    gold = sorted({sentence for sentence, image in linked.document.links or () if image == picture})
    rank = min((int((column > column[sentence]).sum()) + 1 for sentence in gold), default=None)
    best = [[sentence, round(float(column[sentence]), 2) + 0.0] for sentence in order[:SHOWN]]
    return {"best": best, "gold": gold, "rank": rank}
