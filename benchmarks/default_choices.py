"""What the default model takes from Li 2021, and what not: objectives, encoders and linking settings, each tried.

    python benchmarks/default_choices.py                         all rows, one seed
    python benchmarks/default_choices.py --only base --seeds 3   the model as it is, and ``linking.centre``

Every row has the same training photographs: those of the default model without 480 of Flickr8k, which are kept for
choosing. Second stages start from row ``base`` of the same seed. Models are measured on

- documents of the 480 photographs: ten at random (``mixed``), and five that look alike (``alike``): to choose;
- the same of Flickr8k's official validation photographs, and the four genres: to report.

Data and work folder as for ``default_model.py``; what is there already is not made again.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from iconotext.corpus.builders.captions import RULES, CaptionSettings, validation_as_test
from iconotext.corpus.builders.photos import Photo, read_photos
from iconotext.corpus.split import Shares, share_out
from iconotext.corpus.store import read_corpus, write_corpus
from iconotext.encoders.load import ModelRequest, trained_encoder
from iconotext.encoders.stored_model import load_model
from iconotext.evaluate import Evaluation, Scored, evaluate
from iconotext.linker import Linker, LinkSettings
from iconotext.read import Failure
from iconotext.recipe import Recipe, load_recipe, make_recipe
from iconotext.train import train
from iconotext.types import Document
from iconotext_papers.analyses.seeds import differences, over_seeds

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fitting import ROOT
from fitting.captioned_documents import build_captions
from fitting.default_model import GENRES, SOURCES, figures, looked_at, pairs_of

CHOSEN_ON, REPORTED_ON = ("mixed validation", "alike validation"), ("mixed test", "alike test", *GENRES)
CENTRES = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)

HINGE = {"kind": "hinge", "margin": 0.2}
EDGES = {"kind": "top-k", "directions": "mean"}
PAIRS = {"kind": "labelled-pairs"}
SECOND_STAGES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "C": (EDGES, HINGE, {}),
    "C+I": (EDGES, {**HINGE, "intra_document": 1.0}, {}),
    "C+D": (EDGES, {**HINGE, "sub_document": 1.0}, {}),
    "C+I+D": (EDGES, {**HINGE, "intra_document": 1.0, "sub_document": 1.0}, {}),
    "pairs": (PAIRS, {"kind": "logistic", "scale": 24.0, "learn_scale": True}, {"epochs": 4, "warmup": 0.5}),
    "pairs softmax": (PAIRS, {"kind": "softmax", "learn_scale": True}, {"epochs": 4, "warmup": 0.5}),
    "pairs few": (PAIRS, {"kind": "softmax", "scale": 22.0}, {"batch": 10, "learning_rate": 1e-4}),
}
"""Row to similarity, objective and training; on documents of five photographs that look alike, and the other pairs."""

REGIONS = (
    "features.augmentations=0 image.kind=regions image.layers=0 image.dropout=0.4 "
    "linking.bridge=0 training.epochs=14 training.average=2 training.max_regions=6"
).split()
"""The region encoder with softmax pooling instead of the projection; a bridge beside it is not to be had."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("ICONOTEXT_DATA", ROOT.parent / "shared" / "data"))
    parser.add_argument("--work", type=Path, default=Path("default-choices"))
    rows = ["base", *SECOND_STAGES, "regions"]
    parser.add_argument("--only", nargs="*", choices=rows, default=rows)
    parser.add_argument("--seeds", type=int, default=1)
    arguments = parser.parse_args()
    work, seeds = arguments.work, range(arguments.seeds)
    photos = list(read_photos(arguments.data / SOURCES["flickr8k"]))
    splits = share_out(validation_as_test([photo.split for photo in photos]), Shares(0.08, 0))
    photos = [replace(photo, split=split) for photo, split in zip(photos, splits, strict=True)]
    vectors = looked_at(photos)
    cohesive = list(build_captions(photos, CaptionSettings(**RULES["dii"], evaluation_shuffles=5), vectors=vectors))
    corpora = training_corpora(arguments.data, work, photos, cohesive)
    documents = test_documents(arguments.data, photos, cohesive)
    base = {seed: trained("base", seed, work, corpora) for seed in seeds}
    before = {seed: measured(base[seed], documents, 0.4) for seed in seeds}
    print("| row | documents | AUC | p@1 | p@5 | more than base: AUC | p@1 | p@5 |\n|---|---|---|---|---|---|---|---|")
    for row in arguments.only:
        models = {seed: trained(row, seed, work, corpora) for seed in seeds}
        for centre in CENTRES if row == "base" else (0.4,):
            found = {seed: measured(models[seed], documents, centre) for seed in seeds}
            for kind in (*CHOSEN_ON, *REPORTED_ON):
                mine, theirs = ({seed: each[seed][kind] for seed in seeds} for each in (found, before))
                more = differences(mine, theirs)
                parts = [
                    f"{100 * each.difference:+.2f} ({100 * each.interval[0]:+.2f} to {100 * each.interval[1]:+.2f})"
                    for each in (more[metric] for metric in ("auc", "p@1", "p@5"))
                ]
                means = figures(over_seeds(list(mine.values())))
                print(f"| {row}, centre {centre} | {kind} | {means} | {' | '.join(parts)} |", flush=True)


