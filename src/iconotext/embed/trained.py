"""A trained model together with what it was trained on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.errors import FeatureError
from iconotext.recipe.settings import REGION_FILES

if TYPE_CHECKING:
    from iconotext.embed.folder import StoredModel
    from iconotext.embed.region_backbone import RegionBackbone
    from iconotext.features.backbone import ImageBackbone, TextBackbone
    from iconotext.features.feature_table import FeatureTable


def load_trained(
    folder: Path, *, text: str | None, image: str | None, default_text: str
) -> tuple[StoredModel, TextBackbone, ImageBackbone | None, FeatureTable | RegionBackbone | None]:
    """Load a model, its backbones, and where it does not look at pictures, the file it looks them up in.

    Args:
        folder: Of the model.
        text: Text backbone, None for the model's own.
        image: Image backbone, table of features, or source of regions; None for the model's own.
        default_text: What compares captions with sentences where the model itself reads words.

    Returns:
        The model, the text backbone, and either the image backbone or the table.

    Raises:
        FeatureError: Something cannot be loaded, or a backbone is another one than in training.
    """
    from iconotext.embed.folder import load_model
    from iconotext.features import load_dual_encoder, load_image_backbone, load_text_backbone

    stored = load_model(folder)
    features = stored.recipe.features
    if stored.recipe.dual_encoder:
        for side, other in {"text": text, "image": image}.items():
            if other not in (None, features.text):
                raise FeatureError(
                    f"{folder}: was trained on the dual encoder {features.text}; {side}={other} is another"
                )
        both = load_dual_encoder(features.text)
        _same(folder, stored, {"text": both.text.name, "image": both.image.name})
        return stored, both.text, both.image, None
    words = features.text == "words"
    reading = load_text_backbone(default_text if words else text or features.text)
    wanted = image or features.image
    looking: ImageBackbone | None = None
    table: FeatureTable | RegionBackbone | None = None
    seen = features.image
    if features.image == "pixels":
        from iconotext.embed.network_backbone import NetworkBackbone
        from iconotext.features.fingerprint import folder_name

        looking = NetworkBackbone(stored, folder_name(folder))
    elif stored.recipe.regions:
        regions, from_file = _regions(stored, folder, wanted)
        looking, table = (None, regions) if from_file else (regions, None)
        seen = regions.source.name
    elif features.image.endswith(".npy"):
        from iconotext.features.feature_table import load_feature_table

        if not Path(wanted).is_file():
            raise FeatureError(f"{folder}: the model looks images up in a table of features; name it: image=FILE.npy")
        table = load_feature_table(Path(wanted))
    else:
        looking = load_image_backbone(wanted)
        seen = looking.name
    used = {"text": "words" if words else reading.name}
    if features.image != "pixels" and table is None:  # else another corpus has another file
        used["image"] = seen
    _same(folder, stored, used)
    return stored, reading, looking, table


def _same(folder: Path, stored: StoredModel, used: Mapping[str, str]) -> None:
    """Raise where a side's backbone is another one than in training."""
    for side, name in used.items():
        trained = stored.backbones.get(side)
        if trained != name:
            raise FeatureError(f"{folder}: was trained on the {side} backbone {trained}, not {name}; use that one")


def _regions(stored: StoredModel, folder: Path, wanted: str) -> tuple[RegionBackbone, bool]:
    """What the model makes of regions, and whether they come from a file.

    Raises:
        FeatureError: The regions are of another length, or their concepts are others, than in training.
    """
    from iconotext.embed.region_backbone import RegionBackbone
    from iconotext.features import load_regions
    from iconotext.features.fingerprint import folder_name
    from iconotext.features.regions.files import is_region_file

    if Path(wanted).suffix in REGION_FILES and not Path(wanted).exists():
        raise FeatureError(f"{folder}: the model looks regions up in a file; name it: image={Path(wanted).name}")
    source, dim = load_regions(wanted), stored.inputs.image_features
    if source.dim != dim:
        raise FeatureError(f"{folder}: was trained on regions of {dim} numbers, those of {wanted} have {source.dim}")
    if stored.recipe.reads_concepts and list(source.concepts or ()) != list(stored.concepts):
        raise FeatureError(
            f"{folder}: was trained on other concepts than {wanted} names; give it the same names in the same order"
        )
    return RegionBackbone(stored, source, f"{folder_name(folder)}/{source.name}"), is_region_file(Path(wanted))
