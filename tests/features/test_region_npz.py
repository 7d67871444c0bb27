"""NPZ files of regions, in the layouts of the PyTorch ports, MCAN and UNITER."""

import io
import logging
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iconotext.errors import FeatureError
from iconotext.features.region_files import is_region_file, load_region_file
from tests.support.detected_regions import (
    ONE,
    Evil,
    Regional,
    check,
    image,
    joined,
    mcan,
    plain,
    port,
    three,
    uniter,
    write_names,
)


@pytest.fixture
def found():
    return three()


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize(
    ("layout", "named", "sure"),
    [(mcan, False, False), (uniter, True, True), (plain, True, True), (uniter, False, True)],
)
def test_npz_of_each_layout(tmp_path, found, layout, named, sure, save):
    found = {name.replace("/", "-"): one for name, one in found.items()}
    for i, (name, one) in enumerate(found.items()):
        (tmp_path / str(i % 2)).mkdir(exist_ok=True)
        save(tmp_path / str(i % 2) / f"{name}.npz", **layout(name, one))
    save(tmp_path / "another.npz", **layout("another", Regional(9)))
    if named:
        write_names(tmp_path)
    assert is_region_file(tmp_path)
    check(load_region_file(tmp_path), found, named=named, sure=sure)


def test_npz_with_pickled_objects_says_that_they_are_not_read(tmp_path, caplog):
    one = Regional(0)
    np.savez(tmp_path / "7.npz", **port("7", one))
    write_names(tmp_path)
    with caplog.at_level(logging.WARNING):
        source = load_region_file(tmp_path)
    assert "info: not an array of numbers, so not read" in caplog.text
    assert "regions have no concepts" in caplog.text
    regions = joined(source.regions([image("7")]))
    assert regions.concepts.tolist() == [-1, -1, -1]
    np.testing.assert_array_equal(regions.features, one.features.astype(np.float16))


@pytest.mark.parametrize("name", ["features", "bbox", "info", "objects_id", "something"])
def test_npz_never_unpickles(tmp_path, capsys, name):
    arrays = {"features": ONE.features, "bbox": ONE.shares} | {name: np.array([Evil()], object)}
    np.savez(tmp_path / "7.npz", **arrays)
    try:
        load_region_file(tmp_path).regions([image("7")])
    except FeatureError as error:
        assert name in str(error) or name == "bbox"
    assert "unpickled" not in capsys.readouterr().out


