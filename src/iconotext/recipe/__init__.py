"""What a training run is: settings read from a TOML file, checked, and stored beside what they made."""

from iconotext.recipe.settings import (
    FeatureSettings,
    ImageEncoderSettings,
    LinkingSettings,
    ObjectiveSettings,
    Recipe,
    SimilaritySettings,
    TextEncoderSettings,
    TrainingSettings,
)
from iconotext.recipe.toml import dump_recipe, load_recipe, make_recipe, shipped_recipes

__all__ = [
    "FeatureSettings",
    "ImageEncoderSettings",
    "LinkingSettings",
    "ObjectiveSettings",
    "Recipe",
    "SimilaritySettings",
    "TextEncoderSettings",
    "TrainingSettings",
    "dump_recipe",
    "load_recipe",
    "make_recipe",
    "shipped_recipes",
]
