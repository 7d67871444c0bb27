from __future__ import annotations

import json

import pytest

from iconotext import read_corpus
from iconotext.corpus.builders.frame.build import build_corpus, work_folder
from iconotext.corpus.builders.frame.report import OTHER, RULES, BuildReport, Count
from iconotext.errors import CorpusError, OutputError, SettingError


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
        (twice, "two of this id"),
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


def test_reasons_that_are_no_utf8_stop_nothing(tmp_path, source):
    def rows(build):
        build.report.drop("odd", "caf\udce9", "\ud800")
        yield {"id": "a", "sentences": [], "images": []}

    build_corpus("x", rows, tmp_path / "c.jsonl", sources=[source])
    assert (tmp_path / "c.dropped.tsv").read_text().splitlines()[1] == "odd\tcaf?\t?"


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
