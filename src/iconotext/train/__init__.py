"""Training: recipes, and the training of linking models and relation models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iconotext.system.lazy import lazy

if TYPE_CHECKING:
    from iconotext.recipe.recipe import Recipe, RelationRecipe
    from iconotext.recipe.toml import dump_recipe, load_recipe, load_relation_recipe, make_recipe, shipped_recipes
    from iconotext.train.loop import Watcher
    from iconotext.train.relations.train import train_relations
    from iconotext.train.run import train
    from iconotext.train.summary import model_summary, relation_summary

__all__ = [
    "Recipe",
    "RelationRecipe",
    "Watcher",
    "dump_recipe",
    "load_recipe",
    "load_relation_recipe",
    "make_recipe",
    "model_summary",
    "relation_summary",
    "shipped_recipes",
    "train",
    "train_relations",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "Recipe": "iconotext.recipe.recipe",
        "RelationRecipe": "iconotext.recipe.recipe",
        "Watcher": "iconotext.train.loop",
        "dump_recipe": "iconotext.recipe.toml",
        "load_recipe": "iconotext.recipe.toml",
        "load_relation_recipe": "iconotext.recipe.toml",
        "make_recipe": "iconotext.recipe.toml",
        "model_summary": "iconotext.train.summary",
        "relation_summary": "iconotext.train.summary",
        "shipped_recipes": "iconotext.recipe.toml",
        "train": "iconotext.train.run",
        "train_relations": "iconotext.train.relations.train",
    },
)
