"""The model that ships: how it is made, and what it is worth.

    python benchmarks/default_model.py make      trains it and puts it into src/iconotext/models/default
    python benchmarks/default_model.py report    the tables of its card

Both need the data folder (--data, $ICONOTEXT_DATA, or ../shared/data beside the checkout) and a folder for corpora and
models (--work); what is there already is not made again. ``report`` prints, for the picture alone:

1. The caption benchmark: 500 documents out of the 1,000 official validation photographs of Flickr8k, which no step of
   training has seen; 10 images, 10 sentences, 5 links, five shuffles. And 1,000 documents of five of them that look
   alike, each with a caption, five shuffles.
2. Each genre of documents, against the concept bridge, with the model as it ships (whose training pictures are these
   documents' own, with their captions) and with one that was trained without the genre.
"""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from iconotext.corpus.builders.captioned.documents import CaptionSettings, build_captions
from iconotext.corpus.builders.captioned.photos import Photo, read_photos
from iconotext.corpus.builders.captions import RULES
from iconotext.corpus.builders.pairs import build_pairs
from iconotext.corpus.store import read_corpus, write_corpus
from iconotext.embed.folder import default_folder, load_model, save_model
from iconotext.embed.inputs import Inputs
from iconotext.evaluate import Evaluation, Scored, compare, evaluate
from iconotext.features import FeatureCache, cached_image, load_image_backbone
from iconotext.pipeline import Linker, LinkSettings
from iconotext.read import Failure
from iconotext.recipe import load_recipe
from iconotext.train import train
from iconotext.types import Document

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix

ROOT = Path(__file__).resolve().parent.parent
GENRES = ("build", "cooking", "garden_home", "textbook")
SOURCES = {
    "flickr8k": "captions/flickr8k/captions.jsonl",
    "textbook": "captions/openstax/captions.jsonl",
    "build": "documents/build/documents.jsonl",
    "cooking": "documents/cooking/documents.jsonl",
    "garden_home": "documents/garden_home/documents.jsonl",
    "open": "captions/open/captions.jsonl",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["make", "report"])
    parser.add_argument("--data", type=Path, default=os.environ.get("ICONOTEXT_DATA", ROOT.parent / "shared" / "data"))
    parser.add_argument("--work", type=Path, default=Path("default-model"))
    parser.add_argument("--without", nargs="*", default=GENRES, help="genres that are left out in turn")
    arguments = parser.parse_args()
    pairs = {name: pairs_of(name, arguments.data, arguments.work) for name in SOURCES}
    if arguments.command == "make":
        made = trained(pairs.values(), arguments.work / "all")
        ship(made, default_folder())
        return
    report_captions(arguments.data)
    report_genres(arguments.data, pairs, arguments.work, arguments.without)


def pairs_of(name: str, data: Path, work: Path) -> Path:
    """The corpus of single pictures that a source gives; of Flickr8k only the official training photographs."""
    target = work / "pairs" / f"{name}.jsonl"
    if not target.exists():
        write_corpus(build_pairs([data / SOURCES[name]], only="train"), target)
    return target


def trained(corpora: Iterable[Path], folder: Path) -> Path:
    """A model by the recipe that ships."""
    return train(load_recipe(ROOT / "recipes" / "default.toml"), list(corpora), folder)


def ship(model: Path, target: Path) -> None:
    """The model with weights of 16 bits, its recipe, figures and log; the card is written by hand."""
    stored = load_model(model)
    weights = stored.model.state_dict()
    inputs = Inputs(0, weights["text.hidden.weight"].shape[1], weights["image.hidden.weight"].shape[1])
    save_model(target, stored.recipe, inputs, weights, vocabulary=None, backbones=stored.backbones, half=True)
    for name in ("metrics.json", "log.csv"):
        shutil.copyfile(model / name, target / name)
    size = sum(file.stat().st_size for file in target.iterdir())
    print(f"{target.relative_to(ROOT)}: {size / 1e6:.2f} MB")


def measured(model: str, documents: Sequence[Document]) -> Evaluation:
    linker = Linker.load(model, LinkSettings(evidence=("picture",)))
    scored = []
    for linked in linker.link_all(documents):
        if isinstance(linked, Failure):
            raise linked.error
        scored.append(Scored(linked.document.id, linked.similarity, linked.document.links))
    return evaluate(scored)


def figures(evaluation: Evaluation) -> str:
    parts = []
    for metric in ("auc", "p@1", "p@5"):
        value, interval = evaluation.means[metric], evaluation.intervals[metric]
        assert value is not None
        assert interval is not None
        parts.append(f"{100 * value:.1f} ({100 * interval[0]:.1f}–{100 * interval[1]:.1f})")
    return " | ".join(parts)


def report_captions(data: Path) -> None:
    photos = [photo for photo in read_photos(data / SOURCES["flickr8k"]) if photo.split == "validation"]
    mixed = build_captions(photos, CaptionSettings(evaluation_shuffles=5))
    alike = CaptionSettings(**RULES["dii"], evaluation_shuffles=5)
    test = [replace(photo, split="test") for photo in photos]
    kinds = {
        "ten at random": list(mixed),
        "five that look alike": list(build_captions(test, alike, vectors=looked_at(photos))),
    }
    print("\n1. Captions\n\n| photographs of a document (documents) | model | AUC | p@1 | p@5 |\n|---|---|---|---|---|")
    for kind, documents in kinds.items():
        for model in ("no-training", "default"):
            print(f"| {kind} ({len(documents)}) | {model} | {figures(measured(model, documents))} |", flush=True)


def looked_at(photos: Sequence[Photo]) -> FloatMatrix:
    """(photos, features), what says which of them look alike."""
    encoder = cached_image(load_image_backbone("efficientnet-lite0"), FeatureCache())
    files = [photo.file for photo in photos]
    return np.concatenate([encoder.encode(files[at : at + 64]).pooled for at in range(0, len(files), 64)])


def report_genres(data: Path, pairs: dict[str, Path], work: Path, without: Sequence[str]) -> None:
    print("\n2. Genres, the picture alone\n")
    print("| genre | model | AUC | p@1 | p@5 | AUC more than the bridge |\n|---|---|---|---|---|---|")
    for genre in GENRES:
        documents = list(read_corpus(data / "documents" / genre / "documents.jsonl"))
        models = {"concept bridge": "no-training", "default": "default"}
        if genre in without:
            others = [path for name, path in pairs.items() if name != genre]
            models["without the genre"] = str(trained(others, work / f"without-{genre}"))
        bridge: Evaluation | None = None
        for name, model in models.items():
            evaluation = measured(model, documents)
            more = "–"
            if bridge is not None:
                found = compare(evaluation, bridge)["auc"]
                more = f"{100 * found.difference:+.1f} ({100 * found.low:+.1f} to {100 * found.high:+.1f})"
            bridge = bridge or evaluation
            print(f"| {genre} | {name} | {figures(evaluation)} | {more} |", flush=True)


if __name__ == "__main__":
    main()
