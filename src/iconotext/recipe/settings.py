"""What a training run is: its settings, their ranges, and which of them contradict each other."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Settings(BaseModel):
    """A table of a recipe: fixed once made, and no key is let through that nobody reads."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class FeatureSettings(Settings):
    """What training starts from."""

    text: str = "words"
    """``words`` (word ids, learned from the corpus), or a text backbone: ``minilm``, a folder, a hub name."""

    image: str = "efficientnet-lite0"
    """An image backbone, a table of features (a file ``.npy`` with ``id2row.json`` beside it), or ``pixels``: the
    pictures themselves, for an image network that is trained along."""

    views: int = Field(0, ge=0)
    """Further views of each picture that an image backbone encodes and training draws from: a random part of it, half
    of them mirrored. They cost as much as so many more pictures, and keep small corpora from being learned by heart."""


class TextEncoderSettings(Settings):
    """From word ids or sentence vectors to the joint space."""

    kind: Literal["gru", "projection"] = "gru"
    """A GRU over words (Hessel 2019 §3.1), or a projection of frozen sentence vectors."""

    word_dim: int = Field(300, ge=1)
    """Length of a word vector."""

    word_vectors: Path | None = Field(None, strict=False)
    """A word2vec or GloVe file (.txt, .vec, .bin, .gz) that the word vectors start from; None: random. Relative to the
    folder where the program was started."""

    max_words: int = Field(50_000, ge=1)
    """Words in the vocabulary, the most frequent ones."""

    max_tokens: int = Field(20, ge=1)
    """Words of a sentence that are read; the paper has 20 for captions, 50 for documents."""

    hidden: int = Field(0, ge=0)
    """Width of the hidden layer of a projection; 0 for an affine map."""

    rescale: bool = False
    """Whether a projection first gives all feature vectors one length, √(their dimensions)."""

    dropout: float = Field(0.4, ge=0, lt=1)
    """Share of numbers that is dropped in training."""

    dropout_at: Literal["output", "input"] = "output"
    """``output``: numbers of the joint vector, before its length becomes 1 (the paper's "on the encoder"), or where
    there is a hidden layer, of that one. ``input``: of a projection, the features; of a GRU,
    whole dimensions of the word vectors, the same for all words of a sentence (the released code)."""


class ImageEncoderSettings(Settings):
    """From image features, or pixels, to the joint space."""

    kind: Literal["projection", "network"] = "projection"
    """A projection of frozen features, or the whole network, trained along (supplement §2)."""

    hidden: int = Field(0, ge=0)
    """Width of the hidden layer of a projection; 0 for an affine map."""

    rescale: bool = False
    """Whether a projection first gives all feature vectors one length, √(their dimensions)."""

    dropout: float = Field(0.4, ge=0, lt=1)
    """Share of numbers that is dropped in training."""

    dropout_at: Literal["output", "input"] = "output"
    """Where: on the joint vector, or on the features."""


class SimilaritySettings(Settings):
    """What one number the cosines of a (sentences, images) pair make (Hessel 2019 §3.2)."""

    kind: Literal["dense", "top-k", "assignment", "single-pair"] = "dense"
    """``single-pair`` is the baseline NoStruct: one random sentence and one random image stand for the document."""

    k: Literal["min", "half"] | int = "min"
    """Links for top-k and assignment: min(n, m), ⌈½ min(n, m)⌉, or a number."""

    links: Literal["at-most", "exactly"] = "at-most"
    """For assignment: at most k links (the paper), or exactly k, those below 0 too (the released code)."""

    @model_validator(mode="after")
    def _positive(self) -> SimilaritySettings:
        if isinstance(self.k, int) and self.k < 1:
            raise ValueError(f"k is {self.k}; give min, half or a number from 1")
        if self.k != "min" and self.kind in ("dense", "single-pair"):
            raise ValueError(f'k is for top-k and assignment; kind is "{self.kind}"')
        if self.links != "at-most" and self.kind != "assignment":
            raise ValueError(f'links is for assignment; kind is "{self.kind}"')
        return self


class ObjectiveSettings(Settings):
    """What training minimises: that documents are more similar to themselves than to what they did not occur with."""

    kind: Literal["hinge", "softmax", "logistic"] = "hinge"
    """Eq. 1 of Hessel 2019, or one of two that are ours: InfoNCE, pairwise logistic."""

    margin: float = Field(0.2, gt=0)
    """α of the hinge."""

    negatives: Literal["hardest", "mean"] = "hardest"
    """What of the negatives counts in the hinge."""

    b: int | None = Field(None, ge=1)
    """Negatives a document and direction, all others where the split has no more; None: all others of the batch."""

    mean_epochs: int = Field(0, ge=0)
    """The first so many epochs take the mean of the negatives, so that training leaves the plateau of equal scores;
    validation has the hardest from the start."""

    scale: float = Field(20, gt=0)
    """Softmax and logistic: what similarities are multiplied with (1 / temperature)."""

    learn_scale: bool = False
    """Whether the scale is learned along."""

    bias: float = -10
    """Logistic: added to the scaled similarities; learned along with the scale."""


