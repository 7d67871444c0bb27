"""Starts training from the model that the recipe names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.embed.folder import DUAL, StoredModel, init_folder, load_model
from iconotext.errors import FeatureError, SettingError
from iconotext.features.regions.files import is_region_file
from iconotext.recipe.settings import REGION_FILES
from iconotext.train.prepared import Prepared, learned_relations

if TYPE_CHECKING:
    from torch import nn

    from iconotext.embed.model import JointModel
    from iconotext.features.vocabulary import Vocabulary
    from iconotext.recipe import Recipe


def with_init(recipe: Recipe) -> Recipe:
    """The recipe with the encoders of the model that it starts from; unchanged if it names none.

    Raises:
        SettingError: The recipe has settings that these encoders do not use.
        FeatureError: The model cannot be read.
    """
    if recipe.init is None:
        return recipe
    old = load_model(init_folder(recipe.init)).recipe
    taken = {name: getattr(old, name) for name in ("dim", "features", "text", "image", "linking")}
    if _of_another_corpus(recipe.features.image, old.features.image):
        taken["features"] = old.features.model_copy(update={"image": recipe.features.image})
    if old.towers:
        both = str(init_folder(recipe.init) / DUAL)
        taken["features"] = old.features.model_copy(update={"text": both, "image": both})
    if old.words is not None:
        taken["text"] = old.words.model_copy(update={"word_vectors": None})  # that model's word vectors are used
    resolved = recipe.model_copy(update=taken)
    try:
        resolved.check_encoders()
    except ValueError as error:
        raise SettingError(f"the recipe, with the encoders of {recipe.init}: {error}") from error
    return resolved


def _of_another_corpus(new: str, old: str) -> bool:
    """Whether both are files of features; such a file belongs to one corpus, so it may differ."""
    tables = new.endswith(".npy") and old.endswith(".npy")
    return tables or (is_region_file(Path(new)) and (is_region_file(Path(old)) or Path(old).suffix in REGION_FILES))


def start_vocabulary(recipe: Recipe) -> Vocabulary | None:
    """The words of the model that the recipe starts from, to which its weights belong; None if it names none."""
    return None if recipe.init is None else load_model(init_folder(recipe.init)).vocabulary


def take_over(model: JointModel, old: StoredModel, prepared: Prepared, recipe: Recipe) -> None:
    """Copy the encoders, and the weights of relations that both models predict.

    Scale and bias are not copied: they belong to the objective, which may differ. A file of features does not say which
    network made it; of two files only the dimensions, and the concepts of their regions, are compared.
    """
    if not recipe.towers:
        _take_encoders(model, old, prepared, recipe)  # a dual encoder's weights came with its folder
    if model.coherence is not None and old.model.coherence is not None:
        _continue_relations(model.coherence, learned_relations(recipe, prepared), old.model.coherence, old.relations)


def _take_encoders(model: JointModel, old: StoredModel, prepared: Prepared, recipe: Recipe) -> None:
    name, images = recipe.init, recipe.features.image
    for side, new in prepared.meta["backbones"].items():
        looked_up = side == "image" and (images.endswith(".npy") or is_region_file(Path(images)))
        if new != old.backbones.get(side) and not looked_up:
            raise FeatureError(f"{name}: was trained on the {side} backbone {old.backbones.get(side)}, not {new}")
    if old.concepts != (prepared.meta["concepts"] if recipe.reads_concepts else []):
        raise FeatureError(f"{name}: was trained on other concepts than those of {images}")
    try:
        model.text.load_state_dict(old.model.text.state_dict())
        model.image.load_state_dict(old.model.image.state_dict())
    except RuntimeError as error:
        raise FeatureError(
            f"{name}: does not fit the features of this corpus: {' '.join(str(error).split())}"
        ) from error


def _continue_relations(new: nn.Linear, learned: Sequence[str], old: nn.Linear, known: Sequence[str]) -> None:
    """Copy the weights of the relations that both predict; the others start anew."""
    import torch

    with torch.no_grad():
        for row, relation in enumerate(known):
            if relation in learned:
                new.weight[learned.index(relation)] = old.weight[row]
                new.bias[learned.index(relation)] = old.bias[row]
