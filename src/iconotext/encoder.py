"""What links are found with: sentences and images to vectors, and a document to its matrix of similarities.

There are three kinds: a trained model (``embed.trained``), a dual encoder such as CLIP (``embed.dual``), and the
concept bridge, which needs no training (``embed.bridge``). Whoever uses one need not know which.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from iconotext.embed.backbone_encoder import EncodedDocument, EncodedImages
    from iconotext.embed.coherence import Coherence
    from iconotext.embed.image_source import ImageSource
    from iconotext.features.backbone import Picture, TextBackbone
    from iconotext.features.cached import ReadLayers
    from iconotext.types import Document, FloatMatrix, Image

DEFAULT_TEXT = "minilm"
DEFAULT_IMAGE = "efficientnet-lite0"
"""The backbones of the concept bridge."""


class Encoder(Protocol):
    """Puts sentences and images into one space.

    ``encode_sentences`` and ``encode_images`` know nothing of documents: what lies beside a sentence or an image
    changes nothing. ``similarity`` and ``read`` see a document as a whole, and may take away what all its sentences, or
    all its images, have in common.
    """

    @property
    def name(self) -> str:
        """The model as it was asked for."""

    @property
    def fingerprint(self) -> str:
        """Equal for equal weights and settings, wherever they lie: vectors of other encoders do not compare."""

    @property
    def dim(self) -> int:
        """d, the length of a vector."""

    @property
    def text_backbone(self) -> TextBackbone:
        """What compares texts with texts, such as captions with sentences."""

    @property
    def reader(self) -> TextBackbone:
        """What reads the sentences: the same, but for a model that reads words in its own way."""

    @property
    def language(self) -> str | None:
        """The one language whose sentences it can compare with images; None for several, or where nobody knows."""

    @property
    def image_source(self) -> ImageSource:
        """Where the features of images come from."""

    @property
    def coherence(self) -> Coherence | None:
        """What tells the relations between a sentence and an image; None for a model that was not trained for that."""

    def encode_sentences(self, texts: Sequence[str]) -> FloatMatrix:
        """(S, d) float32, rows of length 1."""

    def encode_images(self, images: Sequence[Image | Picture]) -> EncodedImages:
        """(V, d) float32, rows of length 1 or of zeros, with the problem of each image; images, files or bytes."""

    def similarity(self, document: Document) -> FloatMatrix:
        """(S, V) float32 of each sentence with each image; 0 for an image that cannot be encoded."""

    def read(self, document: Document) -> EncodedDocument:
        """The same with all that it was made of: problems of images, and what an explanation asks for."""

    def read_all(self, documents: Sequence[tuple[Document, FloatMatrix]]) -> list[EncodedDocument]:
        """Several documents, each with what ``reader`` makes of its sentences; their images are encoded at once."""


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
        name: ``default`` or ``photographs`` (trained models that ship), the folder of a trained model,
            ``no-training`` (the concept bridge), or the name or folder of a dual encoder (CLIP, SigLIP).
        text: Another text backbone. The models that ship know only their own backbones: with others it is the concept
            bridge that one gets.
        image: Another image backbone, or the table of features or file of regions of a model that looks images up.
        concepts: How many class names stand for an image in the concept bridge.
        cache: Whether features are kept on disk.
        download: Whether models that are not here are fetched from the Hugging Face hub; else nothing goes to the
            network.
        read_layers: As for ``cached_text``; for nothing without a cache.

    Raises:
        FeatureError: There is no such model, it cannot be loaded, or it was trained on other backbones.
    """
    from iconotext.embed.backbone_encoder import untrained_encoder
    from iconotext.embed.folder import init_folder, is_model_folder
    from iconotext.embed.trained import trained_encoder
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
    """Load the concept bridge, over a text backbone or, as in Hessel 2019, over the mean vectors of a text's words.

    Args:
        text: Text backbone; None takes the one that comes with the program.
        image: Image backbone; None likewise. Or a table of features, or a file of regions: then no image has a vector,
            but its features.
        word_vectors: word2vec or GloVe file, or ``minilm``, to use instead of the text backbone; None for none.
        word_dim: Length of its vectors.
        texts: All that will be encoded besides the names of classes; walked only for word vectors, of which no others
            are loaded.
        cache: Whether features are kept on disk.

    Raises:
        FeatureError: Something cannot be loaded.
    """
    from iconotext.embed.backbone_encoder import BackboneEncoder
    from iconotext.embed.bridge import ConceptBridge
    from iconotext.embed.image_source import image_source
    from iconotext.features import FeatureCache, cached_text, load_text_backbone
    from iconotext.features.word_vectors import mean_words

    store = FeatureCache() if cache else None
    source = image_source(image or DEFAULT_IMAGE, store)
    if word_vectors is None:
        own = load_text_backbone(text or DEFAULT_TEXT)
        reading = own if store is None else cached_text(own, store)
    else:  # the texts are not kept: to add up vectors is quicker than to look for the sum
        own = reading = mean_words(word_vectors, word_dim, chain(source.classes or (), texts))
    return BackboneEncoder("no-training", reading, reading, own, source, ConceptBridge(reading, source.classes or ()))