class TrainingSettings(Settings):
    """How it is minimised."""

    batch: int = Field(11, ge=2)
    """Documents in a batch."""

    epochs: int = Field(50, ge=1)
    """Passes over the documents."""

    learning_rate: float = Field(1e-4, gt=0)
    """Of Adam, at the start."""

    weight_decay: float = Field(0, ge=0)
    """Of AdamW; 0 is Adam."""

    warmup: float = Field(0, ge=0)
    """Epochs in which the learning rate rises from 0, on a line."""

    schedule: Literal["plateau", "cosine", "constant"] = "plateau"
    """``plateau``: divided by ``factor`` after ``patience`` epochs without a better validation loss."""

    patience: int = Field(3, ge=1)
    """Epochs."""

    factor: float = Field(5, gt=1)
    """Divisor."""

    plateau_below: float | None = None
    """The plateau counts only once the validation loss was below this (released code: 2 · margin); None: always."""

    clip: float | None = Field(None, gt=0)
    """Largest length of the gradient; None: not clipped."""

    average: int = Field(1, ge=1)
    """The model is the mean of the weights after the so many best epochs."""

    max_sentences: int | None = Field(None, ge=1)
    """In training, so many random sentences of a longer document; validation sees all of it."""

    max_images: int | None = Field(None, ge=1)
    """In training, so many random images."""

    batches: Literal["mixed", "by-corpus"] = "mixed"
    """With several corpora: whether the documents of a batch come from all, or from one."""

    validation: float = Field(0.1, gt=0, lt=1)
    """Share of the documents that validates, where a corpus has no split of its own."""

    precision: Literal["32", "bf16"] = "32"
    """``bf16``: products of matrices in bfloat16, weights in float32."""

    devices: int = Field(1, ge=1)
    """Processes: GPUs, or without any, CPU processes, each with batches of its own."""


class LinkingSettings(Settings):
    """How the trained cosines are used in a document that is linked; training does not see it."""

    bridge: float = Field(0, ge=0, lt=1)
    """Share of the untrained concept bridge in every cosine; needs an image backbone with a classifier and a text
    backbone."""

    centre: float = Field(0, ge=0, le=1)
    """Share of a document's mean vector that is taken from its sentences, and of its images' mean from its images:
    what they all have in common does not tell them apart."""


class Recipe(Settings):
    """A training run. See ``recipes/`` for those of the papers and our own."""

    name: str = Field(min_length=1)
    """Of the model."""

    follows: str = "ours"
    """Where the settings come from, and where sources differ, which one counts."""

    seed: int = Field(0, ge=0)
    """Everything random comes from it."""

    init: str | None = None
    """A model to start from, ``default`` or a folder; the encoders are then as that model's recipe has them."""

    dim: int = Field(1024, ge=1)
    """Dimensions of the joint space (d_multi)."""

    features: FeatureSettings = FeatureSettings()
    text: TextEncoderSettings = TextEncoderSettings()
    image: ImageEncoderSettings = ImageEncoderSettings()
    similarity: SimilaritySettings = SimilaritySettings()
    objective: ObjectiveSettings = ObjectiveSettings()
    training: TrainingSettings = TrainingSettings()
    linking: LinkingSettings = LinkingSettings()

    @model_validator(mode="after")
    def _fits(self) -> Recipe:
        words, gru = self.features.text == "words", self.text.kind == "gru"
        if words != gru:
            raise ValueError(
                f'text.kind = "{self.text.kind}" does not go with features.text = "{self.features.text}": '
                'a gru reads "words", a projection the vectors of a text backbone such as "minilm"'
            )
        pixels, network = self.features.image == "pixels", self.image.kind == "network"
        if pixels != network:
            raise ValueError(
                f'image.kind = "{self.image.kind}" does not go with features.image = "{self.features.image}": '
                'a network is trained on "pixels", a projection on the features of an image backbone'
            )
        if self.features.views and (pixels or self.features.image.endswith(".npy")):
            raise ValueError(f'features.views is for an image backbone; features.image is "{self.features.image}"')
        if self.linking.bridge and (words or pixels):
            raise ValueError("linking.bridge needs a text backbone and an image backbone with a classifier")
        if self.text.word_vectors is not None and not words:
            raise ValueError('text.word_vectors is only read with features.text = "words"')
        if gru and (self.text.hidden or self.text.rescale):
            raise ValueError('text.hidden and text.rescale are for a projection; text.kind is "gru"')
        if network and (self.image.hidden or self.image.rescale):
            raise ValueError('image.hidden and image.rescale are for a projection; image.kind is "network"')
        if network and self.image.dropout_at == "input":
            raise ValueError('image.dropout_at = "input" is for a projection; image.kind is "network"')
        if self.objective.mean_epochs and (self.objective.kind != "hinge" or self.objective.negatives != "hardest"):
            raise ValueError('objective.mean_epochs is for objective.kind = "hinge" with negatives = "hardest"')
        if self.objective.learn_scale and self.objective.kind == "hinge":
            raise ValueError("objective.learn_scale is for softmax and logistic; the hinge has no scale")
        training = self.training
        if training.average > training.epochs:
            raise ValueError(f"training.average is {training.average}, more than training.epochs, {training.epochs}")
        if training.schedule == "cosine" and training.warmup >= training.epochs:
            raise ValueError(
                f"training.warmup is {training.warmup:g}, which leaves none of {training.epochs} epochs to the cosine"
            )
        return self
