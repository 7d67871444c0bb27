"""The tables of a recipe except its encoders: their settings and ranges, and checks for contradictions among them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from iconotext.objectives import CONTRASTS, OBJECTIVES
from iconotext.similarity import SIMILARITIES


class Settings(BaseModel):
    """A table of a recipe: immutable, and unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


REGION_FILES = (".tsv",)
"""Suffixes of files that hold regions."""


class FeatureSettings(Settings):
    """The features from which training starts."""

    text: str = "words"
    """``words`` (word ids, learned from the corpus), or a text backbone: ``minilm``, a folder, a hub name."""

    image: str = "efficientnet-lite0"
    """An image backbone, a table of features (a file ``.npy`` with ``id2row.json`` beside it), or ``pixels``: the
    pictures themselves, for an image network that is trained along. For an encoder that reads regions also a file
    of regions; of an image backbone it reads the cells of a 6 × 6 grid."""

    augmentations: int = Field(0, ge=0)
    """Number of random parts of each picture, half of them mirrored, that an image backbone encodes and training draws
    from. Each costs as much as a picture; they keep small corpora from being learned by heart."""


class SimilaritySettings(Settings):
    """How the cosines of a set of sentences and a set of images make one similarity (Hessel 2019 §3.2)."""

    kind: Literal["dense", "top-k", "assignment", "single-pair", "labelled-pairs"] = "dense"
    """See ``SIMILARITIES``."""

    k: Literal["min", "half"] | int = "min"
    """Links for top-k and assignment: min(n, m), ⌈½ min(n, m)⌉, or a number."""

    links: Literal["at-most", "exactly"] = "at-most"
    """For assignment: at most k links (the paper), or exactly k, those below 0 too (the released code)."""

    directions: Literal["sum", "mean"] = "sum"
    """For dense and top-k: sentences to images plus images to sentences (Hessel 2019; -2 to 2), or the mean of the two,
    which is the mean over the 2k edges of Li 2021 (-1 to 1). What a margin means depends on it: 0.2 of the mean asks as
    much as 0.4 of the sum."""

    @property
    def pairs(self) -> bool:
        """Whether documents become pairs of one sentence and one image, instead of sets."""
        return not SIMILARITIES[self.kind].function

    @model_validator(mode="after")
    def _fits(self) -> SimilaritySettings:
        if isinstance(self.k, int) and self.k < 1:
            raise ValueError(f"k is {self.k}; give min, half or a number from 1")
        for name in ("k", "directions", "links"):
            kinds = [row.name for row in SIMILARITIES.values() if name in row.settings]
            if getattr(self, name) != type(self).model_fields[name].default and self.kind not in kinds:
                raise ValueError(f'{name} is for {" and ".join(kinds)}; kind is "{self.kind}"')
        return self


class ObjectiveSettings(Settings):
    """What training minimises: a weighted sum of objectives.

    Hessel 2019 has the first, Li 2021 (Eq. 5) the first three, Alikhani 2021 (Eq. 3) the first and ``coherence``.
    """

    cross_document: float = Field(1, ge=0)
    intra_document: float = Field(0, ge=0)
    sub_document: float = Field(0, ge=0)
    posterior: float = Field(0, ge=0)
    # λ_cls of Alikhani 2021. Only documents of one sentence and one image, with labels, take part.
    coherence: float = Field(0, ge=0)
    """The weights of the objectives; ``OBJECTIVES`` says what each of them asks for."""

    relations: list[str] = Field(default_factory=list)
    """Relations that coherence predicts; if empty, all that are labelled in the corpus. A model of a single relation is
    the CMCM_c of Alikhani 2021."""

    relation_loss: Literal["sum", "mean"] = "sum"
    """``sum``: Eq. 2 of Alikhani 2021 as printed, each relation counting one divided by its rate; rare relations add up
    to weights of 50 and drown the ranking. ``mean``: the same weights divided by their sum."""

    relation_layers: int = Field(1, ge=1)
    """Layers between the vectors of a text and an image and the relations (the Coherence Aware Module), with ReLU
    between them; the paper has one."""

    p_sub: float = Field(0.6, gt=0, le=1)
    """For ``sub_document``: share of a document's sentences, and of its images, in a random part: rounded down, but at
    least one of each."""

    kind: Literal["hinge", "softmax", "logistic"] = "hinge"
    """How a document is compared with its negatives, see ``CONTRASTS``; the intra-document objective is a hinge in any
    case."""

    margin: float = Field(0.2, gt=0)
    """α of the hinge, on the scale of ``similarity.directions``."""

    negatives: Literal["hardest", "mean"] = "hardest"
    """Which negatives count in the hinge: only the hardest, or the mean of all."""

    b: int | None = Field(None, ge=1)
    """Negatives of a document in each direction; if the split has fewer other documents, all of them. None: all others
    of the batch."""

    mean_epochs: int = Field(0, ge=0)
    """Number of epochs at the beginning that use the mean of the negatives, so that training leaves the plateau of
    equal scores; validation uses the hardest from the start."""

    remedy_epochs: int = Field(0, ge=0)
    """A run that collapsed, or learned nothing in all its epochs, begins once more with this many ``mean_epochs``; 0:
    it stops."""

    scale: float = Field(20, gt=0)
    """Softmax, logistic and ``posterior``: the factor on the similarities (1 / temperature)."""

    learn_scale: bool = False
    """Whether the scale is trained."""

    bias: float = -10
    """Logistic: added to the scaled similarities; trained if the scale is."""

    @property
    def within(self) -> bool:
        """Whether any objective looks into a document, and so needs sets of sentences and images."""
        return any(getattr(self, row.name) for row in OBJECTIVES.values() if row.within)

    @property
    def compares(self) -> bool:
        """Whether any objective compares sentences and images."""
        return any(getattr(self, row.name) for row in OBJECTIVES.values() if row.compares)

    @model_validator(mode="after")
    def _fits(self) -> ObjectiveSettings:
        if not (self.compares or self.coherence):
            raise ValueError(f"all weights are 0; {', '.join(OBJECTIVES)}")
        if self.relations and not self.coherence:
            raise ValueError("relations are for coherence, which is 0")
        if self.relation_loss != "sum" and not self.coherence:
            raise ValueError("relation_loss is for coherence, which is 0")
        if self.relation_layers > 1 and not self.coherence:
            raise ValueError("relation_layers is for coherence, which is 0")
        if len(set(self.relations)) < len(self.relations):
            raise ValueError("relations names one of them twice")
        for name in ("mean_epochs", "remedy_epochs"):
            if getattr(self, name) and (self.kind != "hinge" or self.negatives != "hardest"):
                raise ValueError(f'{name} is for kind = "hinge" with negatives = "hardest"')
        if 0 < self.remedy_epochs <= self.mean_epochs:
            raise ValueError(f"remedy_epochs is {self.remedy_epochs}, no more than mean_epochs, {self.mean_epochs}")
        scaled = [row.name for row in CONTRASTS.values() if "learn_scale" in row.settings]
        if self.learn_scale and self.kind not in scaled:
            raise ValueError(f"learn_scale is for {' and '.join(scaled)}; the {self.kind} has no scale")
        if self.learn_scale and not (self.cross_document or self.sub_document):
            raise ValueError("learn_scale: only cross_document and sub_document learn it, and both weights are 0")
        return self


