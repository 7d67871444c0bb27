"""Captions that say nothing: the right sentence first, with and without their inferred share.

    python benchmarks/silent_captions.py

Needs the data folder (--data, $ICONOTEXT_DATA, or ../shared/data beside the checkout). The documents: cited figures in
Korean, Portuguese and Vietnamese, of which nothing is fitted; those of guides (documents/cited) and of four OpenStax
books, on which the weights were fitted, so that only the differences within a row count there. Each as it is; with
captions dealt out anew among the documents of its collection; with all pictures at its end; and with random numbers for
the cosines of its pictures, which these documents do not bring. In brackets 95 %
intervals from 2,000 resamplings of the documents; ECE is the expected calibration error of the best sentence.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
from data_folder import parser_with_data
from numpy.typing import NDArray

from iconotext import Document, Linker, LinkSettings, run
from iconotext.corpus.store import read_corpus
from iconotext.evaluate.statistics import bootstrap_intervals
from iconotext.evidence.gather import DocumentEvidence, gather_evidence
from iconotext.evidence.habit import collection_of
from iconotext.types import Evidence, LinkedDocument

CORPORA = {
    "Korean": "languages/ko.jsonl",
    "Portuguese": "languages/pt.jsonl",
    "Vietnamese": "languages/vi.jsonl",
    "guides": "cited/cited.jsonl",
    "OpenStax": "textbook/cited.jsonl",
}
KINDS: tuple[tuple[Evidence, ...], ...] = (("caption",), ("layout",), ("picture", "caption", "layout", "reference"))


def main() -> None:
    folder = parser_with_data(__doc__).parse_args().data / "documents"
    print("| documents | caption | layout | all, captions trusted | all | ECE, trusted | ECE | silent |")
    print("|---|---|---|---|---|---|---|---|")
    for name, file in CORPORA.items():
        documents = list(read_corpus(folder / file))
        for change in (as_they_are, captions_dealt_out, pictures_at_the_end):
            report(f"{name}, {change.__name__.replace('_', ' ')}", change(documents))
        with random_encoder():
            report(f"{name}, a random encoder", documents)


def as_they_are(documents: Sequence[Document]) -> list[Document]:
    return list(documents)


def captions_dealt_out(documents: Sequence[Document]) -> list[Document]:
    """Each picture with the texts of a picture of another document of its collection, where there is one."""
    rng = np.random.default_rng(0)
    pools: dict[str, list[tuple[str, int]]] = defaultdict(list)
    by_id = {document.id: document for document in documents}
    for document in documents:
        pools[collection_of(document)] += [(document.id, j) for j in range(len(document.images))]
    changed = []
    for document in documents:
        pool = [place for place in pools[collection_of(document)] if place[0] != document.id]
        images = list(document.images)
        for j, image in enumerate(images if pool else ()):
            name, number = pool[int(rng.integers(len(pool)))]
            other = by_id[name].images[number]
            images[j] = replace(image, caption=other.caption, alt=other.alt, source=other.source)
        changed.append(replace(document, images=tuple(images)))
    return changed


def pictures_at_the_end(documents: Sequence[Document]) -> list[Document]:
    return [
        replace(d, images=tuple(replace(image, position=len(d.sentences), block=None) for image in d.images))
        for d in documents
    ]


@contextmanager
def random_encoder() -> Iterator[None]:
    """Give each sentence and picture a cosine that is drawn at random, about as widely spread as real ones."""
    rng = np.random.default_rng(0)

    def gather_noise(
        documents: Sequence[Document], similarities: Sequence[Any], *readings: Any, **settings: Any
    ) -> list[DocumentEvidence]:
        shapes = [(len(document.sentences), len(document.images)) for document in documents]
        noise = [np.clip(rng.normal(0.15, 0.08, shape), -1, 1).astype(np.float32) for shape in shapes]
        given = noise if "picture" in settings["evidence"] else similarities
        return gather_evidence(documents, given, *readings, **settings)

    with patch.object(run, "gather_evidence", gather_noise):
        yield


def report(name: str, documents: Sequence[Document]) -> None:
    cells, errors, silent = [], [], ""
    for kinds in KINDS:
        linker = Linker.load("default", LinkSettings(evidence=kinds, relations="none", k=1, min_confidence=0.0))
        habits = linker.habits(documents)
        shares = [habit.silent for habit in habits.values()]
        if len(kinds) > 1:
            silent = f"{np.mean(shares):.2f}"
            texts = linker._first(linker._encoded(documents))  # the same run, with captions that are trusted
            trusted = run.habits_of(texts, silent=dict.fromkeys(habits, 0.0))
            for own in (trusted, habits):
                figures = list(tested(linker.link_all(documents, own)))
                cells.append(interval(figures))
                errors.append(f"{calibration_error(figures):.1f}")
        else:
            cells.append(interval(list(tested(linker.link_all(documents)))))
    print(f"| {name} | {' | '.join([*cells, *errors, silent])} |", flush=True)


Figures = tuple[NDArray[np.float64], NDArray[np.float64]]


def tested(linked: Iterator[object]) -> Iterator[Figures]:
    """For each document: of its cited figures, whether the best sentence cites it, and its confidence."""
    for each in linked:
        if isinstance(each, LinkedDocument):
            gold: dict[int, set[int]] = defaultdict(set)
            for sentence, image in each.document.links or ():
                gold[image].add(sentence)
            best = {link.image: link for link in sorted(each.links, key=lambda link: link.confidence)}
            hits = [float(j in best and best[j].sentence in right) for j, right in gold.items()]
            sure = [best[j].confidence if j in best else 0.0 for j in gold]
            yield np.array(hits), np.array(sure)


def interval(figures: Sequence[Figures]) -> str:
    counts = np.array([[hits.sum(), len(hits)] for hits, _ in figures])
    low, high = bootstrap_intervals(counts[:, :1], counts[:, 1:])[0]
    return f"{100 * counts[:, 0].sum() / counts[:, 1].sum():.1f} ({100 * low:.1f}–{100 * high:.1f})"


def calibration_error(figures: Sequence[Figures]) -> float:
    """In percent, over ten bins of confidence."""
    hits, sure = (np.concatenate(parts) for parts in zip(*figures, strict=True))
    bins = np.minimum((sure * 10).astype(np.int64), 9)
    inside = [bins == number for number in range(10) if (bins == number).any()]
    return 100 * sum(float(abs(hits[own].mean() - sure[own].mean()) * own.mean()) for own in inside)


if __name__ == "__main__":
    main()
