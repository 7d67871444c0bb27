"""Reading order: does it help to choose links, to put pictures back, to train?

    python benchmarks/order.py select     the best sentence alone, and given the other pictures (--select order)
    python benchmarks/order.py reorder    evaluate --protocol reorder on half of the repositories, by generator
    python benchmarks/order.py train START   heads trained with and without objective.order, from the model START

All need the data folder (--data, $ICONOTEXT_DATA, or ../shared/data beside the checkout). ``select`` takes cited
figures of books and guides with the weights that ship, and those of textbooks with weights fitted on the other books.
``reorder`` takes the repositories with odd numbers, in the order of their names: on those with even numbers it was
chosen which sentences stand for a place. ``train`` leaves out a genre, trains on the documents of the others, and tests
on it by the picture alone; START must not have seen its pictures. Differences are paired, with 95 % intervals from
2,000 resamplings of the documents.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from cited_documents import variants
from default_model import unseen_by
from fit_evidence import Example, common_habit, example, fit_coefficients, with_habits
from fit_matcher import fit_matcher
from numpy.typing import NDArray

from evidence import Looking, captions, few, looking_with, publisher, with_vectors
from iconotext.cli.evaluate import show_reorder
from iconotext.corpus.store import read_corpus
from iconotext.decide.choose import best, in_order
from iconotext.decide.combine import Coefficients, combine
from iconotext.evaluate import Scored, evaluate
from iconotext.evaluate.reorder import reorder
from iconotext.evaluate.statistics import bootstrap_intervals
from iconotext.evidence.caption import PROBE
from iconotext.linker import Linker, LinkSettings
from iconotext.recipe import load_recipe
from iconotext.train import train
from iconotext.types import Document, Evidence, LinkedDocument

ROOT = Path(__file__).resolve().parent.parent
KINDS: tuple[tuple[Evidence, ...], ...] = (("picture",), ("caption",), ("caption", "layout"))
FloatMatrix = NDArray[np.float32]
LEFT_OUT = {"build": ["build"], "cooking and home": ["cooking", "garden_home"], "textbook": ["textbook"]}
WEIGHTS, SEEDS = (0.0, 1.0), 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["select", "reorder", "train"])
    parser.add_argument("start", nargs="?", type=Path)
    parser.add_argument("--data", type=Path, default=os.environ.get("ICONOTEXT_DATA", ROOT.parent / "shared" / "data"))
    parser.add_argument("--work", type=Path, default=Path("default-model"))
    arguments = parser.parse_args()
    documents = arguments.data / "documents"
    if arguments.command == "select":
        report_select(documents, looking_with(unseen_by("cited figures", arguments.data, arguments.work)))
    elif arguments.command == "reorder":
        report_reorder(list(read_corpus(documents / "cited" / "cited.jsonl")))
    else:
        report_train(documents, arguments.start)


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
            plain = np.array([hits(e, best(found)) for e, found in confidences])
            report(
                f"{where}, {'+'.join(kinds)}",
                plain,
                np.array([hits(e, best(in_order(found))) for e, found in confidences]),
            )
            rng = np.random.default_rng(0)
            turned = [(e, found, rng.permutation(found.shape[1])) for e, found in confidences]
            mixed = [(e._replace(positive=e.positive[:, at]), best(in_order(found[:, at]))) for e, found, at in turned]
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
    show_reorder("default", reorder(linker, tested))
    for old in (True, False):
        some = [d for d in tested if ("GITenberg" in str(d.meta["repository"])) == old]
        print("\nold books" if old else "\nmodern guides", flush=True)
        show_reorder("default", reorder(linker, some))


def report_train(data: Path, start: Path) -> None:
    corpora = {name: data / name / "documents.jsonl" for names in LEFT_OUT.values() for name in names}
    with tempfile.TemporaryDirectory() as work:
        for genre, names in LEFT_OUT.items():
            tested = [document for name in names for document in read_corpus(corpora[name])]
            others = [path for name, path in corpora.items() if name not in names]
            aucs: dict[float | None, list[NDArray[np.float64]]] = {None: [auc_of(start, tested)]}
            for seed in range(SEEDS):
                for weight in WEIGHTS:
                    settings = ["training.epochs=8", f"objective.order={weight}", f"seed={seed}", f"init={start}"]
                    folder = Path(work, f"{genre}-{seed}-{weight}")
                    train(load_recipe("adapt", settings), others, folder, prepared=Path(work, f"{genre}-{seed}"))
                    aucs.setdefault(weight, []).append(auc_of(folder, tested))
            mean = {weight: np.mean(runs, axis=0) for weight, runs in aucs.items()}
            ones = np.ones((len(mean[None]), 1))
            for weight in WEIGHTS:
                seeds = " ".join(f"{run.mean():.1%}" for run in aucs[weight])
                line = f"{genre:18} order {weight:g}: {mean[weight].mean():.1%} ({seeds})"
                for against in (None, 0.0):
                    difference = (mean[weight] - mean[against])[:, None]
                    low, high = bootstrap_intervals(difference, ones)[0]
                    what = "START" if against is None else "order 0"
                    line += f"   minus {what} {difference.mean():+.1%} ({low:+.1%} to {high:+.1%})"
                print(line, flush=True)
            print(f"{genre:18} START: {mean[None].mean():.1%}, {len(ones)} documents", flush=True)


def auc_of(model: Path, documents: Sequence[Document]) -> NDArray[np.float64]:
    """AUC of each document that has one, by the picture alone."""
    linker = Linker.load(str(model), LinkSettings(evidence=("picture",), relations="none"))
    linked = [each for each in linker.link_all(documents) if isinstance(each, LinkedDocument)]
    found = evaluate(Scored(each.document.id, each.similarity, each.document.links) for each in linked)
    return np.array([document.auc for document in found.defined], dtype=np.float64)


if __name__ == "__main__":
    main()
