"""Pictures and sentences to frozen arrays. Importing this is quick: backbones load PyTorch when they are used."""

from __future__ import annotations

from pathlib import Path

from iconotext.features.backbone import DualEncoder, ImageBackbone, ImageFeatures, TextBackbone, share_space
from iconotext.features.cache import FeatureCache, cache_folder
from iconotext.features.cached import cached_image, cached_regions, cached_text
from iconotext.features.concepts import centred, concept_vectors, imagenet_classes
from iconotext.features.regions import GridRegions, Regions, RegionSource

__all__ = [
    "DualEncoder",
    "FeatureCache",
    "ImageBackbone",
    "ImageFeatures",
    "RegionSource",
    "Regions",
    "TextBackbone",
    "cache_folder",
    "cached_image",
    "cached_regions",
    "cached_text",
    "centred",
    "concept_vectors",
    "imagenet_classes",
    "load_dual_encoder",
    "load_image_backbone",
    "load_regions",
    "load_text_backbone",
    "share_space",
]

EMBEDDED_IMAGES = "efficientnet-lite0"
"""The image backbone that comes with the program."""


def load_text_backbone(name: str = "minilm") -> TextBackbone:
    """A text encoder.

    Args:
        name: ``minilm``, which comes with the program; else a sentence-transformers model: a local folder, or a name
            on the Hugging Face hub.

    Raises:
        FeatureError: There is no such model, or it cannot be fetched.
    """
    if name == "minilm":
        from iconotext.features.minilm import minilm

        return minilm()
    from iconotext.features.minilm import BertSentences, is_mean_bert

    if is_mean_bert(Path(name)):
        return BertSentences(Path(name))
    from iconotext.features.sentence_transformer import load_sentence_transformer

    return load_sentence_transformer(name)


def load_image_backbone(name: str = EMBEDDED_IMAGES) -> ImageBackbone:
    """An image encoder.

    Args:
        name: ``efficientnet-lite0``, which comes with the program; else a vision model for Hugging Face transformers:
            a local folder, or a name on the hub.

    Raises:
        FeatureError: There is no such model, or it cannot be fetched, or it is no vision model.
    """
    if name == EMBEDDED_IMAGES:
        from iconotext.features.efficientnet import EfficientNetBackbone

        return EfficientNetBackbone()
    from iconotext.features.huggingface import load_vision_model

    return load_vision_model(name)


def load_dual_encoder(name: str) -> DualEncoder:
    """A text and an image encoder of one space.

    Args:
        name: A local folder or a name on the Hugging Face hub: a CLIP-like model for sentence-transformers (such as
            ``sentence-transformers/clip-ViT-B-32``) or for transformers (CLIP, SigLIP).

    Raises:
        FeatureError: There is no such model, or it cannot be fetched, or it has no two sides.
    """
    from iconotext.features.hub import has_file

    if has_file(name, "modules.json"):  # the layout of sentence-transformers
        from iconotext.features.sentence_transformer import load_clip_like

        return load_clip_like(name)
    from iconotext.features.huggingface import load_clip

    return load_clip(name)


def load_regions(name: str = EMBEDDED_IMAGES, *, cache: FeatureCache | None = None) -> RegionSource:
    """What there is to see in a picture, region by region.

    Args:
        name: A file or folder of precomputed regions (``.tsv``, ``.h5``, ``.hdf5``, ``.lmdb``, a folder of ``.npz``);
            an object detector for Hugging Face transformers, a local folder or a name on the hub; else an image
            backbone as for ``load_image_backbone``, of which the 6 × 6 cells of the last feature map are the regions.
        cache: Where the regions are kept that a detector or backbone finds; files are read as they are.

    Raises:
        FeatureError: There is no such file or model, it cannot be read or fetched, or it tells no regions apart.
    """
    from iconotext.features.regions.files import is_region_file, load_region_file

    if is_region_file(Path(name)):
        return load_region_file(Path(name))
    from iconotext.features.regions.detector import is_detector, load_detector

    if name != EMBEDDED_IMAGES and is_detector(name):
        detector = load_detector(name)
        return detector if cache is None else cached_regions(detector, cache)
    backbone = load_image_backbone(name)
    return GridRegions(backbone if cache is None else cached_image(backbone, cache))
