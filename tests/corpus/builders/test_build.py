from __future__ import annotations

import errno
import json
import os
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from contextlib import suppress

import pytest

from iconotext import read_corpus
from iconotext.corpus.builders.frame import build as frame_build
from iconotext.corpus.builders.frame.build import build_corpus
from iconotext.corpus.builders.frame.report import OTHER, RULES, BuildReport, Count
from iconotext.corpus.builders.frame.work_folder import begin_anew, clear, held, same_build, work_folder
from iconotext.errors import CorpusError, OutputError, SettingError
from iconotext.write import put_in_place


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "source"
    path.mkdir()
    (path / "numbers.txt").write_text("7")
    return path


def doubled(number):
    return {"number": 2 * number}


def numbers(build):
    for found in build.mapped("numbers", range(200), doubled, total=200):
        if found["number"] % 3:
            build.report.drop("no multiple of 3", str(found["number"]), "a\ttab")
        else:
            yield {
                "id": f"{found['number']}",
                "split": "test",
                "sentences": ["One.", "Two."],
                "images": [f"{found['number']}.jpg"],
                "links": [[0, 0]],
            }
    build.report.count("numbers", 200, 200)
    build.report.count("about", 12_600, 13_000, rounding=1000)
    build.report.note("a note")


@pytest.mark.parametrize("name", ["c.jsonl", "c.parquet"])
def test_corpus_report_and_dropped_items_are_written(tmp_path, source, name):
    output = tmp_path / "out" / name
    report = build_corpus("numbers", numbers, output, sources=[source], settings={"x": 1}, seed=3, workers=1)
    documents = list(read_corpus(output))
    assert [document.id for document in documents] == [str(n) for n in range(0, 400, 6)]
    assert documents[0].links == ((0, 0),)
    written = json.loads((tmp_path / "out/c.report.json").read_text())
    assert written == report.as_json()
    assert written["builder"] == "numbers"
    assert written["settings"] == {"x": 1, "seed": 3}
    assert written["sources"] == [str(source)]
    assert written["counts"] == [
        {"what": "numbers", "found": 200, "published": 200, "rounded_to": 1, "fits": True},
        {"what": "about", "found": 12_600, "published": 13_000, "rounded_to": 1000, "fits": True},
    ]
    assert written["dropped"] == {"no multiple of 3": 133}
    assert written["notes"] == ["a note"]
    assert (written["documents"], written["splits"], written["unique_images"]) == (67, {"test": 67}, 67)
    assert written["density"] == 0.5
    lines = (tmp_path / "out/c.dropped.tsv").read_text().splitlines()
    assert lines[:2] == ["rule\titem\treason", "no multiple of 3\t2\ta tab"]
    assert len(lines) == 134
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(
        ["c.dropped.tsv", name, "c.report.json"]
    )


@pytest.mark.parametrize(
    ("found", "published", "rounding", "fits"),
    [
        (5, None, 1, None),
        (5, 5, 1, True),
        (5, 6, 1, False),
        (12_501, 13_000, 1000, True),
        (12_500, 13_000, 1000, False),
    ],
)
def test_a_count_fits_as_far_as_the_published_one_goes(found, published, rounding, fits):
    assert Count("things", found, published, rounding).fits is fits


