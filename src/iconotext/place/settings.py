"""The settings of placing: how sure a place must be, and how many pictures a text gets."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

MIN_CONFIDENCE = 0.3
"""Default of ``min_confidence``; see ``docs/results/place.md`` for what it means."""


class PlaceSettings(BaseModel):
    """How pictures are placed in a text; the command ``place`` has an option for each."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    min_confidence: float = Field(MIN_CONFIDENCE, ge=0, le=1)
    """Smallest probability that the picture belongs to the paragraph; pictures below it are left out."""

    most: int | None = Field(None, ge=1)
    """Most pictures for the text, the most probable ones (default: no limit)."""
