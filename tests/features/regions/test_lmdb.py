"""Regions in an LMDB of UNITER."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import msgpack
import pytest

from iconotext.errors import FeatureError
from iconotext.features import load_regions
from iconotext.features.regions.files import is_region_file, load_region_file
from tests.features.regions.detected import ONE, Evil, check, three, write_lmdb, write_names


@pytest.fixture
def found():
    return three()


@pytest.mark.filterwarnings("ignore:.*allow_pickle")
@pytest.mark.parametrize(
    "options", [{}, {"text_keys": True}, {"compressed": True}, {"subdir": False}], ids=["new", "old", "npz", "file"]
)
def test_lmdb_of_uniter(tmp_path, found, options):
    path = write_lmdb(tmp_path / "img.lmdb", found, **options)
    write_names(tmp_path)
    assert is_region_file(path)
    check(load_region_file(path), found, named=True)


def test_lmdb_in_a_folder_named_as_uniter_does(tmp_path, found):
    path = write_lmdb(tmp_path / "feat_th0.2_max100_min10", found)
    assert is_region_file(path)
    check(load_regions(str(path)), found, named=False)


def test_lmdb_read_by_several_threads(tmp_path, found):
    source = load_region_file(write_lmdb(tmp_path / "a.lmdb", found))
    with ThreadPoolExecutor(4) as pool:
        for _ in pool.map(lambda _: check(source, found, named=False), range(40)):
            pass


def test_lmdb_that_cannot_be_used(tmp_path, capsys):
    boxes = {"nd": True, "type": "<f4", "shape": [3, 4], "data": ONE.shares.tobytes()}
    good = {"nd": True, "type": "<f4", "shape": [3, 8], "data": ONE.features.tobytes()}
    evil = {"nd": True, "type": "|O", "kind": "O", "shape": [1], "data": pickle.dumps(Evil())}

    def value(features):
        return msgpack.packb({"norm_bb": boxes, "features": features})

    cases = [
        (pickle.dumps({"features": Evil()}), "pickled Python object, which is never read"),
        (b"", "not msgpack"),
        (value(good)[:-5], "not msgpack"),
        (b"\xdd\xff\xff\xff\xff", "not msgpack"),
        (b"\x91" * 5000, "not msgpack"),
        (msgpack.packb([1]), "holds list, expected arrays by name"),
        (msgpack.packb({}), "has no boxes"),
        (value(evil), "has no features"),
        (value(good | {"type": "nonsense"}), "array features: not an array of msgpack-numpy"),
        (value(good | {"type": None}), "array features: not an array of msgpack-numpy"),
        (value(good | {"type": [["a", "<f4"]]}), "array features: not an array of msgpack-numpy"),
        (value(good | {"shape": [3, 9]}), "96 bytes are not float32 of shape"),
        (value(good | {"shape": [-3, -8]}), "96 bytes are not float32 of shape"),
        (value(good | {"shape": 5}), "array features: not an array of msgpack-numpy"),
        (value(good | {"data": "text"}), "0 bytes are not float32"),
        (value(5), "array features: not an array of msgpack-numpy"),
        (b"PK and nothing", "not an NPZ file"),
    ]
    for number, (data, message) in enumerate(cases):
        path = write_lmdb(tmp_path / f"{number}.lmdb", {}, raw=[("a", data)])
        with pytest.raises(FeatureError, match=message) as error:
            load_region_file(path)
        assert f"{number}.lmdb, image a" in str(error.value)
        assert "\n" not in str(error.value)
    assert "unpickled" not in capsys.readouterr().out
    path = write_lmdb(tmp_path / "twice.lmdb", {"a": ONE}, raw=[("a", value(good))])
    with pytest.raises(FeatureError, match="image a is there twice"):
        load_region_file(path)
    (tmp_path / "text.lmdb").write_text("no LMDB" * 1000)
    with pytest.raises(FeatureError, match="not an LMDB that can be read"):
        load_region_file(tmp_path / "text.lmdb")