@pytest.mark.slow
def test_any_number_of_workers_gives_the_same_files(tmp_path, source):
    for workers in (1, 2):
        build_corpus("numbers", numbers, tmp_path / f"{workers}/c.jsonl", sources=[source], workers=workers)
    for name in ("c.jsonl", "c.report.json", "c.dropped.tsv"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


class Stopped(Exception):
    pass


def interrupted(after):
    """The builder, stopped after so many results; and what it worked on."""
    worked = []

    def work(number):
        worked.append(number)
        return doubled(number)

    def rows(build):
        for count, found in enumerate(build.mapped("numbers", range(200), work)):
            if count == after:
                raise Stopped
            yield {"id": str(found["number"]), "sentences": ["A."], "images": []}

    return rows, worked


def test_a_build_goes_on_where_it_was_stopped_unless_source_or_settings_changed(tmp_path, source):
    output = tmp_path / "c.jsonl"
    rows, worked = interrupted(150)

    def build(rows, **settings):
        return build_corpus("numbers", rows, output, sources=[source], settings=settings, workers=1, force=True)

    with pytest.raises(Stopped):
        build(rows)
    assert len(worked) == 192  # three chunks
    assert not output.exists()
    rows, worked = interrupted(None)
    assert build(rows).stats.documents == 200
    assert worked == list(range(192, 200))
    assert not work_folder(output).exists()
    for change in ({"settings": {"x": 1}}, {"text": "8, another size"}):
        rows, worked = interrupted(150)
        with pytest.raises(Stopped):
            build(rows)
        if "text" in change:
            (source / "numbers.txt").write_text(change["text"])
        rows, worked = interrupted(None)
        build(rows, **change.get("settings", {}))
        assert len(worked) == 200
    rows, worked = interrupted(150)
    with pytest.raises(Stopped):
        build(rows)
    (source / "fetched.jpg").write_bytes(b"a picture that came meanwhile")
    rows, worked = interrupted(None)
    build(rows)
    assert len(worked) == 8


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("name", ["c.jsonl", "c.parquet"])
@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("after", [0, 1, 2, 9])
def test_a_build_goes_on_that_was_killed_while_files_were_put_in_place(
    tmp_path, source, monkeypatch, name, force, after
):
    build_corpus("numbers", numbers, tmp_path / "whole" / name, sources=[source], workers=1)
    output = tmp_path / "out" / name
    left = after

    def killed(finished, path, *, force):
        nonlocal left
        if not left:
            raise KeyboardInterrupt
        left -= 1
        put_in_place(finished, path, force=force)
        if path == output:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(frame_build, "put_in_place", killed)
        with pytest.raises(KeyboardInterrupt):
            build_corpus("numbers", numbers, output, sources=[source], workers=1, force=force)
    assert output.exists() is (after == 9)
    (work_folder(output) / ".iconotext-0123456789abcdef.tmp").write_text("what a kill left")
    monkeypatch.setattr(sys.modules[__name__], "doubled", None)  # everything is in the journal
    build_corpus("numbers", numbers, output, sources=[source], workers=1, force=force)
    assert files_of(output.parent) == files_of(tmp_path / "whole")
    assert not work_folder(output).exists()


def test_a_build_that_was_killed_while_it_cleaned_up_is_done(tmp_path, source, monkeypatch):
    output = tmp_path / "c.jsonl"

    def killed(folder):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(frame_build, "clear", killed)
        with pytest.raises(KeyboardInterrupt):
            build_corpus("numbers", numbers, output, sources=[source], workers=1)
    whole = files_of(tmp_path)
    assert len(whole) == 3
    with pytest.raises(OutputError, match=r"c\.jsonl exists already"):
        build_corpus("numbers", numbers, output, sources=[source], workers=1)
    build_corpus("numbers", numbers, output, sources=[source], workers=1, force=True)
    assert files_of(tmp_path) == whole
    assert not work_folder(output).exists()


def test_a_file_of_somebody_else_is_not_taken_for_what_a_killed_build_put_in_place(tmp_path, source, monkeypatch):
    output = tmp_path / "c.jsonl"

    def killed(finished, path, *, force):
        if path == output:
            raise KeyboardInterrupt
        put_in_place(finished, path, force=force)

    with monkeypatch.context() as patch:
        patch.setattr(frame_build, "put_in_place", killed)
        with pytest.raises(KeyboardInterrupt):
            build_corpus("numbers", numbers, output, sources=[source], workers=1)
    report = tmp_path / "c.report.json"
    report.unlink()
    report.write_text("mine")
    with pytest.raises(OutputError, match=r"c\.report\.json exists already"):
        build_corpus("numbers", numbers, output, sources=[source], workers=1)
    assert report.read_text() == "mine"
    with pytest.raises(OutputError, match=r"exists already"):  # nor are those of another build
        build_corpus("numbers", numbers, output, sources=[source], workers=1, seed=1)
    report.unlink()
    build_corpus("numbers", numbers, output, sources=[source], workers=1)
    assert output.exists()


@pytest.mark.parametrize("links", [True, False])
def test_files_are_replaced_with_their_rights_and_also_without_hard_links(tmp_path, source, monkeypatch, links):
    def refused(old, new):
        raise OSError(errno.EPERM, "Operation not permitted")

    if not links:
        monkeypatch.setattr(os, "link", refused)
    output = tmp_path / "c.jsonl"
    build_corpus("numbers", numbers, output, sources=[source], workers=1)
    whole = files_of(tmp_path)
    with pytest.raises(OutputError, match=r"c\.jsonl exists already"):
        build_corpus("numbers", numbers, output, sources=[source], workers=1)
    output.write_text("old")
    output.chmod(0o600)
    build_corpus("numbers", numbers, output, sources=[source], workers=1, force=True)
    assert files_of(tmp_path) == whole
    if sys.platform != "win32":
        assert stat.S_IMODE(output.stat().st_mode) == 0o600
    assert not work_folder(output).exists()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes")
def test_a_pipe_gets_the_corpus(tmp_path, source):
    output = tmp_path / "c.jsonl"
    os.mkfifo(output)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(output.read_bytes()))
    reader.start()
    build_corpus("numbers", numbers, output, sources=[source], workers=1)
    reader.join()
    assert found[0].count(b"\n") == 67
    assert output.is_fifo()


