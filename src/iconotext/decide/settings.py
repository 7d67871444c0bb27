"""The settings of linking: which evidence counts and which links are chosen."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from iconotext.errors import SettingError
from iconotext.evidence.kinds import DEFAULT_EVIDENCE, EVIDENCE_KINDS, chosen_evidence, evidence_names
from iconotext.system.plugins import Choices
from iconotext.types import Evidence

MIN_CONFIDENCE = 0.1
"""Default of ``min_confidence``: nine of ten links below it would be wrong. If pictures are the only evidence and only
the best sentences are taken, the default is 0: all confidences are low then, and the best guess is better than none."""

OF_CONTEXTS = ("evidence", "habit", "k", "min_confidence")
"""The settings of linking that contexts and chunks have, on the command line and the server."""

Selection = Literal["top-k", "assignment", "threshold"]


def ordered_evidence(evidence: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
    """Return the kinds in the order of their table; ``ValueError`` for none, or an unknown one."""
    if not evidence:
        raise ValueError(f"name at least one of {', '.join(evidence_names())}")
    try:
        return tuple(kind.name for kind in chosen_evidence(evidence))
    except SettingError as error:
        raise ValueError(str(error)) from None


class LinkSettings(BaseModel):
    """How documents are linked; the commands that link have an option for each."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    evidence: tuple[Annotated[Evidence, Choices(evidence_names)], ...] = Field(
        DEFAULT_EVIDENCE,
        description="The kinds of evidence, separated by commas: "
        + "; ".join(
            f"{kind.name}, {kind.summary}" + (f" (extra {kind.extra})" if kind.extra else "") for kind in EVIDENCE_KINDS
        )
        + ".",
    )

    habit: Literal["above", "below", "inside"] | None = None
    """Where pictures stand, seen from the text they belong to (default: learned from the documents themselves)."""

    select: Selection = "top-k"
    """Which pairs become links: ``top-k``, the k best sentences of each picture; ``assignment``, at most one on
    both sides; ``threshold``, all that are probable enough."""

    k: int = Field(3, ge=1)
    """Sentences for each picture, with ``top-k``."""

    min_confidence: float | None = Field(None, ge=0, le=1)
    """Drop links less probable than this (default: 0.1, but 0 for pictures alone)."""

    text: str | None = None
    """Text backbone: name or folder of a sentence-transformers model (default: that of the model). The default model
    works only with its own backbones: with another one the model ``no-training`` links, which needs no training."""

    image: str | None = None
    """Image backbone: name or folder of a Hugging Face vision model, or a table of features (``features.npy``) for a
    model that was trained on one (default: that of the model)."""

    concepts: int = Field(10, ge=1)
    """How many of a picture's most probable class names stand for it in the concept bridge (K in Hessel 2019)."""

    cache: bool = True
    """Keep features on disk, so that what has not changed is not encoded again."""

    explain: bool = False
    """Show the words and the parts of the picture that carry each link."""

    relations: str = "default"
    """The model that predicts the coherence relations of a link's sentence and picture: ``default``, the one that
    ships; the folder of a trained one; ``none``. English only."""

    _check_evidence = field_validator("evidence")(ordered_evidence)

    @field_validator("explain")
    @classmethod
    def _explainable(cls, explain: bool, info: ValidationInfo) -> bool:
        if explain and "picture" not in info.data.get("evidence", DEFAULT_EVIDENCE):
            raise ValueError("only picture evidence can be explained: let evidence name picture")
        return explain
