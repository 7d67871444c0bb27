from __future__ import annotations

import json

import numpy as np
import pytest

from iconotext.corpus.check import check_corpus
from iconotext.errors import CorpusError


def corpus(tmp_path, *rows):
    path = tmp_path / "c.jsonl"
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows))
    return path


def row(name, *images, split=None, **more):
    return {"id": name, "split": split, "sentences": ["A."], "images": list(images), **more}


def found(path, **options):
    return [(problem.place, problem.field) for problem in check_corpus(path, **options).problems]


def test_a_good_corpus(tmp_path, picture):
    picture("a.png")
    picture("b.png", seed=1)
    checked = check_corpus(
        corpus(tmp_path, row("a", "a.png", split="train"), row("b", "b.png", split="test"), row("c", "a.png"))
    )
    assert (checked.documents, checked.problems, checked.notes, checked.format) == (3, (), (), "jsonl")


def test_everything_that_is_wrong_is_listed(tmp_path, picture):
    picture("a.png")
    whole = picture("cut.png").read_bytes()
    (tmp_path / "cut.png").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.png").write_text("hello")
    path = corpus(
        tmp_path,
        row("a", "a.png", "gone.png", "cut.png"),
        row("a", "a.png"),
        "{",
        row("b", "lost.png", links=[[0, 1], [3, 0]], blocks=[]),
        row("c", "text.png", "gone.png"),
    )
    assert found(path) == [
        ("line 1", "images.1"), ("line 1", "images.2"), ("line 2", "id"), ("line 3", None),
        ("line 4", "blocks"), ("line 4", "links"), ("line 4", "links"), ("line 4", "images.0"), ("line 5", "images.0"),
    ]  # fmt: skip
    assert found(path, decode_pictures=False) == [
        ("line 1", "images.1"), ("line 2", "id"), ("line 3", None),
        ("line 4", "blocks"), ("line 4", "links"), ("line 4", "links"), ("line 4", "images.0"),
    ]  # fmt: skip


def test_a_picture_in_two_splits_is_found_by_its_bytes(tmp_path, picture):
    picture("a.png")
    (tmp_path / "copy.png").write_bytes(picture("a.png").read_bytes())
    path = corpus(
        tmp_path,
        row("a", "a.png", split="train"),
        row("b", "copy.png", split="train"),
        row("c", "copy.png", split="test"),
        row("d", "a.png", split="test"),
        row("e", "a.png"),
    )
    (problem,) = check_corpus(path).problems
    assert str(problem) == "line 3, field images.0: copy.png is in test here and in train at line 1"


def test_features_beside_the_corpus_are_looked_at(tmp_path):
    path = corpus(tmp_path, row("a", "x", split="train"), row("b", "y", "z"))
    np.save(tmp_path / "features.npy", np.array([[1.0], [np.nan]], np.float32))
    (tmp_path / "id2row.json").write_text('{"x": 0, "y": 1}')
    assert found(path) == [("line 2", "images.0"), ("line 2", "images.1")]
    (tmp_path / "features.npy").unlink()
    with pytest.raises(CorpusError, match=r"features\.npy"):
        check_corpus(path)


def test_the_released_format(tmp_path):
    docs = {
        "train": [[[["x", -1]], [["A.", -1]], "a"]],
        "val": [[[["x", -1]], [["A.", 3]], "a"], [[["x", 0]], [["A.", 0]], "b"]],
    }
    (tmp_path / "docs.json").write_text(json.dumps(docs))
    checked = check_corpus(tmp_path)
    assert [(p.place, p.field) for p in checked.problems] == [
        ("val, document 0", "sentences.0.1"),
        ("val, document 1", "images.0"),
    ]
    assert "ids without features" in checked.notes[0]
    np.save(tmp_path / "features.npy", np.ones((1, 1)))
    (tmp_path / "id2row.json").write_text('{"y": 0}')
    assert "has no image 'x'" in check_corpus(tmp_path).problems[0].message


def test_damage_in_the_middle_keeps_what_was_found_before(tmp_path):
    (tmp_path / "docs.json").write_text('{"train": [[[["x", 5]], [["A.", -1]], "a"], [')
    problems = check_corpus(tmp_path).problems
    assert [p.place for p in problems] == ["train, document 0", "what follows"]
    (tmp_path / "docs.json").write_text("[")
    with pytest.raises(CorpusError, match="not the released format"):
        check_corpus(tmp_path)


def test_documents_without_a_side_are_noted(tmp_path):
    empty = {"id": "a", "sentences": [], "images": []}
    notes = check_corpus(corpus(tmp_path, empty)).notes
    assert [note.split(":")[0] for note in notes] == ["1 documents without images", "1 documents without sentences"]


def test_images_that_are_named_by_an_address_are_noted(tmp_path, picture):
    picture("name:a.png")
    path = corpus(
        tmp_path,
        row("a", "http://a.example/1.jpg", "recipeqa:b.png"),
        row("b", "recipeqa:b.png", "name:a.png", "c.png"),
    )
    checked = check_corpus(path)
    assert [(problem.place, problem.field) for problem in checked.problems] == [("line 2", "images.2")]
    assert checked.notes == ("2 images are named by an address and are not at hand",)


def test_a_picture_of_labelled_pairs_in_two_splits_is_noted(tmp_path, picture):
    picture("a.png")
    picture("b.png", seed=1)
    labels = {"relations": {"Visible": True}}
    path = corpus(
        tmp_path,
        row("a", "a.png", split="train", **labels),
        row("b", "a.png", split="test", **labels),
        row("c", "b.png", split="train", **labels),
        row("d", "b.png", split="test"),
    )
    checked = check_corpus(path)
    assert [problem.place for problem in checked.problems] == ["line 4"]
    assert checked.notes[0].startswith("1 pictures of pairs with relations are in two splits")
