from __future__ import annotations

import json

import numpy as np
import pytest

from iconotext.corpus.shards import reason_of
from iconotext.errors import CorpusError
from iconotext.features.feature_table import load_feature_table


def table(tmp_path, array=None, rows=None):
    np.save(tmp_path / "features.npy", np.arange(6, dtype=np.float64).reshape(3, 2) if array is None else array)
    (tmp_path / "id2row.json").write_text(json.dumps({"a": 2, "b": 0} if rows is None else rows))
    return tmp_path / "features.npy"


def test_rows_come_in_the_order_that_is_asked_for(tmp_path):
    found = load_feature_table(table(tmp_path))
    assert found.dim == 2
    np.testing.assert_array_equal(found.look_up(["a", "b", "a"])[0], np.array([[4, 5], [0, 1], [4, 5]], np.float32))
    assert found.look_up(["a"])[0].dtype == np.float32
    assert found.look_up([])[0].shape == (0, 2)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, ">f4", np.float64])
def test_kinds_of_numbers(tmp_path, dtype):
    found = load_feature_table(table(tmp_path, np.asfortranarray(np.ones((3, 4), dtype))))
    np.testing.assert_array_equal(found.look_up(["b"])[0], np.ones((1, 4), np.float32))


def test_other_features_have_another_fingerprint(tmp_path):
    first = load_feature_table(table(tmp_path)).fingerprint
    assert first == load_feature_table(table(tmp_path)).fingerprint
    assert first != load_feature_table(table(tmp_path, rows={"a": 1, "b": 0})).fingerprint
    assert first != load_feature_table(table(tmp_path, np.zeros((3, 2)))).fingerprint
    assert len(first) == 16


@pytest.mark.parametrize(
    ("array", "rows", "message"),
    [
        (np.zeros(3), None, r"float64 of shape \(3,\)"),
        (np.zeros((3, 0)), None, "rows are empty"),
        (np.zeros((3, 2), int), None, "int64 of shape"),
        (np.zeros((3, 2), complex), None, "complex"),
        (np.zeros((3, 2), "U4"), None, "U4"),
        (None, {"a": 3}, "field a: row 3, but features.npy has 3 rows"),
        (None, {"a": -1}, "field a"),
        (None, {"a": True}, "field a"),
        (None, {"a": "0"}, "field a"),
        (None, ["a"], "object of rows"),
    ],
)
def test_tables_that_do_not_fit(tmp_path, array, rows, message):
    with pytest.raises(CorpusError, match=message):
        load_feature_table(table(tmp_path, array, rows))


def test_files_that_are_missing_or_damaged(tmp_path):
    with pytest.raises(CorpusError, match="not found"):
        load_feature_table(tmp_path / "features.npy")
    path = table(tmp_path)
    whole = path.read_bytes()
    for data in (b"", b"\x93NUMPY", whole[:-1], b"hello"):
        path.write_bytes(data)
        with pytest.raises(CorpusError, match="not an array of numbers"):
            load_feature_table(path)
    np.savez(tmp_path / "many.npz", a=np.zeros((1, 1)))
    (tmp_path / "many.npz").rename(path)
    with pytest.raises(CorpusError, match="archive of arrays"):
        load_feature_table(path)
    table(tmp_path)
    (tmp_path / "id2row.json").write_text("{broken")
    with pytest.raises(CorpusError, match=r"id2row\.json: not JSON"):
        load_feature_table(path)
    (tmp_path / "id2row.json").unlink()
    with pytest.raises(CorpusError, match=r"id2row\.json: cannot be read"):
        load_feature_table(path)


def test_images_without_a_row_or_with_a_broken_one(tmp_path):
    found = load_feature_table(table(tmp_path, np.array([[1, np.nan], [7, 8], [1e300, 0]]), {"a": 2, "b": 0, "c": 1}))
    rows, problems = found.look_up(["a", "zebra", "c", "b"])
    np.testing.assert_array_equal(rows, [[0, 0], [0, 0], [7, 8], [0, 0]])
    for problem, said in zip(
        problems, ("row 2, of 'a'", "id2row.json has no image 'zebra'", None, "row 0, of 'b'"), strict=True
    ):
        assert problem is None if said is None else said in problem
    assert [reason_of(each) for each in problems if each] == [
        "features that are not all finite numbers",
        "not in the table of features",
        "features that are not all finite numbers",
    ]
