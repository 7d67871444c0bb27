"""Loads an ``Encoder``: ``load_encoder``, ``load_bridge``; ``MODEL_KINDS`` has every kind of model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, cast

from iconotext.encoders.bridge import ConceptBridge
from iconotext.encoders.coherence_relations import Coherence
from iconotext.encoders.encoder import Encoder, untrained_encoder
from iconotext.encoders.image_source import image_source, picture_source, region_source, table_source
from iconotext.encoders.spaces import JointSpace, MixedSpace, word_reader
from iconotext.encoders.stored_model import init_folder, is_model_folder, load_model
from iconotext.errors import FeatureError
from iconotext.features import (
    FeatureCache,
    cached_text,
    downloads,
    load_dual_encoder,
    load_image_backbone,
    load_regions,
    load_text_backbone,
)
from iconotext.features.model_folder import MODELS, SHIPPED, folder_name
from iconotext.recipe.settings import REGION_FILES

if TYPE_CHECKING:
    from iconotext.encoders.image_source import ImageSource
    from iconotext.encoders.spaces import Space
    from iconotext.encoders.stored_model import StoredModel
    from iconotext.features.cached_backbones import ReadLayers

DEFAULT_TEXT = "minilm"
DEFAULT_IMAGE = "efficientnet-lite0"
"""The backbones of the concept bridge, unless others are named; ``DEFAULT_TEXT`` also compares captions with sentences
for a model that reads words itself."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A model that a user named, and how it is to be loaded; see ``load_encoder``."""

    name: str
    text: str | None = None
    image: str | None = None
    concepts: int = 10
    cache: FeatureCache | None = None
    read_layers: ReadLayers | None = None


@dataclass(frozen=True, slots=True)
class ModelKind:
    """A kind of model.

    Attributes:
        models: How a user names a model of this kind.
        summary: What it is, in one sentence.
        extra: The extra that installs the packages it needs; None if the core has them.
        is_named: Whether a name means such a model; the first kind that says so is taken.
    """

    models: str
    summary: str
    extra: str | None
    is_named: Callable[[str], bool]
    load: Callable[[ModelRequest], Encoder]


def _load_bridge(request: ModelRequest) -> Encoder:
    _check_own_image(request)
    text, image = load_text_backbone(request.text or DEFAULT_TEXT), load_image_backbone()
    return untrained_encoder(
        request.name, text, image, k=request.concepts, cache=request.cache, read_layers=request.read_layers
    )


def _load_dual_encoder(request: ModelRequest) -> Encoder:
    _check_own_image(request)
    dual = load_dual_encoder(request.name, MODELS)
    captions = load_text_backbone(request.text) if request.text else dual.text
    return untrained_encoder(
        request.name, dual.text, dual.image, captions=captions, cache=request.cache, read_layers=request.read_layers
    )


def _check_own_image(request: ModelRequest) -> None:
    if request.image not in (None, DEFAULT_IMAGE):
        raise FeatureError(
            f"{request.name}: sees pictures by its own encoder; another one, a table of features or a file of "
            "regions is for models that were trained on one"
        )


def trained_encoder(request: ModelRequest, stored: StoredModel | None = None) -> Encoder:
    """Load a trained model with its backbones or, if it does not encode pictures, the file with their features.

    Args:
        request: Its ``image`` is an image backbone, a table of features, or a source of regions; None for the model's
            own.
        stored: The contents of the folder, if they were read before.
    """
    folder, cache = init_folder(request.name), request.cache
    stored = stored or load_model(folder)
    features = stored.recipe.features
    reading = load_text_backbone(DEFAULT_TEXT if features.text == "words" else request.text or features.text)
    _check_same(folder, stored, {"text": "words" if features.text == "words" else reading.name})
    source = _image_source(folder, stored, request.image or features.image, cache)
    texts = reading if cache is None else cached_text(reading, cache, read_layers=request.read_layers)
    uncached, reader = reading, texts
    if stored.vocabulary is not None and stored.recipe.words is not None:
        longest = stored.recipe.words.max_tokens
        uncached = reader = word_reader(stored, stored.vocabulary, longest, folder_name(folder))
    space: Space = JointSpace(stored)
    if stored.recipe.linking.bridge:
        linking = stored.recipe.linking
        alone = linking.bridge if linking.bridge_alone is None else linking.bridge_alone
        space = MixedSpace(space, ConceptBridge(texts, source.classes or ()), linking.bridge, alone)
    layer = stored.model.coherence if stored.relations else None
    coherence = None if layer is None else Coherence(tuple(stored.relations), layer)
    return Encoder(request.name, texts, reader, uncached, source, space, coherence, folder)


