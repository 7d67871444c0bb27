"""The settings of linking: which evidence counts and which links are chosen."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from iconotext.errors import SettingError
from iconotext.evidence.kinds import DEFAULT_EVIDENCE, EVIDENCE_KINDS, chosen_evidence, evidence_names
from iconotext.system.plugins import Choices
from iconotext.types import Evidence

MIN_CONFIDENCE = 0.1
"""Default of ``min_confidence``: nine of ten links below it would be wrong. If pictures are the only evidence, the
default is 0: all confidences are low then, and the best guess is better than none."""

OF_CONTEXTS = ("evidence", "habit", "k", "min_confidence")
"""The settings of linking that contexts and chunks have, on the command line and the server."""


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
        description=f"Kinds of evidence, commas between. {', '.join(kind.name for kind in EVIDENCE_KINDS)}.",
    )

    habit: Literal["above", "below", "inside"] | None = None
    """Where pictures stand, seen from their text (default: learned). It is learned from the documents themselves."""

    k: int = Field(3, ge=1)
    """Sentences for each picture, at most. Those with the largest confidences."""

    min_confidence: float | None = Field(None, ge=0, le=1)
    """Drop links to less probable sentences (default: 0.1). The confidence of the sentence counts, not that of its
    paragraph. For pictures as the only evidence, the default is 0."""

    text: str | None = None
    """Text backbone (default: that of the model). Name or folder of ONNX graphs. The default model works only with its
    own backbones: with another one the model ``no-training`` links, which needs no training."""

    image: str | None = None
    """Image backbone (default: that of the model). A table of features (``features.npy``) or a file of regions, for a
    model that was trained on one."""

    concepts: int = Field(10, ge=1)
    """Class names that stand for a picture. They are the most probable ones, in the concept bridge (K in Hessel
    2019)."""

    cache: bool = True
    """Keep features on disk. What has not changed is then not encoded again."""

    explain: bool = False
    """Show the words and places that carry each link. Places are parts of the picture."""

    relations: str = "default"
    """Model of coherence relations. It predicts those of a link's sentence and picture: ``default``, the one that
    ships; the folder of a trained one; ``none``. English only."""

    _check_evidence = field_validator("evidence")(ordered_evidence)

    @field_validator("explain")
    @classmethod
    def _explainable(cls, explain: bool, info: ValidationInfo) -> bool:
        if explain and "picture" not in info.data.get("evidence", DEFAULT_EVIDENCE):
            raise ValueError("only picture evidence can be explained: let evidence name picture")
        return explain
