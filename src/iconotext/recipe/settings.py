"""What a training run is: its settings, their ranges, and which of them contradict each other."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

REGION_FILES = (".tsv", ".h5", ".hdf5", ".lmdb")
"""Suffixes of files that hold regions."""


class Settings(BaseModel):
    """A table of a recipe: fixed once made, and no key is let through that nobody reads."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class FeatureSettings(Settings):
    """What training starts from."""

    text: str = "words"
    """``words`` (word ids, learned from the corpus), or a text backbone: ``minilm``, a folder, a hub name."""

    image: str = "efficientnet-lite0"
    """An image backbone, a table of features (a file ``.npy`` with ``id2row.json`` beside it), or ``pixels``: the
    pictures themselves, for an image network that is trained along. For an encoder that reads regions also a detector,
    or a file of regions; of an image backbone it reads the cells of a 6 × 6 grid."""

    views: int = Field(0, ge=0)
    """Further views of each picture that an image backbone encodes and training draws from: a random part of it, half
    of them mirrored. They cost as much as so many more pictures, and keep small corpora from being learned by heart."""


class TextEncoderSettings(Settings):
    """From word ids or sentence vectors to the joint space."""

    kind: Literal["gru", "transformer", "lstm", "projection", "identity"] = "gru"
    """A GRU over words (Hessel 2019 §3.1), a Transformer over words (Li 2021, Eq. 6–7), a bidirectional LSTM over words
    (Alikhani 2021), a projection of frozen sentence vectors, or these themselves, as a dual encoder has them."""

    word_dim: int = Field(300, ge=1)
    """Length of a word vector."""

    word_vectors: str | None = None
    """What the word vectors start from: a word2vec or GloVe file (.txt, .vec, .bin, .gz), relative to the folder where
    the program was started; ``minilm``, the vectors that MiniLM gives to single words, their ``word_dim`` main
    components; or ``word2vec``, which is trained on the sentences for training (Alikhani 2021). None: random."""

    max_words: int = Field(50_000, ge=1)
    """Words in the vocabulary, the most frequent ones."""

    max_tokens: int = Field(20, ge=1)
    """Words of a sentence that are read; the paper has 20 for captions, 50 for documents."""

    layers: int = Field(3, ge=1)
    """Of a Transformer (N_T)."""

    heads: int = Field(8, ge=1)
    """Of each of its layers."""

    attention: bool = True
    """Whether an LSTM is read at every word, each as much as attention gives it, or only where it ends."""

    hidden: int = Field(0, ge=0)
    """Width of the hidden layer of a projection; 0 for an affine map."""

    rescale: bool = False
    """Whether a projection first gives all feature vectors one length, √(their dimensions)."""

    batch_norm: bool = False
    """Whether a projection first gives all features mean 0 and variance 1 in a batch; behind an LSTM that is always
    so."""

    dropout: float = Field(0.4, ge=0, lt=1)
    """Share of numbers that is dropped in training."""

    dropout_at: Literal["output", "input"] = "output"
    """``output``: numbers of the joint vector, before its length becomes 1 (the paper's "on the encoder"), or where
    there is a hidden layer, of that one. ``input``: of a projection, the features; of a GRU,
    whole dimensions of the word vectors, the same for all words of a sentence (the released code). A Transformer drops
    where Vaswani 2017 does: what goes into its layers, and what each part of a layer adds."""


class ImageEncoderSettings(Settings):
    """From image features, or pixels, to the joint space."""

    kind: Literal["projection", "network", "regions", "identity"] = "projection"
    """A projection of frozen features, the whole network, trained along (supplement §2), an encoder of regions and
    the concepts seen in them (Li 2021), or the features themselves, as a dual encoder has them."""

    layers: int = Field(3, ge=0)
    """Of the Transformer over regions and concepts (N_C, Eq. 10); 0: none, but a softmax pooling of them."""

    heads: int = Field(8, ge=1)
    """Of each of its layers."""

    max_regions: int | None = Field(None, ge=1)
    """Regions of an image that are read (μ), those with the most certain concepts; None: all that the source gives."""

    concepts: bool = True
    """Whether the names of what is seen in the regions are read beside them (Eq. 9)."""

    hidden: int = Field(0, ge=0)
    """Width of the hidden layer of a projection; 0 for an affine map."""

    rescale: bool = False
    """Whether a projection first gives all feature vectors one length, √(their dimensions)."""

    batch_norm: bool = False
    """Whether a projection first gives all features mean 0 and variance 1 in a batch."""

    dropout: float = Field(0.4, ge=0, lt=1)
    """Share of numbers that is dropped in training."""

    dropout_at: Literal["output", "input"] = "output"
    """Where: on the joint vector, or on the features. A Transformer drops where Vaswani 2017 does."""