def test_two_builds_of_one_corpus_do_not_mix(tmp_path, source):
    output = tmp_path / "c.jsonl"

    def rows(build):
        with pytest.raises(OutputError, match=r"c\.building: another process is making this corpus; wait for it"):
            build_corpus("numbers", numbers, output, sources=[source], seed=1, force=True)
        yield from numbers(build)

    build_corpus("numbers", rows, output, sources=[source], workers=1)
    assert sorted(files_of(tmp_path)) == ["c.dropped.tsv", "c.jsonl", "c.report.json"]
    assert not work_folder(output).exists()


HOLDER = """
import sys, time
from pathlib import Path
from iconotext.corpus.builders.frame.work_folder import held
with held(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_the_lock_ends_with_its_process(tmp_path, source):
    output = tmp_path / "c.jsonl"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, work_folder(output)],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": "src"},
        text=True,
    )
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == "held\n"
        with pytest.raises(OutputError, match="another process is making this corpus"):
            build_corpus("numbers", numbers, output, sources=[source], workers=1)
        process.kill()
        process.wait()
    assert build_corpus("numbers", numbers, output, sources=[source], workers=1).stats is not None


def test_many_processes_never_hold_a_folder_together(tmp_path):
    inside, most, entered = 0, 0, 0

    def work():
        nonlocal inside, most, entered
        for _ in range(30):
            with suppress(OutputError), held(tmp_path / "c.building"):
                inside += 1
                most = max(most, inside)
                entered += 1
                time.sleep(0.0005)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most, inside) == (1, 0)
    assert entered
    assert not (tmp_path / "c.building").exists()


def test_a_kill_while_the_folder_is_emptied_leaves_it_known(tmp_path, monkeypatch):
    (tmp_path / "zzz").mkdir()
    begin_anew(tmp_path, "key")
    (tmp_path / "zzz").mkdir()
    (tmp_path / "aaa").write_text("")

    def killed(path):
        raise KeyboardInterrupt

    monkeypatch.setattr("shutil.rmtree", killed)
    with pytest.raises(KeyboardInterrupt):
        clear(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["build.json", "zzz"]
    assert same_build(tmp_path, "key")


def test_links_to_nowhere_and_what_the_build_writes_are_no_change_of_a_source(tmp_path, source):
    (source / "latest").symlink_to("gone")
    output = source / "c.jsonl"
    rows, worked = interrupted(150)

    def build(rows):
        return build_corpus("numbers", rows, output, sources=[source], workers=1, force=True)

    with pytest.raises(Stopped):
        build(rows)
    output.write_text("of an earlier build")
    rows, worked = interrupted(None)
    build(rows)
    assert len(worked) == 8


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), r"c\.building: No space left on device"),
        (PermissionError(errno.EACCES, "Permission denied", "docs/a.md"), r"docs/a\.md: Permission denied"),
        (sqlite3.OperationalError("database or disk is full"), r"c\.building: database or disk is full"),
    ],
)
def test_a_full_disk_is_one_line_and_the_build_goes_on_afterwards(tmp_path, source, error, message):
    output = tmp_path / "c.jsonl"
    rows, worked = interrupted(None)

    def full(build):
        yield from rows(build)
        raise error

    with pytest.raises(OutputError, match=message):
        build_corpus("numbers", full, output, sources=[source], workers=1)
    worked.clear()
    build_corpus("numbers", rows, output, sources=[source], workers=1)
    assert worked == []
    assert sorted(files_of(tmp_path)) == ["c.dropped.tsv", "c.jsonl", "c.report.json"]


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names of files are UTF-8 there")
def test_a_source_whose_name_is_not_utf8_is_reported(tmp_path):
    source = tmp_path / "caf\udce9"
    source.write_text("")
    settings = {"images": str(source)}
    build_corpus("numbers", numbers, tmp_path / "c.jsonl", sources=[source], settings=settings, workers=1)
    assert json.loads((tmp_path / "c.report.json").read_text())["sources"] == [str(tmp_path / "caf?")]


@pytest.mark.slow
def test_the_results_of_a_step_can_be_had_again(tmp_path, source):
    def rows(build):
        first = list(build.mapped("numbers", range(100), doubled))
        assert list(build.kept("numbers")) == first
        assert list(build.watch([1, 2], label="Watching")) == [1, 2]
        assert build.way(source / "img") == "../source/img"
        with pytest.raises(ValueError, match="two steps"):
            next(build.mapped("numbers", range(100), doubled))
        yield {"id": "a", "sentences": [], "images": []}

    build_corpus("numbers", rows, tmp_path / "out/c.jsonl", sources=[source])


def nothing(build):
    list(build.mapped("numbers", range(3), doubled))
    build.report.drop("too small", "number 1", "below 5")
    yield from ()


def twice(build):
    yield {"id": "a", "sentences": [], "images": []}
    yield {"id": "a", "sentences": [], "images": []}


def misfit(build):
    yield {"id": "a", "sentences": [], "images": [], "links": [[0, 0]]}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (nothing, r"nothing is left of it \(dropped: 1 too small, such as number 1: below 5\)"),
        (twice, "two documents have this id"),
        (misfit, r"document 'a', field links: links has \[0, 0\]"),
    ],
)
def test_what_makes_no_corpus_leaves_what_was_there(tmp_path, source, rows, message):
    output = tmp_path / "out/c.jsonl"
    output.parent.mkdir()
    for name in ("c.jsonl", "c.report.json", "c.dropped.tsv"):
        (output.parent / name).write_text("old")
    with pytest.raises(CorpusError, match=message):
        build_corpus("x", rows, output, sources=[source], force=True)
    assert {path.name: path.read_text() for path in output.parent.iterdir()} == dict.fromkeys(
        ("c.jsonl", "c.report.json", "c.dropped.tsv"), "old"
    )


def test_what_stands_in_the_way_is_said_before_any_work(tmp_path, source):
    def never(build):
        raise AssertionError

    def build(output, **options):
        build_corpus("x", never, output, **{"sources": [source]} | options)

    with pytest.raises(OutputError, match=r"\.jsonl or \.parquet"):
        build(tmp_path / "c.csv")
    with pytest.raises(SettingError, match="workers 0"):
        build(tmp_path / "c.jsonl", workers=0)
    with pytest.raises(CorpusError, match="gone: no such file or folder"):
        build(tmp_path / "c.jsonl", sources=[tmp_path / "gone"])
    (tmp_path / "a.report.json").write_text("")
    with pytest.raises(OutputError, match=r"a\.report\.json exists already"):
        build(tmp_path / "a.jsonl")
    (tmp_path / "b.building").mkdir()
    (tmp_path / "b.building/mine.txt").write_text("")
    with pytest.raises(OutputError, match=r"b\.building: is in the way"):
        build(tmp_path / "b.jsonl")
    assert (tmp_path / "b.building/mine.txt").exists()


def test_what_was_dropped_is_a_table_without_formulas(tmp_path, source):
    def rows(build):
        build.report.drop("=1+1", "-2\t\x1b[31m", "@SUM(A1)")
        yield {"id": "a", "sentences": [], "images": []}

    build_corpus("x", rows, tmp_path / "c.jsonl", sources=[source])
    assert (tmp_path / "c.dropped.tsv").read_text().splitlines()[1] == "'=1+1\t'-2 [31m\t'@SUM(A1)"


def test_reasons_that_are_no_utf8_stop_nothing(tmp_path, source):
    def rows(build):
        build.report.drop("odd", "caf\udce9", "\ud800")
        yield {"id": "a", "sentences": [], "images": []}

    build_corpus("x", rows, tmp_path / "c.jsonl", sources=[source])
    assert (tmp_path / "c.dropped.tsv").read_text().splitlines()[1] == "odd\tcaf\ufffd\t\ufffd"


def test_the_first_item_of_a_rule_is_remembered():
    report = BuildReport("x", {}, [])
    report.drop("r", "a", "because")
    report.drop("r", "b")
    assert (report.first, report.dropped["r"]) == ({"r": "a: because"}, 2)


def test_no_source_makes_a_report_endless():
    report = BuildReport("x", {}, [])
    for number in range(1000):
        report.drop(f"rule {number % 500}", "a", "b" if number % 2 else "")
    assert len(report.dropped) == RULES + 1
    assert report.dropped[OTHER] == 1000 - 2 * RULES
    assert report.first[OTHER] == f"a: rule {RULES}"
