"""How large the cache is, and making it smaller."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import numpy as np
import pytest

from iconotext.errors import FeatureError
from iconotext.features.cache import FeatureCache, cache_usage, prune_cache


@pytest.fixture
def path(tmp_path):
    return tmp_path / "features.sqlite"


def fill(path, numbers, *, backbone="b", kind="k", length=1000):
    cache = FeatureCache(path)
    rows = {b"%d" % n: {kind: np.full(length, n, np.float32)} for n in numbers}
    cache.put(rows, backbone=backbone, kinds=[kind])
    cache.close()


def kept(path, numbers):
    cache = FeatureCache(path)
    found = cache.get([b"%d" % n for n in numbers], backbone="b", kinds=["k"])
    cache.close()
    return sorted(int(key) for key in found)


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


def test_old_entries_go(path, monkeypatch):
    now = 1_800_000_000
    for days, numbers in ((40, [1, 2]), (20, [3]), (1, [4, 5])):
        monkeypatch.setattr(time, "time", lambda days=days: now - days * 86_400)
        fill(path, numbers)
    monkeypatch.setattr(time, "time", lambda: now)
    assert kept(path, [2]) == [2]  # is used
    assert prune_cache(path, older_than=30 * 86_400).entries == 1
    assert kept(path, range(9)) == [2, 3, 4, 5]
    assert prune_cache(path, older_than=30 * 86_400).entries == 0


def test_the_first_go_until_the_rest_fits(path):
    fill(path, range(4000))
    before = path.stat().st_size
    done = prune_cache(path, to_bytes=before // 2)
    assert 0.35 * before < done.bytes_after == path.stat().st_size <= 0.5 * before
    assert done.bytes_before == before
    assert kept(path, range(4000)) == list(range(done.entries, 4000))
    assert prune_cache(path, to_bytes=before).entries == 0
    assert prune_cache(path, to_bytes=0).entries == 4000 - done.entries
    assert kept(path, range(4000)) == []


def test_what_the_program_did_not_write_stays(path):
    fill(path, [1])
    others = [path.with_name(name) for name in ("precious.txt", "features.sqlite.backup", "other.sqlite")]
    for file in others:
        file.write_bytes(b"x" * 1000)
    prune_cache(path, to_bytes=0)
    assert all(file.read_bytes() == b"x" * 1000 for file in others)


@pytest.mark.parametrize("statement", ["CREATE TABLE diary (day, text)", "CREATE TABLE features (content, price)"])
def test_another_programs_database_is_left_alone(path, statement):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()
    before = path.read_bytes()
    for look in (cache_usage, lambda path: prune_cache(path, to_bytes=0)):
        with pytest.raises(FeatureError, match="not a cache that iconotext wrote"):
            look(path)
    assert path.read_bytes() == before


def test_no_database_at_all(path):
    path.write_bytes(b"a text that somebody wrote " * 100)
    with pytest.raises(FeatureError, match="cannot be used: file is not a database"):
        prune_cache(path, to_bytes=0)
    assert path.stat().st_size == 2700


@pytest.mark.slow
def test_another_process_writes_and_reads_meanwhile(path):
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
    with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "begun\n"
        while other.poll() is None:
            prune_cache(path, to_bytes=1_000_000)
        assert other.stdout.read() == "done\n"
    assert other.returncode == 0
    prune_cache(path, to_bytes=200_000)
    left = kept(path, range(10_000, 10_200))
    assert left == list(range(10_200 - len(left), 10_200))
    assert 10 < len(left) < 60
