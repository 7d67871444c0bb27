"""Shards in a library: results of ``scale link``, and shards that are linked as they are added."""

from __future__ import annotations

import io
import os
import re
import shutil
import tarfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pillow

from iconotext.corpus.shard_results import begin
from iconotext.corpus.shards import ShardSettings, find_shards
from iconotext.errors import ImageError, LibraryError, StoreError
from iconotext.library.candidates import make_filters
from iconotext.library.commit import Ledger
from iconotext.library.items import file_of, member_content
from iconotext.library.models import DocumentLinker
from iconotext.library.results_page import results_page
from iconotext.library.search import Query, search
from iconotext.library.store import LEDGER, open_library
from iconotext.library.update import remove_from_library
from iconotext.scale.stage import Stage
from iconotext.serve import search_work
from iconotext.system import object_store as store
from iconotext.types import Member
from tests.support.library import Colours, EveryLink, link_every, stored, update
from tests.support.object_store import running, send
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


@pytest.fixture
def linked(shards, tmp_path, monkeypatch):
    """Links the shards as ``scale link`` does, in this process and by everything; the folder of results."""

    def link(to: Any = "parquet", source: str = str(shards), target: str | None = None, **settings: Any) -> Path:
        output = target or str(tmp_path / "linked")
        setup = begin(output, {"linking": {}, "shards": {"to": to, **settings}, "model": {"name": "all"}})
        stage = Stage(output, setup, settings=ShardSettings(to=to, **settings))
        stage.__dict__["linker"] = _Linker()
        for shard in find_shards([source]):
            stage.run(shard)
        return Path(output)

    return link


class _Linker:
    def link_all(self, documents: Any) -> Any:
        for document in documents:
            yield link_every(document)


@pytest.mark.parametrize("to", ["parquet", "jsonl"])
def test_results_bring_in_what_was_linked_and_link_nothing(linked, shards, tmp_path, to):
    results, lib, link = linked(to), tmp_path / "lib", EveryLink()
    report = update(lib, results, link=link)
    assert (report.added, report.shards, report.documents, report.failures) == (6, 2, 6, [])
    assert link.linked == []
    assert places(lib) == [f"{shards}/{s}.tar#{n}.png" for s in range(2) for n in range(3)]
    (place,) = next(iter(stored(lib).values())).places
    assert place.document == str(results / f"0.{to}")
    said = [(linked.text[:5], linked.confidence) for linked in place.sentences]
    assert said == [("Dog n", 0.9), ("A red", 0.8), ("It ra", 0.7)]
    assert update(lib, results, link=link).shards_unchanged == 2


def test_results_take_the_place_of_shards_that_were_added(linked, shards, tmp_path):
    lib, link = tmp_path / "lib", EveryLink()
    update(lib, shards, link=link)
    results = linked()
    report = update(lib, shards, results, link=link)
    assert (report.added, report.removed, report.encoded, len(link.linked)) == (0, 0, 0, 6)
    assert len(places(lib)) == 6
    owners = {file_of(owner) for some in open_library(lib).column("owners") for owner in some}
    assert owners == {str(results / "0.parquet"), str(results / "1.parquet")}


def state(lib: Path) -> dict[str, Any]:
    """All that a library says of its pictures."""
    return {digest: (item.places, item.date, item.thumbnail, item.words) for digest, item in stored(lib).items()}


