from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from iconotext import read_corpus
from iconotext.corpus.builders import run
from iconotext.corpus.builders.build import BuilderSettings, image_problem
from iconotext.corpus.builders.report import OTHER, RULES, BuildReport, Count
from iconotext.corpus.split import Shares
from iconotext.corpus.stats import PublishedSizes
from iconotext.errors import CorpusError, IconotextError, OutputError, SettingError


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "source"
    path.mkdir()
    (path / "numbers.txt").write_text("7")
    return path


class Settings(BuilderSettings):
    source: tuple[Path, ...]
    x: int = 1


def build_corpus(name, rows, output, *, sources, x=1, **options):
    settings = Settings(source=sources, x=x)
    return run.build_corpus(name, lambda build, _: rows(build), settings, output, **options)


def doubled(number):
    return {"number": 2 * number}


def numbers(build):
    for found in build.mapped(range(200), doubled, total=200, label="Numbers"):
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
    report = build_corpus("numbers", numbers, output, sources=[source], workers=1)
    documents = list(read_corpus(output))
    assert [document.id for document in documents] == [str(n) for n in range(0, 400, 6)]
    assert documents[0].links == ((0, 0),)
    written = json.loads((tmp_path / "out/c.report.json").read_text())
    assert written == report.as_json()
    assert written["builder"] == "numbers"
    assert written["settings"] == {"x": 1}
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


FILES = ["c.dropped.tsv", "c.jsonl", "c.report.json"]


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.slow
def test_any_number_of_workers_gives_the_same_files(tmp_path, source):
    for workers in (1, 2):
        build_corpus("numbers", numbers, tmp_path / f"{workers}/c.jsonl", sources=[source], workers=workers)
    assert files_of(tmp_path / "1") == files_of(tmp_path / "2")
    assert sorted(files_of(tmp_path / "1")) == FILES


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
    assert not (tmp_path / "c.building").exists()


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
            build_corpus("numbers", numbers, output, sources=[source], force=True)
        yield from numbers(build)

    build_corpus("numbers", rows, output, sources=[source], workers=1)
    assert sorted(files_of(tmp_path)) == FILES
    assert not (tmp_path / "c.building").exists()


