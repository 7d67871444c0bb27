"""Shards in a library, which are linked as they are added."""

from __future__ import annotations

import io
import re
import tarfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pillow

from iconotext.errors import ImageError, LibraryError, StoreError
from iconotext.library.candidates import make_filters
from iconotext.library.commit import Ledger
from iconotext.library.items import file_of, member_content
from iconotext.library.models import DocumentLinker
from iconotext.library.results_page import results_page
from iconotext.library.search import Query, search
from iconotext.library.store import open_library
from iconotext.library.update import remove_from_library
from iconotext.serve import search_work
from iconotext.types import Member
from tests.support.library import Colours, EveryLink, stored, update
from tests.support.object_store import bucket, running, send
from tests.support.shards import row, write_jsonl, write_tar


def shade(number: int) -> bytes:
    """A PNG of one colour, which has the number."""
    file = io.BytesIO()
    Pillow.new("RGB", (80, 80), (200, number % 256, number // 256)).save(file, "PNG")
    return file.getvalue()


@pytest.fixture
def shards(tmp_path):
    """Two shards of three documents with a picture each, which lie in tars beside them."""
    for s in range(2):
        rows = [row(3 * s + n, [f"{n}.png"]) for n in range(3)]
        write_jsonl(tmp_path / "shards" / f"{s}.jsonl", rows)
        write_tar(tmp_path / "shards" / f"{s}.tar", {f"{n}.png": shade(3 * s + n) for n in range(3)})
    return tmp_path / "shards"


def places(lib: Path) -> list[str]:
    return sorted(place.image for item in stored(lib).values() for place in item.places)


def test_shards_are_linked_and_their_pictures_found_in_the_tars(shards, tmp_path):
    lib, link = tmp_path / "lib", EveryLink()
    report = update(lib, shards, link=link)
    assert (report.added, report.shards, report.documents, report.failures, report.left_out) == (6, 2, 6, [], [])
    assert link.linked == [f"d{n}" for n in range(6)]
    assert places(lib) == [f"{shards}/{s}.tar#{n}.png" for s in range(2) for n in range(3)]
    for digest, item in stored(lib).items():
        (place,) = item.places
        assert item.thumbnail is None  # nothing is kept of what lies in a tar
        assert place.document_name is not None
        assert place.document_name.startswith(f"{shards}/")
        assert [said.confidence for said in place.sentences] == [0.9, 0.8, 0.7]
        assert place.member is not None
        assert member_content(place.member, digest) == shade(int(str(place.id)[1:]))
    library = open_library(lib)
    assert library.count(f"array_has(folders, '{shards}')") == 6
    assert library.count(f"array_has(folders, '{shards}/1.jsonl')") == 3
    again = update(lib, shards, link=link)
    assert (again.shards_unchanged, again.added, again.encoded, len(link.linked)) == (2, 0, 0, 6)


def test_a_changed_shard_is_read_again_and_one_that_is_gone_goes(shards, tmp_path):
    lib = tmp_path / "lib"
    update(lib, shards, link=EveryLink())
    write_jsonl(shards / "0.jsonl", [row(0, ["0.png"]), row(9, ["1.png"])])
    (shards / "1.jsonl").unlink()
    (shards / "1.tar").unlink()
    report = update(lib, shards, link=EveryLink())
    assert (report.shards, report.added, report.removed) == (1, 0, 4)
    assert places(lib) == [f"{shards}/0.tar#0.png", f"{shards}/0.tar#1.png"]
    assert remove_from_library(lib, [shards]).removed == 2
    assert places(lib) == []
    assert update(lib, shards, link=EveryLink()).added == 2


def test_a_shard_that_becomes_shorter_loses_its_last_parts(shards, tmp_path, monkeypatch):
    monkeypatch.setattr("iconotext.library.changes.PART", 1)
    lib = tmp_path / "lib"
    update(lib, shards, link=EveryLink())
    assert update(lib, shards / "0.jsonl", link=EveryLink()).shards_unchanged == 1
    write_jsonl(shards / "0.jsonl", [row(0, ["0.png"])])
    assert update(lib, shards, link=EveryLink()).removed == 2
    assert len(places(lib)) == 4


@pytest.mark.slow
def test_a_run_that_ends_early_goes_on_with_the_next_part(shards, tmp_path, monkeypatch):
    monkeypatch.setattr("iconotext.library.changes.PART", 1)
    lib, colours, put = tmp_path / "lib", Colours(), Ledger.put

    def put_some(self: Ledger, entries: Any) -> None:
        entries = list(entries)
        put(self, entries)
        if any(entry.path.endswith("1.jsonl#0") for entry in entries):
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "put", put_some)
        with pytest.raises(KeyboardInterrupt):
            update(lib, shards, link=EveryLink(), colours=colours)
    assert len(places(lib)) == 4
    before = len(colours.looked)
    report = update(lib, shards, link=EveryLink(), colours=colours)
    assert (report.shards_unchanged, report.added, len(colours.looked) - before) == (1, 2, 2)
    whole = tmp_path / "whole"
    update(whole, shards, link=EveryLink())
    assert places(lib) == places(whole)


def test_what_cannot_be_used_is_counted_by_reason(tmp_path):
    rows: list[Any] = [row(0, ["a.png", "gone.png"]), "no json", row(1, ["broken.png"]), row(2, ["../up.png"])]
    write_jsonl(tmp_path / "s" / "0.jsonl", rows)
    write_tar(tmp_path / "s" / "0.tar", {"a.png": shade(1), "broken.png": b"no picture"})
    (tmp_path / "s" / "notes.jsonl").write_text("nothing\nof\nthe kind\n")
    report = update(tmp_path / "lib", tmp_path / "s", link=EveryLink())
    assert report.added == 1
    assert sum(report.reasons.values()) == 3
    assert {reason.partition(":")[0] for reason in report.reasons} == {"row", "picture"}
    assert len(report.examples) == 3
    # What can only be seen when it is encoded is told as ever; a file that only lies there is left out.
    assert sorted(Path(where).name for where, _ in report.left_out) == ["0.tar#broken.png", "notes.jsonl"]
    named = update(tmp_path / "lib", tmp_path / "s" / "notes.jsonl", link=EveryLink())
    assert [where for where, _ in named.failures] == [str(tmp_path / "s" / "notes.jsonl")]


def state(lib: Path) -> dict[str, Any]:
    """All that a library says of its pictures."""
    return {digest: (item.places, item.date, item.thumbnail, item.words) for digest, item in stored(lib).items()}


def test_a_shard_that_was_taken_and_cannot_be_read_any_more_is_a_failure(shards, tmp_path):
    lib = tmp_path / "lib"
    (shards / "notes.jsonl").write_text("nothing\nof\nthe kind\n")
    report = update(lib, shards, link=EveryLink())
    assert ([Path(where).name for where, _ in report.left_out], report.failures) == (["notes.jsonl"], [])
    before = state(lib)
    (shards / "0.jsonl").write_text("nothing\nof\nthe kind\n")
    report = update(lib, link=EveryLink())
    assert [Path(where).name for where, _ in report.left_out] == ["notes.jsonl"]
    assert [Path(where).name for where, _ in report.failures] == ["0.jsonl"]
    assert state(lib) == before


def test_a_picture_in_a_tar_or_a_table_is_shown_only_if_it_still_is_that_one(shards, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    images = [[{"bytes": shade(n), "path": f"{n}.png"}] for n in range(7, 11)]
    columns: dict[str, Any] = {"id": [f"d{n}" for n in range(4)], "sentences": [["A red tram."]] * 4, "images": images}
    pq.write_table(pa.table(columns), shards / "table.parquet", row_group_size=3)
    lib = tmp_path / "lib"
    update(lib, shards, link=EveryLink())
    (four,) = [n for n in places(lib) if n.endswith("table.parquet#10.png")]
    found = {place.image: (digest, place) for digest, item in stored(lib).items() for place in item.places}
    digest, place = found[four]
    assert place.member == (str(shards / "table.parquet"), 3, 0)
    assert member_content(place.member, digest) == shade(10)
    for other in ({"start": 2}, {"start": 9}, {"part": 1}):
        assert member_content(place.member._replace(**other), digest) is None
    digest, place = found[f"{shards}/0.tar#1.png"]
    assert place.member is not None
    assert member_content(place.member, digest) == shade(1)
    with tarfile.open(shards / "0.tar", "w"):
        pass
    assert member_content(place.member, digest) is None
    (shards / "0.tar").unlink()
    assert member_content(place.member, digest) is None


def test_a_folder_of_links_is_none_of_a_library(tmp_path):
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked/_run.json").touch()
    with pytest.raises(LibraryError, match="linked: links of `iconotext scale`; add the shards that they were made of"):
        update(tmp_path / "lib", tmp_path / "linked")
    assert not (tmp_path / "lib").exists()


def test_names_of_parts():
    assert file_of("/a/0.parquet#12") == "/a/0.parquet"
    assert file_of("/a/0.jsonl.gz#0") == "/a/0.jsonl.gz"
    assert file_of("/a/picture#3") == "/a/picture#3"
    assert file_of("/a/0.parquet#x") == "/a/0.parquet#x"


def test_pages_show_pictures_out_of_tars(shards, tmp_path):
    lib = tmp_path / "lib"
    update(lib, shards, link=EveryLink())
    library = open_library(lib)
    query = Query("red", anyway=True)
    results = search(library, query, Colours().encoder())
    assert [result.file for result in results] == [None] * 6
    assert results[0].document == f"{shards}/0.jsonl#d0"
    assert len(re.findall('src="data:image/', results_page(library, query, results))) >= 6
    search_work.prepare(str(lib))
    kind, data = search_work.picture(results[0].digest, "small", str(tmp_path))
    assert (kind in ("png", "jpeg"), len(data) > 50) == (True, True)
    (shards / "0.tar").unlink()
    with pytest.raises(ImageError, match="its file is gone"):
        search_work.picture(results[0].digest, "small", str(tmp_path))


def test_the_shipped_linker_links_shards(shards, tmp_path):
    report = update(tmp_path / "lib", shards / "0.jsonl", link=DocumentLinker("default"))
    assert (report.added, report.documents, report.failures) == (3, 3, [])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_shards_of_a_store_are_added_and_their_pictures_shown_from_there(shards, tmp_path, monkeypatch):
    import pyarrow as pa
    import pyarrow.parquet as pq

    images = [[{"bytes": shade(6), "path": "6.png"}]]
    pq.write_table(pa.table({"id": ["d6"], "sentences": [["A tram."]], "images": images}), shards / "t.parquet")
    write_jsonl(shards / "loose.jsonl", [row(7, ["7.png", "no.png"])])
    (shards / "7.png").write_bytes(shade(7))
    lib, link, colours = tmp_path / "lib", EveryLink(), Colours()
    with contextmanager(running)(monkeypatch):
        send(shards, "s3://bucket/in")
        root = Path("s3://bucket/in")
        report = update(lib, root, link=link)
        assert (report.added, report.shards, report.documents, report.failures) == (8, 4, 8, [])
        assert sum(report.reasons.values()) == 1  # no.png
        assert len(link.linked) == 8
        assert update(lib, link=link, colours=colours).shards_unchanged == 4
        assert colours.looked == []
        members = [f"s3://bucket/in/{s}.tar#{n}.png" for s in range(2) for n in range(3)]
        assert places(lib) == sorted(
            [*members, "s3://bucket/in/t.parquet#6.png", "s3://bucket/in/loose.jsonl#d7#image-1"]
        )
        library = open_library(lib)
        assert library.settings.roots == (str(root).replace(":/", "://"),)
        for digest, item in stored(lib).items():
            (place,) = item.places
            assert place.file is None
            if place.member is None:  # a small picture is kept of what is an object of its own
                assert item.thumbnail is not None
            else:
                assert item.thumbnail is None
                assert member_content(place.member, digest) == shade(int(str(place.id)[1:]))
        only = Query("red", anyway=True, top=20, filters=make_filters(Path("s3://bucket/in/0.tar").parent))
        assert len(search(library, only, Colours().encoder())) == 8
        bucket().rm(["bucket/in/0.jsonl", "bucket/in/0.tar"])
        report = update(lib, link=link)
        assert (report.removed, report.added, report.failures) == (3, 0, [])
        (problem,) = update(tmp_path / "other", Path("s3://bucket/nothing"), link=link).failures
        assert problem[0] == "s3://bucket/nothing"
        assert problem[1].startswith("no shard is there")
    assert remove_from_library(lib, [root]).removed == 5
    with pytest.raises(StoreError, match="does not answer"):
        update(lib, root, link=link)
    assert member_content(Member("s3://bucket/in/1.tar", 0, 10), "x") is None
