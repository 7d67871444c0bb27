from __future__ import annotations

import logging
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from iconotext.errors import FeatureError, SettingError
from iconotext.features.cache import FeatureCache, cache_folder, cache_usage


@pytest.fixture
def path(tmp_path):
    return tmp_path / "new folder" / "features.sqlite"


def stored(cache, *keys, backbone="b", kind="k"):
    return {key: row[kind] for key, row in cache.get(keys, backbone=backbone, kinds=[kind]).items()}


def put(cache, arrays, *, backbone="b", kind="k"):
    cache.put({key: {kind: array} for key, array in arrays.items()}, backbone=backbone, kinds=[kind])


def fill(path, numbers, *, kind="k", length=1000):
    cache = FeatureCache(path)
    put(cache, {b"%d" % n: np.full(length, n, np.float32) for n in numbers}, kind=kind)
    cache.close()


def kept(path, numbers):
    cache = FeatureCache(path)
    found = stored(cache, *(b"%d" % n for n in numbers))
    cache.close()
    return sorted(int(key) for key in found)


def execute(path, *statements):
    """Execute statements on the file of a cache, and return the rows of the last one."""
    with closing(sqlite3.connect(path)) as connection, connection:
        rows = [connection.execute(statement).fetchall() for statement in statements]
    return rows[-1]


COUNT = "SELECT count(*) FROM features"


def test_what_is_put_comes_back_after_closing(path):
    cache = FeatureCache(path)
    put(cache, {b"1": np.arange(6, dtype=np.float32).reshape(2, 3)})
    cache.close()
    assert stored(FeatureCache(path), b"1", b"2")[b"1"].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_backbone_and_kind_are_part_of_the_key(path):
    cache = FeatureCache(path)
    put(cache, {b"1": np.zeros(1)})
    assert not stored(cache, b"1", backbone="other")
    assert not stored(cache, b"1", kind="other")


def test_arrays_that_are_asked_for_together_lie_together(path):
    cache = FeatureCache(path)
    row: dict[str, np.ndarray] = {
        "pooled": np.arange(5, dtype=np.float32),
        "none": np.zeros((0, 3), np.int16),
        "one": np.array(7.5),
    }
    cache.put({b"1": row}, backbone="b", kinds=list(row))
    found = cache.get([b"1"], backbone="b", kinds=list(row))[b"1"]
    for name, array in row.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert found[name].tolist() == array.tolist()
    assert not cache.get([b"1"], backbone="b", kinds=["pooled"])
    assert execute(path, COUNT) == [(1,)]


def test_contents_with_one_hash_do_not_mix(path, monkeypatch):
    monkeypatch.setattr("iconotext.features.cache._hash", lambda number, content: 1)
    cache = FeatureCache(path)
    put(cache, {b"1": np.array([1])})
    put(cache, {b"2": np.array([2])})
    assert stored(cache, b"1", b"2") == {b"2": [2]}


def test_what_was_used_longest_ago_makes_room(path, monkeypatch):
    now = 1_800_000_000
    monkeypatch.setattr(time, "time", lambda: now)
    cache = FeatureCache(path, limit=3_000_000)
    for day in range(40):
        now += 100_000  # more than a day
        put(cache, {b"%d %d" % (day, n): np.zeros(2500) for n in range(10)})
        assert len(stored(cache, b"0 0", b"0 1")) == 2  # used every day
    there = [day for day in range(40) if stored(cache, b"%d 5" % day)]
    assert there == list(range(there[0], 40))
    assert 5 < len(there) < 20
    assert not stored(cache, b"0 2")
    assert path.stat().st_size < 3_500_000


