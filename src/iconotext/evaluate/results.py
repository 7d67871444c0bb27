"""The evaluation of a corpus: metrics of its documents, their means, the results file, and comparisons of two models.

``evaluate`` scores documents, ``write_results`` and ``read_results`` store the result, ``compare`` tests whether one
model is better.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from iconotext.corpus.image_files import ImageKeys
from iconotext.errors import CorpusError, ShapeError
from iconotext.evaluate.metrics import LINK_METRICS, checked_scores, gold_matrix
from iconotext.evaluate.statistics import (
    RESAMPLINGS,
    Interval,
    as_interval,
    bootstrap_intervals,
    grouped,
    permutation_p,
)
from iconotext.system.files import open_atomic
from iconotext.system.strict_json import parse_json

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from iconotext.types import Document, FloatMatrix


class Scored(NamedTuple):
    """A model's scores for a document.

    Attributes:
        scores: (sentences, images), higher for pairs that belong together.
        links: Gold links as (sentence, image); None if unknown.
        contents: Keys of its pictures (above 0) and linked texts (below 0), equal in documents that share them.
    """

    id: str
    scores: FloatMatrix
    links: tuple[tuple[int, int], ...] | None
    contents: tuple[int, ...] = ()

    @classmethod
    def of(cls, document: Document, scores: FloatMatrix) -> Scored:
        """The scores of a document, with its links and contents."""
        keys = ImageKeys()
        # The source of a picture that was not found is only a name, which may mean another one elsewhere.
        pictures = {_key(keys.of(image)) for image in document.images if not image.problem}
        texts = {
            -_key(document.sentences[sentence].text.encode(errors="replace")) for sentence, _ in document.links or ()
        }
        return cls(document.id, scores, document.links, (*sorted(pictures), *sorted(texts)))


def _key(content: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(content, digest_size=7).digest()) + 1


@dataclass(frozen=True, slots=True)
class DocumentScores:
    """Metrics of one document.

    Attributes:
        links: Number of different gold links; None if unknown.
        figures: Total and weight of each of ``LINK_METRICS``, by name; empty if AUC is undefined.
        contents: As in ``Scored``; empty if AUC is undefined.
        undefined: The reason why there are no metrics; None if there are.
    """

    id: str
    sentences: int
    images: int
    links: int | None
    figures: Mapping[str, tuple[float, int]] = field(default_factory=dict)
    contents: tuple[int, ...] = ()
    undefined: str | None = None

    @property
    def auc(self) -> float | None:
        """AUC, 0 to 1; None if undefined, and then all metrics are."""
        return self.figures["auc"][0] if self.figures else None


@dataclass(frozen=True)
class Evaluation:
    """Scores of all documents of a corpus."""

    documents: tuple[DocumentScores, ...]
    resamplings: int = RESAMPLINGS
    seed: int = 0

    @cached_property
    def defined(self) -> tuple[DocumentScores, ...]:
        """The documents with a defined AUC."""
        return tuple(document for document in self.documents if document.undefined is None)

    @cached_property
    def undefined(self) -> tuple[DocumentScores, ...]:
        """The documents without a defined AUC, which are left out of every metric."""
        return tuple(document for document in self.documents if document.undefined is not None)

    @cached_property
    def means(self) -> dict[str, float | None]:
        """Return the metrics, 0 to 1, by name; None without documents.

        They are means over documents, for image@1 over the documents' images.
        """
        if not self.defined:
            return dict.fromkeys(LINK_METRICS)
        totals, weights = totals_and_weights(self.defined)
        return dict(zip(LINK_METRICS, map(float, totals.sum(0) / weights.sum(0)), strict=True))

    @cached_property
    def intervals(self) -> dict[str, tuple[float, float] | None]:
        """Return the 95 % bootstrap interval over documents of each metric; None without documents."""
        if not self.defined:
            return dict.fromkeys(LINK_METRICS)
        totals, weights = totals_and_weights(self.defined)
        groups = grouped([document.contents for document in self.defined])
        bounds = bootstrap_intervals(totals, weights, groups, lowest=0, resamplings=self.resamplings, seed=self.seed)
        return dict(zip(LINK_METRICS, map(as_interval, bounds), strict=True))

    def as_dict(self, *, model: str, corpus: str, split: str | None) -> dict[str, Any]:
        """Return the output of ``iconotext evaluate --json``."""
        return {
            "model": model,
            "corpus": corpus,
            "split": split,
            "documents": len(self.documents),
            "undefined": len(self.undefined),
            **self.means,
            "intervals": {metric: None if pair is None else list(pair) for metric, pair in self.intervals.items()},
            "undefined_documents": [document.id for document in self.undefined],
        }


@dataclass(frozen=True)
class Results:
    """An evaluation as stored in a file, with model, corpus, split and evidence."""

    evaluation: Evaluation
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def model(self) -> str:
        """Name of the model; empty if not recorded."""
        return str(self.about.get("model") or "")


def totals_and_weights(documents: Iterable[DocumentScores]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two (documents, metrics) arrays in the order of ``LINK_METRICS``: numerators and denominators of the metrics.

    A metric is the sum of the first over the sum of the second.
    """
    pairs = [[document.figures[metric] for metric in LINK_METRICS] for document in documents]
    figures = np.array(pairs, np.float64).reshape(-1, len(LINK_METRICS), 2)
    return figures[:, :, 0], figures[:, :, 1]


