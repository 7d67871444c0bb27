"""Regions of a grid, and the arrays that regions are handed over in."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iconotext.errors import FeatureError, ShapeError
from iconotext.features import FeatureCache, Regions, imagenet_classes, load_image_backbone, load_regions
from iconotext.features.regions import GRID, grid_boxes, strongest
from iconotext.types import Image


def arrays(counts, dim=3):
    total = sum(counts)
    return {
        "counts": np.array(counts, np.int64),
        "features": np.zeros((total, dim), np.float16),
        "boxes": np.zeros((total, 4), np.float32),
        "concepts": np.zeros(total, np.int32),
        "scores": np.zeros(total, np.float32),
        "problems": (None,) * len(counts),
    }


def test_cells_of_the_grid_cover_the_picture_row_by_row():
    boxes = grid_boxes()
    assert boxes.shape == (36, 4)
    assert boxes.dtype == np.float32
    for i, box in enumerate(boxes):
        row, column = i // GRID, i % GRID
        np.testing.assert_allclose(box, np.array([column, row, column + 1, row + 1]) / 6, atol=1e-7)
    assert (boxes[:, 2:] - boxes[:, :2]).prod(axis=1).sum() == pytest.approx(1)


def test_regions_must_add_up():
    assert len(Regions(**arrays([2, 0, 1]))) == 3
    for name in ("features", "boxes", "concepts", "scores"):
        with pytest.raises(ShapeError, match=f"{name} has 2 rows, the counts add up to 3"):
            Regions(**arrays([2, 0, 1]) | {name: arrays([2])[name]})
    with pytest.raises(ShapeError, match="1 problems of 3"):
        Regions(**arrays([2, 0, 1]) | {"problems": (None,)})


def test_a_grid_has_36_regions_of_each_good_picture(files):
    source = load_regions()
    images = [Image(f"{i}.png", file=file) for i, file in enumerate(files)] + [Image("gone.png")]
    regions = source.regions(images)
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
    regions = source.regions([Image("a.png", file=b"x"), Image("b.png")])
    assert regions.counts.tolist() == [0, 0]
    assert all(regions.problems)
    assert regions.features.shape == (0, source.dim)
    assert len(source.regions([])) == 0


def test_a_grid_looks_at_each_picture_once(files, tmp_path, monkeypatch):
    from iconotext.features.efficientnet import EfficientNetBackbone

    cached = load_regions(cache=FeatureCache(tmp_path / "features.sqlite"))
    images = [Image(f"{i}.png", file=file) for i, file in enumerate(files)]
    first = cached.regions(images)
    good = [images[i] for i in (0, 2, 3)]
    monkeypatch.setattr(EfficientNetBackbone, "encode", None)
    again = cached.regions(good)
    np.testing.assert_array_equal(again.features, first.features)
    np.testing.assert_array_equal(again.concepts, first.concepts)
    assert cached.name == load_regions().name
    assert cached.name != load_image_backbone().name


def test_a_grid_of_a_model_without_a_classifier_names_nothing(models, noise):
    source = load_regions(str(models / "resnet-without-head"))
    regions = source.regions([Image("a.png", file=noise(0))])
    assert source.concepts is None
    assert regions.counts.tolist() == [36]
    assert (regions.concepts == -1).all()
    assert (regions.scores == 0).all()


def test_a_grid_of_a_classifier_of_transformers(models, noise):
    source = load_regions(str(models / "resnet"))
    regions = source.regions([Image("a.png", file=noise(0))])
    assert source.concepts == tuple(f"class {i}" for i in range(5))
    assert source.dim == regions.features.shape[1] == 12
    assert ((regions.concepts >= 0) & (regions.concepts < 5)).all()


def test_a_model_that_tells_no_regions_apart_is_refused(models, noise):
    source = load_regions(str(models / "clip"))
    with pytest.raises(FeatureError, match="knows no regions"):
        source.regions([Image("a.png", file=noise(0))])


@given(st.lists(st.lists(st.integers(0, 4), max_size=6), max_size=5), st.integers(1, 5) | st.none())
def test_the_strongest_regions_of_each_picture_in_their_order(pictures, at_most):
    scores = [score for picture in pictures for score in picture]
    regions = Regions(
        **arrays([len(picture) for picture in pictures])
        | {"scores": np.array(scores, np.float32) / 4, "concepts": np.arange(len(scores), dtype=np.int32)}
    )
    kept, start = [], 0
    for picture in pictures:
        ranked = sorted((-score, i) for i, score in enumerate(picture))[:at_most]
        kept.append(sorted(start + i for _, i in ranked))
        start += len(picture)
    found = strongest(regions, at_most)
    assert found.counts.tolist() == [len(some) for some in kept]
    assert found.concepts.tolist() == [i for some in kept for i in some]