@pytest.mark.parametrize(("size", "limit"), [("", 2 * 10**9), ("10GB", 10**10), ("1.5 mb", 1_500_000), ("0", 0)])
def test_the_limit_is_what_was_said(path, monkeypatch, size, limit):
    monkeypatch.setenv("ICONOTEXT_CACHE_SIZE", size)
    assert FeatureCache(path).limit == limit
    monkeypatch.setenv("ICONOTEXT_CACHE_SIZE", "large")
    with pytest.raises(SettingError, match="ICONOTEXT_CACHE_SIZE large: give a size"):
        FeatureCache(path)


def test_with_no_room_at_all_nothing_stays(path):
    cache = FeatureCache(path, limit=0)
    put(cache, {b"%d" % n: np.zeros(100) for n in range(1200)})
    assert not stored(cache, *(b"%d" % n for n in range(1200)))


def test_later_wins(path):
    cache = FeatureCache(path)
    for value in (1, 2):
        put(cache, {b"1": np.array([value])})
    assert stored(cache, b"1")[b"1"] == [2]


@settings(max_examples=60, deadline=None)
@given(
    array=arrays.arrays(
        st.sampled_from([np.float32, np.float16, np.int16, np.int64, np.bool_]), arrays.array_shapes(min_dims=0)
    )
)
def test_round_trip_of_any_array(tmp_path_factory, array):
    cache = FeatureCache(tmp_path_factory.getbasetemp() / "round.sqlite")
    put(cache, {b"1": array})
    back = stored(cache, b"1")[b"1"]
    cache.close()
    assert (back.dtype, back.shape, back.tobytes()) == (array.dtype, array.shape, array.tobytes())


def test_more_keys_than_a_query_takes(path):
    cache = FeatureCache(path)
    keys = [str(i).encode() for i in range(1234)]
    put(cache, {key: np.array([i]) for i, key in enumerate(keys)})
    found = stored(cache, *keys)
    assert [found[key][0] for key in keys] == list(range(1234))


def test_can_be_sent_to_another_process(path):
    cache = FeatureCache(path)
    put(cache, {b"1": np.ones(1)})
    assert stored(pickle.loads(pickle.dumps(cache)), b"1")


def test_a_forked_child_opens_its_own_connection(path):
    cache = FeatureCache(path)
    put(cache, {b"1": np.ones(1)})
    child = os.fork()
    if child == 0:
        ok = bool(stored(cache, b"1"))
        put(cache, {b"2": np.ones(1)})
        os._exit(0 if ok else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(stored(cache, b"1", b"2")) == 2


WRITER = """
import sys, numpy as np
from pathlib import Path
from iconotext.features.cache import FeatureCache
path, offset, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
cache = FeatureCache(path)
for i in range(offset, offset + count):
    key = str(i).encode()
    rows = {key + bytes([j]): {"k": np.full(2000, i, np.float32)} for j in range(20)}
    cache.put(rows, backbone="b", kinds=["k"])
    print(i, flush=True)
"""


def start_writer(path, offset, count):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, path, str(offset), str(count)], stdout=subprocess.PIPE, env=environment
    )


def rows_of(path, i):
    keys = [str(i).encode() + bytes([j]) for j in range(20)]
    return stored(FeatureCache(path), *keys)


@pytest.mark.slow
def test_two_processes_write_at_once(path):
    writers = [start_writer(path, offset, 40) for offset in (0, 1000)]
    for writer in writers:
        writer.communicate(timeout=600)
        assert writer.returncode == 0
    for i in (0, 39, 1000, 1039):
        assert len(rows_of(path, i)) == 20
    assert execute(path, COUNT) == [(2 * 40 * 20,)]


@pytest.mark.slow
def test_many_processes_begin_a_file_together(tmp_path):
    for attempt in range(3):
        path = tmp_path / str(attempt) / "features.sqlite"
        writers = [start_writer(path, 100 * number, 2) for number in range(5)]
        for writer in writers:
            writer.communicate(timeout=600)
        assert [len(rows_of(path, 100 * number)) for number in range(5)] == [20] * 5