def npz(**members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return stream.getvalue()


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def header(text, version=b"\x01\x00"):
    return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text.encode()


GOOD = {"features": npy(ONE.features), "bbox": npy(ONE.shares)}
HUGE = "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000, 1000000000), }\n"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not an NPZ file, or cut off"),
        (b"PK\x03\x04 and no more", "not an NPZ file, or cut off"),
        (npz(**GOOD)[:-40], "not an NPZ file, or cut off"),
        (npz(), "has no boxes"),
        (npz(bbox=GOOD["bbox"]), "has no features, which would be called features or x"),
        (npz(features=GOOD["features"]), "has no boxes, which would be called boxes or bbox"),
        (npz(**GOOD | {"features": b""}), "array features: not an array of NumPy"),
        (npz(**GOOD | {"features": b"\x93NUMPY"}), "array features: not an array of NumPy"),
        (npz(**GOOD | {"features": GOOD["features"][:-4]}), "bytes are not float32 of shape"),
        (npz(**GOOD | {"features": GOOD["features"] + b"more"}), "bytes are not float32 of shape"),
        (npz(**GOOD | {"features": header(HUGE)}), "0 bytes are not float32 of shape"),
        (
            npz(**GOOD | {"features": header("{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 3), }\n")}),
            "NPZ|not ",
        ),
        (npz(**GOOD | {"features": header("__import__('os').abort()\n")}), "array features: not an array of NumPy"),
        (npz(**GOOD | {"features": header("(" * 500 + ")" * 500 + "\n")}), "array features: not an array of NumPy"),
        (npz(**GOOD | {"features": npy(np.array(["a"] * 3))}), "bytes are not <U1"),
        (npz(**GOOD | {"features": npy(ONE.features[:2])}), r"features are float32 of shape \(2, 8\)"),
        (npz(**GOOD | {"features": npy(ONE.features.astype(int))}), r"features are int64 .*floating-point"),
        (npz(**GOOD | {"bbox": npy(ONE.shares[:2])}), r"features are float32 of shape \(3, 8\)"),
        (npz(**GOOD | {"bbox": npy(ONE.pixels)}), "boxes are in pixels, and the picture's width and height"),
        (npz(**GOOD | {"num_bbox": npy(np.array(4))}), "says that it has 4 regions, but there are 3 boxes"),
        (npz(**GOOD | {"num_bbox": npy(np.array(2.5))}), "says that it has 2.5 regions"),
        (npz(**GOOD | {"num_bbox": npy(np.array([1, 2]))}), "one positive number"),
        (npz(**GOOD | {"objects_id": npy(np.array([1, 2]))}), r"objects are int64 of shape \(2,\)"),
        (npz(**GOOD | {"objects_id": npy(np.array([1, 2, 0.5]))}), "objects are float64"),
        (npz(**GOOD | {"objects_id": npy(np.array([1, 2, -1]))}), "do not fit 4 names"),
        (npz(**GOOD | {"conf": npy(np.array([0.1, 0.2, 1.5]))}), "confidences .* from 0 to 1"),
        (npz(**GOOD | {"conf": npy(np.array([0.1, 0.2, np.nan]))}), "confidences .* from 0 to 1"),
        (npz(**GOOD | {"cls_prob": npy(np.ones((3, 9), np.float32))}), "does not fit 4 names"),
        (npz(**GOOD | {"cls_prob": npy(np.ones((2, 4), np.float32))}), "objects are int64|confidences are"),
    ],
)
def test_npz_that_is_damaged(tmp_path, data, message):
    (tmp_path / "a.npz").write_bytes(data)
    write_names(tmp_path)
    with pytest.raises(FeatureError, match=message) as error:
        load_region_file(tmp_path)
    assert str(tmp_path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_npz_with_two_arrays_of_one_name(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        for name in ("bbox", "features", "bbox"):
            archive.writestr(f"{name}.npy", GOOD[name])
    with pytest.raises(FeatureError, match="two arrays bbox"):
        load_region_file(tmp_path)


def test_npz_with_fewer_regions_than_rows_is_padded(tmp_path):
    np.savez(tmp_path / "a.npz", features=ONE.features, boxes=ONE.shares, num_boxes=2, conf=ONE.sure)
    regions = joined(load_region_file(tmp_path).regions([image("a")]))
    assert regions.counts.tolist() == [2]
    np.testing.assert_allclose(regions.scores, ONE.sure[:2])


def test_npz_that_unpacks_to_more_than_a_picture_can_have(tmp_path, monkeypatch):
    from iconotext.features import region_files as region_npz

    monkeypatch.setattr(region_npz, "LARGEST", 1 << 20)
    (tmp_path / "a.npz").write_bytes(npz(bbox=GOOD["bbox"], features=bytes(1 << 24)))
    assert (tmp_path / "a.npz").stat().st_size < 1 << 16
    with pytest.raises(FeatureError, match="unpacks to more than"):
        load_region_file(tmp_path)
    data = bytearray((tmp_path / "a.npz").read_bytes())
    directory = data.rindex(b"PK\x01\x02")
    data[directory + 24 : directory + 28] = struct.pack("<I", 100)  # a directory that lies about it
    (tmp_path / "a.npz").write_bytes(data)
    with pytest.raises(FeatureError, match=r"damaged|unpacks to more|not an array"):
        load_region_file(tmp_path)
    (tmp_path / "a.npz").write_bytes(npz(**{f"x{i}": b"" for i in range(region_npz.MEMBERS + 1)}))
    with pytest.raises(FeatureError, match="more than the limit"):
        load_region_file(tmp_path)


def test_npz_of_one_name_in_two_folders(tmp_path):
    for folder in ("train", "val"):
        (tmp_path / folder).mkdir()
        np.savez(tmp_path / folder / "a.npz", **mcan("a", ONE))
    np.savez(tmp_path / "b.npz", **mcan("b", ONE))
    with pytest.raises(FeatureError, match="another file of this name"):
        load_region_file(tmp_path)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2000), st.integers(0, 255))
def test_npz_with_a_changed_byte_is_read_or_refused(tmp_path_factory, place, value):
    folder = tmp_path_factory.mktemp("any")
    data = bytearray(npz(**GOOD))
    data[place % len(data)] = value
    (folder / "a.npz").write_bytes(data)
    try:
        source = load_region_file(folder)
        assert source.name
        assert len(source.regions([image("a")])) == 1
    except FeatureError as error:
        assert "\n" not in str(error)
