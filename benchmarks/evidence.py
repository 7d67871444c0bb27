"""How well each kind of evidence finds the sentence that cites a figure, and the fit of the weights.

    python benchmarks/evidence.py report           the tables below
    python benchmarks/evidence.py fit              writes src/iconotext/links/coefficients.json

Both need the data folder (--data, $ICONOTEXT_DATA, or ../shared/data beside the checkout); features are cached, the
first run encodes some 50,000 texts and 2,200 pictures. ``report`` prints:

1. For each combination of picture, caption and layout: image@1, the share of cited figures whose best sentence cites
   them, and AUC over the cells of a document, mean over documents. Weights are fitted on three books and tested on the
   fourth, four times; 95 % intervals from 2,000 resamplings of the documents.
2. Calibration of the best sentence's confidence on the book left out, and with pictures of other documents put in.
3. AUC, p@1, p@5 of the untrained picture scorer (concept bridge) by genre, against random scores.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from iconotext.corpus.store import read_corpus
from iconotext.embed.bridge import concept_vectors
from iconotext.features import FeatureCache, cached_image, cached_text, load_image_backbone, load_text_backbone
from iconotext.links.caption import Encode, texts_of
from iconotext.links.combine import Coefficients, Combination, combine, dump_coefficients, subset_name
from iconotext.train.evidence import Example, example, fit_coefficients, fit_subset, subsets
from iconotext.train.evidence_documents import Cited, variants, with_foreign
from iconotext.types import Document, Evidence

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "src" / "iconotext" / "links" / "coefficients.json"
GENRES = ("build", "cooking", "garden_home", "textbook")
RESAMPLINGS = 2000


@dataclass(frozen=True, slots=True, eq=False)
class Tested:
    """One document on which weights were tested; V images.

    Attributes:
        hits: (V,) bool, the best sentence is right; images without gold links are left out.
        best: (V,) confidence of the best sentence.
        auc: Over the cells, nan where undefined.
    """

    hits: NDArray[np.bool_]
    best: NDArray[np.float64]
    auc: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["fit", "report"])
    parser.add_argument("--data", type=Path, default=os.environ.get("ICONOTEXT_DATA", ROOT.parent / "shared" / "data"))
    arguments = parser.parse_args()
    cited = list(read_corpus(arguments.data / "documents" / "textbook" / "cited.jsonl"))
    if arguments.command == "fit":
        documents, encode = with_vectors(cited)
        TARGET.write_text(dump_coefficients(fit_coefficients(documents, encode)), encoding="utf-8")
        print(f"wrote {TARGET.relative_to(ROOT)} from {len(documents)} documents")
        return
    genres = {g: list(read_corpus(arguments.data / "documents" / g / "documents.jsonl")) for g in GENRES}
    documents, encode = with_vectors([*cited, *(document for genre in genres.values() for document in genre)])
    report_kinds(documents[: len(cited)], encode)
    at = len(cited)
    print("\n3. The picture alone, untrained, and random: AUC / p@1 / p@5 in %\n")
    for genre, some in genres.items():
        report_genre(genre, documents[at : at + len(some)])
        at += len(some)


def with_vectors(documents: Sequence[Document]) -> tuple[list[Cited], Encode]:
    """The documents with their vectors, without unreadable images; and the text encoder, answering from memory."""
    cache = FeatureCache()
    text, image = cached_text(load_text_backbone(), cache), cached_image(load_image_backbone(), cache)
    documents = [_readable(document) for document in documents]
    texts = {s.text for d in documents for s in d.sentences} | {
        t for d in documents for i in d.images for t in texts_of(i).values()
    }
    texts |= {t for d in documents for i in d.images for t in texts_of(replace(i, caption=None)).values()}
    ordered = sorted(texts)
    rows = dict(zip(ordered, text.encode(ordered), strict=True))

    def encode(wanted: Sequence[str]) -> FloatMatrix:
        missing = [t for t in dict.fromkeys(wanted) if t not in rows]
        rows.update(zip(missing, text.encode(missing), strict=True) if missing else ())
        return np.stack([rows[t] for t in wanted])

    files = sorted({i.file for d in documents for i in d.images if isinstance(i.file, Path)})
    class_vectors = text.encode(list(image.classes or ()))
    pictures = dict(zip(files, concept_vectors(image.encode(files), class_vectors), strict=True))
    return [
        Cited(d, encode([s.text for s in d.sentences]), np.stack([pictures[Path(str(i.file))] for i in d.images]))
        for d in documents
    ], encode


def _readable(document: Document) -> Document:
    good = [j for j, image in enumerate(document.images) if image.problem is None]
    number = {j: new for new, j in enumerate(good)}
    links = tuple((i, number[j]) for i, j in document.links or () if j in number)
    return replace(document, images=tuple(document.images[j] for j in good), links=links)


def book(cited: Cited) -> str:
    return cited.document.id.split("/")[0]


def report_kinds(documents: Sequence[Cited], encode: Encode) -> None:
    books = sorted({book(cited) for cited in documents})
    training = [(book(cited), example(cited, encode, weight=weight)) for cited, weight in variants(documents, seed=0)]
    testing = [(book(cited), example(cited, encode)) for cited in documents]
    rng = np.random.default_rng(1)
    foreign = [with_foreign(cited, documents, rng, share=1.0) for cited in documents]
    mixed = [(book(cited), example(cited, encode)) for cited in foreign]
    print(f"1. Each book tested with the weights of the others; {len(documents)} documents, 95 % intervals\n")
    print(f"{'evidence':24} {'image@1':>20} {'AUC':>20}   image@1 by book: {', '.join(books)}")
    for kinds in subsets():
        fitted = {b: fit_subset([e for other, e in training if other != b], kinds) for b in books}
        tested = [(b, test(e, kinds, fitted[b])) for b, e in testing]
        results = [result for _, result in tested]
        by_book = [np.concatenate([r.hits for other, r in tested if other == b]).mean() for b in books]
        print(
            f"{subset_name(kinds):24} {interval(results, image_at_1)} {interval(results, mean_auc)}   "
            + " ".join(f"{value:6.1%}" for value in by_book)
        )
    print("\n2. Calibration with all three kinds: confidence of an image's best sentence\n")
    report_calibration("the book left out", results)
    report_calibration("with as many pictures of other documents", [test(e, kinds, fitted[b]) for b, e in mixed])


def test(e: Example, kinds: tuple[Evidence, ...], fitted: Coefficients) -> Tested:
    found: Combination = combine(
        {kind: e.features[kind] for kind in kinds if kind in e.features},
        shape=(e.positive.shape[0], e.positive.shape[1]),
        has_text=e.has_text,
        coefficients={subset_name(kinds): fitted},
    )
    rows = found.score.argmax(axis=0)
    columns = np.arange(e.positive.shape[1])
    best = found.confidence[rows, columns].astype(np.float64)
    return Tested(e.positive[rows, columns], best, auc(found.score, e.positive))


def auc(score: FloatMatrix, positive: NDArray[np.bool_]) -> float:
    """Chance that a linked cell scores above an unlinked one, ties half; nan where one of them is missing."""
    right = int(positive.sum())
    wrong = positive.size - right
    if not right or not wrong:
        return float("nan")
    ranks = rankdata(score, axis=None).reshape(score.shape)
    return float((ranks[positive].sum() - right * (right + 1) / 2) / (right * wrong))


def precision_at(score: FloatMatrix, positive: NDArray[np.bool_], k: int) -> float:
    """Share of linked cells among the k best of a document."""
    order = np.argsort(-score.ravel(), kind="stable")[:k]
    return float(positive.ravel()[order].mean())


def image_at_1(results: Sequence[Tested]) -> float:
    return float(np.concatenate([result.hits for result in results]).mean())


def mean_auc(results: Sequence[Tested]) -> float:
    return float(np.nanmean([result.auc for result in results]))


def interval(results: Sequence[Tested], measure: Callable[[Sequence[Tested]], float]) -> str:
    rng = np.random.default_rng(0)
    drawn = [measure([results[i] for i in rng.integers(len(results), size=len(results))]) for _ in range(RESAMPLINGS)]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return f"{measure(results):6.1%} ({low:.1%}-{high:.1%})"


def report_calibration(title: str, results: Sequence[Tested]) -> None:
    hits, best = np.concatenate([r.hits for r in results]), np.concatenate([r.best for r in results])
    error = 0.0
    print(f"{title}: {len(hits)} images\n  {'bin':>10} {'images':>7} {'confidence':>11} {'right':>7}")
    for low, inside in _bins(best):
        if inside.any():
            confidence, right = best[inside].mean(), hits[inside].mean()
            error += inside.mean() * abs(confidence - right)
            print(f"  {low:.1f} - {low + 0.1:.1f} {inside.sum():7d} {confidence:11.1%} {right:7.1%}")
    print(f"  expected calibration error {error:.1%}\n")


def _bins(best: NDArray[np.float64]) -> Iterator[tuple[float, NDArray[np.bool_]]]:
    for number in range(10):
        yield number / 10, np.minimum((best * 10).astype(np.int64), 9) == number


def report_genre(genre: str, documents: Sequence[Cited]) -> None:
    rng = np.random.default_rng(0)
    rows: list[list[float]] = []
    for cited in documents:
        positive = np.zeros((len(cited.document.sentences), len(cited.document.images)), dtype=np.bool_)
        for i, j in cited.document.links or ():
            positive[i, j] = True
        if not 0 < positive.sum() < positive.size:
            continue
        chance = rng.random(positive.shape).astype(np.float32)
        for score in (cited.similarity, chance):
            rows.append([auc(score, positive), precision_at(score, positive, 1), precision_at(score, positive, 5)])
    figures = np.array(rows)
    cells = [" / ".join(f"{100 * v:.1f}" for v in figures[start::2].mean(axis=0)) for start in (0, 1)]
    print(f"{genre:12} picture {cells[0]:22} random {cells[1]:22} {len(rows) // 2} documents")


if __name__ == "__main__":
    main()