ORDERS = {
    "results, shards": [["linked"], ["shards"]],
    "shards, results": [["shards"], ["linked"]],
    "both": [["shards", "linked"]],
    "both, results first": [["linked", "shards"]],
    "results, one shard, shards": [["linked"], ["shards/1.jsonl"], ["shards"]],
    "shards, one result, results": [["shards"], ["linked/0.parquet"], ["linked"]],
}


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.5, 1e-9])
@pytest.mark.parametrize("order", ORDERS)
def test_the_order_in_which_shards_and_results_are_added_does_not_matter(linked, shards, tmp_path, order, share):
    """Results of some documents, and of none; a picture that lies beside the shards is added with them."""
    (shards / "loose.png").write_bytes(shade(0))
    for name in ("loose.png", "1.jsonl"):  # a picture is as old as its oldest file or shard, not as the result
        os.utime(shards / name, (10**9, 10**9))
    linked(sample=share)
    lib, link = tmp_path / "lib", EveryLink()
    for names in ORDERS[order]:
        assert update(lib, *(tmp_path / name for name in names), link=link).failures == []
    found, calls = state(lib), list(link.linked)
    again = update(lib, link=link)
    assert (again.added, again.removed, again.encoded, again.documents, again.shards) == (0, 0, 0, 0, 0)
    assert (again.unchanged, again.shards_unchanged, again.shards_with_results) == (1, 2, 2)
    assert (state(lib), link.linked) == (found, calls)
    # each is linked before its result is there, or never
    assert len(calls) == (6 if ORDERS[order][0] == ["shards"] else 0)
    wanted = tmp_path / "wanted"
    update(wanted, tmp_path / "linked", shards / "loose.png", link=EveryLink())
    assert found == state(wanted)


@pytest.mark.slow
@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize("at_once", [False, True])
def test_of_two_results_of_a_shard_the_first_counts_and_the_other_is_named(linked, shards, tmp_path, at_once, lost):
    lib, link, results = tmp_path / "lib", EveryLink(), linked()
    second = tmp_path / "linked again"
    shutil.copytree(results, second)
    if not at_once:
        update(lib, second, link=link)
    if lost and not at_once:  # what is in the library goes on to count
        (lib / LEDGER).unlink()
    first, other = (results, second) if at_once else (second, results)
    report = update(lib, results, second, link=link)
    said = "left out: {} is of the same shard, and counts; take one of them away"
    assert report.failures == [(str(other / f"{s}.parquet"), said.format(first / f"{s}.parquet")) for s in range(2)]
    assert len(places(lib)) == 6
    assert update(lib, link=link).failures == report.failures
    shutil.rmtree(first)
    remove_from_library(lib, [first])
    assert (update(lib, link=link).failures, len(places(lib)), link.linked) == ([], 6, [])


def test_of_two_results_that_a_library_has_one_is_taken_out(linked, shards, tmp_path, monkeypatch):
    lib, results = tmp_path / "lib", linked()
    second = tmp_path / "linked again"
    shutil.copytree(results, second)
    with monkeypatch.context() as before:  # as libraries were made that did not look for others
        before.setattr("iconotext.library.update.linked_shards", lambda *_: (set(), {}))
        update(lib, results, second, link=EveryLink())
    assert len(places(lib)) == 12
    report = update(lib, results, link=EveryLink())  # the other is not looked at in this run
    assert (len(report.failures), len(places(lib))) == (2, 6)
    again = update(lib, link=EveryLink())
    assert (again.added, again.removed, len(again.failures), len(places(lib))) == (0, 0, 2, 6)


@pytest.mark.slow
@pytest.mark.parametrize("lost", [False, True])
def test_results_count_while_they_are_away_and_shards_when_they_are_gone(linked, shards, tmp_path, lost):
    lib, link, results = tmp_path / "lib", EveryLink(), linked()
    update(lib, results, link=link)
    before = state(lib)
    if lost:
        (lib / LEDGER).unlink()
    assert update(lib, shards, link=link).shards_with_results == 2
    if not lost:  # nobody else knows whose results they are
        results.rename(tmp_path / "away")
        assert len(update(lib, link=link).failures) == 1
        (tmp_path / "away").rename(results)
    assert (state(lib), link.linked) == (before, [])
    (results / "0.parquet").unlink()
    report = update(lib, link=link)
    assert (report.shards_with_results, report.removed, link.linked) == (1, 0, ["d0", "d1", "d2"])
    remove_from_library(lib, [results])
    update(lib, link=link)
    alone = tmp_path / "alone"
    update(alone, shards, link=link)
    assert state(lib) == state(alone)


