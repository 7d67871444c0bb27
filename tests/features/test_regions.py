"""Regions of a grid, and the arrays that regions are handed over in."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iconotext.errors import FeatureError, ShapeError
from iconotext.features import FeatureCache, Regions, imagenet_classes, load_image_backbone, load_regions
from iconotext.features.regions import GRID, grid_boxes, strongest
from iconotext.types import Image
from tests.support.detected_regions import joined
from tests.support.images import noise


def arrays(count, dim=3):
    return {
        "features": np.zeros((count, dim), np.float16),
        "boxes": np.zeros((count, 4), np.float32),
        "concepts": np.zeros(count, np.int32),
        "scores": np.zeros(count, np.float32),
    }


def test_cells_of_the_grid_cover_the_picture_row_by_row():
    boxes = grid_boxes()
    assert boxes.shape == (36, 4)
    assert boxes.dtype == np.float32
    for i, box in enumerate(boxes):
        row, column = i // GRID, i % GRID
        np.testing.assert_allclose(box, np.array([column, row, column + 1, row + 1]) / 6, atol=1e-7)
    assert (boxes[:, 2:] - boxes[:, :2]).prod(axis=1).sum() == pytest.approx(1)


def test_arrays_must_fit_each_other():
    assert len(Regions(**arrays(3))) == 3
    for name in ("features", "concepts", "scores"):
        with pytest.raises(ShapeError, match=f"{name} has 2 rows, there are 3 boxes"):
            Regions(**arrays(3) | {name: arrays(2)[name]})


def test_a_grid_has_36_regions_of_each_good_picture(files):
    source = load_regions()
    images = [Image(f"{i}.png", file=file) for i, file in enumerate(files)] + [Image("gone.png")]
    regions = joined(source.regions(images))
    assert regions.counts.tolist() == [36, 0, 36, 36, 0]
    assert [problem is None for problem in regions.problems] == [True, False, True, True, False]
    assert regions.features.shape == (108, source.dim)
    assert regions.features.dtype == np.float16
    assert regions.boxes.dtype == regions.scores.dtype == np.float32
    assert regions.concepts.dtype == np.int32
    np.testing.assert_array_equal(regions.boxes, np.concatenate([grid_boxes()] * 3))
    assert source.concepts == imagenet_classes()
    assert ((regions.scores > 0) & (regions.scores <= 1)).all()
    backbone = load_image_backbone().encode(files, regions=True)
    good = [0, 2, 3]
    np.testing.assert_array_equal(regions.features.reshape(3, 36, -1), backbone.regions[good])
    np.testing.assert_array_equal(regions.concepts.reshape(3, 36), backbone.region_classes[good])


def test_a_grid_of_no_picture_at_all():
    source = load_regions()
    regions = joined(source.regions([Image("a.png", file=b"x"), Image("b.png")]))
    assert regions.counts.tolist() == [0, 0]
    assert all(regions.problems)
    assert len(source.regions([])) == 0


def test_a_grid_looks_at_each_picture_once(files, tmp_path, monkeypatch):
    cached = load_regions(cache=FeatureCache(tmp_path / "features.sqlite"))
    images = [Image(f"{i}.png", file=file) for i, file in enumerate(files)]
    first = joined(cached.regions(images))
    good = [images[i] for i in (0, 2, 3)]
    monkeypatch.setattr("iconotext.features.decoding.run_network", None)
    again = joined(cached.regions(good))
    np.testing.assert_array_equal(again.features, first.features)
    np.testing.assert_array_equal(again.concepts, first.concepts)
    assert cached.name == load_regions().name
    assert cached.name != load_image_backbone().name


def test_a_model_that_tells_no_regions_apart_is_refused(models):
    source = load_regions(str(models / "clip"))
    with pytest.raises(FeatureError, match="knows no regions"):
        source.regions([Image("a.png", file=noise(0))])


@given(st.lists(st.integers(0, 4), max_size=9), st.integers(1, 5) | st.none())
def test_the_strongest_regions_in_their_order(scores, at_most):
    count = len(scores)
    given = {"scores": np.array(scores, np.float32) / 4, "concepts": np.arange(count, dtype=np.int32)}
    ranked = sorted((-score, i) for i, score in enumerate(scores))[:at_most]
    assert strongest(Regions(**arrays(count) | given), at_most).concepts.tolist() == sorted(i for _, i in ranked)
