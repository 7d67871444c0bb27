"""The relation model that ships, trained on published labels and on pictures with texts, as its card says."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from fitting import ROOT
from fitting.default_model import pairs_of
from iconotext.corpus.builders.pairs import build_pairs
from iconotext.corpus.store import write_corpus
from iconotext.encoders.stored_model import METRICS, RECIPE, WEIGHTS
from iconotext.features import FeatureCache
from iconotext.features.model_folder import shipped_folder
from iconotext.recipe.toml import load_relation_recipe
from iconotext.train.relations.train import train_relations

LABELLED = {"clue": "clue-data-both-04-08-cleaned.tsv", "cite": "cite-data.csv"}
DESCRIBED = ("open", "textbook", "build", "cooking", "garden_home")


def make(data: Path, work: Path) -> dict[str, Any]:
    """Train the model, and put it into the package."""
    work.mkdir(parents=True, exist_ok=True)
    corpora = [labelled(name, data, work) for name in LABELLED]
    corpora += [pairs_of(name, data, work) for name in DESCRIBED]
    cited = work / "pairs" / "cited.jsonl"
    if not cited.exists():
        write_corpus(build_pairs([data / "documents" / "cited" / "cited.jsonl"]), cited)
    recipe = load_relation_recipe(ROOT / "recipes" / "relations.toml")
    model = train_relations(recipe, [*corpora, cited], work / "relations", cache=FeatureCache())
    for name in (WEIGHTS, RECIPE, METRICS):
        shutil.copyfile(model / name, shipped_folder("relations") / name)
    found: dict[str, Any] = json.loads((model / METRICS).read_text(encoding="utf-8"))
    return found


def labelled(name: str, data: Path, work: Path) -> Path:
    """The corpus of a published table of labels; no picture is looked at."""
    target = work / f"{name}.jsonl"
    if not target.exists():
        build = [sys.executable, "-m", "iconotext", "papers", "build", name, "--output", str(target)]
        subprocess.run([*build, "--source", str(data / "coherence" / LABELLED[name])], check=True)
    return target
