"""Whether sentences that probably have no visible counterpart should have less confident links: they should not.

    python benchmarks/unillustrated.py

needs the data folder (--data, $ICONOTEXT_DATA, or ../shared/data beside the checkout). The log-odds of every pair are
changed by what the relation model says of the sentence: weight · min(0, log-odds of Visible − their median in the
document), so that only sentences below the median lose. p@1 and image@1 with and without, and the paired difference
with its 95 % bootstrap interval over documents. Links of the genres but ``cited`` were made by layout, so layout is no
evidence there.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from iconotext.corpus.store import read_corpus
from iconotext.encoders.relation_model import load_relation_model
from iconotext.evaluate.metrics import gold_matrix, image_hits, precision_at
from iconotext.features import FeatureCache
from iconotext.linker import Linker, LinkSettings

ROOT = Path(__file__).resolve().parent.parent
SETS = {
    "build": "build/documents.jsonl",
    "cooking": "cooking/documents.jsonl",
    "garden_home": "garden_home/documents.jsonl",
    "textbook, cited": "textbook/cited.jsonl",
}
WEIGHTS = (0.1, 0.25, 0.5, 1.0)
RESAMPLINGS = 2000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("ICONOTEXT_DATA", ROOT.parent / "shared" / "data"))
    parser.add_argument("--most", type=int, help="documents of a set at most, drawn at random (seed 0)")
    parser.add_argument("--sets", nargs="+", choices=[*SETS], default=[*SETS])
    arguments = parser.parse_args()
    model = load_relation_model(cache=FeatureCache())
    visible = model.relations.index("Visible")
    print("| set (documents) | weight | p@1 | difference | image@1 | difference |\n|---|---|---|---|---|---|")
    for name in arguments.sets:
        documents = [each for each in read_corpus(arguments.data / "documents" / SETS[name]) if each.links]
        if arguments.most and len(documents) > arguments.most:
            drawn = np.random.default_rng(0).choice(len(documents), arguments.most, replace=False)
            documents = [documents[i] for i in sorted(drawn)]
        evidence = ("picture", "caption", "layout") if name == "textbook, cited" else ("picture", "caption")
        linker = Linker.load(settings=LinkSettings(evidence=evidence, relations="none"))
        found: list[list[tuple[float, float]]] = [[] for _ in (0, *WEIGHTS)]
        for document in documents:
            linked = linker.link(document)
            gold = gold_matrix(linked.similarity.shape, document.links or ())
            score = np.clip(linked.similarity.astype(np.float64), 1e-6, 1 - 1e-6)
            odds = np.log(score / (1 - score))
            logits = model.text_logits([sentence.text for sentence in document.sentences])[:, visible]
            loss = np.minimum(0, logits - np.median(logits))[:, None]
            for place, weight in enumerate((0.0, *WEIGHTS)):
                changed = odds + weight * loss
                hits, images = image_hits(changed, gold)
                found[place].append((precision_at(changed, gold, 1), hits / images))
        values = np.array(found)  # (weights, documents, 2)
        for place, weight in enumerate((0.0, *WEIGHTS)):
            p, i = values[place].mean(0)
            cells = [interval(values[place, :, k] - values[0, :, k]) if place else "–" for k in (0, 1)]
            print(
                f"| {name} ({len(documents)}) | {weight:g} | {100 * p:.1f} | {cells[0]} | {100 * i:.1f} | {cells[1]} |"
            )


def interval(differences: NDArray[np.float64]) -> str:
    drawn = np.random.default_rng(0).integers(0, len(differences), (RESAMPLINGS, len(differences)))
    low, high = np.quantile(differences[drawn].mean(1), (0.025, 0.975))
    return f"{100 * differences.mean():+.1f} ({100 * low:+.1f} to {100 * high:+.1f})"


if __name__ == "__main__":
    main()
