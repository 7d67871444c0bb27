import re
import shutil
import sys
from io import BytesIO

import numpy as np
import pytest
import torch
from PIL import Image as Pillow

from iconotext.errors import FeatureError, MissingPackageError
from iconotext.features import load_dual_encoder, load_image_backbone, load_text_backbone
from iconotext.features.hub_files import WEIGHTS
from iconotext.features.resnet import load_resnet
from tests.support.graph_models import change
from tests.support.images import noise


@pytest.fixture
def resnet(models, tmp_path):
    """A copy to change."""
    return shutil.copytree(models / "resnet", tmp_path / "resnet")


@pytest.mark.parametrize("name", ["resnet", "resnet-without-head"])
def test_features_are_those_of_transformers(models, files, name):
    import transformers

    backbone = load_image_backbone(str(models / name))
    features = backbone.encode(files)
    assert features.pooled.shape == (4, 12)
    assert backbone.classes is None
    assert [problem is None for problem in features.problems] == [True, False, True, True]
    model = transformers.ResNetModel.from_pretrained(models / name).eval()
    processor = transformers.ConvNextImageProcessor.from_pretrained(models / name)
    for row in (0, 2, 3):
        pixels = processor(images=Pillow.open(BytesIO(files[row])).convert("RGB"), return_tensors="pt")
        with torch.inference_mode():
            wanted = model(**pixels).pooler_output.flatten().numpy()
        np.testing.assert_allclose(features.pooled[row], wanted, atol=1e-4)


def test_one_picture_alone_and_among_others(models, files):
    backbone = load_image_backbone(str(models / "resnet"))
    together = backbone.encode(files)
    np.testing.assert_allclose(backbone.encode(files[2:3]).pooled[0], together.pooled[2], atol=1e-6)


def test_regions_are_left_to_others(models):
    with pytest.raises(FeatureError, match="knows no regions"):
        load_image_backbone(str(models / "resnet")).encode([noise(0)], regions=True)


def test_weights_in_half_precision_are_computed_in_single(models, resnet):
    from safetensors.torch import load_file, save_file

    weights = load_file(resnet / WEIGHTS)
    halves = {name: tensor.half() for name, tensor in weights.items() if tensor.is_floating_point()}
    save_file(weights | halves, resnet / WEIGHTS)
    whole, half = (load_image_backbone(str(folder)).encode([noise(0)]).pooled for folder in (models / "resnet", resnet))
    np.testing.assert_allclose(half, whole, atol=1e-2)


@pytest.mark.parametrize("load", [load_text_backbone, load_image_backbone, load_dual_encoder])
@pytest.mark.parametrize("name", ["nobody/no-such-model", "no/such/folder", "./none", ""])
def test_a_name_that_cannot_be_had_is_one_line(load, name):
    with pytest.raises(FeatureError, match="^" + re.escape(name) + ": no such model") as error:
        load(name)
    assert "\n" not in str(error.value)


def test_a_folder_without_a_model_is_one_line(tmp_path):
    for load in (load_image_backbone, load_dual_encoder):
        with pytest.raises(FeatureError, match=r"has no ONNX graph of an encoder .* export it with optimum"):
            load(str(tmp_path))


def test_weights_that_are_missing_are_not_made_up(resnet):
    from safetensors.torch import load_file, save_file

    weights = load_file(resnet / WEIGHTS)
    save_file({name: tensor for name, tensor in weights.items() if "encoder.stages.1" not in name}, resnet / WEIGHTS)
    with pytest.raises(FeatureError, match=r"cannot be loaded \('encoder\.stages\.1") as error:
        load_image_backbone(str(resnet))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"depths": [10**9, 1]}, "more than 1,000 layers"),
        ({"depths": [10**9, -(10**9)]}, "more than 1,000 layers"),
        ({"depths": [0] * 10**5, "hidden_sizes": [8] * 10**5}, "more than 1,000 layers"),
        ({"hidden_sizes": [10**9, 10**9]}, "cannot be loaded"),
        ({"embedding_size": 10**6}, "cannot be loaded"),
        ({"hidden_sizes": "wide"}, "cannot be loaded"),
        ({"layer_type": "evil"}, "cannot be loaded"),
    ],
)
def test_a_small_folder_cannot_cost_much(resnet, settings, said):
    change(resnet / "config.json", **settings)
    with pytest.raises(FeatureError, match=said) as error:
        load_resnet("resnet", resnet)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("settings", [{"size": 10**9}, {"crop_pct": 0}, {"crop_pct": 1e-9}, {"crop_pct": "half"}])
def test_sizes_of_pictures_that_cannot_be_followed(resnet, settings):
    change(resnet / "preprocessor_config.json", **settings)
    with pytest.raises(FeatureError, match="cannot be followed"):
        load_image_backbone(str(resnet))


def test_a_large_square_is_squashed(resnet):
    import transformers

    change(resnet / "preprocessor_config.json", size={"shortest_edge": 384})
    picture, backbone = noise(4, (500, 300)), load_image_backbone(str(resnet))
    processor = transformers.ConvNextImageProcessor.from_pretrained(resnet)
    model = transformers.ResNetModel.from_pretrained(resnet).eval()
    pixels = processor(images=Pillow.open(BytesIO(picture)).convert("RGB"), return_tensors="pt")
    with torch.inference_mode():
        wanted = model(**pixels).pooler_output.flatten().numpy()
    np.testing.assert_allclose(backbone.encode([picture]).pooled[0], wanted, atol=1e-4)


def test_without_its_packages_the_extra_is_named(resnet, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(
        MissingPackageError, match=r'a ResNet needs transformers, .*: pip install "iconotext\[resnet\]"$'
    ):
        load_image_backbone(str(resnet))


def test_a_model_that_is_none_is_named(models):
    with pytest.raises(FeatureError, match="clip: is clip, not a ResNet"):
        load_resnet("clip", models / "clip")
