"""Frozen features of pictures and sentences: the functions that load a backbone or a source of regions.

Begin with ``load_text_backbone``, ``load_image_backbone`` and ``load_regions``. Importing this package is fast: PyTorch
is loaded only when it is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from iconotext.features.backbone import DualEncoder, ImageBackbone, ImageFeatures, TextBackbone, share_space
from iconotext.features.cache import FeatureCache, cache_folder
from iconotext.features.cached_backbones import cached_image, cached_text
from iconotext.features.efficientnet import imagenet_classes
from iconotext.features.graph_files import is_resnet
from iconotext.features.model_folder import (
    IMAGE_BACKBONES,
    TEXT_BACKBONES,
    downloads,
    find_model,
    folder_of_model,
)
from iconotext.features.regions import Regions, RegionSource, grid_regions
from iconotext.recipe.settings import REGION_FILES

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
    "cached_text",
    "check_backbones",
    "downloads",
    "find_model",
    "imagenet_classes",
    "load_dual_encoder",
    "load_image_backbone",
    "load_regions",
    "load_text_backbone",
    "share_space",
]


def check_backbones(text: str | None, image: str | None) -> None:
    """Check that backbones exist, without loading them.

    Args:
        text: As for ``load_text_backbone``; None or ``words`` for none.
        image: As for ``load_image_backbone`` or ``load_regions``; None or ``pixels`` for none. Files of features are
            not checked here.
    """
    if text not in (None, "words"):
        find_model(text, TEXT_BACKBONES)
    if image not in (None, "pixels") and Path(image).suffix not in (".npy", *REGION_FILES):
        find_model(image, IMAGE_BACKBONES)


def load_text_backbone(name: str = "minilm") -> TextBackbone:
    """Load a text encoder.

    Args:
        name: ``minilm``, which is in the package: English, with an encoder of other languages beside it. Else the ONNX
            graphs of a sentence encoder or of a dual encoder (CLIP, SigLIP): a folder, or a name on the Hugging Face
            hub, see ``find_model``.

    Raises:
        FeatureError: There is no such model, or it cannot be loaded.
    """
    folder = find_model(name, TEXT_BACKBONES)
    if folder is None:
        from iconotext.features.minilm import ENGLISH, MiniLM
        from iconotext.features.token_network import load_others

        minilm = MiniLM()
        return TextBackbone(minilm.name, minilm.dim, minilm.encode, ENGLISH, minilm.with_layers, load_others())
    from iconotext.features.graph_models import load_text_graph

    return load_text_graph(name, folder)


def load_image_backbone(name: str = IMAGE_BACKBONES[0]) -> ImageBackbone:
    """Load an image encoder.

    Args:
        name: ``efficientnet-lite0``, which is in the package; else the ONNX graphs of an image encoder or of a dual
            encoder, or a ResNet for Hugging Face transformers: a folder, or a name on the hub, see ``find_model``.

    Raises:
        FeatureError: There is no such model, or it cannot be loaded, or it is no vision model.
    """
    folder = find_model(name, IMAGE_BACKBONES)
    if folder is None:
        from iconotext.features.efficientnet import load_efficientnet

        return load_efficientnet()
    if is_resnet(folder):
        from iconotext.features.resnet import resnet_backbone

        return resnet_backbone(name, folder)
    from iconotext.features.graph_models import load_image_graph

    return load_image_graph(name, folder)


def load_dual_encoder(name: str, other_names: Sequence[str] = ()) -> DualEncoder:
    """Load a text and an image encoder that share a space.

    Args:
        name: A folder, or a name on the Hugging Face hub, see ``find_model``, of ONNX graphs (CLIP, SigLIP).
        other_names: Other names that the caller accepts, for the error message.

    Raises:
        FeatureError: There is no such model, it cannot be loaded, or it does not have both sides.
    """
    folder = folder_of_model(name, other_names)
    from iconotext.features.graph_models import load_graphs

    return load_graphs(name, folder)


def load_regions(name: str = IMAGE_BACKBONES[0], *, cache: FeatureCache | None = None) -> RegionSource:
    """Load a source of image regions.

    Args:
        name: A file or folder of precomputed regions (``.tsv``, a folder of ``.npz``); else an image backbone as for
            ``load_image_backbone``, of which the 6 × 6 cells of the last feature map are the regions.
        cache: The cache for regions of a backbone; regions in a file are not cached.

    Raises:
        FeatureError: There is no such file or model, it cannot be read, or it has no regions.
    """
    from iconotext.features.region_files import is_region_file, load_region_file

    if is_region_file(Path(name)):
        return load_region_file(Path(name))
    backbone = load_image_backbone(name)
    return grid_regions(backbone if cache is None else cached_image(backbone, cache))
