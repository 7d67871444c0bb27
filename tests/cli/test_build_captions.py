"""``corpus build captions`` as a user types it."""

from __future__ import annotations

import json
from functools import partial

import pytest

from iconotext import read_corpus
from tests.support import program
from tests.support.captions import write_album

run = partial(program.run, "corpus")


@pytest.fixture
def album(tmp_path, picture):
    return write_album(tmp_path, picture)


def build(source, output, *options, status=0):
    return run("build", "captions", "--source", source, "--output", output, "--workers", 1, *options, status=status)


def test_build_captions(tmp_path, album):
    output = tmp_path / "out/c.jsonl"
    result = build(album, output, "--validation", "0.3", "--test", "0.3")
    assert result.stdout == ""
    assert "5 documents (3 train, 1 validation, 1 test)" in result.stderr  # 3 versions of one, 1, 1
    first = json.loads(output.read_text().splitlines()[0])
    assert first["id"] == "train-0-00000-0"
    assert all(name.startswith("../photos/") for name in first["images"])
    run("check", output)
    report = json.loads((tmp_path / "out/c.report.json").read_text())
    assert report["settings"]["pairs"] == 5
    assert report["counts"][0] == {"what": "photographs that are there and have captions", "found": 40}
    again = build(album, output, status=1)
    assert "option force" in again.stderr
    other = tmp_path / "out/d.jsonl"
    build(album, other, "--validation", "0.3", "--test", "0.3")
    assert other.read_text() == output.read_text()


@pytest.mark.slow
def test_build_topical_captions(tmp_path, album):
    output = tmp_path / "c.parquet"
    (tmp_path / "photos/3.png").write_text("no picture")
    result = build(album, output, "--rule", "dii", "--pairs", "4", "--versions", "1")
    assert "unreadable images" in result.stderr
    documents = list(read_corpus(output))
    assert {(len(d.sentences), len(d.images)) for d in documents} == {(4, 4)}
    assert len(documents) == 39 // 4
    result = build(album, tmp_path / "d.jsonl", "--rule", "dii", "--no-verify", status=1)
    assert "3.png" in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--pairs", "0"], "--pairs"),
        (["--colour", "red"], "No such option"),
        (["--rule", "dii-stress", "--no-topical"], "45 distractor captions"),
        (["--validation", "0.1"], "validation has 4 photographs"),
        (["--validation", "0.6", "--test", "0.5"], "shares"),
        (["--format", "coco"], "it should be a file of captions of MSCOCO"),
        (["--test-on-validation"], "say how many, as --validation 0.1"),
        (["--test-on-validation", "--validation", "0.1"], "this has none for validation"),
    ],
)
def test_build_says_what_it_cannot_do(tmp_path, album, options, message):
    if "dii-stress" in options:
        album.write_text("\n".join(album.read_text().splitlines()[:10]))
    result = build(album, tmp_path / "c.jsonl", *options, status=None)
    assert message in result.stderr
    assert not (tmp_path / "c.jsonl").exists()


def test_pictures_that_are_elsewhere(tmp_path, album):
    moved = tmp_path / "other/captions.jsonl"
    moved.parent.mkdir()
    album.rename(moved)
    result = build(moved, tmp_path / "c.jsonl", status=1)
    assert "captions.jsonl: none of the pictures of 40 captioned photographs is there: --images names" in result.stderr
    assert not (tmp_path / "c.building").exists()
    result = build(moved, tmp_path / "c.jsonl", "--images", moved.parent, status=1)
    assert f"is {moved.parent} their folder?" in result.stderr
    build(moved, tmp_path / "c.jsonl", "--images", tmp_path)
