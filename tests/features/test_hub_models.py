import json
import re
import shutil
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import numpy as np
import pytest
import torch

from iconotext.errors import FeatureError, MissingPackageError
from iconotext.features import (
    load_dual_encoder,
    load_image_backbone,
    load_regions,
    load_text_backbone,
    share_space,
)
from tests.support.hub_models import noise


@pytest.mark.parametrize(("name", "dim"), [("vit", 16), ("resnet", 12)])
def test_classifiers(models, files, name, dim):
    import transformers

    backbone = load_image_backbone(str(models / name))
    assert backbone.classes == tuple(f"class {i}" for i in range(5))
    features = backbone.encode(files, regions=True)
    assert features.pooled.shape == (4, dim)
    assert features.regions.shape == (4, 36, dim)
    np.testing.assert_allclose(features.probabilities.sum(1), [1, 0, 1, 1], atol=1e-6)
    assert [problem is None for problem in features.problems] == [True, False, True, True]
    model = transformers.AutoModelForImageClassification.from_pretrained(models / name)
    head = [module for module in model.modules() if isinstance(module, torch.nn.Linear)][-1]
    again = head(torch.from_numpy(features.pooled)).softmax(1).detach().numpy()
    np.testing.assert_allclose(again[[0, 2, 3]], features.probabilities[[0, 2, 3]], atol=1e-5)


def test_resnet_regions_have_classes(models):
    features = load_image_backbone(str(models / "resnet")).encode([noise(0)], regions=True)
    assert features.region_classes.shape == (1, 36)
    assert ((features.region_scores > 0.2) & (features.region_scores <= 1)).all()


@pytest.mark.parametrize(
    ("name", "dim"), [("vit-without-pooler", 16), ("vit-with-pooler", 16), ("resnet-without-head", 12)]
)
def test_models_without_a_classifier(models, files, name, dim):
    backbone = load_image_backbone(str(models / name))
    features = backbone.encode(files, regions=True)
    assert features.pooled.shape == (4, dim)
    assert features.regions.shape == (4, 36, dim)
    assert backbone.classes is None
    assert features.probabilities is None
    assert features.region_classes is None
    # A pooler that the folder lacks must not be made up at random.
    np.testing.assert_array_equal(load_image_backbone(str(models / name)).encode(files).pooled, features.pooled)


def test_one_picture_alone_and_among_others(models, files):
    backbone = load_image_backbone(str(models / "vit"))
    together = backbone.encode(files)
    np.testing.assert_allclose(backbone.encode(files[2:3]).pooled[0], together.pooled[2], atol=1e-6)


@pytest.mark.parametrize("name", ["clip", "siglip"])
def test_dual_encoders(models, files, name):
    dual = load_dual_encoder(str(models / name))
    assert share_space(dual.text, dual.image)
    assert dual.text.dim == dual.image.dim
    texts = ["a cat on the mat", "dog", "", "the " * 50]
    vectors = dual.text.encode(texts)
    features = dual.image.encode(files)
    assert vectors.shape == (4, dual.text.dim)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(features.pooled, axis=1), [1, 0, 1, 1], atol=1e-6)
    for i, text in enumerate(texts):
        np.testing.assert_allclose(dual.text.encode([text])[0], vectors[i], atol=1e-5)
    assert dual.text.encode([]).shape == (0, dual.text.dim)
    assert not share_space(load_text_backbone(), dual.image)
    assert load_image_backbone(str(models / name)).name == dual.text.name
    with pytest.raises(FeatureError, match="knows no regions"):
        dual.image.encode(files, regions=True)


def test_dual_encoder_is_what_transformers_computes(models):
    import transformers

    dual = load_dual_encoder(str(models / "clip"))
    model = transformers.CLIPModel.from_pretrained(models / "clip").eval()
    ids = torch.tensor([[0, 4, 5, 1]])  # <s> a cat </s>
    with torch.no_grad():
        expected = model(input_ids=ids, pixel_values=torch.zeros(1, 3, 32, 32)).text_embeds[0].numpy()
    np.testing.assert_allclose(dual.text.encode(["a cat"])[0], expected, atol=1e-6)


def test_a_vision_model_is_no_dual_encoder(models):
    with pytest.raises(FeatureError, match="no text side"):
        load_dual_encoder(str(models / "vit"))


@pytest.mark.parametrize("load", [load_text_backbone, load_image_backbone, load_dual_encoder])
@pytest.mark.parametrize("name", ["nobody/no-such-model", "no/such/folder", "./none", ""])
def test_a_name_that_cannot_be_had_is_one_line(load, name):
    with pytest.raises(FeatureError, match="^" + re.escape(name) + ": no such model") as error:
        load(name)
    assert "\n" not in str(error.value)


