"""What builders of published data sets have in common: their settings, and the images that the files name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from pydantic import BaseModel, Field

from iconotext.corpus.builders.build import MISSING, Build, BuilderSettings, image_problem
from iconotext.corpus.found_images import ImageFolders


class DataSetSettings(BuilderSettings):
    """Settings of the builder of a published data set."""

    source: Path
    """Folder with the original files, as downloaded."""

    images: Path | None = None
    """Folder of the images. It is needed where they are not in the source."""

    @property
    def image_folder(self) -> Path:
        """The folder with the images."""
        return self.images or self.source


class FetchSettings(BaseModel, frozen=True, extra="forbid", use_attribute_docstrings=True):
    """How the images of a data set may be fetched from the web."""

    fetch: bool = False
    """Fetch missing images from the web. They go into the folder of the images."""

    interval: float = Field(1.0, ge=0.1)
    """Seconds between requests to a server."""


class NamedImages:
    """The images that a data set names, each located below a folder and checked once.

    Args:
        spellings: Names that the file of an image may have, the likeliest first.
        verify: Decode each image to its last line, on all cores; else the file only has to exist.

    Attributes:
        there: Number of images with a file.
        problems: Why an image cannot be used, by name.
    """

    def __init__(
        self,
        build: Build,
        folder: Path,
        names: Iterable[str],
        spellings: Callable[[str], Iterable[str]],
        *,
        verify: bool,
    ) -> None:
        folders = ImageFolders(folder)
        self._files = {name: folders.find(spellings(name)) for name in names}
        self._build = build
        self.there = sum(file is not None for file in self._files.values())
        total = len(self._files)
        if verify:
            looked = build.checked(self._files.values(), image_problem, total=total, label="Looking at images")
            pairs = zip(self._files, looked, strict=True)
            self.problems = {name: problem for name, problem in pairs if problem is not None}
        else:
            self.problems = {name: MISSING for name, file in self._files.items() if file is None}

    def path(self, name: str) -> str:
        """Return the corpus's name for the file of an available image."""
        file = self._files[name]
        if file is None:
            raise ValueError(f"{name} is not there")
        return self._build.relative_path(file)