def evaluate(scored: Iterable[Scored], *, resamplings: int = RESAMPLINGS, seed: int = 0) -> Evaluation:
    """Score documents against their gold links.

    Args:
        scored: May be a generator; one matrix is in memory at a time.

    Raises:
        ShapeError: Scores are not a matrix, contain NaN, or do not fit the links; the message names the document.
    """
    return Evaluation(tuple(map(score_document, scored)), resamplings, seed)


def score_document(document: Scored) -> DocumentScores:
    """Metrics of one document."""
    try:
        matrix = checked_scores(document.scores)
        sentences, images = matrix.shape
        if document.links is None:
            return DocumentScores(document.id, sentences, images, None, undefined="the gold links are unknown")
        gold = gold_matrix((sentences, images), document.links)
    except ShapeError as error:
        raise ShapeError(f"document {document.id!r}: {error}") from error
    count = int(gold.sum())
    if not count or count == gold.size:
        why = "every sentence is linked to every image" if count else "it has no gold links"
        return DocumentScores(document.id, sentences, images, count, undefined=why)
    figures = {name: metric.of_document(matrix, gold) for name, metric in LINK_METRICS.items() if metric.of_document}
    return DocumentScores(document.id, sentences, images, count, figures, document.contents)


COLUMNS = {
    "id": "string",
    "sentences": "int32",
    "images": "int32",
    "links": "int32",
    "contents": "list",
    **{
        column: type_
        for metric in LINK_METRICS.values()
        for column, type_ in zip(metric.columns, ("double", "int32"), strict=False)
    },
    "undefined": "string",
}
"""Columns of the results file and their types; all but the first three may be null."""

_ABOUT = b"iconotext.evaluation"


def write_results(results: Results, path: Path, *, force: bool = False) -> None:
    """Write the scores of every document as Parquet, atomically.

    Raises:
        OutputError: The file exists and ``force`` is not set, or it cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = _schema().with_metadata({_ABOUT: json.dumps(dict(results.about)).encode()})
    rows = [_row(document) for document in results.evaluation.documents]
    with open_atomic(path, force=force) as file:
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), file, compression="zstd")


def read_results(path: Path, *, resamplings: int = RESAMPLINGS, seed: int = 0) -> Results:
    """Read a file written by ``write_results``.

    Raises:
        CorpusError: The file is missing, is not a Parquet file, or lacks a column.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with path.open("rb") as file:
            table = pq.read_table(file)
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {error.strerror or error}") from error
    except pa.ArrowException as error:
        raise CorpusError(f"{path}: not a Parquet file; `iconotext evaluate --results FILE` writes one") from error
    missing = [name for name in COLUMNS if name not in table.column_names]
    if missing:
        raise CorpusError(
            f"{path}: not a results file of this version: the column {missing[0]} is missing; `iconotext evaluate "
            "--results` writes one"
        )
    try:
        rows = table.select(list(COLUMNS)).cast(_schema()).to_pylist()
    except pa.ArrowException as error:
        raise CorpusError(f"{path}: not a results file: a column has another type: {error}") from error
    documents = tuple(map(_document, rows))
    try:
        about = parse_json((table.schema.metadata or {}).get(_ABOUT, b"{}"))
    except ValueError as error:
        raise CorpusError(f"{path}: not a results file: its description is {error}") from error
    return Results(Evaluation(documents, resamplings, seed), about)


