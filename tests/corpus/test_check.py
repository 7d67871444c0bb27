from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from iconotext.corpus import check
from iconotext.corpus.check import EarlierDocuments, check_corpus
from iconotext.corpus.formats import json_lines, table
from iconotext.corpus.formats.json_lines import jsonl_parts
from iconotext.corpus.store import read_corpus, write_corpus
from iconotext.errors import CorpusError
from tests.support.shards import write_jsonl


def corpus(folder, *rows):
    return write_jsonl(folder / "c.jsonl", rows)


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
    assert found(path, decode_images=False) == [
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
    assert found(tmp_path) == [("val, document 0", "sentences.0.1"), ("val, document 1", "images.0")]
    assert "ids without features" in check_corpus(tmp_path).notes[0]
    np.save(tmp_path / "features.npy", np.ones((1, 1)))
    (tmp_path / "id2row.json").write_text('{"y": 0}')
    assert "has no image 'x'" in check_corpus(tmp_path).problems[0].message


def test_damage_in_the_middle_keeps_what_was_found_before(tmp_path):
    (tmp_path / "docs.json").write_text('{"train": [[[["x", 5]], [["A.", -1]], "a"], [')
    problems = check_corpus(tmp_path).problems
    assert [p.place for p in problems] == ["train, document 0", "what follows"]
    (tmp_path / "docs.json").write_text("[")
    with pytest.raises(CorpusError, match="it should be the released format"):
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
    assert found(path) == [("line 2", "images.2")]
    assert check_corpus(path).notes == ("2 images are named by an address and are not at hand",)


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


def slowly(path):
    """What is wrong with a corpus of one line a document, as plainly as it can be said; the oracle."""
    ids: dict[str, str] = {}
    first_with: dict[bytes | str, tuple[str, str, bool]] = {}
    told, seen, leaks = [], set(), set()
    for number, record in enumerate((record for part in jsonl_parts(path) for record in part()), start=1):
        place, document = f"line {number}", record.row
        told += [(problem.place, problem.field, problem.message) for problem in record.problems]
        if document is None:
            continue
        if document.id in ids:
            told.append((place, "id", f"{document.id!r} is also the id of {ids[document.id]}"))
        ids.setdefault(document.id, place)
        for i, source in enumerate(document.images):
            file = path.parent / source
            if source not in seen:
                seen.add(source)
                if not file.is_file() and not source.startswith("http:"):
                    told.append((place, f"images.{i}", f"not found: {file}"))
        for i, source in enumerate(document.images):
            file = path.parent / source
            key = file.read_bytes() if file.is_file() else source
            split, where, pair = first_with.setdefault(
                key, (document.split, place, document.relations is not None)
            ) if document.split else (None, None, None)  # fmt: skip
            both = pair and document.relations is not None
            if split is not None and split != document.split and not both and (key, document.split) not in leaks:
                leaks.add((key, document.split))
                there = f"{source} is in {document.split} here and in {split} at {where}"
                told.append((place, f"images.{i}", there))
    return told


ROWS = st.fixed_dictionaries(
    {
        "id": st.sampled_from("abcdefghijkl"),
        "split": st.sampled_from([None, "train", "validation", "test"]),
        "sentences": st.lists(st.just("A."), max_size=2),
        "images": st.lists(
            st.sampled_from(["a.png", "copy.png", "b.png", "gone.png", "lost/x.png", "http://x.example/1", "http:y"]),
            max_size=4,
        ),
        "links": st.none() | st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=2),
        "relations": st.none() | st.just({"Visible": True}),
    }
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(ROWS | st.just("{") | st.just('{"id": 1}'), max_size=12), block=st.sampled_from([1, 200, 10**6]))
def test_against_a_slow_check(tmp_path, picture, rows, block):
    if not (tmp_path / "copy.png").exists():
        (tmp_path / "copy.png").write_bytes(picture("a.png").read_bytes())
        picture("b.png", seed=1)
    path = corpus(tmp_path, *rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_lines, "BLOCK", block)
        checked = check_corpus(path)
    assert [(problem.place, problem.field, problem.message) for problem in checked.problems] == slowly(path)
    assert checked.documents == len(rows)


