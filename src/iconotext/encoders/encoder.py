"""The protocol ``Encoder``, and the functions that load one: ``load_encoder`` and ``load_bridge``.

An encoder turns sentences and images into vectors, and a document into its matrix of similarities. There are three
kinds, with the same methods: a trained model (``encoders.trained``), a dual encoder such as CLIP
(``features.huggingface`` in the space of ``encoders.space``), and the concept bridge, which needs no training
(``encoders.bridge``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from iconotext.encoders.backbone_encoder import EncodedDocument, EncodedImages
    from iconotext.encoders.coherence import Coherence
    from iconotext.encoders.image_source import ImageSource
    from iconotext.features.backbone import Picture, TextBackbone
    from iconotext.features.cached import ReadLayers
    from iconotext.types import Document, FloatMatrix, Image

DEFAULT_TEXT = "minilm"
DEFAULT_IMAGE = "efficientnet-lite0"
"""The backbones of the concept bridge, unless others are named."""


class Encoder(Protocol):
    """Puts sentences and images into one vector space.

    ``encode_sentences`` and ``encode_images`` treat each sentence and image alone. ``similarity`` and ``read`` take a
    whole document, and may subtract the part that all its sentences, or all its images, have in common.
    """

    @property
    def name(self) -> str:
        """The name with which the model was loaded."""

    @property
    def fingerprint(self) -> str:
        """A name that is equal for equal weights and settings, wherever the files are.

        Vectors of encoders with different fingerprints cannot be compared.
        """

    @property
    def dim(self) -> int:
        """d, the length of a vector."""

    @property
    def text_backbone(self) -> TextBackbone:
        """The backbone that compares texts with texts, such as captions with sentences."""

    @property
    def reader(self) -> TextBackbone:
        """The backbone that reads sentences: ``text_backbone``, unless the model reads words itself."""

    @property
    def language(self) -> str | None:
        """The only language in which sentences can be compared with images; None if several, or if it is unknown."""

    @property
    def image_source(self) -> ImageSource:
        """The source of image features."""

    @property
    def coherence(self) -> Coherence | None:
        """Predicts relations between a sentence and an image; None if the model was not trained for them."""

    def encode_sentences(self, texts: Sequence[str]) -> FloatMatrix:
        """Encode S sentences, each alone: (S, d) float32 unit vectors."""

    def encode_images(self, images: Sequence[Image | Picture]) -> EncodedImages:
        """Encode V images, files or encoded pictures, each alone.

        The result has (V, d) float32 unit vectors, and the problem of each image that cannot be encoded.
        """

    def similarity(self, document: Document) -> FloatMatrix:
        """Compute the (S, V) float32 similarities of sentences and images; 0 for an image that cannot be encoded."""

    def read(self, document: Document) -> EncodedDocument:
        """Encode a document: its similarities, the problems of its images, and the data for explanations."""

    def read_all(self, documents: Sequence[tuple[Document, FloatMatrix]]) -> list[EncodedDocument]:
        """Encode several documents, each with its sentences' vectors from ``reader``; images are encoded together."""


def load_encoder(
    name: str = "default",
    *,
    text: str | None = None,
    image: str | None = None,
    concepts: int = 10,
    cache: bool = True,
    download: bool = False,
    read_layers: ReadLayers | None = None,
) -> Encoder:
    """Load an encoder.

    Args:
        name: ``default`` or ``photographs`` (trained models in the package), the folder of a trained model,
            ``no-training`` (the concept bridge), or the name or folder of a dual encoder (CLIP, SigLIP).
        text: Another text backbone. The models in the package work only with their own backbones: with another one, the
            concept bridge is loaded instead.
        image: Another image backbone, or the table of features or file of regions of a model that reads such a file.
        concepts: Number of class names that stand for an image in the concept bridge.
        cache: Whether to store features on disk.
        download: Whether to fetch missing models from the Hugging Face hub; else nothing uses the network.
        read_layers: As for ``cached_text``; not used without a cache.

    Raises:
        FeatureError: There is no such model, it cannot be loaded, or it was trained on other backbones.
    """
    from iconotext.encoders.backbone_encoder import untrained_encoder
    from iconotext.encoders.folder import init_folder, is_model_folder
    from iconotext.encoders.trained import trained_encoder
    from iconotext.features import FeatureCache, downloads, load_dual_encoder, load_image_backbone, load_text_backbone
    from iconotext.features.model_folder import MODELS, SHIPPED

    if download:
        with downloads():
            return load_encoder(name, text=text, image=image, concepts=concepts, cache=cache, read_layers=read_layers)
    if name in SHIPPED and (text or image):
        name = "no-training"
    store = FeatureCache() if cache else None
    if is_model_folder(init_folder(name)):
        return trained_encoder(
            init_folder(name), name=name, text=text, image=image, cache=store, read_layers=read_layers
        )
    if name == "no-training":
        reading = load_text_backbone(text or DEFAULT_TEXT)
        seeing = load_image_backbone(image or DEFAULT_IMAGE)
    else:
        both = load_dual_encoder(name, MODELS)
        reading = load_text_backbone(text) if text else both.text
        seeing = load_image_backbone(image) if image else both.image
    return untrained_encoder(name, reading, seeing, k=concepts, cache=store, read_layers=read_layers)


def load_bridge(
    *,
    text: str | None = None,
    image: str | None = None,
    word_vectors: Path | str | None = None,
    word_dim: int = 300,
    texts: Iterable[str] = (),
    cache: bool = True,
) -> Encoder:
    """Load the concept bridge, over a text backbone or, as in Hessel 2019, over mean word vectors.

    Args:
        text: Text backbone; None for the one in the package.
        image: Image backbone; None for the one in the package. With a table of features or a file of regions, images
            have features but no vectors.
        word_vectors: word2vec or GloVe file, or ``minilm``, to use instead of the text backbone; None to use the
            backbone.
        word_dim: Length of the word vectors.
        texts: All texts to encode besides class names; used only with ``word_vectors``, to load only the vectors of
            their words.
        cache: Whether to store features on disk.

    Raises:
        FeatureError: A model or file cannot be loaded.
    """
    from iconotext.encoders.backbone_encoder import BackboneEncoder
    from iconotext.encoders.bridge import ConceptBridge
    from iconotext.encoders.image_source import image_source
    from iconotext.features import FeatureCache, cached_text, load_text_backbone
    from iconotext.features.word_vectors import mean_words

    store = FeatureCache() if cache else None
    source = image_source(image or DEFAULT_IMAGE, store)
    if word_vectors is None:
        own = load_text_backbone(text or DEFAULT_TEXT)
        reading = own if store is None else cached_text(own, store)
    else:  # no cache for texts: adding up word vectors is faster than a look-up
        own = reading = mean_words(word_vectors, word_dim, chain(source.classes or (), texts))
    return BackboneEncoder("no-training", reading, reading, own, source, ConceptBridge(reading, source.classes or ()))