class SimilaritySettings(Settings):
    """What one number the cosines of a (sentences, images) pair make (Hessel 2019 §3.2)."""

    kind: Literal["dense", "top-k", "assignment", "single-pair", "labelled-pairs"] = "dense"
    """``single-pair`` is the baseline NoStruct: one random sentence and one random image stand for the document.
    ``labelled-pairs`` is supervised: every gold link of a document stands for itself."""

    k: Literal["min", "half"] | int = "min"
    """Links for top-k and assignment: min(n, m), ⌈½ min(n, m)⌉, or a number."""

    links: Literal["at-most", "exactly"] = "at-most"
    """For assignment: at most k links (the paper), or exactly k, those below 0 too (the released code)."""

    directions: Literal["sum", "mean"] = "sum"
    """For dense and top-k: sentences to images plus images to sentences (Hessel 2019; -2 to 2), or the mean of the two,
    which is the mean over the 2k edges of Li 2021 (-1 to 1). What a margin means depends on it: 0.2 of the mean asks as
    much as 0.4 of the sum."""

    @model_validator(mode="after")
    def _positive(self) -> SimilaritySettings:
        if isinstance(self.k, int) and self.k < 1:
            raise ValueError(f"k is {self.k}; give min, half or a number from 1")
        if self.k != "min" and self.kind not in ("top-k", "assignment"):
            raise ValueError(f'k is for top-k and assignment; kind is "{self.kind}"')
        if self.directions != "sum" and self.kind not in ("dense", "top-k"):
            raise ValueError(f'directions is for dense and top-k; kind is "{self.kind}"')
        if self.links != "at-most" and self.kind != "assignment":
            raise ValueError(f'links is for assignment; kind is "{self.kind}"')
        return self


