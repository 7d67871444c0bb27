"""``iconotext corpus build wiki`` from the command line."""

from __future__ import annotations

import json
from functools import partial

import pytest
from PIL import Image as Pillow

from tests.support import program


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "clef"
    for name in ("metadata/1", "text/en/1", "images/1"):
        (folder / name).mkdir(parents=True)
    for number in range(3):
        (folder / f"metadata/1/{number}.xml").write_text(
            f'<image id="{number}" file="images/1/{number}.jpg"><name>P{number}.jpg</name><text xml:lang="en">'
            '<caption article="text/en/1/1">x</caption></text></image>'
        )
        Pillow.new("RGB", (8, 8)).save(folder / f"images/1/{number}.jpg")
    (folder / "text/en/1/1.xml").write_text(" ".join(f"Sentence {number} is here." for number in range(12)))
    (folder / "text/en/1/2.xml").write_text("Too short.")
    return folder


run = partial(program.run, "corpus", "build", "wiki")


def test_writes_corpus_and_report_and_compares(source, tmp_path):
    output = tmp_path / "wiki.jsonl"
    result = run("--source", source, "--output", output, "--workers", 1)
    (row,) = [json.loads(line) for line in output.read_text().splitlines()]
    assert (row["id"], len(row["sentences"]), len(row["images"])) == ("1/1", 12, 3)
    assert "237,434" in result.output
    assert "fewer than 3 images" in result.output


def test_settings_and_errors(source, tmp_path):
    output = tmp_path / "wiki.parquet"
    run("-s", source, "-o", output, "--workers", 1, "--max-sentences", "10")
    wrong = run("-s", source, "-o", output, "--force", "--pictures", "3", status=2)
    assert "--pictures" in wrong.output
    missing = run("-s", source / "images", "-o", tmp_path / "other.jsonl", status=1)
    assert "all_metadata.zip" in missing.output
    assert "imageclef.org/wikidata" in missing.output
