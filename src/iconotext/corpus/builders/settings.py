"""The settings that builders have in common."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict


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