def _image_source(folder: Path, stored: StoredModel, image: str, cache: FeatureCache | None) -> ImageSource:
    features = stored.recipe.features
    if features.image == "pixels":
        from iconotext.networks.image_network import ImageNetwork, trained_network

        image_network = cast("ImageNetwork", stored.model.image)  # the recipe says so
        network = trained_network(image_network, folder_name(folder), stored.recipe.dim)
        return picture_source(network, cache)
    if stored.recipe.regions:
        return _regions(folder, stored, image, cache)
    if features.image.endswith(".npy"):
        from iconotext.features.feature_table import load_feature_table

        if not Path(image).is_file():
            raise FeatureError(f"{folder}: the model looks images up in a table of features; name it: image=FILE.npy")
        return table_source(load_feature_table(Path(image)))
    backbone = load_image_backbone(image)
    _check_same(folder, stored, {"image": backbone.name})
    return picture_source(backbone, cache)


def _regions(folder: Path, stored: StoredModel, image: str, cache: FeatureCache | None) -> ImageSource:
    """Make the source of a model that reads regions, from a backbone or a file."""
    from iconotext.features.region_files import is_region_file

    if Path(image).suffix in REGION_FILES and not Path(image).exists():
        raise FeatureError(f"{folder}: the model looks regions up in a file; name it: image={Path(image).name}")
    source, dim = load_regions(image), stored.inputs.image_features
    if source.dim != dim:
        raise FeatureError(f"{folder}: was trained on regions of {dim} numbers, those of {image} have {source.dim}")
    if stored.recipe.reads_concepts and list(source.concepts or ()) != list(stored.concepts):
        raise FeatureError(
            f"{folder}: was trained on other concepts than {image} names; give it the same names in the same order"
        )
    in_file = is_region_file(Path(image))
    if not in_file:  # a file is of one corpus, so it may differ
        _check_same(folder, stored, {"image": source.name})
    return region_source(stored, source, f"{folder_name(folder)}/{source.name}", in_file=in_file, cache=cache)


def _check_same(folder: Path, stored: StoredModel, used: Mapping[str, str]) -> None:
    """Raise ``FeatureError`` if a backbone in ``used``, side to name, differs from the one in training."""
    for side, name in used.items():
        trained = stored.backbones.get(side)
        if trained != name:
            raise FeatureError(f"{folder}: was trained on the {side} backbone {trained}, not {name}; use that one")


MODEL_KINDS = (
    ModelKind(
        "`default`",
        "the trained model in the package, which learned from free pictures alone",
        None,
        lambda name: name == "default",
        trained_encoder,
    ),
    ModelKind(
        "`photographs`",
        "a trained model in the package that knows everyday photographs far better; for research only",
        None,
        lambda name: name == "photographs",
        trained_encoder,
    ),
    ModelKind(
        "`no-training`",
        "the concept bridge: the names of the classes that a classifier sees stand for the picture",
        None,
        lambda name: name == "no-training",
        _load_bridge,
    ),
    ModelKind(
        "a folder",
        "a model of yours, trained by `iconotext train`",
        None,
        lambda name: is_model_folder(Path(name)),
        trained_encoder,
    ),
    ModelKind(
        "a folder of ONNX graphs, or its name on the Hugging Face hub",
        "a dual encoder of others, such as CLIP, SigLIP 2 or MobileCLIP",
        "hub",
        lambda name: True,
        _load_dual_encoder,
    ),
)
"""Every kind of model, in the order in which a name is tried."""


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
        name: The name of a model, or its folder; see ``MODEL_KINDS``.
        text: Another text backbone. The models in the package work only with their own backbones: with another one, the
            concept bridge is loaded instead. With a dual encoder it compares captions with sentences.
        image: The table of features or file of regions of a model that was trained on such a file.
        concepts: Number of class names that stand for an image in the concept bridge.
        cache: Whether to store features on disk.
        download: Whether to fetch missing models from the Hugging Face hub; else nothing uses the network.
        read_layers: As for ``cached_text``; not used without a cache.

    Raises:
        FeatureError: There is no such model, it cannot be loaded, or it was trained on other backbones.
    """
    if download:
        with downloads():
            return load_encoder(name, text=text, image=image, concepts=concepts, cache=cache, read_layers=read_layers)
    if name in SHIPPED and (text or image):
        name = "no-training"
    store = FeatureCache() if cache else None
    kind = next(kind for kind in MODEL_KINDS if kind.is_named(name))
    return kind.load(ModelRequest(name, text, image, concepts, store, read_layers))


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
    from iconotext.features.word_vectors import mean_words

    store = FeatureCache() if cache else None
    source = image_source(image or DEFAULT_IMAGE, store)
    if word_vectors is None:
        uncached = load_text_backbone(text or DEFAULT_TEXT)
        reading = uncached if store is None else cached_text(uncached, store)
    else:  # no cache for texts: adding up word vectors is faster than a look-up
        uncached = reading = mean_words(word_vectors, word_dim, chain(source.classes or (), texts))
    bridge = ConceptBridge(reading, source.classes or ())
    return Encoder("no-training", reading, reading, uncached, source, bridge)