def test_a_folder_without_a_model_is_one_line(tmp_path):
    for load in (load_image_backbone, load_dual_encoder):
        with pytest.raises(FeatureError, match="cannot be loaded"):
            load(str(tmp_path))


@pytest.mark.parametrize(("kind", "model"), [("yolos", "YolosForObjectDetection"), ("detr", "DetrForObjectDetection")])
@pytest.mark.parametrize("load", [load_regions, load_image_backbone])
def test_a_detector_is_one_line(tmp_path, load, kind, model):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": kind, "architectures": [model]}))
    with pytest.raises(FeatureError, match=r": an object detector; let its own program write the regions") as error:
        load(str(tmp_path))
    assert "\n" not in str(error.value)


def test_weights_that_are_missing_are_not_made_up(models, tmp_path):
    from safetensors.torch import load_file, save_file

    path = shutil.copytree(models / "vit", tmp_path / "vit") / "model.safetensors"
    weights = {key: value for key, value in load_file(path).items() if not key.startswith("classifier")}
    save_file(weights, path, metadata={"format": "pt"})
    with pytest.raises(FeatureError, match=r"weights are missing \(classifier"):
        load_image_backbone(str(path.parent))


# Models of timm


@pytest.fixture
def timm_folder(tmp_path):
    """As timm itself saves a model: what transformers adds is not there."""
    settings = {
        "architecture": "densenet169",
        "num_classes": 5,
        "label_names": [f"class {i}" for i in range(5)],
        "model_args": {"growth_rate": 4, "block_config": [1, 1, 1, 1]},
        "pretrained_cfg": {"input_size": [3, 64, 64], "mean": [0.5] * 3, "std": [0.5] * 3, "crop_pct": 0.9},
    }
    (tmp_path / "config.json").write_text(json.dumps(settings))
    return tmp_path


@pytest.mark.parametrize("missing", ["timm", "torchvision"])
def test_a_model_of_timm_names_the_extra(timm_folder, monkeypatch, missing):
    for module in {"timm", "torchvision"} - {missing}:
        monkeypatch.setitem(sys.modules, module, there := ModuleType(module))
        there.__spec__ = ModuleSpec(module, None)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingPackageError, match=rf'needs {missing}, .*: pip install "iconotext\[timm\]"$') as error:
        load_image_backbone(str(timm_folder))
    assert "\n" not in str(error.value)


def test_a_torchvision_that_does_not_fit_is_one_line(timm_folder, monkeypatch, tmp_path):
    for module in ("timm", "torchvision"):
        monkeypatch.delitem(sys.modules, module, raising=False)
        (tmp_path / f"packages/{module}").mkdir(parents=True)
        line = "raise RuntimeError('operator torchvision::nms does not exist\\nand more')"
        (tmp_path / f"packages/{module}/__init__.py").write_text(line)
    monkeypatch.syspath_prepend(tmp_path / "packages")
    said = r"timm cannot be imported \(operator torchvision::nms does not exist\); install torchvision for this build"
    with pytest.raises(FeatureError, match=said) as error:
        load_image_backbone(str(timm_folder))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("saved_by", ["timm", "transformers", "transformers, without classifier"])
def test_densenet_of_timm(timm_folder, files, saved_by):
    timm = pytest.importorskip("timm", reason="its torchvision must fit the build of torch", exc_type=Exception)
    import transformers
    from safetensors.torch import save_file

    settings = json.loads((timm_folder / "config.json").read_text())
    if saved_by == "timm":
        network = timm.create_model("densenet169", pretrained=False, num_classes=5, **settings["model_args"])
        save_file(network.state_dict(), timm_folder / "model.safetensors", metadata={"format": "pt"})
    else:
        kind = "TimmWrapperModel" if "without" in saved_by else "TimmWrapperForImageClassification"
        model = getattr(transformers, kind)(transformers.TimmWrapperConfig.from_dict(settings))
        model.save_pretrained(timm_folder)
        network = model.timm_model
    backbone = load_image_backbone(str(timm_folder))
    features = backbone.encode(files, regions=True)
    assert features.pooled.shape == (4, network.num_features)
    assert features.regions.shape == (4, 36, network.num_features)
    if "without" in saved_by:
        assert backbone.classes is None
        assert features.probabilities is None
        return
    assert backbone.classes == tuple(f"class {i}" for i in range(5))
    again = network.classifier(torch.from_numpy(features.pooled)).softmax(1).detach().numpy()
    np.testing.assert_allclose(again[[0, 2, 3]], features.probabilities[[0, 2, 3]], atol=1e-5)
    assert ((features.region_scores[[0, 2, 3]] > 0.19) & (features.region_scores[[0, 2, 3]] <= 1)).all()
