"""The settings that rules read: users say with them which pictures and texts are faults."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class FaultSettings(BaseModel):
    """The settings that rules read; ``CheckSettings`` adds the choice of rules."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    empty: Literal["content", "always", "never"] = "content"
    """When an empty alternative text is a fault. ``content``: of a picture with a caption, one that a link leads to, a
    large one, or one of Markdown that is no icon; ``always``: of every picture that is not marked as decoration."""

    large: int = Field(200, ge=1)
    """Pixels of each side of a large picture."""

    max_length: int = Field(1_000, ge=1)
    """Most characters of an alternative text. 1,000 take a minute to hear."""

    far: int = Field(500, ge=1)
    """Most words from a figure to its reference. With more it counts as far."""
