from __future__ import annotations

import json
import tracemalloc
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from iconotext.errors import CorpusError, FeatureError
from iconotext.train import feature_writers
from iconotext.train import prepare as module
from iconotext.train.batches import epoch_batches, planned_reads, read_ahead
from iconotext.train.feature_writers import ImageRows
from iconotext.train.prepare import prepare
from iconotext.train.prepared import META, open_prepared
from tests.support import training as synthetic
from tests.support.feature_tables import write_feature_table
from tests.support.training import DIM, edited, small_recipe, write_synthetic


def counted(monkeypatch):
    """How often a corpus is encoded."""
    calls, real = [], module._prepare

    def write(*arguments):
        calls.append(1)
        return real(*arguments)

    monkeypatch.setattr(module, "_prepare", write)
    return calls


def test_what_is_prepared(tmp_path):
    corpus = write_synthetic(tmp_path, 20)
    prepared = prepare(small_recipe(), [corpus], tmp_path / "arrays")
    lines = [json.loads(line) for line in corpus.read_text().splitlines()]
    assert list(prepared.ids) == [line["id"] for line in lines]
    assert prepared.ids[19] == "d19"
    with pytest.raises(IndexError):
        prepared.ids[20]
    assert prepared.documents("validation").tolist() == [3, 8, 13, 18]
    assert (prepared.meta["documents"], prepared.meta["skipped"], prepared.meta["images_left_out"]) == (20, 0, 0)
    assert prepared.linked.all()
    assert prepared.links_of(7) == tuple(map(tuple, lines[7]["links"]))
    words = (tmp_path / "arrays" / "vocabulary.txt").read_text().split()
    start, end = prepared.words.offsets[5:7]  # document 1, sentence 1
    assert [words[w] for w in prepared.words.ids[start:end]] == lines[1]["sentences"][1].split()
    assert prepared.images.shape == (60, DIM)


def test_it_is_used_again_until_something_changes(tmp_path, monkeypatch):
    calls = counted(monkeypatch)
    corpus = write_synthetic(tmp_path, 20)

    def again(**tables):
        return prepare(small_recipe(**tables), [corpus], tmp_path / "arrays")

    again()
    again(training={"learning_rate": 0.5}, dim=3, objective={"kind": "softmax"})
    assert len(calls) == 1
    again(text={"max_tokens": 3})
    assert len(calls) == 2
    edited(corpus, lambda lines: lines.pop())
    assert again().meta["documents"] == 19
    assert len(calls) == 3
    table = np.load(tmp_path / "features.npy")
    np.save(tmp_path / "features.npy", table + 1)
    again()
    assert len(calls) == 4
    (tmp_path / "arrays" / META).write_text("{")  # damaged
    again()
    assert len(calls) == 5


@pytest.mark.parametrize("at", ["begun", "nearly done"])
def test_stopped_half_way_it_is_done_again(tmp_path, monkeypatch, at):
    corpus = write_synthetic(tmp_path, 20)
    where = (ImageRows, "of") if at == "begun" else (Path, "rename")

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(*where, stop)
    with pytest.raises(KeyboardInterrupt):
        prepare(small_recipe(), [corpus], tmp_path / "arrays")
    assert not (tmp_path / "arrays").exists()
    monkeypatch.undo()
    calls = counted(monkeypatch)
    assert prepare(small_recipe(), [corpus], tmp_path / "arrays").meta["documents"] == 20
    assert len(calls) == (1 if at == "begun" else 0)
    assert not (tmp_path / "arrays.part").exists()