HOLDER = """
import sys, time
from pathlib import Path
from iconotext.corpus.builders.run import work_folder
with work_folder(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(3600)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_the_lock_ends_with_its_process(tmp_path, source):
    output = tmp_path / "c.jsonl"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, output],
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
    assert sorted(files_of(tmp_path)) == FILES


@pytest.mark.parametrize("stop", [KeyboardInterrupt, OutputError])
def test_a_build_that_is_stopped_leaves_nothing(tmp_path, picture, stop):
    files = [picture(f"{i}.png", seed=i, size=(8, 8)) for i in range(3)]
    files[1].write_text("no image")

    def rows(build):
        yield {"id": "a", "sentences": [], "images": []}
        problems = list(build.checked([*files, None], image_problem, label="Looking"))
        assert [problem is None for problem in problems] == [True, False, True, False]
        raise stop

    with pytest.raises(stop):
        build_corpus("x", rows, tmp_path / "out/c.jsonl", sources=[tmp_path], workers=1)
    assert list((tmp_path / "out").iterdir()) == []


def dies(number):
    os._exit(3)


@pytest.mark.slow
def test_a_worker_that_dies_is_said(tmp_path, source):
    def rows(build):
        yield from build.mapped(range(300), dies, label="Dying")

    with pytest.raises(IconotextError, match="a worker process died"):
        build_corpus("x", rows, tmp_path / "c.jsonl", sources=[source], workers=2)
    assert not list(tmp_path.glob("c.*"))


def test_documents_get_random_splits_in_their_order(tmp_path):
    def rows(build):
        build.published = PublishedSizes((8, 1, 1), images=10, density=100, median=(1, 1), rounding=1)
        some = ({"id": f"{i}", "sentences": ["One."], "images": [f"{i}.jpg"], "links": [(0, 0)]} for i in range(10))
        yield from build.with_random_splits(some, Shares(0.1, 0.1), seed=0)

    report = build_corpus("some", rows, tmp_path / "c.jsonl", sources=[tmp_path])
    found = list(read_corpus(tmp_path / "c.jsonl"))
    assert [document.id for document in found] == [f"{i}" for i in range(10)]
    assert sorted(str(document.split) for document in found) == ["test", *["train"] * 8, "validation"]
    counts = {count.name: count.number for count in report.counts}
    assert counts["different images"] == 10
    assert counts["links per 100 possible links"] == 100


def test_values_on_disk_are_had_in_any_order(tmp_path, source):
    def rows(build):
        spool = build.spool({"n": n, "t": ("é", None)} for n in range(50))
        assert list(spool) == list(spool) == [{"n": n, "t": ("é", None)} for n in range(50)]
        assert [spool[7], *spool[48:]] == [{"n": n, "t": ("é", None)} for n in (7, 48, 49)]
        assert len(spool) == 50
        for bad in (-1, 50):
            with pytest.raises(IndexError):
                spool[bad]
        assert list(build.watch([1, 2], label="Watching")) == [1, 2]
        assert build.relative_path(source / "a.png") == "../source/a.png"
        assert build.relative_path(build.folder / "a.png") == "a.png"
        yield from build.spool([{"id": "0", "sentences": ["\ud800"], "images": []}])

    with pytest.raises(CorpusError, match=r"document '0', field sentences: .*surrogate"):
        build_corpus("numbers", rows, tmp_path / "out/c.jsonl", sources=[source])


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), r"c\.building: No space left on device"),
        (PermissionError(errno.EACCES, "Permission denied", "docs/a.md"), r"docs/a\.md: Permission denied"),
    ],
)
def test_a_full_disk_is_one_line(tmp_path, source, error, message):
    output = tmp_path / "c.jsonl"

    def full(build):
        yield from numbers(build)
        raise error

    with pytest.raises(OutputError, match=message):
        build_corpus("numbers", full, output, sources=[source], workers=1)
    build_corpus("numbers", numbers, output, sources=[source], workers=1)
    assert sorted(files_of(tmp_path)) == FILES


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names of files are UTF-8 there")
def test_a_source_whose_name_is_not_utf8_is_reported(tmp_path):
    source = tmp_path / "caf\udce9"
    source.write_text("")
    build_corpus("numbers", numbers, tmp_path / "c.jsonl", sources=[source], workers=1)
    assert json.loads((tmp_path / "c.report.json").read_text())["sources"] == [str(tmp_path / "caf?")]


def nothing(build):
    list(build.mapped(range(3), doubled, label="Numbers"))
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
    for name in FILES:
        (output.parent / name).write_text("old")
    with pytest.raises(CorpusError, match=message):
        build_corpus("x", rows, output, sources=[source], force=True)
    assert files_of(output.parent) == dict.fromkeys(FILES, b"old")


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


def test_what_was_dropped_is_a_table_without_formulas_and_in_utf8(tmp_path, source):
    def rows(build):
        build.report.drop("=1+1", "-2\t\x1b[31m", "@SUM(A1)")
        build.report.drop("odd", "caf\udce9", "\ud800")
        yield {"id": "a", "sentences": [], "images": []}

    build_corpus("x", rows, tmp_path / "c.jsonl", sources=[source])
    lines = (tmp_path / "c.dropped.tsv").read_text().splitlines()
    assert lines[1:] == ["'=1+1\t'-2 [31m\t'@SUM(A1)", "odd\tcaf\ufffd\t\ufffd"]


def test_a_report_has_the_first_item_of_each_rule_and_no_endless_list_of_rules():
    report = BuildReport("x", {}, [])
    for number in range(1000):
        report.drop(f"rule {number % 500}", str(number), "b" if number % 2 else "")
    assert len(report.dropped) == RULES + 1
    assert report.dropped["rule 1"] == 2
    assert report.dropped[OTHER] == 1000 - 2 * RULES
    assert (report.first["rule 0"], report.first["rule 1"]) == ("0", "1: b")
    assert report.first[OTHER] == f"{RULES}: rule {RULES}"