class TrainingSettings(Settings):
    """How the objective is minimised."""

    batch: int = Field(11, ge=2)
    """Documents in a batch."""

    epochs: int = Field(50, ge=1)
    """Passes over the documents."""

    learning_rate: float = Field(1e-4, gt=0)
    """Learning rate of Adam, at the start."""

    weight_decay: float = Field(0, ge=0)
    """Weight decay of AdamW; 0 is Adam."""

    warmup: float = Field(0, ge=0)
    """Epochs in which the learning rate rises linearly from 0."""

    warmup_steps: int = Field(0, ge=0)
    """Steps in which the learning rate rises linearly from 1e-7 (Li 2021); ``patience`` begins to count after them."""

    choose: Literal["loss", "median-rank"] = "loss"
    """The figure by which the best epochs are chosen: the validation loss, or the median rank of the right image among
    500, which needs validation documents of one sentence and one image."""

    schedule: Literal["plateau", "cosine", "constant"] = "plateau"
    """``plateau``: divided by ``factor`` after ``patience`` epochs without a better validation loss. It counts only
    once that loss was below the one of equal similarities, 2 · margin for the hinge, as in the released code of Hessel
    2019: before that nothing has been learned, so a loss that stands still is no plateau."""

    patience: int = Field(3, ge=1)
    """Epochs without a better loss; "plateaus for more than 3 epochs" (Hessel 2019, Li 2021) is 3, as in that code."""

    factor: float = Field(5, gt=1)
    """Divisor of the learning rate on a plateau."""

    clip: float | None = Field(None, gt=0)
    """Largest length of the gradient; None: not clipped."""

    average: int = Field(1, ge=1)
    """Number of best epochs of which the model is the mean of the weights."""

    max_sentences: int | None = Field(None, ge=1)
    """Number of random sentences of a longer document in training; validation sees all of it."""

    max_images: int | None = Field(None, ge=1)
    """Number of random images of a document in training."""

    max_regions: int | None = Field(None, ge=1)
    """Number of random regions of an image in training; fewer cost less, and keep small corpora from being learned by
    heart."""

    batches: Literal["mixed", "by-corpus"] = "mixed"
    """With several corpora: whether the documents of a batch come from all, or from one."""

    validation: float = Field(0.1, gt=0, lt=1)
    """Share of the documents that validates, where a corpus has no split of its own."""

    readers: int = Field(1, ge=1)
    """Threads that read batches ahead; the batches are the same for any number."""

    labelled: float = Field(1, gt=0, le=1)
    """For ``labelled-pairs``: the share of the training documents whose links are used; the others are left out. A
    larger share has all documents of a smaller one."""

    precision: Literal["32", "bf16"] = "32"
    """``bf16``: products of matrices in bfloat16, weights in float32."""

    @model_validator(mode="after")
    def _fits(self) -> TrainingSettings:
        if self.average > self.epochs:
            raise ValueError(f"average is {self.average}, more than epochs, {self.epochs}")
        if self.warmup and self.warmup_steps:
            raise ValueError("warmup and warmup_steps are one thing in two units; give one")
        if self.warmup_steps and self.schedule == "cosine":
            raise ValueError("warmup_steps is for plateau and constant; the cosine counts in epochs")
        if self.schedule == "cosine" and self.warmup >= self.epochs:
            raise ValueError(
                f"warmup is {self.warmup:g}, which leaves none of {self.epochs} epochs to the cosine: lower it"
            )
        return self


class LinkingSettings(Settings):
    """How the trained cosines are used in a document that is linked; training does not see it."""

    bridge: float = Field(0, ge=0, lt=1)
    """Share of the untrained concept bridge in every cosine; needs an image backbone with a classifier and a text
    backbone."""

    bridge_alone: float | None = Field(None, ge=0, lt=1)
    """The same for a sentence by itself, such as a question to a library; default: as much as in a document.
    Without ``bridge`` it has no effect."""

    centre: float = Field(0, ge=0, le=1)
    """Share of the mean vector of a document's sentences that is subtracted from each of them, and likewise for its
    images: what all have in common does not tell them apart."""
