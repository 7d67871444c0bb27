"""``trained_encoder`` loads a trained model as an encoder, with the backbones, regions or table of its training."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.encoders.backbone_encoder import BackboneEncoder
from iconotext.encoders.bridge import ConceptBridge
from iconotext.encoders.coherence import Coherence
from iconotext.encoders.folder import DUAL
from iconotext.encoders.image_source import ImageSource, looking_up_in, looking_with
from iconotext.encoders.space import JointSpace, MixedSpace, word_reader
from iconotext.errors import FeatureError
from iconotext.recipe.settings import REGION_FILES

if TYPE_CHECKING:
    from iconotext.encoders.folder import StoredModel
    from iconotext.encoders.space import Space
    from iconotext.features.backbone import TextBackbone
    from iconotext.features.cache import FeatureCache
    from iconotext.features.cached import ReadLayers

CAPTIONS = "minilm"
"""The text backbone that compares captions with sentences, for a model that reads words itself."""


def trained_encoder(
    folder: Path,
    *,
    name: str | None = None,
    text: str | None = None,
    image: str | None = None,
    cache: FeatureCache | None = None,
    stored: StoredModel | None = None,
    read_layers: ReadLayers | None = None,
) -> BackboneEncoder:
    """Load a trained model with its backbones or, if it does not encode pictures, the file with their features.

    Args:
        folder: The model's folder.
        name: The model's name, as the user gave it; default: the folder.
        text: Text backbone; None for the model's own.
        image: Image backbone, table of features, or source of regions; None for the model's own.
        cache: The cache for features; None for no cache.
        stored: The contents of the folder, if they were read before.
        read_layers: As for ``cached_text``.

    Raises:
        FeatureError: A part cannot be loaded, or a backbone differs from the one in training.
    """
    from iconotext.encoders.folder import load_model
    from iconotext.features import cached_text, load_text_backbone
    from iconotext.features.model_folder import folder_name

    stored = stored or load_model(folder)
    features = stored.recipe.features
    if stored.recipe.dual_encoder:
        reading, source = _dual(folder, stored, {"text": text, "image": image}, cache)
    else:
        reading = load_text_backbone(CAPTIONS if features.text == "words" else text or features.text)
        _check_same(folder, stored, {"text": "words" if features.text == "words" else reading.name})
        source = _image_source(folder, stored, image or features.image, cache)
    texts = reading if cache is None else cached_text(reading, cache, read_layers=read_layers)
    uncached, own = reading, texts
    if stored.vocabulary is not None and stored.recipe.words is not None:
        longest = stored.recipe.words.max_tokens
        uncached = own = word_reader(stored, stored.vocabulary, longest, folder_name(folder))
    space: Space = JointSpace(stored)
    if stored.recipe.linking.bridge:
        space = MixedSpace(space, ConceptBridge(texts, source.classes or ()), stored.recipe.linking.bridge)
    layer = stored.model.coherence if stored.relations else None
    coherence = None if layer is None else Coherence(tuple(stored.relations), layer)
    return BackboneEncoder(name or str(folder), texts, own, uncached, source, space, coherence, folder)


def _dual(
    folder: Path, stored: StoredModel, asked: Mapping[str, str | None], cache: FeatureCache | None
) -> tuple[TextBackbone, ImageSource]:
    from iconotext.features import load_dual_encoder

    own = stored.recipe.features.text
    for side, other in asked.items():
        if other not in (None, own):
            raise FeatureError(f"{folder}: was trained on the dual encoder {own}; {side}={other} is another")
    if stored.recipe.towers:
        both = load_dual_encoder(str(folder / DUAL))
    else:
        both = load_dual_encoder(own)
        _check_same(folder, stored, {"text": both.text.name, "image": both.image.name})
    return both.text, looking_with(both.image, cache)


def _image_source(folder: Path, stored: StoredModel, wanted: str, cache: FeatureCache | None) -> ImageSource:
    from iconotext.features import load_image_backbone

    features = stored.recipe.features
    if features.image == "pixels":
        from iconotext.features.model_folder import folder_name
        from iconotext.networks.image_network import trained_network

        network = trained_network(stored.model.image, folder_name(folder), stored.recipe.dim)
        return looking_with(network, cache)
    if stored.recipe.regions:
        return _regions(folder, stored, wanted, cache)
    if features.image.endswith(".npy"):
        from iconotext.features.feature_table import load_feature_table

        if not Path(wanted).is_file():
            raise FeatureError(f"{folder}: the model looks images up in a table of features; name it: image=FILE.npy")
        return looking_up_in(load_feature_table(Path(wanted)))
    backbone = load_image_backbone(wanted)
    _check_same(folder, stored, {"image": backbone.name})
    return looking_with(backbone, cache)


def _regions(folder: Path, stored: StoredModel, wanted: str, cache: FeatureCache | None) -> ImageSource:
    """Make the source of a model that reads regions, from a detector or a file.

    Raises:
        FeatureError: The regions have features of another length, or other concepts, than in training.
    """
    from iconotext.encoders.region_backbone import looking_at_regions
    from iconotext.features import load_regions
    from iconotext.features.model_folder import folder_name
    from iconotext.features.region_files import is_region_file

    if Path(wanted).suffix in REGION_FILES and not Path(wanted).exists():
        raise FeatureError(f"{folder}: the model looks regions up in a file; name it: image={Path(wanted).name}")
    source, dim = load_regions(wanted), stored.inputs.image_features
    if source.dim != dim:
        raise FeatureError(f"{folder}: was trained on regions of {dim} numbers, those of {wanted} have {source.dim}")
    if stored.recipe.reads_concepts and list(source.concepts or ()) != list(stored.concepts):
        raise FeatureError(
            f"{folder}: was trained on other concepts than {wanted} names; give it the same names in the same order"
        )
    in_file = is_region_file(Path(wanted))
    if not in_file:  # a file is of one corpus, so it may differ
        _check_same(folder, stored, {"image": source.name})
    return looking_at_regions(stored, source, f"{folder_name(folder)}/{source.name}", in_file=in_file, cache=cache)


def _check_same(folder: Path, stored: StoredModel, used: Mapping[str, str]) -> None:
    """Raise ``FeatureError`` if a backbone differs from the one in training."""
    for side, name in used.items():
        trained = stored.backbones.get(side)
        if trained != name:
            raise FeatureError(f"{folder}: was trained on the {side} backbone {trained}, not {name}; use that one")