@pytest.mark.slow
@pytest.mark.parametrize("first", ["linked", "shards"])
def test_results_that_cannot_be_taken_leave_their_shards_alone(linked, shards, tmp_path, first):
    lib = tmp_path / "lib"
    results = linked()
    write_tar(shards / "0.tar", {f"{n}.png": shade(n + 50) for n in range(3)})
    both = sorted([results, shards], key=lambda folder: folder.name != first)
    told = [report.failures for report in (update(lib, folder, link=EveryLink()) for folder in both)]
    (problem,) = next(filter(None, told))
    said = f"its shard {shards}/0.tar has changed since it was linked: link it again (3 pictures)"
    assert problem == (str(results / "0.parquet"), said)
    wanted = tmp_path / "wanted"
    update(wanted, shards / "0.jsonl", results / "1.parquet", link=EveryLink())
    assert state(lib) == state(wanted)


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


def test_features_and_digests_are_none_of_a_library(tmp_path):
    begin(str(tmp_path / "features"), {"iconotext": "1", "shards": {}, "features": {}})
    with pytest.raises(LibraryError, match="features for training, or of digests of pictures"):
        update(tmp_path / "lib", tmp_path / "features")
    assert not (tmp_path / "lib").exists()


def test_results_of_a_part_of_the_documents(linked, shards, tmp_path):
    assert update(tmp_path / "lib", linked(sample=0.5), link=EveryLink()).added in range(1, 6)


def test_results_whose_shard_has_changed_are_told(linked, shards, tmp_path):
    results = linked()
    update(tmp_path / "lib", results, link=EveryLink())
    write_jsonl(shards / "0.jsonl", [row(0, ["0.png"])])
    report = update(tmp_path / "lib", results / "0.parquet", link=EveryLink())
    assert [why for _, why in report.failures if "has changed since it was linked" in why]
    assert len(places(tmp_path / "lib")) == 6
    (results / "1.parquet").write_bytes(b"PAR1")
    (problem,) = update(tmp_path / "lib", results / "1.parquet", link=EveryLink()).failures
    assert "its manifest is of another file" in problem[1]


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
@pytest.mark.parametrize("what", ["shards", "results"])
def test_shards_of_a_store_are_added_and_their_pictures_shown_from_there(shards, linked, tmp_path, monkeypatch, what):
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
        if what == "results":
            root = linked(source="s3://bucket/in", target="s3://bucket/out")
        report = update(lib, root, link=link)
        assert (report.added, report.shards, report.documents, report.failures) == (8, 4, 8, [])
        assert sum(report.reasons.values()) == 1  # no.png
        assert len(link.linked) == (0 if what == "results" else 8)
        assert update(lib, link=link, colours=colours).shards_unchanged == 4
        assert colours.looked == []
        members = [f"s3://bucket/in/{s}.tar#{n}.png" for s in range(2) for n in range(3)]
        named = "s3://bucket/out/loose.parquet" if what == "results" else "s3://bucket/in/loose.jsonl"
        assert places(lib) == sorted([*members, "s3://bucket/in/t.parquet#6.png", f"{named}#d7#image-1"])
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
        assert len(search(library, only, Colours().encoder())) == (7 if what == "results" else 8)
        gone = Path("s3://bucket/out/0.parquet" if what == "results" else "s3://bucket/in/0.jsonl")
        store.remove(str(gone).replace(":/", "://"))
        if what == "shards":
            store.remove("s3://bucket/in/0.tar")
        report = update(lib, link=link)
        assert (report.removed, report.added, report.failures) == (3, 0, [])
        (problem,) = update(tmp_path / "other", Path("s3://bucket/nothing"), link=link).failures
        assert problem[0] == "s3://bucket/nothing"
        assert problem[1].startswith("no shard is there")
    assert remove_from_library(lib, [root]).removed == 5
    monkeypatch.setattr(store, "PATIENCE", 0.3)
    with pytest.raises(StoreError, match="did not answer"):
        update(lib, root, link=link)
    assert member_content(Member("s3://bucket/in/1.tar", 0, 10), "x") is None
