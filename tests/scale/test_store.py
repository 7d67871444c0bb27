"""Shards in an object store, a real one on the loopback that is away at times."""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path

import pytest

from iconotext.corpus.shards import find_shards
from iconotext.errors import CorpusError, StoreError
from iconotext.scale.duplicates import find_duplicates
from iconotext.system import object_store as store
from tests.support.object_store import running, send
from tests.support.shards import contents, link, png, row, start, write_jsonl, write_tar

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


@pytest.fixture
def server(monkeypatch):
    yield from running(monkeypatch)


def fetch(address):
    return {each.address.removeprefix(f"{address}/"): store.read_bytes(each.address) for each in store.entries(address)}


def test_files_and_objects_are_the_same_to_the_rest(server, tmp_path):
    for folder in (str(tmp_path / "f"), "s3://bucket/f"):
        assert store.entries(folder) == []
        assert store.entry(f"{folder}/b/x") is None
        assert store.read_bytes(f"{folder}/b/x") is None
        store.write(f"{folder}/b/x", b"hello")
        store.write(f"{folder}/a", b"")
        store.write(f"{folder}/.hidden", b"")
        store.write(f"{folder}/.hidden too/x", b"")
        assert [(each.address, each.size) for each in store.entries(folder)] == [
            (f"{folder}/a", 0),
            (f"{folder}/b/x", 5),
        ]
        known = store.entry(f"{folder}/b/x")
        assert known is not None
        assert abs(known.modified - time.time_ns()) < 600e9
        assert store.entry(f"{folder}/b") is None
        assert store.read_bytes(f"{folder}/b/x", 2) == b"he"
        with store.local_files(f"{folder}/b/x", f"{folder}/a") as files:
            assert [file.read_bytes() for file in files] == [b"hello", b""]
            assert [file.name for file in files] == ["x", "a"]
        with store.target(f"{folder}/c") as file:
            file.write_bytes(b"made")
        assert store.read_bytes(f"{folder}/c") == b"made"
        for _ in range(2):
            store.remove(f"{folder}/c")
            assert store.read_bytes(f"{folder}/c") is None
        store.write(f"{folder}/x.gz", b"as it is")  # whatever its name says
        with store.target(f"{folder}/y.gz") as file:
            file.write_bytes(b"as it is")
        for name in "xy":
            assert fetch(folder)[f"{name}.gz"] == b"as it is"
            with store.local_files(f"{folder}/{name}.gz") as (file,):
                assert file.read_bytes() == b"as it is"
            files, path = store.located(f"{folder}/{name}.gz")
            assert files.get_file_info(path).size == 8
        assert store.lies_in(f"{folder}/c", folder)
        assert not store.lies_in(f"{folder}er/c", folder)


def test_what_a_store_refuses_is_said_at_once(server):
    with pytest.raises(StoreError, match=r"the store refuses: .*NO_SUCH_BUCKET"):
        store.write("s3://no-such-bucket/x", b"")
    with pytest.raises(StoreError, match="is not there any more"), store.local_files("s3://bucket/gone"):
        pass
    with pytest.raises(StoreError, match="no store that pyarrow reaches"):
        store.entry("gopher://x/y")
    with pytest.raises(CorpusError, match="no shard is there"):
        find_shards(["s3://bucket/nothing"])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_table_of_duplicates_may_be_in_the_store(server, tmp_path, in_this_process):
    write_jsonl(tmp_path / "in/0.jsonl", [row(n, [f"{n}.png"]) for n in range(2)])
    write_tar(tmp_path / "in/0.tar", {"0.png": png(0), "1.png": png(0)})
    send(tmp_path / "in", "s3://bucket/in")
    find_duplicates(["s3://bucket/in"], "s3://bucket/hashes")
    table = Path("s3://bucket/hashes/_duplicates.parquet")
    assert link("s3://bucket/in", tmp_path / "out", without=table)["images"] == {"left out": 1, "read": 2, "usable": 1}
    with pytest.raises(CorpusError, match="s3://bucket/no: no such table"):
        link("s3://bucket/in", tmp_path / "out", without=Path("s3://bucket/no"))


