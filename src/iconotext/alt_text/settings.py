"""The settings of the check of alternative texts: every choice a user has, with its default."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

RuleName = Literal[
    "missing",
    "empty",
    "link",
    "decorative",
    "file-name",
    "placeholder",
    "duplicate",
    "series",
    "caption",
    "text",
    "long",
    "image-of",
    "language",
]


class AltTextSettings(BaseModel):
    """How alternative texts are checked; the command has an option for each."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    rules: tuple[RuleName, ...] = ()
    """Check only these rules, commas between (default: all)."""

    skip: tuple[RuleName, ...] = ()
    """Leave out these rules, commas between."""

    empty: Literal["content", "always", "never"] = "content"
    """When an empty alternative text is a fault: of a picture with a caption, one that a link leads to, or a large
    one (content), of every picture that is not marked as decoration (always), or of none (never)."""

    large: int = Field(200, ge=1)
    """Pixels that both sides of a picture must have to count as large."""

    max_length: int = Field(300, ge=1)
    """Most characters of an alternative text."""
