"""Files of features that a recipe names: where they lie."""

from __future__ import annotations

from pathlib import Path

from iconotext.errors import FeatureError
from iconotext.features.regions.files import is_region_file


def region_path(name: str, corpus: Path) -> Path | None:
    """The file of regions that a recipe names: as named, else beside the corpus; None if it names no file."""
    return next((place for place in _places(name, corpus) if is_region_file(place) and place.exists()), None)


def table_path(name: str, corpus: Path) -> Path:
    """Where a recipe's table of image features lies: as named, else beside the corpus.

    Raises:
        FeatureError: It lies nowhere there.
    """
    for place in _places(name, corpus):
        if place.is_file():
            return place
    raise FeatureError(f"{name}: the recipe's table of image features is neither here nor beside {corpus}")


def _places(name: str, corpus: Path) -> tuple[Path, Path]:
    return Path(name), (corpus if corpus.is_dir() else corpus.parent) / name
