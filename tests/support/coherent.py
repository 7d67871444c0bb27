"""A small coherence-aware model with random weights, and labelled pairs for it."""

from __future__ import annotations

import json
from pathlib import Path

import torch

from iconotext.encoders.joint_model import JointModel
from iconotext.encoders.stored_model import save_model
from iconotext.features import load_image_backbone, load_text_backbone
from iconotext.recipe import load_recipe
from iconotext.recipe.encoders import Inputs

RELATIONS = ("Visible", "Story")


def coherent_model(folder: Path, *, seed: int = 0, relations: tuple[str, ...] = RELATIONS) -> Path:
    """Projections of the embedded backbones into 16 dimensions, without the concept bridge."""
    kinds = ["init=none", "features.text=minilm", "features.image=efficientnet-lite0", "text.kind=projection"]
    recipe = load_recipe("coherence", [*kinds, "dim=16", "text.hidden=0", "image.hidden=0", "linking.bridge=0"])
    inputs = Inputs(words=0, text_features=384, image_features=1280, relations=len(relations))
    torch.manual_seed(seed)
    model = JointModel(recipe, inputs)
    backbones = {"text": load_text_backbone().name, "image": load_image_backbone().name}
    weights = model.state_dict()
    save_model(folder, recipe, inputs, weights, vocabulary=None, backbones=backbones, relations=relations)
    return folder


def labelled_pairs(folder: Path, count: int = 12) -> Path:
    """Pairs of which two share their picture and one has none; two thirds test, the others validation."""
    rows = [
        {
            "id": f"p{n}",
            "split": "validation" if n % 3 == 0 else "test",
            "sentences": [f"A story of {n} dogs and trams."],
            "images": [f"img/{min(n, count - 2)}.png"],
            "links": [[0, 0]],
            "relations": {"Visible": n % 2 == 0, "Story": None if n % 4 == 1 else n % 4 == 2},
        }
        for n in range(count)
    ]
    rows.append(rows[-1] | {"id": "gone", "images": ["gone.png"]})
    path = folder / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path
