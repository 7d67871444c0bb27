"""Finds files of features that are used instead of a corpus's images."""

from __future__ import annotations

from pathlib import Path

from iconotext.corpus.store import read_corpus
from iconotext.embed.folder import RECIPE, init_folder, is_model_folder
from iconotext.errors import FeatureError
from iconotext.features.feature_table import TABLE_FILE
from iconotext.features.regions.files import is_region_file
from iconotext.recipe import load_recipe


def region_path(name: str, corpus: Path) -> Path | None:
    """The file of regions that a recipe names: as named, else beside the corpus; None if the name is no such file."""
    return next((place for place in _places(name, corpus) if is_region_file(place) and place.exists()), None)


def table_path(name: str, corpus: Path) -> Path:
    """The recipe's table of features: as named, else beside the corpus; ``FeatureError`` if in neither place."""
    for place in _places(name, corpus):
        if place.is_file():
            return place
    raise FeatureError(f"{name}: the recipe's table of image features is neither here nor beside {corpus}")


def own_features(model: str, corpus: Path) -> str | None:
    """The table of features, or file of regions, for a trained model that reads images from such a file.

    A file beside the corpus is preferred to the one that the model was trained on.

    Returns:
        None for a model that reads pictures, and if there is no such file.
    """
    folder = init_folder(model)
    if not is_model_folder(folder):
        return None
    recipe = load_recipe(folder / RECIPE)
    name = recipe.features.image
    if not name.endswith(".npy") and not (recipe.regions and is_region_file(Path(name))):
        return None
    places = (_places(Path(name).name, corpus)[1], Path(name))
    return next((str(place) for place in places if place.exists()), None)


def instead_of_pictures(corpus: Path) -> str | None:
    """The table of features beside a corpus whose images have no files; None if they have files, or without a table."""
    table = _places(TABLE_FILE, corpus)[1]
    if not table.is_file():
        return None
    first = next((image for document in read_corpus(corpus) for image in document.images), None)
    return str(table) if first is not None and first.file is None else None


def _places(name: str, corpus: Path) -> tuple[Path, Path]:
    return Path(name), (corpus if corpus.is_dir() else corpus.parent) / name
