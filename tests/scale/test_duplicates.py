"""Pictures that look alike, over shards: found as by comparing all with all, and left out."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from PIL import Image

from iconotext.corpus.shards import ShardSettings
from iconotext.errors import CorpusError, OutputError
from iconotext.scale.duplicates import DUPLICATES, find_duplicates, hash_of, write_duplicates
from iconotext.scale.engine import EngineSettings
from iconotext.scale.run import link_shards
from tests.support.shards import LINKING, contents, manifest, row, write_jsonl, write_tar

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")

ONE = EngineSettings(workers=1)


def scene(seed: int, size: tuple[int, int] = (320, 240), kind: str = "PNG", **more: int) -> bytes:
    """A picture of soft shapes, different for every seed."""
    pixels = np.random.default_rng(seed).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).resize((320, 240), Image.Resampling.BICUBIC).resize(size).save(file, kind, **more)
    return file.getvalue()


@pytest.mark.slow
def test_a_hash_hardly_depends_on_size_and_quality():
    hashes = [hash_of(scene(seed)) for seed in range(8)]
    for seed, known in enumerate(hashes):
        for copy in (scene(seed, (1600, 1200)), scene(seed, (200, 150)), scene(seed, kind="JPEG", quality=40)):
            assert (hash_of(copy) ^ known).bit_count() <= 3
    assert min((a ^ b).bit_count() for i, a in enumerate(hashes) for b in hashes[:i]) > 10


def test_the_table_names_what_comparing_all_with_all_finds(tmp_path):
    rng = np.random.default_rng(1)
    hashes = rng.integers(0, 2**64, 120, np.uint64)
    hashes[60:90] = hashes[rng.integers(0, 60, 30)] ^ (np.uint64(1) << rng.integers(0, 64, 30).astype(np.uint64))
    places = [(f"{n:02}", f"d{i}", i % 3) for n, count in enumerate((50, 0, 69, 1)) for i in range(count)]
    for name in ("00", "01", "02", "03"):
        rows = [(document, image, hashes[i]) for i, (shard, document, image) in enumerate(places) if shard == name]
        columns = list(zip(*rows, strict=True)) or [(), (), ()]
        types = (pa.string(), pa.int32(), pa.uint64())
        arrays = [pa.array(list(column), type_) for column, type_ in zip(columns, types, strict=True)]
        pq.write_table(pa.table(arrays, names=["document", "image", "hash"]), tmp_path / f"{name}.parquet")
    found = write_duplicates(str(tmp_path), [manifest(name) for name in ("00", "01", "02", "03")], 3)
    begins = {"00": 0, "02": 50, "03": 119}
    numbers = list(map(int, hashes))
    wanted = []
    for i, place in enumerate(places):
        first = next((j for j in range(i) if (numbers[i] ^ numbers[j]).bit_count() <= 3), None)
        if first is not None:
            wanted.append((*place, places[first][0], first - begins[places[first][0]]))
    assert [tuple(each.values()) for each in pq.read_table(tmp_path / DUPLICATES).to_pylist()] == wanted
    assert found == len(wanted) >= 30


@pytest.mark.slow
def test_what_looks_like_an_earlier_picture_is_found_and_left_out(tmp_path):
    shards = tmp_path / "in"
    write_jsonl(shards / "000.jsonl", [row(0, ["a.png", "b.png"]), row(1, ["gone.png", "bad.png"])])
    write_tar(shards / "000.tar", {"a.png": scene(1), "b.png": scene(2), "bad.png": b"no picture"})
    write_jsonl(shards / "001.jsonl", [row(2, ["c.jpg", "d.png"])])
    write_tar(shards / "001.tar", {"c.jpg": scene(2, (200, 150), "JPEG", quality=50), "d.png": scene(3)})
    hashes = tmp_path / "hashes"
    done = find_duplicates([str(shards)], str(hashes), engine=ONE)
    assert (done["made"], done["duplicates"]) == (2, 1)
    assert done["images"] == {"missing": 1, "read": 6, "unreadable": 1, "usable": 4}
    table = hashes / DUPLICATES
    only = {"shard": "001", "document": "d2", "image": 0, "of_shard": "000", "of_row": 1}
    assert pq.read_table(table).to_pylist() == [only]
    before = contents(hashes)
    assert find_duplicates([str(shards)], str(hashes), settings=ShardSettings(to="jsonl"), engine=ONE)["made"] == 0
    assert contents(hashes) == before

    output = tmp_path / "out"
    settings = ShardSettings(to="jsonl", without=table)
    done = link_shards([str(shards)], str(output), linking=LINKING, settings=settings, engine=ONE)
    assert done["images"] == {"left out": 1, "missing": 1, "read": 6, "unreadable": 1, "usable": 3}
    linked = json.loads((output / "001.jsonl").read_text())
    assert {each["image"] for each in linked["links"]} <= {1}
    assert linked["images"][0]["problem"].startswith("left out: looks like an earlier picture")
    table.write_bytes(table.read_bytes() + b"another")
    with pytest.raises(OutputError, match="without is another"):
        link_shards([str(shards)], str(output), linking=LINKING, settings=settings, engine=ONE)


def test_tables_that_are_none(tmp_path, run):
    write_jsonl(tmp_path / "in/000.jsonl", [row(0, [])])
    with pytest.raises(CorpusError, match="no such table of duplicates"):
        link_shards([str(tmp_path / "in")], "out", settings=ShardSettings(without=tmp_path / "nothing"))
    (tmp_path / "table").write_text("no table")
    with pytest.raises(OutputError, match="no table of duplicates: "):
        run(tmp_path / "in/000.jsonl", without=tmp_path / "table")
