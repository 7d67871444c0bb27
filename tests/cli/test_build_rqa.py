"""``corpus build rqa`` as people run it."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from iconotext import read_corpus
from iconotext.cli.app import app
from tests.papers.datasets.test_rqa import files, names_in, pictures, recipe


def run(*arguments):
    return CliRunner().invoke(app, ["corpus", "build", "rqa", *map(str, arguments)])


def test_the_command(tmp_path):
    training, validation = [recipe(f"r{i}") for i in range(8)], [recipe("v")]
    source = files(tmp_path / "recipeqa", training, validation)
    pictures(tmp_path / "images", *names_in(*training, *validation))
    arguments = ["--source", source, "--images", tmp_path / "images", "--workers", 1]
    result = run(*arguments, "--output", tmp_path / "rqa.jsonl")
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    assert "9 documents (7 train, 1 validation, 1 test)" in result.stderr
    assert "6,502" in result.stderr
    assert "88K" in result.stderr
    assert {image.file.parent.name for each in read_corpus(tmp_path / "rqa.jsonl") for image in each.images} == {
        "images"
    }
    # what a build is known by when it goes on: pictures of another folder are other pictures
    assert json.loads((tmp_path / "rqa.report.json").read_text())["settings"]["images"] == str(tmp_path / "images")
    assert run(*arguments, "--output", tmp_path / "rqa.jsonl").exit_code == 1  # it is there


def test_names_alone_only_where_they_are_asked_for(tmp_path):
    source = files(tmp_path / "recipeqa", [recipe("cake")])
    output = tmp_path / "rqa.parquet"
    without = run("--source", source, "-o", output)
    assert without.exit_code == 1
    assert "unpack images.zip from https://hucvl.github.io/recipeqa/" in without.stderr
    assert without.stderr.count("\n") == 1
    result = run("--source", source, "-o", output, "--pictures", "names", "--validation", "0")
    assert result.exit_code == 0, result.output
    (document,) = read_corpus(output)
    assert document.images[0].source == "recipeqa:cake_0_0.jpg"
    assert document.images[0].file is None
    for setting in (["--validation", "1"], ["--pictures", "none"], ["--pages", "3"]):
        assert run("--source", source, "-o", output, "--force", *setting).exit_code in (1, 2)
