"""How a model is measured: the split of a corpus, and the settings of ``iconotext evaluate``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field


class Split(StrEnum):
    """A part of a corpus."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


class Protocol(StrEnum):
    """What is measured."""

    LINKS = "links"
    REORDER = "reorder"


class EvaluateSettings(BaseModel):
    """How a model is measured."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    seed: int = Field(0, ge=0)
    """Seed of the intervals, the permutations, the pools, the shuffles and the random baseline."""

    resamplings: int = Field(2000, ge=100)
    """How often the documents, or pairs, are drawn anew for an interval."""

    draws: int = Field(10, ge=1)
    """How many pools are drawn, with --pool, or how often pictures are shuffled, with --protocol reorder."""

    word_vectors: Path | None = None
    """word2vec or GloVe file for object-detection (default: the text backbone)."""

    word_dim: int = Field(300, ge=1)
    """Length of the vectors in that file."""
