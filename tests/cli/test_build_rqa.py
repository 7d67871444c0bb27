"""``corpus build rqa`` as people run it."""

from __future__ import annotations

import json
from functools import partial

from iconotext import read_corpus
from tests.support import program
from tests.support.recipeqa import files, names_in, pictures, recipe

run = partial(program.run, "corpus", "build", "rqa")


def test_the_command(tmp_path):
    training, validation = [recipe(f"r{i}") for i in range(8)], [recipe("v")]
    source = files(tmp_path / "recipeqa", training, validation)
    pictures(tmp_path / "images", *names_in(*training, *validation))
    arguments = ["--source", source, "--images", tmp_path / "images", "--workers", 1]
    result = run(*arguments, "--output", tmp_path / "rqa.jsonl")
    assert result.stdout == ""
    assert "9 documents (7 train, 1 validation, 1 test)" in result.stderr
    assert "6,502" in result.stderr
    assert "88K" in result.stderr
    assert {image.file.parent.name for each in read_corpus(tmp_path / "rqa.jsonl") for image in each.images} == {
        "images"
    }
    # what a build is known by when it goes on: pictures of another folder are other pictures
    assert json.loads((tmp_path / "rqa.report.json").read_text())["settings"]["images"] == str(tmp_path / "images")
    run(*arguments, "--output", tmp_path / "rqa.jsonl", status=1)  # it is there


def test_names_alone_only_where_they_are_asked_for(tmp_path):
    source = files(tmp_path / "recipeqa", [recipe("cake")])
    output = tmp_path / "rqa.parquet"
    without = run("--source", source, "-o", output, status=1)
    assert "unpack images.zip from https://hucvl.github.io/recipeqa/" in without.stderr
    assert without.stderr.count("\n") == 1
    run("--source", source, "-o", output, "--pictures", "names", "--validation", "0")
    (document,) = read_corpus(output)
    assert document.images[0].source == "recipeqa:cake_0_0.jpg"
    assert document.images[0].file is None
    for setting in (["--validation", "1"], ["--pictures", "none"], ["--pages", "3"]):
        run("--source", source, "-o", output, "--force", *setting, status=2)
