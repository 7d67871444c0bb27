"""The folder of a relation model: its recipe, its weights and its figures, never those of another one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iconotext.embed.folder import METRICS, RECIPE, WEIGHTS
from iconotext.embed.relation_model import save_relation_model
from iconotext.errors import SettingError
from iconotext.recipe import dump_recipe
from iconotext.recipe.relation_recipe import is_relation_recipe, load_relation_recipe
from iconotext.train.folder import same_recipe
from iconotext.write import write_text

if TYPE_CHECKING:
    from iconotext.embed.relation_model import RelationWeights
    from iconotext.recipe.relation_recipe import RelationRecipe


def is_trained(folder: Path, recipe: RelationRecipe) -> bool:
    """Whether the folder holds the model of a recipe, whose training has ended; False for one to train it in.

    Raises:
        SettingError: The folder holds the model of another recipe, or something else than a relation model.
    """
    here = [name for name in (RECIPE, WEIGHTS, METRICS) if (folder / name).is_file()]
    if not here:
        return False
    if RECIPE not in here or not is_relation_recipe(folder / RECIPE):
        raise SettingError(
            f"{folder}: {here[0]} in it does not belong to a relation model; name another folder, or remove this one"
        )
    # Settings that are newer than the model have their defaults.
    same_recipe(folder, dump_recipe(load_relation_recipe(folder / RECIPE)), dump_recipe(recipe))
    return len(here) == 3


def write_model(folder: Path, recipe: RelationRecipe, weights: RelationWeights, metrics: Mapping[str, Any]) -> None:
    """Write recipe, weights and figures; one that is killed meanwhile has no figures, and counts as unfinished."""
    (folder / METRICS).unlink(missing_ok=True)  # of weights that will not be there any more
    write_text(folder / RECIPE, dump_recipe(recipe), force=True)
    save_relation_model(folder, weights)
    write_text(folder / METRICS, json.dumps(metrics, indent=1) + "\n", force=True)