def make(folder):
    """Two shards, one with its pictures in a tar, one with pictures that are objects of their own."""
    write_jsonl(folder / "a/0.jsonl.gz", [row(n, ["0.png", "no.png"]) for n in range(3)])
    write_tar(folder / "a/0.tar", {"0.png": png(0)})
    write_jsonl(folder / "b.jsonl", [row(9, ["img/1.png", "../b.jsonl", "no.png", "https://example.org/a.png"])])
    (folder / "img").mkdir()
    (folder / "img/1.png").write_bytes(png(1))
    page = {"url": "https://example.org", "text_list": ["A dog."], "image_info": [{"image_name": "2.png"}]}
    write_jsonl(folder / "pages.jsonl", [page])
    (folder / "pages_images").mkdir()
    (folder / "pages_images/2.png").write_bytes(png(2))


def test_a_store_gives_the_bytes_that_this_machine_gives(server, tmp_path):
    make(tmp_path / "in")
    here = link(tmp_path / "in", tmp_path / "out")
    send(tmp_path / "in", "s3://bucket/in")
    there = link("s3://bucket/in", "s3://bucket/out", workers=2)
    assert there["made"] == 3
    assert there == here
    assert json.loads((tmp_path / "out/pages.jsonl").read_text())["images"][0]["problem"] is None
    made = contents(tmp_path / "out")
    fetched = fetch("s3://bucket/out")
    assert sorted(made) == sorted(fetched)
    assert {
        name: made[name] for name in made if name.endswith(".jsonl") or name == "_run.json"
    }.items() <= fetched.items()
    assert link("s3://bucket/in", "s3://bucket/out")["made"] == 0
    store.write("s3://bucket/out/b.jsonl", b"half")
    assert link("s3://bucket/in", "s3://bucket/out")["made"] == 1
    assert fetch("s3://bucket/out") == fetched


def test_a_store_that_is_away_is_asked_again_and_then_the_same_goes_on(server, tmp_path, stage, monkeypatch):
    make(tmp_path / "in")
    send(tmp_path / "in", "s3://bucket/in")
    shards = find_shards(["s3://bucket/in"])
    stage = stage("s3://bucket/out")
    stage.run(shards[0])
    server.stop()
    monkeypatch.setattr(store, "PATIENCE", 1.0)
    with pytest.raises(StoreError, match=r"did not answer for 1 seconds .* the same command goes on from there"):
        stage.run(shards[1])
    monkeypatch.setattr(store, "PATIENCE", 600.0)
    back = threading.Timer(2, server.start)
    back.start()
    stage.run(shards[1])
    back.join()
    assert sorted(fetch("s3://bucket/out")) == ["_manifests/a/0.json", "_manifests/b.json", "a/0.jsonl", "b.jsonl"]


@pytest.mark.kill
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="as the other test of kills")
def test_a_store_that_is_away_for_a_while_stops_nothing(server, tmp_path):
    for shard in range(6):
        write_jsonl(tmp_path / f"in/{shard}.jsonl", [row(n + 100 * shard, []) for n in range(50)])
    send(tmp_path / "in", "s3://bucket/in")
    assert start(tmp_path, "s3://bucket/in", "s3://bucket/whole").wait(900) == 0
    for attempt in range(20):  # begun anew where it was quicker
        out = f"s3://bucket/out{attempt}"
        process = start(tmp_path, "s3://bucket/in", out)
        while process.poll() is None and not store.entries(out):
            time.sleep(0.1)
        server.stop()
        while process.poll() is None and "the store did not answer" not in (tmp_path / "log").read_text():
            time.sleep(0.1)
        server.start()
        assert process.wait(900) == 0, (tmp_path / "log").read_text()
        assert fetch(out) == fetch("s3://bucket/whole")
        assert len(fetch(out)) == 6 + 6 + 1
        if "the store did not answer" in (tmp_path / "log").read_text():
            break
    else:
        raise AssertionError("the store was never missed")
