"""The encoders that a recipe can choose, ``TEXT_ENCODERS`` and ``IMAGE_ENCODERS``, with the settings of each kind.

``Inputs`` are the sizes of their inputs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from iconotext.recipe.settings import Settings

BUNDLED = "efficientnet-lite0"
"""The image network that comes with the package."""

Dropout = Annotated[float, Field(ge=0, lt=1)]


class EncoderSettings(Settings):
    """Settings of all encoders."""

    kind: str
    """Which encoder it is."""

    not_passed_on: ClassVar[frozenset[str]] = frozenset({"kind"})
    """Settings that are no arguments of the PyTorch module."""

    @property
    def collects_statistics(self) -> bool:
        """Whether batch norms collect running statistics, which the mean of several epochs' weights would not fit."""
        return False


class ProjectionSettings(EncoderSettings):
    """A projection of frozen vectors, of sentences or of images."""

    kind: Literal["projection"] = "projection"

    hidden: int = Field(0, ge=0)
    """Width of the hidden layer; 0 for an affine map."""

    rescale: bool = False
    """Whether all feature vectors first get one length, √(their dimensions)."""

    batch_norm: bool = False
    """Whether all features first get mean 0 and variance 1 in a batch."""

    residual: bool = False
    """Whether its output, which starts at zero, is added to the features: an adapter of a dual encoder then starts with
    the vectors of that encoder (Gao 2021, CLIP-Adapter). ``dim`` must be the length of the features."""

    dropout: Dropout = 0.4
    """Share of numbers that is dropped in training."""

    dropout_at: Literal["output", "input"] = "output"
    """Which numbers are dropped. ``output``: those of the joint vector, before its length becomes 1, or those of the
    hidden layer if there is one. ``input``: the features."""

    @property
    def collects_statistics(self) -> bool:
        """See ``EncoderSettings``."""
        return self.batch_norm


class WordSettings(EncoderSettings):
    """Settings of all encoders of words."""

    not_passed_on = frozenset({"kind", "word_vectors", "max_words", "max_tokens"})  # these describe the vocabulary

    word_dim: int = Field(300, ge=1)
    """Length of a word vector."""

    word_vectors: str | None = None
    """What the word vectors start from: a word2vec or GloVe file (.txt, .vec, .bin, .gz), relative to the folder where
    the program was started; ``minilm``, the vectors that MiniLM gives to single words, their ``word_dim`` main
    components; or ``word2vec``, which is trained on the sentences for training (Alikhani 2021). None: random."""

    max_words: int = Field(50_000, ge=1)
    """Words in the vocabulary, the most frequent ones."""

    max_tokens: int = Field(20, ge=1)
    """Words of a sentence that are read; Hessel 2019 has 20 for captions, 50 for documents."""

    dropout: Dropout = 0.4
    """Share of numbers that is dropped in training."""


class GRUSettings(WordSettings):
    """A GRU over words (Hessel 2019 §3.1)."""

    kind: Literal["gru"] = "gru"

    dropout_at: Literal["output", "input"] = "output"
    """Which numbers are dropped. ``output``: those of the joint vector, before its length becomes 1. ``input``: whole
    dimensions of the word vectors, the same for all words of a sentence (the released code)."""

    sentence_gru: bool = False
    """Whether a second GRU of the same size goes over the last states of a document's sentences, in their order; the
    vector of a sentence is then its state there (Hessel 2019, footnote 19). A sentence that stands alone, such as a
    query, is a document of one."""


class TransformerSettings(WordSettings):
    """A Transformer over words (Li 2021, Eq. 6-7).

    It drops where Vaswani 2017 does: what goes into its layers, and what each part of a layer adds.
    """

    kind: Literal["transformer"] = "transformer"

    not_passed_on = frozenset({"kind", "word_vectors", "max_words"})

    layers: int = Field(3, ge=0)
    """Number of layers (N_T); 0: none, but a softmax pooling of the words."""

    heads: int = Field(8, ge=1)
    """Heads of attention in each layer."""


class LSTMSettings(WordSettings):
    """A bidirectional LSTM over words, with a batch norm behind it (Alikhani 2021)."""

    kind: Literal["lstm"] = "lstm"

    attention: Literal["none", "dot-product", "additive"] = "dot-product"
    """How much each word counts: by scaled dot products with a query that is made of its last states (Vaswani 2017,
    which the paper cites), or by vᵀ tanh(W h + b). ``none``: only the last states are used."""

    @property
    def collects_statistics(self) -> bool:
        """See ``EncoderSettings``."""
        return True


class NetworkSettings(EncoderSettings):
    """An image network that is trained as a whole (Hessel 2019, supplement §2)."""

    kind: Literal["network"] = "network"

    network: str = BUNDLED
    """Which network, from its ImageNet weights: ``efficientnet-lite0``, which comes with the program and whose batch
    norms are folded into its convolutions, with the statistics of ImageNet, or the folder or hub name of a ResNet
    (``microsoft/resnet-50``), whose batch norms are trained."""

    dropout: Dropout = 0.4
    """Share of numbers of the joint vector that is dropped in training."""

    batch_norm: bool = False
    """Whether a batch norm stands between the network and the affine layer behind it (Alikhani 2021)."""

    pictures: Literal["cropped", "resized"] = "cropped"
    """How pictures become 224 × 224 pixels. ``cropped``: a part of 256 × 256 pixels, in training a random one, turned
    and sometimes mirrored (Hessel 2019). ``resized``: all of a picture, in training too (Alikhani 2021)."""

    @property
    def collects_statistics(self) -> bool:
        """See ``EncoderSettings``."""
        return self.network != BUNDLED or self.batch_norm