def training_corpora(
    data: Path, work: Path, photos: Sequence[Photo], cohesive: Sequence[Document]
) -> dict[str, list[Path]]:
    """Single pictures, and documents of five that look alike with the single pictures of the other sources."""
    kept = {photo.file.stem for photo in photos if photo.split == "validation"}
    pairs = {name: pairs_of(name, data, work) for name in SOURCES}
    single, alike = work / "flickr8k.jsonl", work / "alike.jsonl"
    if not single.exists():
        flickr8k = read_corpus(pairs.pop("flickr8k"))
        split = (replace(each, split="validation" if each.id.split("/")[1] in kept else "train") for each in flickr8k)
        write_corpus(split, single)
    if not alike.exists():
        write_corpus([each for each in cohesive if each.split != "test"], alike)
    others = [path for name, path in pairs.items() if name != "flickr8k"]
    return {"single": [single, *others], "alike": [alike, *others]}


def test_documents(data: Path, photos: Sequence[Photo], cohesive: Sequence[Document]) -> dict[str, list[Document]]:
    kept = [photo for photo in photos if photo.split == "validation"]
    test = [replace(photo, split="validation") for photo in photos if photo.split == "test"]
    return {
        "mixed validation": list(build_captions(kept, CaptionSettings(evaluation_shuffles=10))),
        "alike validation": [each for each in cohesive if each.split == "validation"],
        "mixed test": list(build_captions(test, CaptionSettings(evaluation_shuffles=5))),
        "alike test": [each for each in cohesive if each.split == "test"],
        **{genre: list(read_corpus(data / "documents" / genre / "documents.jsonl")) for genre in GENRES},
    }


def trained(row: str, seed: int, work: Path, corpora: dict[str, list[Path]]) -> Path:
    target, default = work / f"{row.replace(' ', '-')}-{seed}", ROOT / "recipes" / "default.toml"
    if row in SECOND_STAGES:
        recipe = second_stage(row, seed, trained("base", seed, work, corpora))
        return train(recipe, corpora["alike"], target, prepared=work / "prepared-alike")
    recipe = load_recipe(default, [f"name={row}", f"seed={seed}", *(REGIONS if row == "regions" else ())])
    return train(recipe, corpora["single"], target, prepared=work / f"prepared-{row}")


def second_stage(row: str, seed: int, start: Path) -> Recipe:
    similarity, objective, training = SECOND_STAGES[row]
    schedule = {"batch": 100, "epochs": 2, "learning_rate": 3e-4, "weight_decay": 0.1, "warmup": 0.2, **training}
    values = {
        "name": row,
        "seed": seed,
        "init": str(start),
        "similarity": similarity,
        "objective": objective,
        "training": {"schedule": "cosine", "validation": 0.05, **schedule},
    }
    return make_recipe(values, source=row)


def measured(model: Path, documents: dict[str, list[Document]], centre: float) -> dict[str, Evaluation]:
    stored = load_model(model)
    linking = stored.recipe.linking.model_copy(update={"centre": centre})
    stored = replace(stored, recipe=stored.recipe.model_copy(update={"linking": linking}))
    found = {}
    linker = Linker(trained_encoder(ModelRequest(str(model)), stored), LinkSettings(evidence=("picture",)))
    for kind, each in documents.items():
        scored = []
        for linked in linker.link_all(each):
            if isinstance(linked, Failure):
                raise linked.error
            scored.append(Scored(linked.document.id, linked.similarity, linked.document.links))
        found[kind] = evaluate(scored)
    return found


if __name__ == "__main__":
    main()
