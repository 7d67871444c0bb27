"""Recipes, the settings of a training run: read from a TOML file, checked, and stored beside the trained model."""

from iconotext.recipe.recipe import Recipe
from iconotext.recipe.settings import (
    FeatureSettings,
    LinkingSettings,
    ObjectiveSettings,
    SimilaritySettings,
    TrainingSettings,
)
from iconotext.recipe.toml import dump_recipe, load_recipe, make_recipe, shipped_recipes

__all__ = [
    "FeatureSettings",
    "LinkingSettings",
    "ObjectiveSettings",
    "Recipe",
    "SimilaritySettings",
    "TrainingSettings",
    "dump_recipe",
    "load_recipe",
    "make_recipe",
    "shipped_recipes",
]
