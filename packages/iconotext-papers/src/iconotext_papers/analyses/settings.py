"""Settings of the analyses. This module imports no large library, since the program shows the settings in its help."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

BATCH = 11
"""Documents in a batch, as in both papers."""

DIMENSIONS = 20
"""Dimensions of the content of each side of a document (Hessel 2019)."""


class AnalysisSettings(BaseModel):
    """Base of the settings of all analyses."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Encoding(AnalysisSettings):
    """Settings of analyses that encode texts and images."""

    cache: bool = True
    """Keep features on disk."""


class ImageEncoding(Encoding):
    """Settings of analyses that encode images, or look their features up."""

    image: str | None = None
    """Image backbone, or file of features. A name or folder, or a table of features (``features.npy``), or regions,
    whose mean counts; by default the table beside a corpus without picture files, else the backbone that comes with the
    program."""


class BiasSettings(ImageEncoding):
    """Settings of the analysis of bias."""

    documents: int = Field(2000, ge=2)
    """Documents to draw where there are more."""

    batch: int = Field(BATCH, ge=2)
    """Documents in a batch of training."""

    seed: int = Field(0, ge=0)
    """Seed of the documents, the batches and the interval."""


class DifficultySettings(ImageEncoding):
    """Settings of the analysis of difficulty."""

    dimensions: int = Field(DIMENSIONS, ge=1)
    """Principal components of each side."""

    text: str | None = None
    """Text backbone, a name or folder (default: ours)."""

    word_vectors: Path | None = None
    """word2vec or GloVe file. Sentences are then means of word vectors, as in the paper."""

    word_dim: int = Field(300, ge=1)
    """Length of the vectors in that file."""


class RefinementSettings(Encoding):
    """Settings of the search for λ and T."""

    pool: int = Field(500, ge=2)
    """Pictures in a pool."""

    strengths: tuple[float, ...] = ()
    """A λ to try (default: those of the program). May be repeated."""

    thresholds: tuple[float, ...] = ()
    """A T to try. May be repeated."""

    draws: int = Field(10, ge=1)
    """How many pools are drawn."""

    seed: int = Field(0, ge=0)
    """Seed of the pools."""


class TopSettings(Encoding):
    """The texts and pictures to show."""

    count: int = Field(2, ge=1, le=100)
    """Texts to draw, for each relation."""

    pictures: int = Field(5, ge=1, le=50)
    """Pictures of each model."""

    seed: int = Field(0, ge=0)
    """Seed of the texts."""


class StudySettings(Encoding):
    """How a study is drawn."""

    raters: int = Field(3, ge=1)
    """People who judge each pair."""

    seed: int = Field(0, ge=0)
    """Seed of the texts, of their order and of the two sides."""


class VotesSettings(AnalysisSettings):
    """Settings of the sensitivity analysis of a study."""

    power: float = Field(0.95, gt=0, lt=1)
    """Probability of finding the smallest effect."""

    significance: float = Field(0.05, gt=0, lt=1)
    """Probability of a false effect."""
