import hashlib

import numpy as np
import pytest

from iconotext.errors import ImageError
from iconotext.features import FeatureCache, ImageFeatures, cached_image, cached_text, share_space
from iconotext.features.backbone import blank_features
from iconotext.images import decode
from tests.support.encoders import image_backbone, text_backbone
from tests.support.images import noise

BROKEN = b"no picture"


class CountingText:
    """Random unit vectors by text; remembers what it was asked."""

    name = "counting"
    dim = 5

    def __init__(self):
        self.asked = []

    def encode(self, texts):
        self.asked += texts
        vectors = np.stack([_vector(text.encode(), self.dim) for text in texts])
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class CountingImage:
    """Random features by content; remembers how many files it was asked for."""

    name = "counting"
    dim = 4
    classes = ("a", "b", "c")

    def __init__(self):
        self.asked = 0

    def encode(self, files, *, regions=False):
        self.asked += len(files)
        features = blank_features(len(files), self.dim, classes=3, regions=regions)
        problems = []
        for row, file in enumerate(files):
            try:
                decode(file)
            except ImageError as error:
                problems.append(str(error))
                continue
            problems.append(None)
            data = file if isinstance(file, bytes) else file.read_bytes()
            for array in features.arrays().values():
                array[row] = (100 * _vector(data, array[row].size)).reshape(array[row].shape).astype(array.dtype)
        return ImageFeatures(**features.arrays(), problems=tuple(problems))


def _vector(data, dim):
    seed = int.from_bytes(hashlib.sha256(data).digest()[:8])
    return np.random.default_rng(seed).random(dim).astype(np.float32)


@pytest.fixture
def cache(tmp_path):
    return FeatureCache(tmp_path / "features.sqlite")


def assert_same(left, right):
    assert left.problems == right.problems
    assert left.arrays().keys() == right.arrays().keys()
    for name, array in left.arrays().items():
        assert array.dtype == right.arrays()[name].dtype
        np.testing.assert_array_equal(array, right.arrays()[name])


def test_texts_are_encoded_once(cache):
    backbone = CountingText()
    cached = cached_text(text_backbone(backbone), cache)
    texts = ["a", "b", "a", "ü", ""]
    first = cached.encode(texts)
    np.testing.assert_array_equal(first, CountingText().encode(texts))
    assert sorted(backbone.asked) == ["", "a", "b", "ü"]
    np.testing.assert_array_equal(cached.encode([*texts, "new"])[:5], first)
    assert backbone.asked[4:] == ["new"]


def test_text_wrapper_is_a_backbone(cache):
    cached = cached_text(text_backbone(CountingText()), cache)
    assert (cached.name, cached.dim) == ("counting", 5)
    assert cached.encode([]).shape == (0, 5)
    assert share_space(cached, cached_image(image_backbone(CountingImage()), cache))


def test_a_lone_surrogate_is_a_text_too(cache):
    backbone = CountingText()
    backbone.encode = lambda texts: np.ones((len(texts), 5), np.float32)
    assert cached_text(text_backbone(backbone), cache).encode(["\ud800"]).shape == (1, 5)


@pytest.mark.parametrize("regions", [False, True])
def test_pictures_are_encoded_once_wherever_they_lie(cache, tmp_path, regions):
    backbone = CountingImage()
    cached = cached_image(image_backbone(backbone), cache)
    (tmp_path / "a.png").write_bytes(noise(1))
    files = [noise(0), tmp_path / "a.png", noise(0), noise(1)]
    expected = CountingImage().encode(files, regions=regions)
    assert_same(cached.encode(files, regions=regions), expected)
    assert backbone.asked == 2
    assert_same(cached.encode(files, regions=regions), expected)
    assert backbone.asked == 2


def test_regions_that_were_not_asked_for_are_encoded_later(cache):
    backbone = CountingImage()
    cached = cached_image(image_backbone(backbone), cache)
    cached.encode([noise(0)])
    assert_same(cached.encode([noise(0)], regions=True), CountingImage().encode([noise(0)], regions=True))
    assert backbone.asked == 2
    assert cached.encode([noise(0)]).regions is None
    assert backbone.asked == 2


def test_problems_are_told_and_not_kept(cache, tmp_path):
    backbone = CountingImage()
    cached = cached_image(image_backbone(backbone), cache)
    files = [BROKEN, noise(0), tmp_path / "later.png", BROKEN]
    expected = CountingImage().encode(files)
    assert expected.problems[1] is None
    for _ in range(2):
        assert_same(cached.encode(files), expected)
    files[2].write_bytes(noise(5))
    asked = backbone.asked
    assert cached.encode(files).problems[2] is None
    assert backbone.asked == asked + 2  # the new file, and the broken one again


def test_no_pictures(cache):
    features = cached_image(image_backbone(CountingImage()), cache).encode([], regions=True)
    assert features.pooled.shape == (0, 4)
    assert features.regions.shape == (0, 36, 4)
    assert features.problems == ()


def test_more_than_are_written_at_once(cache, monkeypatch):
    monkeypatch.setattr("iconotext.features.cached_backbones.IMAGES", 4)
    monkeypatch.setattr("iconotext.features.cached_backbones.TEXTS", 4)
    files = [noise(i % 7) for i in range(11)] + [BROKEN]
    assert_same(cached_image(image_backbone(CountingImage()), cache).encode(files), CountingImage().encode(files))
    texts = [str(i % 7) for i in range(11)]
    np.testing.assert_array_equal(
        cached_text(text_backbone(CountingText()), cache).encode(texts), CountingText().encode(texts)
    )


def test_backbones_share_a_file_without_mixing(cache):
    one, other = CountingText(), CountingText()
    other.name = "other"
    cached_text(text_backbone(one), cache).encode(["a"])
    cached_text(text_backbone(other), cache).encode(["a"])
    assert other.asked == ["a"]


def test_without_a_working_cache_it_still_encodes(tmp_path):
    (tmp_path / "file").touch()
    cache = FeatureCache(tmp_path / "file" / "x")
    files = [noise(0), BROKEN, noise(0)]
    assert_same(cached_image(image_backbone(CountingImage()), cache).encode(files), CountingImage().encode(files))
    assert cached_text(text_backbone(CountingText()), cache).encode(["a", "a"]).shape == (2, 5)
