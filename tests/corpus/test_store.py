from __future__ import annotations

import json
from typing import Any

import pytest

from iconotext import read_corpus
from iconotext.errors import CorpusError

GOOD: dict[str, Any] = {
    "id": "paris",
    "sentences": ["The tower at dusk.", "A bridge."],
    "images": ["img/a.png", "img/gone.png"],
}


def corpus(tmp_path, *rows):
    path = tmp_path / "corpus.jsonl"
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_document_with_everything(tmp_path, picture):
    picture("img/a.png")
    row = GOOD | {
        "split": "train", "links": [[0, 0], [1, 1]], "blocks": [0, 2], "positions": [1, 2], "captions": ["Dusk.", None],
        "alts": [None, "A bridge"], "relations": {"Visible": True}, "meta": {"sentence_kind": ["h", "p"], "source": "x"},
    }  # fmt: skip
    (document,) = read_corpus(corpus(tmp_path, row, ""))
    assert (document.id, document.split, document.links) == ("paris", "train", ((0, 0), (1, 1)))
    assert [(s.text, s.block, s.heading) for s in document.sentences] == [
        ("The tower at dusk.", 0, True),
        ("A bridge.", 2, False),
    ]
    first, second = document.images
    assert (first.file, first.caption, first.position, first.problem) == (tmp_path / "img/a.png", "Dusk.", 1, None)
    assert (second.file, second.alt) == (None, "A bridge")
    assert "not found" in (second.problem or "")
    assert document.meta["relations"] == {"Visible": True}
    assert document.has_layout


def test_unknown_links_differ_from_none(tmp_path):
    documents = list(
        read_corpus(corpus(tmp_path, GOOD, GOOD | {"id": "b", "links": []}, GOOD | {"id": "c", "links": None}))
    )
    assert [document.links for document in documents] == [None, (), None]
    assert not documents[0].has_layout


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"links": [[0, 2]]}, r"links has \[0, 2\]"),
        ({"links": [[0]]}, "line 2, field links.0"),
        ({"links": [[-1, 0]]}, "links.0"),
        ({"sentences": "text"}, "field sentences"),
        ({"sentences": [1]}, "field sentences.0"),
        ({"blocks": [0]}, "blocks has 1 entries where 2"),
        ({"positions": [0, 3]}, "positions has 3"),
        ({"captions": [None]}, "captions has 1"),
        ({"split": "dev"}, "field split"),
        ({"id": ""}, "field id"),
        ({"colour": "red"}, "field colour"),
        ({"id": "first"}, "also the id of line 1"),
    ],
)
def test_errors_name_file_line_and_field(tmp_path, change, message):
    path = corpus(tmp_path, GOOD | {"id": "first"}, GOOD | change)
    with pytest.raises(CorpusError, match=message) as error:
        list(read_corpus(path))
    assert str(path) in str(error.value)
    assert "line 2" in str(error.value)


def test_broken_files(tmp_path):
    with pytest.raises(CorpusError, match="line 1: not JSON"):
        list(read_corpus(corpus(tmp_path, "{broken")))
    with pytest.raises(CorpusError, match="cannot be read"):
        list(read_corpus(tmp_path / "gone.jsonl"))
    (tmp_path / "latin.jsonl").write_bytes('{"id": "é"}'.encode("latin-1"))
    with pytest.raises(CorpusError, match="UTF-8"):
        list(read_corpus(tmp_path / "latin.jsonl"))


def test_one_split(tmp_path):
    path = corpus(tmp_path, GOOD | {"split": "test"}, GOOD | {"id": "b"}, GOOD | {"id": "c", "split": "test"})
    assert [document.id for document in read_corpus(path, split="test")] == ["paris", "c"]
    assert list(read_corpus(path, split="train")) == []
    with pytest.raises(CorpusError, match="split 'dev': there are train, validation, test"):
        read_corpus(path, split="dev")
