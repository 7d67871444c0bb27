"""The two models that ship: how they are made, and what they are worth.

    python -m fitting models             trains them and puts them into src/iconotext/models
    python -m fitting.default_model      the tables of their cards

``default`` learned from pictures under free licences alone; ``photographs`` from these and Flickr8k, which is for
research only.

Both need the data folder (--data, $ICONOTEXT_DATA, or ../shared/data beside the checkout) and a folder for corpora and
models (--work); what is there already is not made again. The tables, for the picture alone:

1. The caption benchmark: 500 documents out of the 1,000 official validation photographs of Flickr8k, which no step of
   training has seen; 10 images, 10 sentences, 5 links, five shuffles. And 1,000 documents of five of them that look
   alike, each with a caption, five shuffles.
2. Each genre of documents, against the concept bridge, with the models as they ship (whose training pictures are these
   documents' own, with their captions) and with ones that were trained without the genre and what is like it.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fitting import DATA, ROOT
from fitting.captioned_documents import build_captions
from iconotext.corpus.builders.captions import RULES, CaptionSettings
from iconotext.corpus.builders.pairs import build_pairs
from iconotext.corpus.builders.photos import Photo, read_photos
from iconotext.corpus.store import read_corpus, write_corpus
from iconotext.encoders.stored_model import load_model, save_model
from iconotext.evaluate import Evaluation, Scored, compare, evaluate
from iconotext.features import FeatureCache, cached_image, load_image_backbone
from iconotext.features.model_folder import shipped_folder
from iconotext.linker import Linker, LinkSettings
from iconotext.read import Failure
from iconotext.recipe import load_recipe
from iconotext.recipe.encoders import Inputs
from iconotext.system.files import write_text
from iconotext.train import train
from iconotext.types import Document

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix

GENRES = ("build", "cooking", "garden_home", "textbook")
SOURCES = {
    "flickr8k": "captions/flickr8k/captions.jsonl",
    "open": "captions/open/captions.jsonl",
    "textbook": "captions/openstax/captions.jsonl",
    "build": "documents/build/documents.jsonl",
    "cooking": "documents/cooking/documents.jsonl",
    "garden_home": "documents/garden_home/documents.jsonl",
}
NOT_FREE = ("flickr8k", "build")  # for research only; some of these logs are for no commercial use
MODELS = {"default": [name for name in SOURCES if name not in NOT_FREE], "photographs": list(SOURCES)}
CHANGES = {"photographs": ["linking.bridge=0.15", "linking.bridge_alone=0.2"]}  # of the recipe


class Fold(NamedTuple):
    """What a model has not seen.

    Attributes:
        tested: The genres of documents that it is tested on.
        sources: Those that are left out.
        publishers: Of ``captions/open``, how the names of those begin that are left out.
    """

    tested: tuple[str, ...]
    sources: tuple[str, ...]
    publishers: tuple[str, ...] = ()


GUIDES = ("sparkfun/", "tigoe/", "poppy-project/", "microsoft/IoT", "raspberrypilearning/")
FOLDS = {
    "build logs and guides": Fold(("build",), (), GUIDES),
    "recipes, home logs": Fold(("cooking", "garden_home"), ("cooking", "garden_home"), ("ronaldl29/",)),
    "these books": Fold(("textbook",), ("textbook",)),
    "their publisher": Fold(("textbook",), ("textbook",), ("openstax/", "philschatz/")),
    "cited figures": Fold((), ("textbook",)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--work", type=Path, default=Path("default-model"))
    arguments = parser.parse_args()
    report_captions(arguments.data)
    report_genres(arguments.data, arguments.work)


def make(data: Path, work: Path) -> dict[str, Any]:
    """Train the models, and put them into the package."""
    return {
        name: ship(trained(sources, data, work / name, changes=CHANGES.get(name, [])), name)
        for name, sources in MODELS.items()
    }


def pairs_of(name: str, data: Path, work: Path, without: tuple[str, ...] = ()) -> Path:
    """The corpus of single pictures that a source gives; of Flickr8k only the official training photographs."""
    target = work / "pairs" / f"{'-'.join([name, *(p.replace('/', '') for p in without)])}.jsonl"
    if not target.exists():
        documents = build_pairs([data / SOURCES[name]], only="train")
        if without:
            lines = (data / SOURCES[name]).read_text(encoding="utf-8").splitlines()
            kept = [not json.loads(line)["source"].startswith(without) for line in lines]
            documents = (d for d, keep in zip(documents, kept, strict=True) if keep)
        write_corpus(documents, target)
    return target


def trained(
    sources: Iterable[str], data: Path, folder: Path, without: tuple[str, ...] = (), changes: Sequence[str] = ()
) -> Path:
    """A model by the recipe that ships, if it is not there yet."""
    if not (folder / "weights.safetensors").exists():
        corpora = [pairs_of(name, data, folder.parent, without if name == "open" else ()) for name in sources]
        train(load_recipe(ROOT / "recipes" / "default.toml", changes), corpora, folder)
    return folder


def unseen_by(fold: str, data: Path, work: Path) -> Path:
    """The default model without what a fold leaves out."""
    _, left_out, publishers = FOLDS[fold]
    sources = [name for name in MODELS["default"] if name not in left_out]
    return trained(sources, data, work / f"without {fold}", publishers)


def ship(model: Path, name: str) -> dict[str, Any]:
    """Store the model with weights of 16 bits, its recipe, figures and log. The card is written by hand."""
    stored, target = load_model(model), shipped_folder(name)
    recipe = stored.recipe.model_copy(update={"name": name})
    weights = stored.model.state_dict()
    inputs = Inputs(0, weights["text.hidden.weight"].shape[1], weights["image.hidden.weight"].shape[1])
    save_model(target, recipe, inputs, weights, vocabulary=None, backbones=stored.backbones, half=True)
    shutil.copyfile(model / "log.csv", target / "log.csv")
    metrics = json.loads((model / "metrics.json").read_text(encoding="utf-8"))
    metrics["validation"].pop("undefined_documents")  # a document of one image has no AUC: names of such say nothing
    write_text(target / "metrics.json", json.dumps(metrics, indent=1) + "\n", force=True)
    found: dict[str, Any] = metrics["validation"]
    return found


def measured(model: str, documents: Sequence[Document]) -> Evaluation:
    linker = Linker.load(model, LinkSettings(evidence=("picture",)))
    scored = []
    for linked in linker.link_all(documents):
        if isinstance(linked, Failure):
            raise linked.error
        scored.append(Scored.of(linked.document, linked.similarity))
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
        for model in ("no-training", *MODELS):
            print(f"| {kind} ({len(documents)}) | {model} | {figures(measured(model, documents))} |", flush=True)


def looked_at(photos: Sequence[Photo]) -> FloatMatrix:
    """(photos, features), what says which of them look alike."""
    encoder = cached_image(load_image_backbone("efficientnet-lite0"), FeatureCache())
    files = [photo.file for photo in photos]
    return np.concatenate([encoder.encode(files[at : at + 64]).pooled for at in range(0, len(files), 64)])


def report_genres(data: Path, work: Path) -> None:
    print("\n2. Genres, the picture alone\n")
    print("| genre (documents) | model | AUC | p@1 | p@5 | AUC more than the bridge |\n|---|---|---|---|---|---|")
    for genre in GENRES:
        documents = list(read_corpus(data / "documents" / genre / "documents.jsonl"))
        bridge = measured("no-training", documents)
        models = {"concept bridge": "no-training"} | {name: name for name in MODELS}
        models |= {f"default without {f}": str(unseen_by(f, data, work)) for f in FOLDS if genre in FOLDS[f].tested}
        for name, model in models.items():
            evaluation = measured(model, documents)
            found = compare(evaluation, bridge)["auc"]
            more = f"{100 * found.difference:+.1f} ({100 * found.interval[0]:+.1f} to {100 * found.interval[1]:+.1f})"
            print(f"| {genre} ({len(documents)}) | {name} | {figures(evaluation)} | {more} |", flush=True)


if __name__ == "__main__":
    main()
