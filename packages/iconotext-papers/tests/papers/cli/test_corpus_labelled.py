"""``papers build cite`` and ``clue`` as people run them."""

from __future__ import annotations

import json
import shutil

import pytest

from iconotext import read_corpus
from iconotext.read.web import polite
from papers.support.labelled_tables import cite, cite_row, clue, clue_row
from tests.support import program
from tests.support.corpora import png
from tests.support.web import serving

run = program.run


def report(path):
    return json.loads(path.with_suffix(".report.json").read_text())


def test_cite_with_a_folder_of_pictures(tmp_path, picture):
    file = picture("recipeqa/train/cake_1_0.jpg")
    source = cite(tmp_path, cite_row(0), cite_row(1, image="CAKE_1_0.png"), cite_row(2, image="pie.jpg"), "3|short")
    output = tmp_path / "out/cite.jsonl"
    result = run("papers", "build", "cite", "--source", source, "-o", output, "--images", tmp_path / "recipeqa")
    assert result.stdout == ""
    assert "row left out: wrong number of columns" in result.stderr
    assert "recipeqa:pie.jpg: not found in recipeqa" in result.stderr
    assert "2,057" in result.stderr
    documents = list(read_corpus(output))
    assert [document.images[0].source for document in documents] == [
        "../recipeqa/train/cake_1_0.jpg", "../recipeqa/train/cake_1_0.jpg", "recipeqa:pie.jpg",
    ]  # fmt: skip
    assert documents[0].images[0].file.samefile(file)
    assert report(output)["dropped"]["picture that is not there"] == 1
    run("corpus", "check", output)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--output", "c.jsonl", "--images", "gone"], "gone: not a folder"),
        (["--output", "c.jsonl", "--only-found"], "leave out --only-found"),
        (["--output", "c.jsonl", "--source", "gone.csv"], "gone.csv: no such file or folder"),
    ],
)
def test_what_is_refused(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    cite(tmp_path, cite_row(0))
    result = run("papers", "build", "cite", "--source", "cite.csv", *arguments, status=1)
    assert message in result.stderr
    assert "Traceback" not in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["cite.csv"]


def test_clue_fetches_its_pictures_and_goes_on(tmp_path, monkeypatch):
    with serving() as web:
        monkeypatch.setattr(polite, "public_address", web.lookup)
        good = [web.put(f"{host}.example/1.png", png(i)) for i, host in enumerate("abc")]
        source = clue(
            tmp_path, *(clue_row(f"caption {i}", a) for i, a in enumerate([*good, web.address("a.example/x")]))
        )
        output = tmp_path / "clue.jsonl"
        arguments = [
            "papers",
            "build",
            "clue",
            "--source",
            source,
            "--interval",
            "0.1",
            "--images",
            tmp_path / "pictures",
        ]
        refused = run(*arguments[:-2], "--fetch", "-o", output, status=1)
        assert "--fetch needs --images" in refused.stderr
        result = run(*arguments, "--fetch", "-o", output)
        counts = {count["what"]: count["found"] for count in report(output)["counts"]}
        assert (counts["pictures fetched now"], counts["pictures that are there"]) == (3, 3)
        assert "answered 404" in result.stderr
        first = output.read_bytes()
        asked = dict(web.asked)
        run(*arguments, "--fetch", "-o", output, "--force")
        assert web.asked == asked
        assert output.read_bytes() == first
        run("corpus", "check", output)
        run(*arguments, "-o", output, "--only-found", "--force")
        assert web.asked == asked
        assert [document.images[0].file.read_bytes() for document in read_corpus(output)] == [png(i) for i in range(3)]


def test_clue_without_pictures_and_its_rates(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    rows = [clue_row(f"c {i}", f"http://a.example/{i}.jpg", "100001" if i < 3 else "010000") for i in range(8)]
    output = tmp_path / "clue.jsonl"
    result = run("papers", "build", "clue", "--source", clue(tmp_path, *rows), "-o", output)
    assert "pictures were not looked for: --images names their folder" in result.stderr
    shutil.copy(output, tmp_path / "copy.jsonl")
    table = run("papers", "analyze", "sizes", output, tmp_path / "copy.jsonl").stdout
    visible = next(line for line in table.splitlines() if line.strip().startswith("Visible"))
    assert visible.split() == ["Visible", "37.5", "%", "of", "8", "37.5", "%", "of", "8", "67.4", "%"]
    numbers, *_ = json.loads(run("papers", "analyze", "sizes", output, "--json").stdout)
    assert numbers["relations"]["Irrelevant"] == {"positive": 3, "answered": 8, "rate": 0.375}
    assert "Action" in table
    cited = cite(tmp_path, cite_row(0, answers=("", *("True",) * 6)))
    run("papers", "build", "cite", "--source", cited, "-o", tmp_path / "cite.jsonl")
    both = run("papers", "analyze", "sizes", output, tmp_path / "cite.jsonl").stdout
    needed = next(line for line in both.splitlines() if line.strip().startswith("ImageNeeded"))
    assert needed.split() == ["ImageNeeded", "100.0", "%", "of", "1", "11.5", "%"]
    assert "relation" not in run("papers", "analyze", "sizes", _bare(tmp_path)).stdout


def _bare(tmp_path):
    path = tmp_path / "bare.jsonl"
    path.write_text('{"id": "a", "sentences": ["A."], "images": []}\n')
    return path
