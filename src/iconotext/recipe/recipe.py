"""A recipe: all settings of a training run, with the checks that its tables do not contradict each other."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from iconotext.objectives import OBJECTIVES
from iconotext.recipe.encoders import (
    TEXT_ENCODERS,
    GRUSettings,
    ImageEncoder,
    NetworkSettings,
    ProjectionSettings,
    RegionSettings,
    TextEncoder,
    TransformerSettings,
    WordSettings,
)
from iconotext.recipe.settings import (
    REGION_FILES,
    FeatureSettings,
    LinkingSettings,
    ObjectiveSettings,
    Settings,
    SimilaritySettings,
    TrainingSettings,
)


class Recipe(Settings):
    """A training run. See ``recipes/`` for those of the papers and our own."""

    name: str = Field(min_length=1)
    """Name of the model."""

    follows: str = "ours"
    """Where the settings come from and, where sources differ, which one counts."""

    seed: int = Field(0, ge=0)
    """Seed of all random numbers."""

    init: str | None = None
    """A model to start from, ``default`` or a folder; the encoders are then as that model's recipe has them. Its
    weights of relations that this run learns, too, are also copied."""

    dim: int = Field(1024, ge=1)
    """Dimensions of the joint space (d_multi)."""

    features: FeatureSettings = FeatureSettings()
    text: TextEncoder = GRUSettings()
    image: ImageEncoder = ProjectionSettings()
    similarity: SimilaritySettings = SimilaritySettings()
    objective: ObjectiveSettings = ObjectiveSettings()
    training: TrainingSettings = TrainingSettings()
    linking: LinkingSettings = LinkingSettings()

    @property
    def words(self) -> WordSettings | None:
        """The text encoder's settings if it reads words."""
        return self.text if isinstance(self.text, WordSettings) else None

    @property
    def regions(self) -> RegionSettings | None:
        """The image encoder's settings if it reads regions."""
        return self.image if isinstance(self.image, RegionSettings) else None

    @property
    def reads_concepts(self) -> bool:
        """Whether the image encoder reads the names of what is seen in regions."""
        return self.regions is not None and self.regions.concepts

    @property
    def starts_from(self) -> str | None:
        """The model from which training starts: ``init``, or a dual encoder that is adapted; or None."""
        if self.init is not None:
            return self.init
        sides = (self.text, self.image)
        adapted = all(isinstance(side, ProjectionSettings) and side.residual for side in sides)
        same = self.features.text == self.features.image
        return self.features.text if adapted and same else None

    @model_validator(mode="after")
    def _fits(self) -> Recipe:
        if self.init is None:  # else the encoders are another recipe's, see with_init
            self.check_encoders()
        self._check_similarity()
        return self

    def check_encoders(self) -> None:
        """Check the settings of encoders and features: ``ValueError`` for a contradiction, or one without effect."""
        self._check_text()
        for side, encoder in (("text", self.text), ("image", self.image)):
            if isinstance(encoder, ProjectionSettings) and encoder.residual and encoder.batch_norm:
                raise ValueError(f"{side}.residual begins with the features; {side}.batch_norm changes them: take one")
        self._check_image()
        if self.linking.bridge and (self.words or not isinstance(self.image, ProjectionSettings)):
            raise ValueError("linking.bridge needs a text backbone, and projections of an image backbone's features")
        if self.training.average > 1 and (self.text.collects_statistics or self.image.collects_statistics):
            raise ValueError(
                f"training.average is {self.training.average}: the mean of several epochs' weights does not fit the "
                "statistics that their batch norms kept; set it to 1"
            )

    def _check_text(self) -> None:
        if (self.features.text == "words") != (self.words is not None):
            readers = " or ".join(row.name for row in TEXT_ENCODERS.values() if row.reads == "words")
            raise ValueError(
                f'text.kind = "{self.text.kind}" does not go with features.text = "{self.features.text}": {readers} '
                'read "words", a projection the vectors of a text backbone such as "minilm"'
            )
        if isinstance(self.text, TransformerSettings) and self.text.layers and self.dim % self.text.heads:
            raise ValueError(f"text.heads is {self.text.heads}, which does not divide dim, {self.dim}")
        if isinstance(self.text, GRUSettings) and self.text.sentence_gru and self.similarity.pairs:
            raise ValueError(
                f'text.sentence_gru reads whole documents; similarity.kind is "{self.similarity.kind}", which takes '
                "pairs out of them"
            )

    def _check_image(self) -> None:
        source, regions = self.features.image, self.regions
        table = source.endswith(".npy")
        if (source == "pixels") != isinstance(self.image, NetworkSettings):
            raise ValueError(
                f'image.kind = "{self.image.kind}" does not go with features.image = "{source}": '
                'a network is trained on "pixels", a projection on the features of an image backbone'
            )
        if regions and table:
            raise ValueError(f'image.kind = "regions" needs regions; features.image = "{source}" has none')
        if regions and regions.layers and self.dim % regions.heads:
            raise ValueError(f"image.heads is {regions.heads}, which does not divide dim, {self.dim}")
        if regions and regions.shared_projection and not (regions.concepts and self.text.kind == "transformer"):
            raise ValueError(
                "image.shared_projection projects concepts as the sentence encoder projects words: it needs "
                f'image.concepts and text.kind = "transformer"; they are {str(regions.concepts).lower()} and '
                f'"{self.text.kind}"'
            )
        if not regions and Path(source).suffix in REGION_FILES:
            raise ValueError(f'features.image = "{source}" is a file of regions, for image.kind = "regions"')
        if not regions and self.training.max_regions:
            raise ValueError(f'training.max_regions is for encoders of regions; image.kind is "{self.image.kind}"')
        if self.features.augmentations and (table or not isinstance(self.image, ProjectionSettings)):
            raise ValueError(
                f'features.augmentations is for projections of an image backbone; features.image is "{source}"'
            )

    def _check_similarity(self) -> None:
        kind, objective = self.similarity.kind, self.objective
        if objective.coherence and kind == "labelled-pairs":
            raise ValueError('objective.coherence needs documents; similarity.kind is "labelled-pairs"')
        if self.similarity.pairs and objective.within:
            *most, last = [name for name, row in OBJECTIVES.items() if row.within]
            raise ValueError(
                f'objective.{", ".join(most)} and {last} need sets; similarity.kind is "{kind}", which makes pairs of '
                "them"
            )
        if self.training.labelled < 1 and kind != "labelled-pairs":
            raise ValueError(f'training.labelled is for labelled-pairs; similarity.kind is "{kind}"')


