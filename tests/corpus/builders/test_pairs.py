"""Documents of one picture and what was written about it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from iconotext.corpus.builders.pairs import build_pairs
from iconotext.corpus.store import read_corpus
from iconotext.errors import CorpusError
from tests.support import program
from tests.support.shards import write_jsonl


@pytest.fixture
def corpus(tmp_path: Path, picture) -> Path:
    """Two pictures with texts, one with too short a text, one without, one missing."""
    for name in "abcd":
        picture(f"{name}.png", seed=ord(name))
    row = {
        "id": "doc",
        "split": "validation",
        "sentences": ["One.", "Two."],
        "images": ["a.png", "b.png", "c.png", "d.png", "missing.png"],
        "blocks": [0, 1],
        "positions": [0, 1, 1, 2, 2],
        "captions": ["The long  caption of a.", None, "Too short", None, "It is not there at all."],
        "alts": ["The long caption of a.", "An alt text of b.", None, None, None],
        "links": [[0, 0]],
    }
    return write_jsonl(tmp_path / "corpus.jsonl", [row])


@pytest.fixture
def photos(tmp_path: Path, picture) -> Path:
    lines = []
    for name, split in (("x", "train"), ("y", "validation")):
        picture(f"photos/{name}.png", seed=ord(name))
        lines.append({"image": f"{name}.png", "captions": [f"First of {name}.", f"Second of {name}."], "split": split})
    return write_jsonl(tmp_path / "photos/captions.jsonl", lines)


def test_every_described_picture_becomes_a_document(corpus: Path):
    made = list(build_pairs([corpus]))
    assert [document.id for document in made] == ["doc/0", "doc/1"]
    assert [[s.text for s in document.sentences] for document in made] == [
        ["The long caption of a."],
        ["An alt text of b."],
    ]
    assert [document.images[0].source for document in made] == ["a.png", "b.png"]
    assert {document.split for document in made} == {"validation"}
    assert made[0].links == ((0, 0),)


def test_pictures_without_a_text_are_told(corpus: Path):
    told: list[tuple[str, str, str]] = []
    list(build_pairs([corpus], drop=lambda *words: told.append(words)))
    assert told[:2] == [
        ("picture without a text of 3 words", "doc/2", "Too short"),
        ("picture without a text of 3 words", "doc/3", ""),
    ]
    assert told[2][:2] == ("picture that is not there", "doc/4")
    told.clear()
    assert not list(build_pairs([corpus], only="train", drop=lambda *words: told.append(words)))
    assert ("picture of another split than train", "doc/0", "validation") in told


def test_photographs_keep_all_captions_and_their_split(photos: Path):
    made = list(build_pairs([photos]))
    assert [len(document.sentences) for document in made] == [2, 2]
    assert [document.split for document in made] == ["train", "validation"]
    assert made[1].links == ((0, 0), (1, 0))


def test_only_one_split_and_it_is_forgotten(photos: Path, corpus: Path):
    made = list(build_pairs([photos, corpus], only="train"))
    assert len(made) == 1
    assert made[0].split is None


def test_the_same_source_twice_gives_different_ids(photos: Path):
    ids = [document.id for document in build_pairs([photos, photos])]
    assert len(set(ids)) == 4


def test_no_link_of_the_corpus_is_looked_at(corpus: Path, tmp_path: Path):
    without = write_jsonl(tmp_path / "without.jsonl", [json.loads(corpus.read_text()) | {"links": None}])
    assert list(build_pairs([without])) == list(build_pairs([corpus]))


@pytest.mark.parametrize(
    ("line", "message"),
    [("{", "line 1"), ("[" * 100_000, "line 1: not JSON that can be read: nested too deeply")],
)
def test_a_broken_or_hostile_first_line_is_told(tmp_path: Path, line, message):
    with pytest.raises(CorpusError, match=message):
        list(build_pairs([write_jsonl(tmp_path / "broken.jsonl", [line])]))


def test_command_writes_a_corpus(corpus: Path, photos: Path, tmp_path: Path):
    target = tmp_path / "pairs.jsonl"
    result = program.run("corpus", "build", "pairs", "-s", corpus, "-s", photos, "-o", target)
    assert "pairs.jsonl: 4 documents (1 train, 3 validation)" in result.stderr
    assert len(list(read_corpus(target))) == 4
    assert all(document.images[0].file for document in read_corpus(target))


def test_command_says_when_there_is_nothing(tmp_path: Path, picture):
    picture("a.png")
    path = write_jsonl(tmp_path / "bare.jsonl", [{"id": "d", "sentences": ["x"], "images": ["a.png"]}])
    result = program.run("corpus", "build", "pairs", "--source", path, "-o", tmp_path / "pairs.jsonl", status=1)
    assert "no picture has a caption" in result.stderr
    assert not (tmp_path / "pairs.jsonl").exists()
