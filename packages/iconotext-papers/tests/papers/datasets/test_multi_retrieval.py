"""The data sets that were released with Hessel 2019, in the layout of their archives."""

from __future__ import annotations

import json

import numpy as np
import pytest

from iconotext.corpus.builders.run import build_corpus
from iconotext.corpus.check import check_corpus
from iconotext.corpus.store import read_corpus
from iconotext.errors import CorpusError, OutputError
from iconotext.features.feature_table import load_feature_table
from iconotext_papers.datasets import multi_retrieval
from tests.support import program

COMMAND = ["papers", "build", "multi-retrieval"]

DOCS = {
    "train": [
        [[["000000074794", -1], ["000000339384", 1]], [["A seagull.", -1], ["Four people.", -1]], "na"],
        [[["x", 9]], [["A label out of range.", -1]], "na"],
    ],
    "val": [[[["a1", 0], ["a2", 1]], [["Café 1.", 0], ["Café 2.", 1]], "story"]],
    "test": [[[["a3", None]], [["Nobody knows.", None]], "story"]],
}


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "mscoco"
    folder.mkdir()
    (folder / "docs.json").write_text(json.dumps(DOCS))
    names = ["000000074794", "000000339384", "a1", "a2", "a3"]
    np.save(folder / "features.npy", np.arange(10, dtype=np.float32).reshape(5, 2))
    (folder / "id2row.json").write_text(json.dumps({name: row for row, name in enumerate(names)}))
    return folder


def built(source, output, *, force=False, **settings):
    given = multi_retrieval.Settings(source=source, **settings)
    return build_corpus("multi-retrieval", multi_retrieval.documents, given, output, workers=1, force=force)


def test_documents_labels_splits_and_features(source, tmp_path):
    report = built(source, tmp_path / "out/c.jsonl", compare="MSCOCO")
    documents = list(read_corpus(tmp_path / "out/c.jsonl"))
    assert [(d.id, d.split, d.links) for d in documents] == [
        ("train-0", "train", ((1, 1),)),
        ("story", "validation", ((0, 0), (1, 1))),
        ("story#2", "test", None),
    ]
    table = load_feature_table(tmp_path / "out/features.npy")
    assert table.look_up(["a2"])[0].tolist() == [[6.0, 7.0]]
    assert check_corpus(tmp_path / "out/c.jsonl").problems == ()
    assert report.dropped == {"document cannot be read": 1}
    counts = {count.name: (count.number, count.published) for count in report.counts}
    assert counts["documents in the source"] == (4, None)
    assert counts["documents: train"] == (1, 25_000)
    assert counts["links per 100 possible links"] == (38, 5)


def test_pictures_are_found_by_id_and_keep_their_features(source, tmp_path, picture):
    picture("photos/deep/a1.png")
    picture("photos/000000074794.jpg")
    built(source, tmp_path / "out/c.parquet", images=tmp_path / "photos")
    first, second, _ = read_corpus(tmp_path / "out/c.parquet")
    assert [image.source for image in first.images] == ["../photos/000000074794.jpg", "000000339384"]
    assert [image.problem for image in (*first.images, *second.images)] == [None] * 4
    table = load_feature_table(tmp_path / "out/features.npy")
    assert table.look_up(["../photos/deep/a1.png", "a2"])[0].tolist() == [[4.0, 5.0], [6.0, 7.0]]


def test_features_of_another_data_set_are_not_overwritten(source, tmp_path):
    np.save(tmp_path / "features.npy", np.zeros((1, 1)))
    with pytest.raises(OutputError, match=r"exists already; the option force.*features=False"):
        built(source, tmp_path / "c.jsonl")
    assert not (tmp_path / "c.jsonl").exists()
    built(source, tmp_path / "c.jsonl", features=False)
    assert np.load(tmp_path / "features.npy").shape == (1, 1)
    built(source, tmp_path / "d.jsonl", force=True)
    assert np.load(tmp_path / "features.npy").shape == (5, 2)


def test_wrong_sources_say_what_is_expected(source, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(CorpusError, match=r"docs\.json is neither in it nor in a folder in it.*multiretrieval\.html"):
        built(tmp_path / "empty", tmp_path / "c.jsonl")
    (source / "docs.json").write_text('{"train": [')
    with pytest.raises(CorpusError, match="it should be the released format"):
        built(source, tmp_path / "c.jsonl")


def test_the_command_compares_with_the_paper(source, tmp_path):
    arguments = ["-s", source, "-o", tmp_path / "out/c.jsonl", "--compare", "mscoco"]
    result = program.run(*COMMAND, *arguments)
    assert "25,000" in result.output