class RelationSettings(Settings):
    """How the relation model is trained."""

    seed: int = Field(0, ge=0)
    """Seed of all random numbers."""

    layer_strength: float = Field(1e-3, gt=0)
    """How free the weights of the sentence encoder's layers are: C of their logistic regression, on numbers of standard
    deviation 1."""

    buckets: int = Field(32_768, ge=1)
    """Numbers that words and runs of words are hashed to."""

    word_strength: float = Field(3.0, gt=0)
    """How free the weights of words are: C of their logistic regression."""

    splits: list[Literal["train", "validation", "test"]] = Field(["train", "validation", "test"], min_length=1)
    """Splits whose documents are trained on; documents of no split always are. By default all of them: published labels
    are few, and the figures come from folds that each pair's judge has not seen. A model that will be compared on a
    test split must leave that split out."""

    folds: int = Field(5, ge=2)
    """Parts for calibration: each is judged by a model that did not see it, nor its pictures and texts elsewhere."""

    picture_labels: int = Field(200, ge=2)
    """With at least so many labelled pictures, the contribution of a picture is learned from the labels; with fewer,
    from the text model's judgements of texts that people wrote about pictures."""

    picture_silent: list[str] = Field(default_factory=lambda: ["Irrelevant"])
    """Relations to which a picture contributes nothing without labels: texts that people wrote about a picture all
    belong to it."""


class RelationRecipe(Settings):
    """A recipe of a relation model."""

    name: str
    """Name of the model."""

    relations: RelationSettings = RelationSettings()
    """The only table."""