class RegionSettings(EncoderSettings):
    """A Transformer over the regions of an image and their concepts (Li 2021)."""

    kind: Literal["regions"] = "regions"

    not_passed_on = frozenset({"kind", "concepts", "max_regions"})

    layers: int = Field(3, ge=0)
    """Number of layers (N_C, Eq. 10); 0: none, but a softmax pooling of regions and concepts."""

    heads: int = Field(8, ge=1)
    """Heads of attention in each layer."""

    max_regions: int | None = Field(None, ge=1)
    """Regions of an image that are read (μ), those with the most certain concepts; None: all that the source gives."""

    concepts: bool = True
    """Whether the names of what is seen in the regions are read beside them (Eq. 9)."""

    shared_projection: bool = False
    """Whether concepts are projected by the sentence encoder, a Transformer: W_T and b_T of Eq. 9 are then those of Eq.
    7. Else the image encoder has a projection of its own."""

    dropout: Dropout = 0.4
    """Share of numbers that is dropped in training, where Vaswani 2017 does."""


def _kind_unless_named(kind: str) -> BeforeValidator:
    """A validator that sets a missing ``kind``."""

    def validate(value: Any) -> Any:
        return {"kind": kind, **value} if isinstance(value, dict) else value

    return BeforeValidator(validate)


TextEncoder = Annotated[
    GRUSettings | TransformerSettings | LSTMSettings | ProjectionSettings,
    Field(discriminator="kind"),
    _kind_unless_named("gru"),
]
"""From word ids or sentence vectors to the joint space."""

ImageEncoder = Annotated[
    ProjectionSettings | NetworkSettings | RegionSettings,
    Field(discriminator="kind"),
    _kind_unless_named("projection"),
]
"""From image features, regions or pixels to the joint space."""


@dataclass(frozen=True, slots=True)
class EncoderKind:
    """An encoder that a recipe can choose by ``kind`` in ``[text]`` or ``[image]``.

    Attributes:
        reads: Its input.
        settings: The table of its settings.
        module: The class of its PyTorch module, which ``encoders.joint_model`` makes.
    """

    name: str
    summary: str
    paper: str
    reads: str
    settings: type[EncoderSettings]
    module: str


_NETWORKS = "iconotext.networks"

TEXT_ENCODERS = {
    row.name: row
    for row in (
        EncoderKind(
            "gru", "A GRU over words.", "Hessel 2019, §3.1", "words", GRUSettings, f"{_NETWORKS}.recurrent:WordEncoder"
        ),
        EncoderKind(
            "transformer",
            "A Transformer over words.",
            "Li 2021, Eq. 6-7",
            "words",
            TransformerSettings,
            f"{_NETWORKS}.transformer:WordTransformer",
        ),
        EncoderKind(
            "lstm",
            "A bidirectional LSTM over words, with attention and a batch norm.",
            "Alikhani 2021",
            "words",
            LSTMSettings,
            f"{_NETWORKS}.recurrent:WordLSTM",
        ),
        EncoderKind(
            "projection",
            "An affine layer, or one with a hidden layer, behind frozen features.",
            "Hessel 2019, §3.1",
            "vectors of a text backbone",
            ProjectionSettings,
            f"{_NETWORKS}.projection:Projection",
        ),
    )
}

IMAGE_ENCODERS = {
    row.name: row
    for row in (
        replace(TEXT_ENCODERS["projection"], reads="features of an image backbone"),
        EncoderKind(
            "network",
            "EfficientNet-Lite0 or a ResNet, trained as a whole.",
            "Hessel 2019, supplement §2",
            "pixels",
            NetworkSettings,
            f"{_NETWORKS}.image_network:ImageNetwork",
        ),
        EncoderKind(
            "regions",
            "A Transformer, or a weighted mean, over the regions of an image and their concepts.",
            "Li 2021, Eq. 8-10",
            "regions",
            RegionSettings,
            f"{_NETWORKS}.transformer:RegionEncoder",
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Inputs:
    """Sizes of the encoders' inputs that the recipe leaves open.

    Attributes:
        words: Size of the vocabulary; 0 if sentences are vectors.
        text_features: Length of a sentence vector; 0 if sentences are words.
        image_features: Length of the features of an image or region; 0 if images are pixels.
        concepts: Number of concepts of regions; 0 if none are read.
        concept_words: Total number of words in their names; 0 if sentences are vectors.
        relations: Number of coherence relations to predict; 0 without the coherence objective.
    """

    words: int
    text_features: int
    image_features: int
    concepts: int = 0
    concept_words: int = 0
    relations: int = 0
