"""What a detector found in pictures, and the published layouts in which programs write it down."""

import base64
import io
import json
from types import SimpleNamespace

import h5py
import lmdb
import msgpack
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


def write_fixed(path, found, *, spatial=True, **more):
    """Every picture with as many regions, as Hu 2017."""
    with h5py.File(path, "w") as file:
        file["image_features"] = np.stack([one.features for one in found.values()])
        file["image_bb"] = np.stack([one.pixels for one in found.values()])
        if spatial:
            shares = np.stack([one.shares for one in found.values()])
            file["spatial_features"] = np.concatenate([shares, shares[..., 2:] - shares[..., :2]], axis=2)
        for name, values in more.items():
            file[name] = values
    return path


def packed(array, text_keys):
    """As msgpack-numpy does, whose first versions had texts as keys and whose later ones have bytes."""
    fields = {"nd": True, "type": array.dtype.str, "shape": array.shape, "data": array.tobytes()}
    return fields if text_keys else {key.encode(): value for key, value in (fields | {"kind": b""}).items()}


def write_lmdb(path, found, *, compressed=False, text_keys=False, subdir=True, raw=()):
    """As UNITER does."""
    with lmdb.open(str(path), subdir=subdir, map_size=1 << 24) as env, env.begin(write=True) as entries:
        for name, one in found.items():
            arrays = {k: v.astype(np.float16) if k == "features" else v for k, v in uniter(name, one).items()}
            value = msgpack.packb({k: packed(v, text_keys) for k, v in arrays.items()}, use_bin_type=True)
            if compressed:
                stream = io.BytesIO()
                np.savez_compressed(stream, **arrays, allow_pickle=True)
                value = stream.getvalue()
            entries.put(f"{name}.npz".encode(), value)
        for name, value in raw:
            entries.put(name.encode(), value)
        entries.put(b"__keys__", json.dumps([f"{name}.npz" for name in found]).encode())
    return path


class Evil:
    def __reduce__(self):
        return print, ("unpickled",)


ONE = Regional(0)
