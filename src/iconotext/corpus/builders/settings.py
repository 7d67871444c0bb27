"""The settings that builders have in common."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field


class BuilderSettings(BaseModel):
    """Settings of a builder, from which its command is made.

    Every field is an option with the field's docstring as its help; the docstring of the class is that of the command.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    source: Path | tuple[Path, ...]
    """What is read."""

    def sources(self) -> list[Path]:
        """Return the files and folders that are read and must exist."""
        return [self.source] if isinstance(self.source, Path) else list(self.source)


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
