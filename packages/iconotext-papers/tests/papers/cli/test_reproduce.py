from __future__ import annotations

import io
import json
import sys
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from rich.console import Console

from iconotext.cli.output import fitted
from iconotext.cli.train import Bars
from iconotext.errors import SettingError
from iconotext.report.tables import Bold, Grid
from iconotext_papers.published import TABLES
from iconotext_papers.tables import runner as module
from iconotext_papers.tables.runner import Reproduction
from tests.support import program
from tests.support.training import write_synthetic

SMALL = ["features.image=features.npy", "dim=8", "text.word_dim=4", "training.epochs=1", "training.batch=12"]


run = partial(program.run, "papers", "reproduce")


def test_help_shows_examples():
    result = run("--help")
    said = " ".join(result.stdout.split())
    assert "iconotext papers reproduce 3 --corpus rqa/" in said
    assert all(f" {name}" in said for name in TABLES)
    assert "iconotext papers reproduce li2021/4 --corpus dii.jsonl --from mscoco.jsonl" in said


def test_the_folder_has_the_name_of_the_table(tmp_path, monkeypatch):
    asked = []

    def keep(folder, state):
        asked.append((folder.as_posix(), state["table"], Path(state.get("from", "none")).name))
        raise SettingError("enough")

    monkeypatch.setattr(module, "check_state", keep)
    run("hessel2019/S1", "--corpus", "c", status=1)
    run("li2021/4", "--corpus", "c", "--from", "d", "--seeds", "3", "--output", "o", status=1)
    run("li2021/bias", "--corpus", "c", status=1)
    run("alikhani2021/7", "--corpus", write_synthetic(tmp_path / "c", 5), status=1)
    assert asked == [
        ("reproduced/S1", "S1", "none"), ("o", "li2021/4", "d"), ("reproduced/li2021/bias", "li2021/bias", "none"),
        ("reproduced/alikhani2021", "alikhani2021", "none"),
    ]  # fmt: skip