@pytest.mark.parametrize("name", ["c.jsonl", "c.parquet"])
@pytest.mark.slow
def test_workers_find_the_same_in_the_same_order(tmp_path, picture, monkeypatch, name):
    picture("0.png")
    many = [row(f"d{i % 37}", f"{i % 5}.png", "http://x/1", split=("train", "test")[i % 2]) for i in range(60)]
    path = corpus(tmp_path, *many)
    if name == "c.parquet":
        monkeypatch.setattr(table, "ROWS_IN_GROUP", 7)
        monkeypatch.setattr(table, "BATCH_ROWS", 7)
        unique = [each | {"id": f"d{i}"} for i, each in enumerate(many)]
        write_corpus(read_corpus(corpus(tmp_path, *unique)), tmp_path / name)
        path = tmp_path / name
    monkeypatch.setattr(json_lines, "BLOCK", 500)
    monkeypatch.setattr(check, "FEW", 1)
    alone = check_corpus(path, workers=1)
    assert len(alone.problems) >= 8
    assert check_corpus(path, workers=2) == alone


def test_problems_beyond_what_is_listed_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(check, "LISTED", 6)
    monkeypatch.setattr(json_lines, "BLOCK", 1)
    rows = [row(f"d{i // 2}", f"{i}.png", "x.png", split=("train", "test")[i % 2]) for i in range(20)]
    checked = check_corpus(corpus(tmp_path, *rows))
    monkeypatch.setattr(check, "LISTED", 10**6)
    everything = check_corpus(tmp_path / "c.jsonl")
    assert checked.problems == everything.problems[:6]
    assert (len(everything.problems), everything.unlisted) == (20 + 1 + 10 + 1, 0)
    assert checked.unlisted == len(everything.problems) - 6


def test_a_check_sees_what_has_changed_since_the_last_one(tmp_path, picture):
    path = corpus(tmp_path, row("a", "a.png"))
    assert found(path) == [("line 1", "images.0")]
    picture("a.png")
    assert found(path) == []


def test_damage_in_an_archive_keeps_what_was_found_before(tmp_path):
    path = tmp_path / "shard.jsonl.zip"
    shard = {"text_list": ["A."], "image_info": [{"image_name": "a.png", "matched_text_index": 7}]}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("shard.jsonl", "".join(f"{json.dumps(shard)}\n" for _ in range(3000)))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1  # a letter in the middle, which shows in the check sum at the end
    path.write_bytes(bytes(data))
    checked = check_corpus(path)
    assert checked.problems[-1].place == "what follows"
    assert checked.documents > 1000


def test_progress_is_shown(tmp_path, picture):
    seen = []

    def watch(items, *, total, label):
        for number, item in enumerate(items, 1):
            seen.append((number, total, label))
            yield item

    picture("a.png")
    check_corpus(corpus(tmp_path, row("a", "a.png"), "{", row("b", "a.png")), watch=watch)
    assert seen == [(number, 0, "Checking") for number in (1, 2, 3)]


def test_corpora_that_belong_together_are_compared(tmp_path, picture):
    data = [picture(f"{n}.png", seed=n).read_bytes() for n in range(3)]
    for folder, name, copied, rest in (("a", "train", 0, 1), ("b", "test", 0, 2)):  # other pictures have equal names
        corpus(tmp_path / folder, row(folder, f"{name}.png", split=name), row("same", "x.png", split=name))
        (tmp_path / folder / f"{name}.png").write_bytes(data[copied])
        (tmp_path / folder / "x.png").write_bytes(data[rest])
    earlier = EarlierDocuments()
    first, second = (check_corpus(tmp_path / folder / "c.jsonl", earlier=earlier) for folder in "ab")
    assert first.problems == ()
    assert [str(problem) for problem in second.problems] == [
        "line 1, field images.0: test.png is in test here and in train at c.jsonl, line 1",
        "line 2, field id: 'same' is also the id of c.jsonl, line 2",
    ]
    assert check_corpus(tmp_path / "b/c.jsonl").problems == ()
