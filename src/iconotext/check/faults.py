"""The settings that rules read: users say with them which pictures and texts are faults."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class FaultSettings(BaseModel):
    """The settings that rules read; ``CheckSettings`` adds the choice of rules."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    empty: Literal["content", "always", "never"] = "content"
    """When an empty alternative text is a fault: of a picture with a caption, one that a link leads to, a large one,
    or one of Markdown that is no icon (content), of every picture that is not marked as decoration (always), or of
    none (never)."""

    large: int = Field(200, ge=1)
    """Pixels that both sides of a picture must have to count as large."""

    max_length: int = Field(1_000, ge=1)
    """Most characters of an alternative text; 1,000 take a minute to hear."""

    far: int = Field(500, ge=1)
    """Most words between a figure and the text that refers to it; with more it counts as far."""