@pytest.mark.slow
def test_a_table_is_printed_and_its_progress_goes_to_stderr(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    corpus = write_synthetic(tmp_path / "c", 30)
    settings = [part for each in SMALL for part in ("--set", each)]
    arguments = ["2", "--corpus", corpus, "--only", "random", "--only", "DC", "--jobs", "1", *settings]
    result = run(*arguments)
    assert result.stdout == (tmp_path / "reproduced/2/table.md").read_text()
    assert "dense: started" in result.stderr
    assert "dense: epoch 1, validation loss " in result.stderr
    assert "dense: done" in result.stderr
    assert "reproduced/2: table.md, table.html" in result.stderr.replace("\\", "/")
    again = run(*arguments, "--json", "--dataset", "DII-Stress")
    found = json.loads(again.stdout)
    assert found == json.loads((tmp_path / "reproduced/2/results.json").read_text())
    assert (found["table"], found["dataset"], len(found["rows"])) == ("2", "DII-Stress", 2)
    assert "started" not in again.stderr


def test_no_folder_is_left_where_it_refuses(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    corpus = write_synthetic(tmp_path / "c", 30)
    lines = [json.loads(line) | {"links": None} for line in corpus.read_text().splitlines()]
    corpus.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    before = sorted(tmp_path.rglob("*"))
    settings = [part for each in SMALL for part in ("--set", each)]
    for output in ([], ["--output", "a/b"]):
        result = run("2", "--corpus", corpus, *settings, *output, status=1)
        assert "no test documents with gold links" in result.stderr
        assert sorted(tmp_path.rglob("*")) == before
    (tmp_path / "mine").mkdir()
    run("2", "--corpus", corpus, *settings, "--output", "mine", status=1)
    assert (tmp_path / "mine").is_dir()  # was there before


@pytest.mark.parametrize("width", [60, 80, 200])
def test_a_table_fits_the_terminal_and_says_all(width):
    groups = ("corpus (ours)", "MSCOCO (published)", "Story-DII (published)", "Story-SIS (published)")
    columns = [(group, name) for group in groups for name in ("AUC", "p@1 / p@5")]
    cells = [[Bold("47.5"), "(33.3–65.4)"], [Bold("16.7"), "(0.0–50.0)", "/", Bold("23.3"), "(20.0–30.0)"]]
    rows = [[name, *cells * len(groups)] for name in ("Object detection", "TK + ½k", "<b>*a*|[b]</b>")]
    grid = Grid("Table 2, and c_d.jsonl", ["", *columns], rows, ["A note of $5."])
    console = Console(width=width, record=True, file=io.StringIO())
    for piece in fitted(grid, width):
        console.print(piece)
    lines = console.export_text().splitlines()
    assert max(map(len, lines)) <= width
    shown = "\n".join(lines)
    tables = {60: 8, 80: 4, 200: 2}[width]
    assert shown.count("<b>*a*|[b]</b>") == tables
    assert shown.count("16.7 (0.0–50.0) / 23.3 (20.0–30.0)") == 3 * len(groups)
    assert shown.count("47.5 (33.3–65.4)") == 3 * len(groups)
    assert "Table 2, and c_d.jsonl" in shown
    assert "A note of $5." in shown
    assert "…" not in shown


def test_failed_rows_make_the_status_one(tmp_path, monkeypatch):
    def failing(*arguments, **more):
        (tmp_path / "table.md").write_text("the table\n")
        return Reproduction(tmp_path, [], {"rows": []}, {"dense": "out of memory"}, None)

    monkeypatch.setattr(module, "reproduce", failing)
    result = run("2", "--corpus", "c.jsonl", status=1)
    assert result.stdout == "the table\n"
    assert "iconotext: dense: out of memory" in result.stderr
    assert "no row is done; the same command tries these again" in result.stderr
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "top-k.parquet").write_bytes(b"")
    assert "the other rows are done" in run("2", "--corpus", "c.jsonl", status=1).stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["7", "--corpus", "c.jsonl"], "table 7: no such table; did you mean alikhani2021/7? There are 2, 3, S1"),
        (["2", "--corpus", "c.jsonl"], "c.jsonl: no such file"),
        (["2", "--corpus", "c.jsonl", "--only", "XY"], "--only XY: no such row"),
        (["2", "--corpus", "c.jsonl", "--set", "similarity.k=half"], "each row of table 2 has its own"),
        (["2", "--corpus", "c.jsonl", "--set", "features.text=minilm"], "gru or transformer"),
        (["li2021/9", "--corpus", "c.jsonl"], "li2021/5, li2021/bias"),
        (["alikhani2021/fg5"], "no such table; did you mean alikhani2021/fig5?"),
        (["li2021/4", "--corpus", "c.jsonl"], "name that one with --from"),
        (["hessel2019/2", "--corpus", "c.jsonl", "--from", "d.jsonl"], "--from is for li2021/4"),
        (["li2021/5", "--corpus", "c.jsonl", "--set", "x:dim=3"], "no row is called x"),
        (["../2", "--corpus", "c.jsonl"], "table ../2: no such table"),
        (["2", "--corpus", "mscoco=a.jsonl", "-c", "b.jsonl"], "several corpora need the names of their data sets"),
        (["2", "--corpus", "mscoc=a.jsonl"], "--corpus mscoc: table 2 has no such data set; did you mean MSCOCO?"),
        (["2", "-c", "dii=a.jsonl", "-c", "Story-DII=b.jsonl"], "Story-DII is named twice"),
        (["2", "-c", "dii=a.jsonl", "--dataset", "MSCOCO"], "the names of the corpora say it"),
        (["alikhani2021/5", "--corpus", "clue=a.jsonl"], "is of one corpus at a time"),
    ],
)
def test_errors_are_one_line(tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    result = run(*arguments, status=1)
    assert said in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_wrong_usage(tmp_path):
    run("2", status=2)
    run("2", "--corpus", "c", "--jobs", "0", status=2)
    run("2", "--corpus", "c", "--seeds", "0", status=2)


def test_an_interruption_is_told(monkeypatch):
    def stopped(*arguments, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "reproduce", stopped)
    result = run("2", "--corpus", "c.jsonl", status=130)
    assert "the same command goes on from there" in result.stderr


def test_a_terminal_shows_a_line_for_each_running_model(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)

    def show(*arguments, watch, report, notify, **more):
        report("encoding", 256)
        notify("object detection")
        for key in ("dense", "top-k"):
            watch.started(key)
        watch.step("dense", 1, 3, 10, 0.25)
        watch.epoch("dense", {"epoch": 1, "validation_loss": 0.3, "validation_auc": 0.9, "seconds": 2})
        watch.step("dense", 2, 5, 10, 0.2)
        shown = {task.description: task.fields["state"] for task in watch._progress.tasks}
        assert shown == {"dense": "epoch 2, loss 0.200; validation loss 0.3000, AUC 90.0", "top-k": "starting"}
        watch.ended("dense", None)
        watch.epoch("top-k", {"epoch": 1, "validation_loss": 0.4, "validation_auc": None, "seconds": 2})
        watch.ended("top-k", "[no] memory")
        assert not watch._progress.tasks
        raise SettingError("seen")

    monkeypatch.setattr(module, "reproduce", show)
    with closing(Bars()) as bars, pytest.raises(SettingError, match="seen"):
        show(watch=bars, report=bars.report, notify=bars.notify)
    said = capsys.readouterr().err
    assert "dense: done; validation loss 0.3000, AUC 90.0" in said
    assert "top-k: failed: [no] memory; validation loss 0.4000" in said