def _row(document: DocumentScores) -> dict[str, Any]:
    row = {name: value for name, value in asdict(document).items() if name != "figures"}
    for name, figures in document.figures.items():
        row |= zip(LINK_METRICS[name].columns, figures, strict=False)
    return row


def _document(row: dict[str, Any]) -> DocumentScores:
    figures, row["contents"] = {}, tuple(row["contents"] or ())
    for name, metric in LINK_METRICS.items():
        total, weight = (*(row.pop(column) for column in metric.columns), 1)[:2]
        if total is not None:
            figures[name] = total, weight
    return DocumentScores(figures=figures, **row)


def _schema() -> pa.Schema:
    import pyarrow as pa

    types = {"list": pa.list_(pa.int64())}
    return pa.schema([(name, types.get(type_) or pa.type_for_alias(type_)) for name, type_ in COLUMNS.items()])


@dataclass(frozen=True, slots=True)
class Comparison:
    """The difference between the first model and the second in one metric.

    Attributes:
        difference: First minus second, -1 to 1.
        interval: Its 95 % bootstrap interval over documents.
        p: Two-sided p value of the paired permutation test over the groups of the interval.
    """

    difference: float
    interval: Interval
    p: float


def compare(
    first: Evaluation, second: Evaluation, *, resamplings: int = RESAMPLINGS, seed: int = 0
) -> dict[str, Comparison]:
    """Compare two models document by document.

    Returns:
        Metric to comparison, in the order of ``LINK_METRICS``.

    Raises:
        CorpusError: They are not of the same documents, or no document has a defined AUC.
    """
    one, other = matched(first, second)
    first_totals, weights = totals_and_weights(one)
    second_totals, _ = totals_and_weights(other)
    differences, groups = first_totals - second_totals, grouped([document.contents for document in one])
    bounds = bootstrap_intervals(differences, weights, groups, lowest=-1, resamplings=resamplings, seed=seed)
    return {
        metric: Comparison(
            difference=float(differences[:, i].sum() / weights[:, i].sum()),
            interval=as_interval(bounds[i]),
            p=permutation_p(differences[:, i], groups, seed=seed),
        )
        for i, metric in enumerate(LINK_METRICS)
    }


def matched(first: Evaluation, second: Evaluation) -> tuple[list[DocumentScores], list[DocumentScores]]:
    """The documents with a defined AUC of both, in the order of the first."""
    ids, by_id = _by_id(first), _by_id(second)
    missing, extra = sorted(ids.keys() - by_id.keys()), sorted(by_id.keys() - ids.keys())
    if missing or extra:
        raise CorpusError(
            f"the models were evaluated on different documents: {len(missing)} only in the first{_examples(missing)}, "
            f"{len(extra)} only in the second{_examples(extra)}; evaluate both on the same corpus and split"
        )
    for one in first.documents:
        other = by_id[one.id]
        if _facts(one) != _facts(other):
            raise CorpusError(
                f"document {one.id!r} differs between the models: (sentences, images, links) are {_facts(one)} and "
                f"{_facts(other)}; evaluate both on the same version of the corpus"
            )
    if not first.defined:
        raise CorpusError("no document has a defined AUC, so there is nothing to compare")
    return list(first.defined), [by_id[document.id] for document in first.defined]


def _by_id(evaluation: Evaluation) -> dict[str, DocumentScores]:
    by_id: dict[str, DocumentScores] = {}
    for document in evaluation.documents:
        if document.id in by_id:
            raise CorpusError(f"document {document.id!r} stands twice in the results of one model")
        by_id[document.id] = document
    return by_id


def _facts(document: DocumentScores) -> tuple[int, int, int | None]:
    return document.sentences, document.images, document.links


def _examples(identifiers: Sequence[str]) -> str:
    if not identifiers:
        return ""
    return f" ({', '.join(identifiers[:3])}{', ...' if len(identifiers) > 3 else ''})"
