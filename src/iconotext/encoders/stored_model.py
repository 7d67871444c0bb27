"""The folder of a trained model, with recipe, weights, vocabulary, metrics and a model card.

``save_model`` writes and ``load_model`` reads it; ``StoredModel`` has its contents.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.errors import FeatureError, SettingError
from iconotext.extras import require
from iconotext.features.model_folder import MODELS, SHIPPED, no_such_model, shipped_folder
from iconotext.networks.int8 import projection_shapes
from iconotext.recipe import Recipe, dump_recipe, load_recipe
from iconotext.recipe.encoders import Inputs, ProjectionSettings
from iconotext.system.files import write_bytes, write_text
from iconotext.system.strict_json import parse_json

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from iconotext.encoders.joint_model import JointModel
    from iconotext.features.word_vectors import Vocabulary

RECIPE, WEIGHTS, VOCABULARY = "recipe.toml", "weights.safetensors", "vocabulary.txt"
METRICS, CARD = "metrics.json", "README.md"

ABOUT = "iconotext"
"""Name of the metadata entry in the weights' file for facts that are not in the recipe."""


@dataclass(frozen=True, eq=False)
class StoredModel:
    """The contents of a model folder.

    Attributes:
        recipe: The recipe, as resolved when training began.
        vocabulary: The words of an encoder that reads words; None for others.
        backbones: Names of the ``text`` and the ``image`` backbone on whose features the model was trained; it cannot
            use features of other weights.
        concepts: Names of the concepts of regions, by number; empty if the model reads none.
        relations: Names of the coherence relations that the model predicts, by number; empty if none.
    """

    name: str
    recipe: Recipe
    inputs: Inputs
    vocabulary: Vocabulary | None
    backbones: Mapping[str, str]
    concepts: Sequence[str]
    relations: Sequence[str]
    arrays: Mapping[str, NDArray[Any]]

    @cached_property
    def model(self) -> JointModel:
        """The model in PyTorch, on the CPU, in evaluation mode."""
        require("train", "torch", purpose=f"the model {self.name}, which is no projection on both sides,")
        import torch

        from iconotext.encoders.joint_model import JointModel

        model = JointModel(self.recipe, self.inputs)
        model.load_state_dict({name: torch.tensor(array) for name, array in self.arrays.items()})
        return model.eval().requires_grad_(False)

    def projection(self, side: str) -> dict[str, NDArray[Any]]:
        """Return the weights of a side (``text`` or ``image``) that is a projection."""
        sides = ((*name.partition("."), array) for name, array in self.arrays.items())
        return {name: np.asarray(array, np.float32) for owner, _, name, array in sides if owner == side}


def init_folder(name: str) -> Path:
    """Return the folder of a model, given one of the names in ``SHIPPED`` or the folder itself."""
    return shipped_folder(name) if name in SHIPPED else Path(name)


def is_model_folder(path: Path) -> bool:
    """Tell whether a folder contains a model of iconotext."""
    return (path / RECIPE).is_file() and (path / WEIGHTS).is_file()


def save_model(
    folder: Path,
    recipe: Recipe,
    inputs: Inputs,
    weights: Mapping[str, Tensor],
    *,
    vocabulary: Vocabulary | None,
    backbones: Mapping[str, str],
    concepts: Sequence[str] = (),
    relations: Sequence[str] = (),
    half: bool = False,
) -> None:
    """Write recipe, weights and vocabulary; each file is written atomically, the weights last.

    Args:
        weights: ``JointModel.state_dict()``.
    """
    from safetensors.torch import save

    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / RECIPE, dump_recipe(recipe), force=True)
    if vocabulary is not None:
        vocabulary.save(folder / VOCABULARY)
    stored = {
        name: (tensor.half() if half and tensor.ndim and tensor.is_floating_point() else tensor)
        .detach()
        .to("cpu", copy=True)
        .contiguous()
        for name, tensor in weights.items()
    }
    # One entry, since the order of several would change from run to run, and equal models should be equal files.
    lists = {"concepts": list(concepts), "relations": list(relations)}
    about = json.dumps({"inputs": asdict(inputs), "backbones": dict(backbones), **lists})
    write_bytes(folder / WEIGHTS, save(stored, {ABOUT: about}), force=True)


def load_model(folder: Path) -> StoredModel:
    """Read a model folder."""
    if not folder.exists():
        raise no_such_model(str(folder), MODELS[:1])
    if not is_model_folder(folder):
        missing = RECIPE if not (folder / RECIPE).is_file() else WEIGHTS
        raise FeatureError(f"{folder}: no model is in this folder: {missing} is missing (has training ended?)")
    from safetensors import SafetensorError, safe_open

    from iconotext.features.backbone import check_finite
    from iconotext.features.word_vectors import load_vocabulary

    try:
        recipe = load_recipe(folder / RECIPE)
    except SettingError as error:
        raise FeatureError(f"the model's recipe cannot be read: {error}") from error
    vocabulary = load_vocabulary(folder / VOCABULARY) if recipe.features.text == "words" else None
    try:
        with safe_open(os.fspath(folder / WEIGHTS), framework="numpy") as file:
            metadata = file.metadata() or {}
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
        check_finite(str(folder / WEIGHTS), weights)
        about: dict[str, Any] = parse_json(metadata[ABOUT])
        inputs, backbones = Inputs(**about["inputs"]), dict[str, str](about["backbones"])
        # The default model was written before these existed.
        concepts, relations = list[str](about.get("concepts", [])), list[str](about.get("relations", []))
        stored = StoredModel(recipe.name, recipe, inputs, vocabulary, backbones, concepts, relations, weights)
        if any(_in_torch(stored, side) for side in ("text", "image")) or relations:
            _ = stored.model  # made here, so that weights that do not fit are reported below
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise FeatureError(f"{folder / WEIGHTS}: damaged, or of another recipe: {error}") from error
    return stored


def read_metrics(folder: Path) -> dict[str, Any]:
    """Read the metrics of a model from its training."""
    path = folder / METRICS
    try:
        metrics = parse_json(path.read_bytes())
        if not isinstance(metrics, dict):
            raise ValueError("not figures by name")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise FeatureError(f"{path}: damaged or missing ({reason}); remove it, and train again") from error
    return metrics


def _in_torch(stored: StoredModel, side: str) -> bool:
    """Tell whether a side needs PyTorch; ``ValueError`` if it does not and its weights are not those of the recipe."""
    settings = getattr(stored.recipe, side)
    if not isinstance(settings, ProjectionSettings):
        return True
    shapes = projection_shapes(getattr(stored.inputs, f"{side}_features"), stored.recipe.dim, settings)
    stored_shapes = {name: array.shape for name, array in stored.projection(side).items()}
    if stored_shapes != shapes:
        raise ValueError(f"{side} has weights {stored_shapes}, the recipe says {shapes}")
    return False