def test_missing_and_broken_pictures_are_left_out(tmp_path, picture):
    for number in range(3):
        picture(f"{number}.png", seed=number)
    (tmp_path / "broken.png").write_bytes(b"no picture")
    rows = [
        {"id": "a", "split": "train", "sentences": ["One.", "Two."], "images": ["0.png", "broken.png", "1.png"],
         "links": [[0, 0], [1, 1], [1, 2]]},
        {"id": "b", "split": "train", "sentences": ["One."], "images": ["nowhere.png"]},
        {"id": "c", "split": "train", "sentences": [], "images": ["0.png"]},
        {"id": "d", "split": "validation", "sentences": ["Three."], "images": ["1.png", "2.png", "1.png"]},
        {"id": "e", "split": "train", "sentences": ["Four."], "images": ["0.png"]},
        {"id": "f", "split": "validation", "sentences": ["Five."], "images": ["2.png"]},
    ]  # fmt: skip
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for tables in (
        {"features": {"image": "pixels"}, "image": {"kind": "network"}},
        {"features": {"image": "efficientnet-lite0"}},
    ):
        prepared = prepare(small_recipe(**tables), [corpus], tmp_path / "arrays")
        assert list(prepared.ids) == ["a", "d", "e", "f"]
        assert prepared.image_rows.tolist() == [0, 1, 1, 2, 1, 0, 2]  # each picture once
        assert prepared.links_of(0) == ((0, 0), (1, 1))  # counted without the broken one
        assert prepared.linked.tolist() == [True, False, False, False]
        assert [prepared.meta[name] for name in ("skipped", "images_left_out", "lacking")] == [2, 2, 1]
    assert prepared.images.shape == (3, 1280)
    assert prepared.meta["backbones"]["text"] == "words"


def test_documents_without_a_split_are_divided_the_same_way_each_time(tmp_path):
    corpus = write_synthetic(tmp_path, 40, splits=False)

    def validating(**tables):
        prepared = prepare(small_recipe(**tables), [corpus], tmp_path / "arrays")
        assert len(prepared.documents("train")) + len(prepared.documents("validation")) == len(prepared.ids)
        return prepared.documents("validation").tolist()

    first = validating()
    assert len(first) == 10  # a tenth has too few images
    assert len(validating(training={"validation": 0.5})) == 20
    assert set(first) < set(validating(training={"validation": 0.5}))
    assert validating(seed=1) != first
    assert validating() == first
    edited(corpus, lambda lines: lines.__setitem__(slice(None), lines[:4]))
    assert len(validating()) == 2  # a tenth would be none, and one document has nothing to be compared with
    edited(corpus, lambda lines: lines.__setitem__(slice(None), lines[:3]))
    with pytest.raises(CorpusError, match=r"corpus\.jsonl: training needs two or more .* there are 2 and 1 .* split"):
        validating()


def test_words_are_those_that_are_read_of_documents_that_train(tmp_path):
    def change(rows):
        for number, row in enumerate(rows):  # some words in one document alone, some behind what is read
            row["sentences"][0] = f"own{number} rare{number % 7} " + "and so on " * 9 + f"late{number % 3}"
            row.update(images=["nowhere"] if number % 10 == 0 else row["images"], links=[])

    corpus = edited(write_synthetic(tmp_path / "corpus", 30), change)
    prepared = prepare(small_recipe(text={"max_tokens": 12, "max_words": 40}), [corpus], tmp_path / "arrays")
    training = {prepared.ids[n] for n in prepared.documents("train")}
    rows = [json.loads(line) for line in corpus.read_text().splitlines()]
    read = [word for row in rows if row["id"] in training for s in row["sentences"] for word in s.split()[:12]]
    counts = Counter(read)
    wanted = ["<unknown>", *sorted(counts, key=lambda word: (-counts[word], word))[:40]]
    assert (tmp_path / "arrays" / "vocabulary.txt").read_text().split() == wanted
    assert sum(word.startswith("own") for word in wanted) < len(training) == 15  # there are more words than fit
    first = prepared.words.ids[: prepared.words.offsets[1]].tolist()  # of the first document with a picture
    assert first == [wanted.index(word) if word in wanted else 0 for word in rows[1]["sentences"][0].split()[:12]]


