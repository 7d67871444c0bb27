"""The settings of placing: how sure a place must be, and how many pictures a text gets."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, field_validator

from iconotext.decide.settings import ordered_evidence
from iconotext.evidence.kinds import DEFAULT_EVIDENCE, evidence_names
from iconotext.system.plugins import Choices
from iconotext.types import Evidence

MIN_CONFIDENCE = 0.33
"""Default of ``min_confidence``; see ``docs/results/records/place-figures-least.json`` for what it means."""


EVIDENCE: tuple[Evidence, ...] = (*(kind for kind in DEFAULT_EVIDENCE if kind != "layout"), "context")
"""Default of ``evidence``: a picture from elsewhere has no place of its own in the text."""


class PlaceSettings(BaseModel):
    """How pictures are placed in a text; the command ``place`` has an option for each."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    min_confidence: float = Field(MIN_CONFIDENCE, ge=0, le=1)
    """Smallest confidence of a paragraph. It says that the picture belongs to the paragraph, not to one sentence of it;
    pictures below it are left out."""

    most: int | None = Field(None, ge=1)
    """Most pictures for the text (default: no limit). The most probable ones are taken."""

    evidence: tuple[Annotated[Evidence, Choices(evidence_names)], ...] = EVIDENCE
    """Kinds of evidence, commas between. As for ``iconotext link``."""

    _check_evidence = field_validator("evidence")(ordered_evidence)