@pytest.mark.slow
def test_a_process_killed_while_writing_costs_nothing_that_was_stored(path):
    for attempt in range(3):
        writer = start_writer(path, 1000 * attempt, 100_000)
        done = [int(writer.stdout.readline()) for _ in range(5 + attempt)]
        time.sleep(0.002 * attempt)  # another place within a write each time
        writer.send_signal(signal.SIGKILL)
        done += [int(line) for line in writer.communicate()[0].split()]
        assert writer.returncode == -signal.SIGKILL
        for i in done:
            assert {float(row[0]) for row in rows_of(path, i).values()} == {float(i)}
            assert len(rows_of(path, i)) == 20
        assert len(rows_of(path, done[-1] + 1)) in (0, 20)  # the one it was writing: whole or not at all


@pytest.mark.parametrize("damage", ["text", "zeros", "half", "pages"])
def test_a_damaged_file_is_begun_anew(path, damage, caplog):
    fill(path, range(300), length=500)
    data = bytearray(path.read_bytes())
    if damage == "text":
        data = bytearray(b"This is no database. " * 500)
    elif damage == "zeros":
        data[:4096] = bytes(4096)
        data[0] = 1
    elif damage == "half":
        data = data[: len(data) // 2]
    elif damage == "pages":
        data[4096:] = bytes([255]) * (len(data) - 4096)
    path.write_bytes(data)
    cache = FeatureCache(path)
    keys = [str(i).encode() for i in range(300)]
    with caplog.at_level(logging.WARNING):
        for i, array in stored(cache, *keys).items():
            assert array[0] == int(i)
        put(cache, {b"new": np.ones(3)})
        put(cache, {b"new": np.ones(3)})
    assert stored(cache, b"new")[b"new"].tolist() == [1, 1, 1]
    assert stored(FeatureCache(path), b"new")
    assert [record.message for record in caplog.records if "begun anew" in record.message]


def test_a_file_with_other_tables_stays(path, caplog):
    path.parent.mkdir()
    execute(path, "CREATE TABLE features (something TEXT)")
    cache = FeatureCache(path)
    assert not stored(cache, b"new")
    put(cache, {b"new": np.ones(3)})
    assert not stored(cache, b"new")
    assert len(caplog.records) == 1
    cache.close()
    assert execute(path, "SELECT something FROM features") == []


def test_an_empty_file_is_a_new_cache(path):
    path.parent.mkdir()
    path.touch()
    fill(path, range(300), length=500)
    assert stored(FeatureCache(path), b"7")


def test_a_flipped_bit_is_a_miss(path):
    fill(path, [0], length=500)
    execute(path, "UPDATE features SET data = zeroblob(2000)", "UPDATE features SET checksum = checksum + 1")
    assert not stored(FeatureCache(path), b"0")


def test_a_full_disk_ends_writing_with_one_warning(path, caplog):
    fill(path, range(10))
    cache = FeatureCache(path)
    assert len(stored(cache, b"1")) == 1
    cache._connection.execute("PRAGMA max_page_count = 1")  # as SQLite meets a full disk
    for i in range(5):
        put(cache, {str(1000 + i).encode(): np.zeros(5000)})
    assert len(caplog.records) == 1
    assert "features are no longer cached: database or disk is full" in caplog.text
    assert len(stored(cache, b"1", b"1000")) == 1


def test_a_read_only_cache_is_read(path, caplog):
    fill(path, range(10))
    cache = FeatureCache(path)
    assert stored(cache, b"1")
    cache._connection.execute("PRAGMA query_only = 1")
    put(cache, {b"x": np.zeros(5)})
    put(cache, {b"x": np.zeros(5)})
    assert len(caplog.records) == 1
    assert stored(cache, b"1")


@pytest.mark.skipif(os.getuid() == 0, reason="nothing is read-only for root")
def test_a_read_only_folder(path, caplog):
    fill(path, range(10))
    path.chmod(0o444)
    path.parent.chmod(0o555)
    cache = FeatureCache(path)
    assert stored(cache, b"1")
    put(cache, {b"x": np.zeros(5)})
    assert len(caplog.records) == 1
    path.parent.chmod(0o755)


def test_an_impossible_place_is_one_warning_and_no_cache(tmp_path, caplog):
    (tmp_path / "file").write_text("in the way")
    cache = FeatureCache(tmp_path / "file" / "features.sqlite")
    for _ in range(3):
        put(cache, {b"1": np.ones(1)})
        assert not stored(cache, b"1")
    assert len(caplog.records) == 1
    assert "going on without a cache" in caplog.text


def test_a_folder_in_place_of_the_file(tmp_path, caplog):
    (tmp_path / "features.sqlite").mkdir()
    assert not stored(FeatureCache(tmp_path / "features.sqlite"), b"1")
    assert len(caplog.records) == 1


def test_place(monkeypatch, tmp_path):
    monkeypatch.setenv("ICONOTEXT_CACHE", str(tmp_path))
    assert FeatureCache().path == tmp_path / "features-2.sqlite"
    monkeypatch.delenv("ICONOTEXT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert cache_folder() == Path("/x/iconotext")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", lambda: Path("/home/me"))
    for system, place in [
        ("linux", "/home/me/.cache/iconotext"),
        ("darwin", "/home/me/Library/Caches/iconotext"),
        ("win32", "/home/me/AppData/Local/iconotext/Cache"),
    ]:
        monkeypatch.setattr(sys, "platform", system)
        assert cache_folder() == Path(place)


def test_what_is_in_it_by_kind(path):
    assert cache_usage(path).bytes == 0
    fill(path, range(3))
    fill(path, range(5), kind="text", length=2000)
    usage = cache_usage(path)
    assert [(k.backbone, k.kind, k.entries, k.bytes) for k in usage.kinds] == [
        ("b", "text", 5, 40_000),
        ("b", "k", 3, 12_000),
    ]
    assert usage.bytes == path.stat().st_size >= 52_000


@pytest.mark.parametrize("statement", ["CREATE TABLE diary (day, text)", "CREATE TABLE features (content, price)"])
def test_another_programs_database_is_left_alone(path, statement):
    path.parent.mkdir()
    execute(path, statement)
    before = path.read_bytes()
    with pytest.raises(FeatureError, match="not a cache that iconotext wrote"):
        cache_usage(path)
    assert path.read_bytes() == before


def test_no_database_at_all(path):
    path.parent.mkdir()
    path.write_bytes(b"a text that somebody wrote " * 100)
    with pytest.raises(FeatureError, match="cannot be used: file is not a database"):
        cache_usage(path)
    assert path.stat().st_size == 2700


@pytest.mark.slow
def test_another_process_writes_and_reads_while_room_is_made(path):
    fill(path, range(3000))
    code = """
import sys, numpy as np, logging
from pathlib import Path
from iconotext.features.cache import FeatureCache
logging.basicConfig(level="WARNING", stream=sys.stdout)  # it would say that it goes on without a cache
cache = FeatureCache(Path(sys.argv[1]))
print("begun", flush=True)
for n in range(10_000, 10_200):
    cache.put({b"%d" % n: {"k": np.full(1000, n, np.float32)}}, backbone="b", kinds=["k"])
    for key, row in cache.get([b"%d" % m for m in range(0, 3000, 100)], backbone="b", kinds=["k"]).items():
        assert row["k"][0] == int(key)
print("done")
"""
    small = FeatureCache(path, limit=1_000_000)
    with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "begun\n"
        while other.poll() is None:
            put(small, {b"1": np.ones(1000, np.float32)})
        assert other.stdout.read() == "done\n"
    assert other.returncode == 0
    put(small, {b"1": np.ones(1000, np.float32)})
    small.close()
    left = kept(path, range(10_000, 10_200))
    assert left == list(range(10_200 - len(left), 10_200))
    assert 10 < len(left) <= 200
