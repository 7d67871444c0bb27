"""One shard: its documents and pictures, wherever these lie, and what a task counts of them."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tarfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iconotext.corpus.formats.webdataset import Tar, sample_records
from iconotext.corpus.image_files import ShardPictures
from iconotext.corpus.shards import find_shards, reason_of, share_of
from tests.support.shards import link_here, png, results, row, write_jsonl, write_tar


@pytest.fixture
def run(tmp_path):
    """Link shards into the folder out; what was counted."""

    def link(address, **more):
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        return link_here(address, tmp_path / "out", **more)

    return link


def write_table(path, *rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(list(rows)), path)
    return path


def test_everything_is_counted_by_what_became_of_it(run, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/good.png").write_bytes(png(0))
    (tmp_path / "in/cut.png").write_bytes(png(1)[:200])
    rows = [
        row(0, ["good.png", "gone.png"]),
        "{broken",
        row(1, ["cut.png", "https://example.org/a.png"]),
        row(2, []),
        row(2, []),  # an id that is there already
        {"id": "short", "sentences": ["One."], "images": ["good.png"], "blocks": [0, 1]},
    ]
    told = run(write_jsonl(tmp_path / "in/a.jsonl", rows))
    assert told["documents"] == {"read": 6, "broken row": 3, "written": 3}
    assert told["images"] == {"read": 4, "usable": 1, "missing": 2, "unreadable": 1}
    assert told["links"] == sum(len(each["links"]) for each in results(tmp_path / "out")) > 0
    assert sum(told["reasons"].values()) == 3 + 3
    assert told["reasons"]["row, field blocks: blocks has N entries where N are needed"] == 1
    assert [each["id"] for each in results(tmp_path / "out")] == ["d0", "d1", "d2"]


@pytest.mark.parametrize("name", ["../a.png", "/etc/hostname", "x/../../a.png", "..\\a.png", "C:\\a.png"])
def test_names_that_lead_out_are_refused(run, tmp_path, name):
    (tmp_path / "a.png").write_bytes(png(0))
    told = run(write_jsonl(tmp_path / "in/a.jsonl", [row(0, [name])]))
    assert told["images"] == {"read": 1, "missing": 1}
    assert list(told["reasons"]) == ["picture: its name leads out of the folder of the shard"]


def test_a_name_that_looks_like_an_address_does_not_lead_out(run, tmp_path):
    (tmp_path / "a.png").write_bytes(png(0))
    (tmp_path / "in/ab:").mkdir(parents=True)
    told = run(write_jsonl(tmp_path / "in/a.jsonl", [row(0, ["ab:/../../a.png"])]))
    assert told["images"] == {"read": 1, "missing": 1}


def test_a_tar_whose_name_is_in_capitals(run, tmp_path):
    assert run(write_tar(tmp_path / "X.TAR", {"a.txt": b"A dog.", "a.png": png(0)}))["images"] == {
        "read": 1,
        "usable": 1,
    }


def test_a_file_that_gives_less_than_was_asked_for_is_read_on(tmp_path, monkeypatch):
    class Short(io.FileIO):
        def read(self, size=-1):
            return super().read(min(size, 100))

        def readinto(self, buffer):
            return super().readinto(memoryview(buffer)[:100])

    tar = Tar(write_tar(tmp_path / "a.tar", {"a.png": png(0)}))

    def opened(path, mode, buffering=-1):
        return io.BufferedReader(Short(path)) if buffering else Short(path)

    monkeypatch.setattr("iconotext.corpus.formats.webdataset.open", opened, raising=False)
    assert tar.read("a.png") == png(0)


def test_a_sample_is_that_of_a_hash_and_smaller_ones_lie_in_larger_ones(run, tmp_path):
    shard = write_jsonl(tmp_path / "in/a.jsonl", [row(number, []) for number in range(40)])
    taken = {}
    for share in (0.2, 0.5, 1.0):
        told = run(shard, sample=share)
        taken[share] = {each["id"] for each in results(tmp_path / "out")}
        assert told["documents"]["read"] == 40 == told["documents"].get("not in the sample", 0) + len(taken[share])
    digests = {f"d{n}": int(hashlib.sha256(f"d{n}".encode()).hexdigest()[:16], 16) for n in range(40)}
    assert taken[0.5] == {name for name, digest in digests.items() if digest < 2**63}
    assert taken[0.2] < taken[0.5] < taken[1.0]
    assert 0 <= share_of("\ud800") < 1


def test_pictures_in_a_tar_beside_the_shard(run, tmp_path):
    known = json.dumps({"url": "https://example.org/b.png"}).encode()
    write_tar(tmp_path / "in/a.tar", {"img/a.png": png(0), "000.jpg": png(1), "000.json": known, "cut.png": b"x"})
    names = ["img/a.png", "a.png", "https://example.org/b.png", "cut.png", "no.png"]
    told = run(write_jsonl(tmp_path / "in/a.jsonl.gz", [row(0, names)]).parent)
    assert told["images"] == {"read": 5, "usable": 3, "missing": 1, "unreadable": 1}
    (shard,) = find_shards([str(tmp_path / "in")])
    assert [each.address.rpartition("/")[2] for each in (shard.file, *shard.beside)] == ["a.jsonl.gz", "a.tar"]


def test_pictures_in_the_rows_of_a_table(run, tmp_path):
    images = [{"bytes": png(0), "path": "a.png"}, {"bytes": png(1), "path": None}, {"bytes": None, "path": "no.png"}]
    row = {"id": "d0", "sentences": ["A dog.", "A tram."], "images": images}
    told = run(write_table(tmp_path / "in/a.parquet", row))
    assert told["images"] == {"read": 3, "usable": 2, "missing": 1}
    assert [each["source"] for each in results(tmp_path / "out")[0]["images"]] == ["a.png", "image-1", "no.png"]


def test_what_lies_in_a_row_is_looked_for_nowhere_else(run, tmp_path, monkeypatch):
    row = {"id": "d0", "sentences": ["A."], "images": [{"bytes": png(0), "path": "../a.png"}]}
    monkeypatch.setattr(ShardPictures, "find", None)
    assert run(write_table(tmp_path / "in/a.parquet", row))["images"] == {"read": 1, "usable": 1}


def test_pages_of_obelics_with_their_pictures_inside(run, tmp_path):
    row = {"images": [{"bytes": png(0), "path": "u"}, None], "texts": [None, "A dog sleeps. It rains."]}
    assert run(write_table(tmp_path / "in/a.parquet", row))["images"] == {"read": 1, "usable": 1}
    (found,) = results(tmp_path / "out")
    assert [each["text"] for each in found["sentences"]] == ["A dog sleeps.", "It rains."]
    assert found["images"][0]["position"] == 0


def test_pages_of_mmc4(run, tmp_path):
    page = {"url": "https://example.org", "text_list": ["A dog."], "image_info": [{"image_name": "a.png"}]}
    (tmp_path / "in/shard_images").mkdir(parents=True)
    (tmp_path / "in/shard_images/a.png").write_bytes(png(0))
    told = run(write_jsonl(tmp_path / "in/shard.jsonl.gz", [page, page]))
    assert told["images"] == {"read": 2, "usable": 2}
    assert [each["id"] for each in results(tmp_path / "out")] == ["https://example.org", "https://example.org#2"]


def test_samples_of_a_webdataset(run, tmp_path):
    members = {
        "00/a.jpg": png(0),
        "00/a.txt": b"A dog sleeps.  It rains.",
        "00/b.0.png": png(1),
        "00/b.1.png": png(2),
        "00/b.json": json.dumps({"sentences": ["A tram."], "positions": [0, 1]}).encode(),
        "00/c.jpg": png(3),
        "00/d.json": b"{broken",
    }
    told = run(write_tar(tmp_path / "in/a.tar", members))
    assert told["documents"] == {"read": 4, "broken row": 2, "written": 2}
    assert told["images"] == {"read": 3, "usable": 3}
    first, second = results(tmp_path / "out")
    assert (first["id"], len(first["sentences"]), second["id"], len(second["images"])) == ("00/a", 2, "00/b", 2)


def test_what_a_sample_says_of_its_images_and_besides(run, tmp_path):
    said = {"sentences": ["A tram."], "images": ["1.png", "b.0.png"], "url": "https://example.org/", "caption": "C"}
    members = {
        "00/b.0.png": png(1),
        "00/b.1.png": png(2),
        "00/b.json": json.dumps(said).encode(),
        "0.jpg": png(3),  # a sample of its own, and no name of an image of the next
        "00/c.0.jpg": png(4),
        "00/c.json": json.dumps({"sentences": ["A dog."], "images": ["0.jpg"], "meta": {"sample": 1}, "x": 2}).encode(),
    }
    told = run(path := write_tar(tmp_path / "in/a.tar", members))
    assert told["images"] == {"read": 3, "usable": 3}
    assert [record.row and record.row.meta for record in sample_records(Tar(path))] == [
        {"sample": {"url": "https://example.org/", "caption": "C"}},
        None,
        {"sample": 1},
    ]
    first, second = results(tmp_path / "out")
    assert [each["source"] for each in first["images"]] == ["00/b.1.png", "b.0.png"]  # as they are found
    assert [each["source"] for each in second["images"]] == ["0.jpg"]  # a whole name goes before an ending


def test_two_samples_of_one_id_are_a_broken_row(run, tmp_path):
    said = json.dumps({"id": "same", "sentences": ["A tram."]}).encode()
    members = {"a.jpg": png(0), "a.json": said, "b.jpg": png(1), "b.json": said, "a.txt": b"Once more."}
    told = run(write_tar(tmp_path / "in/a.tar", members))
    assert told["documents"] == {"read": 3, "broken row": 1, "written": 2}
    assert told["reasons"] == {"row, field id: 'same' is also the id of sample N a": 1}
    assert [each["id"] for each in results(tmp_path / "out")] == ["same", "a"]


def test_hostile_members_of_a_tar_are_refused(run, tmp_path):
    path = tmp_path / "in/a.tar"
    path.parent.mkdir()
    with tarfile.open(path, "w") as tar:
        for name in ("../x.png", "/x.png", "a\\..\\x.png", "good.png", "good.png", "a/../../x.png"):
            info = tarfile.TarInfo(name)
            info.size = len(png(0))
            tar.addfile(info, io.BytesIO(png(0)))
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE):
            info = tarfile.TarInfo(f"odd{ord(kind)}.png")
            info.type, info.linkname = kind, "/etc/hostname"
            tar.addfile(info)
    names = ["x.png", "odd50.png", "odd49.png", "odd51.png", "good.png"]
    told = run(write_jsonl(tmp_path / "in/a.jsonl", [row(0, names)]).parent)
    assert told["images"] == {"read": 5, "usable": 1, "missing": 4}
    assert told["reasons"]["member of a tar: a name that leads out of the archive"] == 4
    assert told["reasons"]["member of a tar: a link, a device or the like"] == 4
    assert told["reasons"]["member of a tar: a name that is there already"] == 1


def test_a_tar_that_is_cut_off_gives_what_is_whole(run, tmp_path):
    path = write_tar(tmp_path / "in/a.tar", {"a.png": png(0), "b.png": png(1), "c.png": png(2)})
    path.write_bytes(path.read_bytes()[: 512 + 18432 + 700])
    told = run(write_jsonl(tmp_path / "in/a.jsonl", [row(0, ["a.png", "b.png", "c.png"])]).parent)
    assert told["images"] == {"read": 3, "usable": 1, "missing": 2}


def test_a_tar_of_less_than_nothing_ends(run, tmp_path):
    path = write_tar(tmp_path / "in/a.tar", {"a.txt": b"A dog.", "a.png": png(0), "b.txt": b"B."})
    data = bytearray(path.read_bytes())
    at = data.index(b"b.txt")
    data[at + 124 : at + 136] = b"\xff" * 10 + (2**16 - 4096).to_bytes(2, "big")  # a size below 0, base 256
    data[at + 148 : at + 156] = b"        "
    data[at + 148 : at + 156] = b"%06o\0 " % sum(data[at : at + 512])
    path.write_bytes(data)
    told = run(path)
    assert told["damaged"] == {str(path): "a.tar: a member of less than no bytes"}
    assert told["documents"] == {"read": 1, "written": 1}


@pytest.mark.parametrize(("name", "data"), [("a.parquet", b"PAR1"), ("a.jsonl.gz", b"\x1f\x8b"), ("a.tar", b"no tar")])
def test_a_shard_that_cannot_be_read_gives_an_empty_result_that_says_so(run, tmp_path, name, data):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / name).write_bytes(data)
    told = run(tmp_path / "in" / name)
    assert name in told["unread"][str(tmp_path / "in" / name)]
    assert (told["documents"], results(tmp_path / "out")) == ({}, [])


@pytest.mark.slow
def test_what_was_read_before_a_damage_is_kept(run, tmp_path):
    path = write_jsonl(tmp_path / "in/a.jsonl.gz", [row(number, []) for number in range(2000)])
    path.write_bytes(path.read_bytes()[:-200])
    told = run(path)
    assert "damaged" in told["damaged"][str(path)]
    assert 0 < told["documents"]["written"] == told["documents"]["read"] < 2000


def test_reasons_have_no_names_and_numbers():
    assert reason_of("12 × 1,300 are more than 100 pixels") == "N × N are more than N pixels"
    assert reason_of("not found: a/b 7.png") == "not found"
