"""Reading order: does it help to choose links, to put pictures back?

    python benchmarks/order.py select     the best sentence alone, and given the other pictures (--select order)
    python benchmarks/order.py reorder    papers analyze order on half of the repositories, by generator

All need the data folder (--data, $ICONOTEXT_DATA, or ../shared/data beside the checkout). ``select`` takes cited
figures of books and guides with the weights that ship, and those of textbooks with weights fitted on the other books.
``reorder`` takes the repositories with odd numbers, in the order of their names: on those with even numbers it was
chosen which sentences stand for a place. Differences are paired, with 95 % intervals from 2,000 resamplings of the
documents.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from iconotext.corpus.store import read_corpus
from iconotext.decide.choose import chosen_cells, in_order
from iconotext.decide.combine import Coefficients, combine
from iconotext.evaluate.statistics import bootstrap_intervals
from iconotext.evidence.caption import PROBE
from iconotext.linker import Linker, LinkSettings
from iconotext.types import Document, Evidence
from iconotext_papers.analyses.order import reorder
from iconotext_papers.cli.order import show_order

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fitting.cited_documents import variants
from fitting.default_model import unseen_by
from fitting.evidence import Looking, captions, few, looking_with, publisher, with_vectors
from fitting.fit_evidence import Example, common_habit, example, fit_coefficients, with_habits
from fitting.fit_matcher import fit_matcher

ROOT = Path(__file__).resolve().parent.parent
KINDS: tuple[tuple[Evidence, ...], ...] = (("picture",), ("caption",), ("caption", "layout"))
FloatMatrix = NDArray[np.float32]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["select", "reorder"])
    parser.add_argument("--data", type=Path, default=os.environ.get("ICONOTEXT_DATA", ROOT.parent / "shared" / "data"))
    parser.add_argument("--work", type=Path, default=Path("default-model"))
    arguments = parser.parse_args()
    documents = arguments.data / "documents"
    if arguments.command == "select":
        report_select(documents, looking_with(unseen_by("cited figures", arguments.data, arguments.work)))
    else:
        report_reorder(list(read_corpus(documents / "cited" / "cited.jsonl")))


def report_select(data: Path, looking: Looking) -> None:
    cited, textbook = (list(read_corpus(data / name / "cited.jsonl")) for name in ("cited", "textbook"))
    both, encode = with_vectors([*cited, *textbook], looking)
    books = [each for each in both if publisher(each) == "openstax"]
    guides = [each for each in both if publisher(each) != "openstax"]
    for where, own, others in (("cited", guides, books), ("textbook", books, guides)):
        matcher = fit_matcher(captions(others, encode), encode([PROBE])[0])
        training = [example(each, encode, weight=w, matcher=matcher) for each, w in variants(few(others), seed=0)]
        common = common_habit(training)
        fitted = fit_coefficients(training, common)
        tested = with_habits([example(each, encode, matcher=matcher) for each in own], fitted, common)
        for kinds in KINDS:
            confidences = [(e, confidence(e, kinds, fitted)) for e in tested]
            plain = np.array([hits(e, chosen_cells(found, "best")) for e, found in confidences])
            report(
                f"{where}, {'+'.join(kinds)}",
                plain,
                np.array([hits(e, chosen_cells(in_order(found), "best")) for e, found in confidences]),
            )
            rng = np.random.default_rng(0)
            turned = [(e, found, rng.permutation(found.shape[1])) for e, found in confidences]
            mixed = [
                (e._replace(positive=e.positive[:, at]), chosen_cells(in_order(found[:, at]), "best"))
                for e, found, at in turned
            ]
            report("  images shuffled", plain, np.array([hits(e, chosen) for e, chosen in mixed]))
            for rule, value in (("  hard, sum", np.array), ("  hard, product", logarithm)):
                report(rule, plain, np.array([hits(e, monotone(value(found))) for e, found in confidences]))


def confidence(e: Example, kinds: Sequence[Evidence], coefficients: Mapping[str, Coefficients]) -> FloatMatrix:
    return combine([e.only(kinds)], coefficients)[0].confidence


def logarithm(confidence: FloatMatrix) -> FloatMatrix:
    logarithms: FloatMatrix = np.log(np.maximum(confidence, 1e-12))
    return logarithms


def monotone(value: FloatMatrix) -> NDArray[np.bool_]:
    """The non-decreasing choice of a sentence for each image with the largest sum."""
    until, came = np.zeros(len(value)), []
    for column in value.T:
        top = np.maximum.accumulate(until)
        came.append(np.maximum.accumulate(np.where(until == top, np.arange(len(value)), 0)))
        until = top + column
    chosen = np.zeros(value.shape, dtype=np.bool_)
    at = int(until.argmax())
    for j in reversed(range(value.shape[1])):
        chosen[at, j] = True
        at = int(came[j][at])
    return chosen


def hits(e: Example, chosen: NDArray[np.bool_]) -> tuple[float, float]:
    """Cited images whose sentence cites them, and cited images."""
    return float((chosen & e.positive).sum()), float(e.positive.any(axis=0).sum())


def report(name: str, plain: NDArray[np.float64], other: NDArray[np.float64]) -> None:
    """``plain`` and ``other`` are (documents, 2): hits and images."""
    ratio = plain.sum(0)[0] / plain.sum(0)[1]
    difference = other[:, :1] - plain[:, :1]
    low, high = bootstrap_intervals(difference, plain[:, 1:])[0]
    mean = difference.sum() / plain[:, 1].sum()
    print(f"{name:34} alone {ratio:6.1%}   in order {mean:+6.1%} ({low:+.1%} to {high:+.1%})", flush=True)


def report_reorder(documents: list[Document]) -> None:
    repositories = sorted({str(document.meta["repository"]) for document in documents})
    tested = [d for d in documents if repositories.index(str(d.meta["repository"])) % 2]
    linker = Linker.load("default", LinkSettings(evidence=("picture", "caption")))
    show_order("default", reorder(linker, tested))
    for old in (True, False):
        some = [d for d in tested if ("GITenberg" in str(d.meta["repository"])) == old]
        print("\nold books" if old else "\nmodern guides", flush=True)
        show_order("default", reorder(linker, some))


if __name__ == "__main__":
    main()
