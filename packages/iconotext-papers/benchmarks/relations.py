"""How well the relation model foretells the relations that people saw (Alikhani 2021, Table 8).

    python packages/iconotext-papers/benchmarks/relations.py --clue clue.jsonl --cite cite.jsonl

The corpora are those of `iconotext papers build clue` and `cite`; no picture is looked at. Two kinds of split, each
drawn once a seed:

- published: as many pairs to train on and to test as in the paper, drawn from all pairs. One picture or one text may
  lie on both sides.
- grouped: a fifth of the pairs to test, none of which shares its text or its picture with a training pair.

Of CITE a fifth is tested in both. Settings are chosen with --validation, which looks at no test pair of a seed. The
rows: a logistic regression on MiniLM vectors; the model (text only); the model and the words of the picture's file
name; the model and the whole address. The last two are no part of the program: they tell what the addresses of this
data set give away. Mean and 95 % interval of the mean over seeds (Student's t).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from iconotext.encoders.relation_model import LayerMeans, text_logits
from iconotext.evaluate.metrics import average_precision
from iconotext.evidence.words import file_words
from iconotext.features import FeatureCache
from iconotext.recipe.recipe import RelationSettings
from iconotext.recipe.toml import load_relation_recipe
from iconotext.relations import CITE, CLUE
from iconotext.train.relations.data import RelationData, folds_of, groups_of, read_relation_data
from iconotext.train.relations.fit import fit_logistic, fit_text, hashed_texts
from iconotext_papers.datasets.labelled_pairs import PUBLISHED
from iconotext_papers.published import published_cells

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.types import FloatMatrix

    Rows = NDArray[np.int64]

TRAIN, TEST = PUBLISHED["Clue"]["train"], PUBLISHED["Clue"]["test"]
WIDTH = 384
ADDRESS_WEIGHT = 0.5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clue", type=Path, required=True)
    parser.add_argument("--cite", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--splits", nargs="+", choices=["published", "grouped"], default=["published", "grouped"])
    parser.add_argument("--set", action="append", default=[], help="another setting, such as relations.word_strength=3")
    parser.add_argument("--validation", action="store_true", help="judge on a quarter of the pairs to train on")
    parser.add_argument("--output", type=Path, help="write every figure to this JSON file")
    arguments = parser.parse_args()
    settings = load_relation_recipe("relations", arguments.set).relations
    data = read_relation_data([arguments.clue, arguments.cite])
    layers = LayerMeans(FeatureCache()).encode(data.texts)
    found: dict[str, dict[str, dict[str, list[float]]]] = {}
    for kind in arguments.splits:
        for seed in range(arguments.seeds):
            train, test = split(data, kind, seed)
            if arguments.validation:
                held = held_out(data, kind, train, 100 + seed)
                train, test = train[~held], train[held]
            scores = predictions(layers, data, train, test, settings)
            for row, logits in scores.items():
                for name, value in precisions(data, test, logits).items():
                    found.setdefault(kind, {}).setdefault(row, {}).setdefault(name, []).append(value)
            for name, value in rates(data, test).items():
                found[kind].setdefault("positive rate", {}).setdefault(name, []).append(value)
            print(f"{kind}, seed {seed}: done", flush=True)
            if arguments.output:
                arguments.output.write_text(json.dumps(found, indent=1), encoding="utf-8")
        for names in (CLUE, CITE):
            print(table(found[kind], names))


def split(data: RelationData, kind: str, seed: int) -> tuple[Rows, Rows]:
    """Rows to train on and to test, of both data sets."""
    drawn = np.random.default_rng(seed)
    of_clue = ~np.isnan(data.answers[:, data.relations.index("Visible")])
    train: list[Rows] = []
    test: list[Rows] = []
    for rows, share in ((np.flatnonzero(of_clue), TEST), (np.flatnonzero(~of_clue), len(of_clue))):
        if kind == "grouped":
            groups = groups_of([data.texts[i] for i in rows], [data.images[i] for i in rows])
            held = folds_of(groups, 5, seed) == 0
            train.append(rows[~held])
            test.append(rows[held])
        elif share == TEST:
            order = drawn.permutation(rows)
            train.append(order[:TRAIN])
            test.append(order[TRAIN : TRAIN + TEST])
        else:
            order = drawn.permutation(rows)
            train.append(order[len(rows) // 5 :])
            test.append(order[: len(rows) // 5])
    return np.concatenate(train), np.concatenate(test)


def held_out(data: RelationData, kind: str, train: Rows, seed: int) -> NDArray[np.bool_]:
    """Which quarter of the rows to train on settings are chosen on."""
    if kind == "grouped":
        return np.equal(folds_of(groups_of(data.texts, data.images)[train], 4, seed), 0)
    return np.random.default_rng(seed).permutation(len(train)) < len(train) // 4


def predictions(
    layers: FloatMatrix, data: RelationData, train: Rows, test: Rows, settings: RelationSettings
) -> dict[str, FloatMatrix]:
    """Log-odds of the test pairs by each way."""
    last = layers[:, -WIDTH:]
    vectors = last / np.linalg.norm(last, axis=1, keepdims=True)
    arrays = fit_text(layers[train], [data.texts[i] for i in train], data.answers[train], settings)
    model = text_logits(arrays, layers[test], [data.texts[i] for i in test])
    named = [file_words(image.source) or "" for image in data.images]
    addresses = [" ".join(part for part in image.source.replace("/", " ").split("-")) for image in data.images]
    return {
        "logistic regression on MiniLM": linear(vectors, data, train, test, 1.0),
        "relation model": model,
        "and file name": model + ADDRESS_WEIGHT * linear(hashed_texts(named, 2**15), data, train, test, 0.1),
        "and address": model + ADDRESS_WEIGHT * linear(hashed_texts(addresses, 2**15), data, train, test, 0.1),
    }


def linear(rows: FloatMatrix, data: RelationData, train: Rows, test: Rows, strength: float) -> FloatMatrix:
    """Log-odds of a logistic regression for each relation."""
    weights, bias = fit_logistic(rows[train], data.answers[train], strength)
    return np.asarray(rows[test] @ weights + bias, np.float32)


def precisions(data: RelationData, test: Rows, logits: FloatMatrix) -> dict[str, float]:
    found = {}
    for r, name in enumerate(data.relations):
        answers = data.answers[test, r]
        there = ~np.isnan(answers)
        found[name] = average_precision(logits[there, r], answers[there] > 0.5) or 0.0
    return found


def rates(data: RelationData, test: Rows) -> dict[str, float]:
    return {name: float(np.nanmean(data.answers[test, r])) for r, name in enumerate(data.relations)}


def table(found: dict[str, dict[str, list[float]]], names: tuple[str, ...]) -> str:
    """Markdown: a row for each way, a column for each relation, and their mean."""
    lines = ["| |" + "|".join(names) + "|mean|", "|---|" + "---|" * (len(names) + 1)]
    if names == CLUE:
        published = [published_cells("alikhani2021/8")["CMCM"][name][0] for name in names]
        lines.append(
            "|Alikhani 2021, Table 8|" + "|".join(f"{x:.2f}" for x in published) + f"|{np.mean(published):.3f}|"
        )
    for row, values in found.items():
        columns = np.array([values[name] for name in names])  # (relations, seeds)
        cells = [interval(column) for column in (*columns, columns.mean(0))]
        lines.append(f"|{row}|" + "|".join(cells) + "|")
    return "\n".join(lines)


def interval(values: NDArray[np.float64]) -> str:
    from scipy.stats import t

    if len(values) < 2:
        return f"{values.mean():.3f}"
    half = float(t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))
    return f"{values.mean():.3f} ± {half:.3f}"


if __name__ == "__main__":
    main()