def test_several_corpora_each_with_its_table(tmp_path):
    one, two = write_synthetic(tmp_path / "one", 10), write_synthetic(tmp_path / "two", 15, seed=1, splits=False)
    prepared = prepare(small_recipe(), [one, two], tmp_path / "arrays")
    assert prepared.corpora.tolist() == [0] * 10 + [1] * 15
    assert prepared.images.shape == (75, DIM)  # equal ids in two tables are two images
    np.testing.assert_allclose(prepared.images[30:], np.load(tmp_path / "two" / "features.npy"), atol=1e-2)
    write_feature_table(tmp_path / "two" / "features.npy", ["a"], [np.zeros((1, 3), np.float32)], dim=3, force=True)
    with pytest.raises(FeatureError, match="rows of different lengths"):
        prepare(small_recipe(), [one, two], tmp_path / "arrays")
    (tmp_path / "two" / "features.npy").unlink()
    with pytest.raises(FeatureError, match=r"features.npy: the recipe's table .* neither here nor beside .*two"):
        prepare(small_recipe(), [one, two], tmp_path / "arrays")
    shared = small_recipe(features={"image": str(tmp_path / "one" / "features.npy")})
    edited(two, lambda lines: lines.__setitem__(slice(None), lines[:10]))
    assert prepare(shared, [one, two], tmp_path / "arrays").images.shape == (30, DIM)


def test_features_that_do_not_fit_are_told(tmp_path):
    corpus = write_synthetic(tmp_path, 10)
    np.save(tmp_path / "features.npy", np.full((30, DIM), 1e6, np.float32))
    with pytest.raises(FeatureError, match=r"larger than 65504.*scale the features down"):
        prepare(small_recipe(), [corpus], tmp_path / "arrays")


def test_nothing_to_train_or_to_validate_on(tmp_path):
    corpus = write_synthetic(tmp_path, 10)
    edited(corpus, lambda lines: [line.update(split="train") for line in lines])
    with pytest.raises(CorpusError, match=r"there are 10 and 0 \(0 without either were left out\)"):
        prepare(small_recipe(), [corpus], tmp_path / "arrays")
    with pytest.raises(CorpusError, match="no such file"):
        prepare(small_recipe(), [tmp_path / "no.jsonl"], tmp_path / "arrays")
    with pytest.raises(CorpusError, match="arrays: damaged or missing"):
        open_prepared(tmp_path / "arrays")


def test_damaged_arrays_are_told(tmp_path):
    corpus = write_synthetic(tmp_path, 10)
    prepare(small_recipe(), [corpus], tmp_path / "arrays")
    path = tmp_path / "arrays" / "images.bin"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CorpusError, match=r"arrays: damaged or missing; remove it, and train again"):
        open_prepared(tmp_path / "arrays")


@pytest.mark.slow
def test_memory_hardly_grows_with_the_number_of_documents(tmp_path, monkeypatch):
    monkeypatch.setattr(synthetic, "DIM", 1024)  # 12 KB of features a document
    monkeypatch.setattr(
        feature_writers, "COUNT_CHUNK", 100
    )  # so that a few hundred documents fill what is read at once
    monkeypatch.setattr(module, "WORD_CHUNK", 1000)
    corpus = write_synthetic(tmp_path / "one", 100, splits=False)
    recipe = synthetic.tables(corpus)
    text = corpus.read_text()

    def peak(shards):
        for number in range(shards):
            path = tmp_path / f"{shards}" / f"{number}.jsonl"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text.replace('"id": "', f'"id": "{number}-'))
        tracemalloc.start()
        prepared = prepare(recipe, [path.parent], tmp_path / f"arrays-{shards}")
        planned = epoch_batches(prepared, recipe, "train", 0)
        for _ in read_ahead(planned_reads(prepared, recipe, planned, training=True, epoch=0)):
            pass
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(1)  # what is imported
    small, large = peak(4), peak(24)
    assert (large - small) / 2000 < 120, (small, large)  # the plan of an epoch, and the ranks of documents
