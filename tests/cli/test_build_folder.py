from __future__ import annotations

import json
from functools import partial

import pytest

from iconotext import read_corpus
from tests.support import program

run = partial(program.run, "corpus", "build", "folder")


def test_a_site_becomes_a_corpus(tmp_path, picture):
    picture("site/static/img/a.png")
    picture("site/static/img/icon.png", size=(8, 8))
    icons = "".join(f"![](/img/icon.png?{i})\n\n" for i in range(5))
    for i in range(9):
        picture(f"site/pages/{i}.png", seed=i + 1)
        (tmp_path / f"site/pages/{i}.md").write_text(f"# Page {i}\n\nA sentence.\n\n![]({i}.png)\n")
    (tmp_path / "site/pages/root.md").write_text(f"A sentence.\n\n![](/img/a.png)\n\n{icons}")
    (tmp_path / "site/pages/words.md").write_text("Only words.")
    (tmp_path / "site/pages/broken.pdf").write_bytes(b"%PDF- nothing")
    output = tmp_path / "out/c.parquet"
    command = ["--source", tmp_path / "site/pages", "-o", output, "--root", tmp_path / "site", "--test", "0.2"]
    result = run(*command)
    assert result.stdout == ""
    assert "not found" not in result.stderr  # /img/a.png is what the site serves from static/
    command[5] = tmp_path / "site/static"
    result = run(*command, "--allow-outside", "--force")
    lines = [line.strip() for line in result.stderr.splitlines() if line.strip()]
    assert lines[-9:] == [
        "dropped:",
        "5  picture: smaller than 64 px",
        f"e.g. {tmp_path}/site/pages/root.md: /img/icon.png?0: smaller than 64 px (8 × 8): an icon or a spacer",
        "1  document that cannot be read",
        lines[-5],
        "1  document without sentences or usable pictures",
        f"{tmp_path}/site/pages/words.md: no picture that can be used",
        f"{output}: 10 documents (6 train, 2 validation, 2 test)",
        f"{tmp_path}/out/c.report.json: the counts, and {tmp_path}/out/c.dropped.tsv: every item that was dropped",
    ]
    assert lines[-5].startswith(f"{tmp_path}/site/pages/broken.pdf: ")
    table = [line.split("\t") for line in (tmp_path / "out/c.dropped.tsv").read_text().splitlines()]
    assert table[0] == ["rule", "item", "reason"]
    assert len(table) == 8
    report = json.loads((tmp_path / "out/c.report.json").read_text())
    assert report["counts"] == [{"what": "files", "found": 12}, {"what": "pictures", "found": 10}]
    assert sum(report["dropped"].values()) == 7
    assert report["settings"]["validation"] == 0.1
    found = {document.id: document for document in read_corpus(output)}
    assert found["root"].images[0].source == "../site/static/img/a.png"
    assert {document.links for document in found.values()} == {None}
    again = run(*command, status=1)
    assert "the option force" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["words.md", "-o", "c.jsonl"],
            "the document does not have both sentences and a picture that can be used (dropped: 1 document without "
            "sentences or usable pictures, such as words.md: no picture that can be used)",
        ),
        (["gone.md", "-o", "c.jsonl"], "gone.md: no such file or folder"),
        (["words.md", "-o", "c.csv"], "c.csv: a corpus is written as a file .jsonl or .parquet"),
        (["empty", "-o", "c.jsonl"], "no documents in empty"),
        (["words.md", "-o", "c.jsonl", "--colour", "red"], "No such option"),
        (["words.md", "-o", "c.jsonl", "--validation", "1"], "validation"),
        (["words.md", "-o", "c.jsonl", "--validation", "0.6", "--test", "0.5"], "give shares from 0 that leave some"),
    ],
)
def test_what_cannot_be_done_is_said_and_leaves_nothing(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words.md").write_text("Only words.")
    (tmp_path / "empty").mkdir()
    result = run("--source", *arguments, status=None)
    assert message in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "words.md"]
