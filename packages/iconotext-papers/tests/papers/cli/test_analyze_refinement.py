from __future__ import annotations

import json

import pytest

from iconotext.encoders.coherence_relations import SETTINGS_FILE
from iconotext_papers.analyses.refinement import FIGURE_FILE
from tests.support.program import printed as run

GRID = ("--strength", 0.1, "--strength", 0.5, "--threshold", 0.05, "--threshold", 0.2, "--draws", 3)
SMALL = ("--pool", 5, *GRID)


@pytest.mark.slow
def test_the_settings_are_chosen_written_and_found_again(pairs, model, tmp_path):
    arguments = ("papers", "analyze", "refinement", model, pairs, "--split", "test", *SMALL)
    found = json.loads(run(*arguments, "--json", "--output", model))
    assert (found["split"], found["pool"], found["draws"], found["pairs"]) == ("test", 5, 3, 8)
    assert [(each["strength"], each["threshold"]) for each in found["settings"]] == [
        (0, 0), (0.1, 0.05), (0.1, 0.2), (0.5, 0.05), (0.5, 0.2),
    ]  # fmt: skip
    best = min(found["settings"], key=lambda each: (each["median_rank"], each["mean_rank"]))
    chosen = next(
        each
        for each in found["settings"]
        if (each["strength"], each["threshold"]) == (found["strength"], found["threshold"])
    )
    assert (chosen["median_rank"], chosen["mean_rank"]) == (best["median_rank"], best["mean_rank"])
    assert json.loads((model / SETTINGS_FILE).read_text()) == found
    assert "<svg" in (model / FIGURE_FILE).read_text()
    evaluated = json.loads(run("evaluate", model, pairs, "--pool", 5, "--json"))["refined"]
    assert (evaluated is None) == (found["threshold"] == 0)
    assert "exists" in run(*arguments, "--output", model, status=1)
    run(*arguments, "--output", model, "--force")


def test_the_validation_split_is_the_default_and_json_writes_nothing(pairs, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = json.loads(run("papers", "analyze", "refinement", model, pairs, "--pool", 3, *GRID, "--json"))
    assert (found["split"], found["pairs"]) == ("validation", 4)
    assert not (tmp_path / "refinement").exists()
    table = run("papers", "analyze", "refinement", model, pairs, "--pool", 3, *GRID)
    assert "Median rank" in table
    assert "not refined" in table
    assert sorted(path.name for path in (tmp_path / "refinement").iterdir()) == [SETTINGS_FILE, FIGURE_FILE]


def test_without_a_validation_split_all_is_taken_and_said(pairs, model):
    rows = [json.loads(line) for line in pairs.read_text().splitlines()]
    pairs.write_text("".join(json.dumps({k: v for k, v in row.items() if k != "split"}) + "\n" for row in rows))
    from typer.testing import CliRunner

    from iconotext.cli.app import app

    done = CliRunner().invoke(
        app, ["papers", "analyze", "refinement", str(model), str(pairs), *map(str, SMALL), "--json"]
    )
    assert json.loads(done.stdout)["split"] is None
    assert "no validation split" in done.stderr
    assert "1 left out, such as 'gone'" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no-training"], "predicts no relations"),
        (["MODEL", "--pool", "500"], "--pool 4"),
        (["MODEL", "--threshold", "-1"], "none below 0"),
    ],
)
def test_known_errors_are_one_line(pairs, model, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    name, *others = arguments
    output = run(
        "papers", "analyze", "refinement", model if name == "MODEL" else name, pairs, "--json", *others, status=1
    )
    lines = [line for line in output.splitlines() if line.startswith("iconotext: ") and "left out" not in line]
    assert len(lines) == 1
    assert message in lines[0]