class ObjectiveSettings(Settings):
    """What training minimises: a weighted sum of up to four objectives.

    Hessel 2019 has the first, Li 2021 (Eq. 5) the first three, Alikhani 2021 (Eq. 3) the first and the fourth.
    """

    cross_document: float = Field(1, ge=0)
    """Weight of: a document is more similar to itself than to what it did not occur with (Eq. 1)."""

    intra_document: float = Field(0, ge=0)
    """Weight of: its most likely links are more similar than its least likely ones, by half the margin (Eq. 2)."""

    sub_document: float = Field(0, ge=0)
    """Weight of: so is a random part of it, by half the margin (Eq. 3–4)."""

    coherence: float = Field(0, ge=0)
    """Weight of: the relations of a text and its image can be told from their vectors (λ_cls of Alikhani 2021). Only
    documents of one sentence and one image, with labels, take part."""

    relations: list[str] = []
    """Which relations; none named: all that are labelled in the corpus. One alone is CMCM_c."""

    p_sub: float = Field(0.6, gt=0, le=1)
    """Share of the sentences, and of the images, that such a part has: rounded down, but one at least."""

    kind: Literal["hinge", "softmax", "logistic"] = "hinge"
    """Eq. 1 of Hessel 2019, or one of two that are ours: InfoNCE, pairwise logistic. The intra-document objective is a
    hinge in any case."""

    margin: float = Field(0.2, gt=0)
    """α of the hinge, on the scale of ``similarity.directions``."""

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

    warmup_steps: int = Field(0, ge=0)
    """The same in steps, and from 1e-7 as Li 2021 has it; the plateau begins to count when they are over."""

    choose: Literal["loss", "median-rank"] = "loss"
    """What the best epochs are best in: the validation loss, or the median rank of the right image among 500, which
    needs validation documents of one sentence and one image."""

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

    max_regions: int | None = Field(None, ge=1)
    """In training, so many random regions of an image; it costs less, and keeps small corpora from being learned by
    heart."""

    batches: Literal["mixed", "by-corpus"] = "mixed"
    """With several corpora: whether the documents of a batch come from all, or from one."""

    validation: float = Field(0.1, gt=0, lt=1)
    """Share of the documents that validates, where a corpus has no split of its own."""

    labelled: float = Field(1, gt=0, le=1)
    """For ``labelled-pairs``: the share of the training documents whose links are used; the others are left out. A
    larger share has all documents of a smaller one."""

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
    """A model to start from, ``default`` or a folder; the encoders are then as that model's recipe has them. What it
    knows of relations that are told further on is taken over, too."""

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
        if self.init is None:  # else the encoders are another recipe's, see with_init
            self.check_encoders()
        self._check_objective()
        self._check_training()
        return self

    def check_encoders(self) -> None:
        """Check what encoders read, and what else is said of them.

        Raises:
            ValueError: Settings contradict each other, or one has no effect.
        """
        self._check_text()
        self._check_image()
        if self.training.average > 1 and (self.text.kind == "lstm" or self.text.batch_norm or self.image.batch_norm):
            raise ValueError(
                f"training.average is {self.training.average}: the mean of several epochs' weights does not fit the "
                "statistics that their batch norms kept; set it to 1"
            )
        if self.training.max_regions and self.image.kind != "regions":
            raise ValueError(f'training.max_regions is for encoders of regions; image.kind is "{self.image.kind}"')

    def _check_text(self) -> None:
        text, words = self.text, self.features.text == "words"
        if words == (text.kind in ("projection", "identity")):
            raise ValueError(
                f'text.kind = "{text.kind}" does not go with features.text = "{self.features.text}": a gru, an lstm '
                'and a transformer read "words", a projection the vectors of a text backbone such as "minilm"'
            )
        if text.word_vectors is not None and not words:
            raise ValueError('text.word_vectors is only read with features.text = "words"')
        if text.kind != "projection" and (text.hidden or text.rescale or text.batch_norm):
            raise ValueError(
                f'text.hidden, text.rescale and text.batch_norm are for a projection; text.kind is "{text.kind}"'
            )
        if text.kind == "lstm" and text.dropout_at != "output":
            raise ValueError('text.dropout_at = "input" is for a GRU and a projection; text.kind is "lstm"')
        if text.kind != "lstm":
            _check_unused("text", text, ("attention",), 'text.kind = "lstm"')
        if (text.kind == "identity") != (self.image.kind == "identity"):
            raise ValueError('text.kind and image.kind are "identity" both or neither: a dual encoder has two sides')
        if text.kind == "transformer":
            _check_transformer("text", self.dim, text.heads, text.dropout_at)
        else:
            _check_unused("text", text, ("layers", "heads"), 'text.kind = "transformer"')

    def _check_image(self) -> None:
        image, source = self.image, self.features.image
        table = source.endswith(".npy")
        if (source == "pixels") != (image.kind == "network"):
            raise ValueError(
                f'image.kind = "{image.kind}" does not go with features.image = "{source}": '
                'a network is trained on "pixels", a projection on the features of an image backbone'
            )
        if image.kind == "regions":
            if table:
                raise ValueError(f'image.kind = "regions" needs regions; features.image = "{source}" has none')
            _check_transformer("image", self.dim, image.heads if image.layers else 1, image.dropout_at)
        else:
            if Path(source).suffix in REGION_FILES:
                raise ValueError(f'features.image = "{source}" is a file of regions, for image.kind = "regions"')
            _check_unused("image", image, ("layers", "heads", "concepts", "max_regions"), 'image.kind = "regions"')
        if self.features.views and (image.kind not in ("projection", "identity") or table):
            raise ValueError(f'features.views is for projections of an image backbone; features.image is "{source}"')
        if self.linking.bridge and (self.features.text == "words" or image.kind != "projection"):
            raise ValueError("linking.bridge needs a text backbone, and projections of an image backbone's features")
        if image.kind != "projection" and (image.hidden or image.rescale or image.batch_norm):
            raise ValueError(
                f'image.hidden, image.rescale and image.batch_norm are for a projection; image.kind is "{image.kind}"'
            )
        if image.kind == "identity":
            self._check_identity()
        if image.kind == "network" and image.dropout_at == "input":
            raise ValueError('image.dropout_at = "input" is for a projection; image.kind is "network"')

    def _check_identity(self) -> None:
        text, image = self.features.text, self.features.image
        if text != image:
            raise ValueError(
                f'"identity" encoders are for a dual encoder, which features.text and features.image both name; they '
                f'are "{text}" and "{image}"'
            )
        for side, settings in (("text", self.text), ("image", self.image)):
            if settings.dropout != type(settings).model_fields["dropout"].default or settings.dropout_at != "output":
                raise ValueError(f'{side}.dropout is for encoders that learn; {side}.kind is "identity"')
        if not self.objective.coherence and not self.objective.learn_scale:
            raise ValueError('nothing is learned: encoders are "identity", and objective.coherence is 0')
        if self.training.choose == "median-rank":
            raise ValueError('training.choose = "median-rank": with "identity" encoders no rank ever changes')

    def _check_objective(self) -> None:
        objective, similarity = self.objective, self.similarity.kind
        others = objective.intra_document or objective.sub_document or objective.coherence
        if not (objective.cross_document or others):
            raise ValueError("objective: all weights are 0; cross_document, intra_document, sub_document, coherence")
        if objective.coherence and similarity == "labelled-pairs":
            raise ValueError('objective.coherence needs documents; similarity.kind is "labelled-pairs"')
        if objective.relations and not objective.coherence:
            raise ValueError("objective.relations are for objective.coherence, which is 0")
        if len(set(objective.relations)) < len(objective.relations):
            raise ValueError("objective.relations names one of them twice")
        if similarity in ("single-pair", "labelled-pairs") and (objective.intra_document or objective.sub_document):
            raise ValueError(
                f'objective.intra_document and sub_document need sets; similarity.kind is "{similarity}", '
                "which makes pairs of them"
            )
        if objective.mean_epochs and (objective.kind != "hinge" or objective.negatives != "hardest"):
            raise ValueError('objective.mean_epochs is for objective.kind = "hinge" with negatives = "hardest"')
        if objective.learn_scale and objective.kind == "hinge":
            raise ValueError("objective.learn_scale is for softmax and logistic; the hinge has no scale")
        if objective.learn_scale and not (objective.cross_document or objective.sub_document):
            raise ValueError(
                "objective.learn_scale: only cross_document and sub_document have a scale, and both weights are 0"
            )

    def _check_training(self) -> None:
        training = self.training
        if training.average > training.epochs:
            raise ValueError(f"training.average is {training.average}, more than training.epochs, {training.epochs}")
        if training.warmup and training.warmup_steps:
            raise ValueError("training.warmup and training.warmup_steps are one thing in two units; give one")
        if training.warmup_steps and training.schedule == "cosine":
            raise ValueError("training.warmup_steps is for plateau and constant; the cosine counts in epochs")
        if training.schedule == "cosine" and training.warmup >= training.epochs:
            raise ValueError(
                f"training.warmup is {training.warmup:g}, which leaves none of {training.epochs} epochs to the cosine"
            )
        if training.labelled < 1 and self.similarity.kind != "labelled-pairs":
            raise ValueError(f'training.labelled is for labelled-pairs; similarity.kind is "{self.similarity.kind}"')


def _check_unused(side: str, table: Settings, keys: tuple[str, ...], wanted: str) -> None:
    for key in keys:
        if getattr(table, key) != type(table).model_fields[key].default:
            raise ValueError(f"{side}.{key} is for {wanted}")


def _check_transformer(side: str, dim: int, heads: int, dropout_at: str) -> None:
    if dim % heads:
        raise ValueError(f"{side}.heads is {heads}, which does not divide dim, {dim}")
    if dropout_at != "output":
        raise ValueError(f'{side}.dropout_at is for a GRU and a projection; {side}.kind is "transformer" or "regions"')
