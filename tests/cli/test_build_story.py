"""``corpus build story-dii``, ``story-sis`` and ``dii-stress`` as people run them."""

from __future__ import annotations

from functools import partial

from iconotext import read_corpus
from tests.support import program
from tests.support.stories import DII_FILE, FIVE, OTHERS, SIS_FILE, THIRD, described, photos, told, vist

run = partial(program.run, "corpus", "build")


def source(tmp_path):
    folder = tmp_path / "VIST"
    vist(folder, DII_FILE, described("a", FIVE, 2) + described("b", OTHERS), described("c", THIRD), inside="dii")
    vist(folder, SIS_FILE, told("a", FIVE, "1"), told("c", THIRD, "2"), inside="sis")
    photos(tmp_path / "images", *FIVE, *OTHERS, *THIRD)
    return folder


def test_each_has_a_command(tmp_path):
    arguments = ["--source", source(tmp_path), "--images", tmp_path / "images", "--workers", 1]
    for name, documents in (("story-dii", 4), ("story-sis", 2)):
        output = tmp_path / f"{name}.jsonl"
        result = run(name, *arguments, "-o", output)
        assert result.stdout == ""
        assert "documents: train" in result.stderr
        assert "published" in result.stderr
        assert f"{documents} documents" in result.stderr
        assert len(list(read_corpus(output))) == documents
        run(name, *arguments, "-o", output, status=1)  # it is there
        run(name, *arguments, "-o", output, "--force")
    stress = tmp_path / "stress.parquet"
    few = run("dii-stress", *arguments, "-o", stress, status=1)
    assert "--distractors 5" in few.stderr
    result = run("dii-stress", *arguments, "-o", stress, "--distractors", "0", "--text", "text", "--seed", 3)
    assert {len(document.sentences) for document in read_corpus(stress)} == {5}


def test_errors_are_one_line(tmp_path):
    folder = source(tmp_path)
    for arguments, message in (
        (["--source", tmp_path / "gone"], "no such file or folder"),
        (["--source", tmp_path / "images"], "train.description-in-isolation.json is neither in it"),
        (["--source", folder], "has none of the 15 photographs"),
    ):
        result = run("story-dii", *arguments, "-o", tmp_path / "dii.jsonl", status=1)
        assert message in result.stderr
        assert result.stderr.count("\n") == 1
    for wrong, message in ((["--words", "1"], "No such option"), (["--text", "title"], "--text")):
        result = run("story-dii", "--source", folder, *wrong, "-o", tmp_path / "dii.jsonl", status=2)
        assert message in result.stderr
    assert not (tmp_path / "dii.jsonl").exists()
