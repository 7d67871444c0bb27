"""What a detector found in pictures, and the published layouts in which programs write it down."""

import base64
from types import SimpleNamespace

import numpy as np

from iconotext.types import Image

NAMES = ["yolk", "goal,goalie", "bathroom mirror", "tennis racket"]
IDS = ["7", "COCO_val2014_000000123456", "cats/9.jpg"]


class Regional:
    """What a detector found in a picture of 200 × 100 pixels."""

    def __init__(self, seed, count=3, dim=8):
        rng = np.random.default_rng(seed)
        low = rng.uniform(0, 0.5, (count, 2))
        self.shares = np.concatenate([low, low + rng.uniform(0, 0.5, (count, 2))], axis=1).astype(np.float32)
        self.pixels = self.shares * np.array([200, 100, 200, 100], np.float32)
        self.features = rng.uniform(0, 9, (count, dim)).astype(np.float32)
        self.objects = rng.integers(0, len(NAMES), count)
        self.sure = rng.uniform(0.3, 1, count).astype(np.float32)
        self.probabilities = np.full((count, len(NAMES) + 1), 0.01, np.float32)
        self.probabilities[np.arange(count), self.objects + 1] = self.sure
        self.count = count


def three():
    return {name: Regional(seed, count) for seed, (name, count) in enumerate(zip(IDS, [3, 5, 1], strict=True))}


def b64(array):
    return base64.b64encode(np.ascontiguousarray(array)).decode()


def anderson(name, one):
    return [name, 200, 100, one.count, b64(one.pixels), b64(one.features)]


def vilbert(name, one):
    return [*anderson(name, one), b64(one.probabilities)]


def lxmert(name, one):
    attributes = [b64(np.zeros(one.count, np.int64)), b64(np.zeros(one.count, np.float32))]
    head = [name, 100, 200, b64(one.objects.astype(np.int64)), b64(one.sure)]
    return [*head, *attributes, one.count, b64(one.pixels), b64(one.features)]


def write_tsv(path, rows, end="\r\n"):
    path.write_text("".join("\t".join(map(str, row)) + end for row in rows), newline="")
    return path


def write_names(folder, name="objects_vocab.txt"):
    (folder / name).write_text("\n".join(NAMES) + "\n")


def image(source):
    return Image(source=source)


def joined(found):
    """The regions of several pictures, picture after picture, how many each has, and what is wrong with each."""
    good = [each for each in found if not isinstance(each, str)]
    names = ("features", "boxes", "concepts", "scores")
    return SimpleNamespace(
        counts=np.array([0 if isinstance(each, str) else len(each) for each in found], np.int64),
        problems=tuple(each if isinstance(each, str) else None for each in found),
        **{name: np.concatenate([getattr(each, name) for each in good] or [[]]) for name in names},
    )


def check(source, found, *, named, sure=True):
    """All pictures, in another order than in the file, and one that is not there."""
    order = [*reversed(found), "nowhere.jpg", next(iter(found))]
    regions = joined(source.regions([image(name) for name in order]))
    assert [problem is None for problem in regions.problems] == [name in found for name in order]
    assert "has no regions of it" in regions.problems[len(found)]
    assert regions.counts.tolist() == [found[name].count if name in found else 0 for name in order]
    ones = [found[name] for name in order if name in found]
    np.testing.assert_array_equal(regions.features, np.concatenate([one.features for one in ones]).astype(np.float16))
    np.testing.assert_allclose(regions.boxes, np.concatenate([one.shares for one in ones]), atol=1e-6)
    expected = np.concatenate([one.objects for one in ones])
    np.testing.assert_array_equal(regions.concepts, expected if named else np.full_like(expected, -1))
    scores = np.concatenate([one.sure for one in ones])
    np.testing.assert_allclose(regions.scores, scores if sure else np.zeros_like(scores), atol=1e-6)
    assert source.concepts == (("yolk", "goal", "bathroom mirror", "tennis racket") if named else None)
    assert source.dim == ones[0].features.shape[1]
    assert regions.features.dtype == np.float16
    assert regions.boxes.dtype == regions.scores.dtype == np.float32
    assert regions.concepts.dtype == np.int32


def port(name, one):
    """The PyTorch port of bottom-up attention, with its pickled dictionary."""
    info = {"image_id": name, "objects_id": one.objects, "objects_conf": one.sure}
    shape = {"num_bbox": one.count, "image_h": 100, "image_w": 200}
    return {"x": one.features, "bbox": one.pixels, **shape, "info": np.array(info, object)}


def mcan(name, one):
    return {"x": one.features.T, "bbox": one.pixels, "num_bbox": one.count, "image_h": 100, "image_w": 200}


def uniter(name, one):
    sides = one.shares[:, 2:] - one.shares[:, :2]
    half = {"norm_bb": np.concatenate([one.shares, sides], axis=1), "features": one.features}
    return half | {"conf": one.sure, "soft_labels": one.probabilities}


def plain(name, one):
    """No program's own: everything in the open."""
    seen = {"objects": one.objects.astype(np.int32), "objects_conf": one.sure, "attrs_id": np.zeros(one.count)}
    numbers = {"image_width": np.array([200]), "image_height": 100.0, "num_boxes": np.int32(one.count)}
    return {"features": one.features, "boxes": one.pixels} | seen | numbers


class Evil:
    def __reduce__(self):
        return print, ("unpickled",)


ONE = Regional(0)
