"""Whether a text that stands at the wrong picture can be told: two captions of a document swapped.

    python benchmarks/swapped_texts.py

needs the data folder (--data, $ICONOTEXT_DATA, or ../shared/data beside the checkout). In each document with several
captions two that differ change places, ten times at random (seeds 0 to 9). A text is called misplaced where to change
it with that of another picture makes both fit better, by more than a bar. How well a text fits a picture is its cosine
with the picture (``pictures``), with the sentences beside the picture (``beside``), or the sum of both. The bar is the
lowest with a precision of 95 % on all repositories but one; precision and recall are counted on that one. Intervals:
bootstrap over documents.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from iconotext.corpus.store import read_corpus
from iconotext.encoders.encoder import Encoder, load_encoder
from iconotext.types import Document

ROOT = Path(__file__).resolve().parent.parent
WAYS = {"pictures": (1.0, 0.0), "beside": (0.0, 1.0), "both": (1.0, 1.0)}
PRECISION = 0.95
SEEDS = 10
RESAMPLINGS = 2000
NEAR, REACH = 4.0, 12
"""Sentences over which what stands beside a picture loses two thirds of its weight, and so many that count at all."""


@dataclass(frozen=True)
class Case:
    """A document with captions: whose it is, and how well each text (row) fits each picture, in two ways."""

    repository: str
    texts: list[str]
    seen: NDArray[np.float64]
    beside: NDArray[np.float64]


def case(document: Document, encoder: Encoder) -> Case | None:
    own = [(n, i.caption) for n, i in enumerate(document.images) if i.caption and i.problem is None]
    texts = [text for _, text in own]
    if len(set(texts)) < 2 or document.language != "en":
        return None
    pictures = encoder.encode_images([document.images[n] for n, _ in own]).vectors
    running = [k for k, sentence in enumerate(document.sentences) if sentence.kind != "caption"]
    said = encoder.text_backbone.encode([document.sentences[k].text for k in running])
    alike = encoder.text_backbone.encode(texts) @ said.T
    beside = np.zeros((len(own), len(own)))
    for column, (n, _) in enumerate(own):
        place = document.images[n].position or 0
        away = np.array([k - place if k >= place else place - 1 - k for k in running], np.float64)
        beside[:, column] = (alike * np.where(away <= REACH, np.exp(-away / NEAR), 0.0)).max(axis=1)
    seen = (encoder.encode_sentences(texts) @ pictures.T).astype(np.float64)
    return Case(str(document.meta.get("repository") or document.id), texts, seen, beside)


def margins(fit: NDArray[np.float64], standing: NDArray[np.int64]) -> NDArray[np.float64]:
    """For each picture, what the best exchange of its text with another one gains."""
    fit = fit[standing]
    own = np.diag(fit)
    gain: NDArray[np.float64] = fit + fit.T - own[:, None] - own[None, :]
    np.fill_diagonal(gain, -np.inf)
    result: NDArray[np.float64] = gain.max(axis=1)
    return result


def trials(cases: list[Case], weights: tuple[float, float]) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """By document, (pictures, 3): the margin with a swap, whether it was swapped, the margin without."""
    for number, each in enumerate(cases):
        fit = weights[0] * each.seen + weights[1] * each.beside
        n = len(each.texts)
        pairs = [(i, j) for i in range(n) for j in range(i) if each.texts[i] != each.texts[j]]
        clean = margins(fit, np.arange(n))
        rows = []
        for seed in range(SEEDS):
            i, j = pairs[np.random.default_rng((seed, number)).integers(len(pairs))]
            standing = np.arange(n)
            standing[[i, j]] = j, i
            rows.append(np.stack([margins(fit, standing), standing != np.arange(n), clean], axis=1))
        yield number, np.concatenate(rows)


def bar_of(found: NDArray[np.float64]) -> float:
    """The lowest bar at which the precision is what it must be; infinity where there is none."""
    ordered = found[np.argsort(-found[:, 0], kind="stable")]
    good = np.cumsum(ordered[:, 1]) / np.arange(1, len(ordered) + 1) >= PRECISION
    return float(ordered[np.flatnonzero(good)[-1], 0]) if good.any() else np.inf


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("ICONOTEXT_DATA", ROOT.parent / "shared" / "data"))
    parser.add_argument("--model", default="default")
    arguments = parser.parse_args()
    encoder = load_encoder(arguments.model)
    documents = read_corpus(Path(arguments.data) / "documents" / "cited" / "cited.jsonl")
    cases = [each for document in documents if (each := case(document, encoder)) is not None]
    repositories = sorted({each.repository for each in cases})
    print(f"{len(cases)} documents, {sum(len(c.texts) for c in cases)} captions, {len(repositories)} repositories\n")
    print("| fits by | precision | recall | said of untouched captions | misplaced, of 1,000 said at random |")
    print("|---|---|---|---|---|")
    for name, weights in WAYS.items():
        found = dict(trials(cases, weights))
        counts = np.zeros((len(cases), 5))  # said and swapped, said, swapped, untouched said, untouched
        for left in repositories:
            inside = [n for n, each in enumerate(cases) if each.repository == left]
            bar = bar_of(np.concatenate([found[n] for n in found if n not in inside]))
            for n in inside:
                said, swapped = found[n][:, 0] >= bar, found[n][:, 1] > 0
                clean = found[n][:, 2] >= bar
                counts[n] = (said & swapped).sum(), said.sum(), swapped.sum(), clean.sum(), len(clean)
        drawn = np.random.default_rng(0).integers(0, len(cases), (RESAMPLINGS, len(cases)))
        sums = counts[drawn].sum(1)
        total = counts.sum(0)
        cells = []
        for part, whole in ((0, 1), (0, 2), (3, 4)):
            with np.errstate(invalid="ignore", divide="ignore"):
                low, high = np.nanquantile(sums[:, part] / sums[:, whole], (0.025, 0.975))
            share = total[part] / total[whole] if total[whole] else np.nan
            cells.append(f"{100 * share:.1f} ({100 * low:.1f}–{100 * high:.1f})")
        print(f"| {name} | {' | '.join(cells)} | {1000 * total[2] / total[4]:.0f} |")


if __name__ == "__main__":
    main()
