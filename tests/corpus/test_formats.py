"""The formats of others, read from small examples written as their makers describe them."""

from __future__ import annotations

import json

import numpy as np

from iconotext.corpus.formats.mmc4 import looks_like_mmc4
from iconotext.corpus.formats.released import documents_file
from iconotext.corpus.row import UniqueIds
from iconotext.corpus.store import read_corpus

MSCOCO = [
    [["000000074794", -1], ["000000339384", 1], [416357, 0]],
    [["A seagull on a beach.", -1], ["Four people and a frisbee.", -1]],
    "na",
]


def write(folder, **splits):
    (folder / "docs.json").write_text(json.dumps(splits))
    return folder


def test_a_document_as_the_readme_of_the_released_code_has_it(tmp_path):
    (document,) = read_corpus(write(tmp_path, train=[MSCOCO], val=[], test=[]))
    assert document.split == "train"
    assert [sentence.text for sentence in document.sentences] == ["A seagull on a beach.", "Four people and a frisbee."]
    # Image ids may be numbers: the released code looks up str(id).
    assert [image.source for image in document.images] == ["000000074794", "000000339384", "416357"]
    assert all((image.file, image.problem) == (None, None) for image in document.images)
    assert document.links == ((0, 2), (1, 1))
    assert [d.id for d in read_corpus(tmp_path / "docs.json")] == [document.id] == ["train-0"]


def test_labels_on_either_side_are_one_graph(tmp_path):
    both = [[["x", 0], ["y", -1]], [["A.", 0], ["B.", 1]], "d"]
    unknown = [[["x", None]], [["A.", None]], "e"]
    none = [[["x", -1]], [["A.", -1]], "f"]
    half = [[["x", None]], [["A.", 0]], "g"]
    read = list(read_corpus(write(tmp_path, val=[both, unknown, none, half])))
    assert [document.links for document in read] == [((0, 0), (1, 1)), None, (), ((0, 0),)]


def test_ids_are_made_unique_and_stay_the_same(tmp_path):
    empty: list[object] = []
    names = ["story", "story", "story#2", "na", None, "", {"url": "u"}, 7]
    docs = [[empty, empty, name] for name in names]
    read = list(read_corpus(write(tmp_path, train=docs, test=docs[:1])))
    assert [d.id for d in read] == [
        "story", "story#2", "story#2#2", "train-3", "train-4", "train-5", "train-6", "train-7", "story#3",
    ]  # fmt: skip
    assert read[6].meta == {"metadata": {"url": "u"}}
    assert [d.id for d in read_corpus(tmp_path)] == [d.id for d in read]


def test_one_split_alone(tmp_path):
    write(tmp_path, train=[MSCOCO], val=[MSCOCO, MSCOCO], test=[])
    assert len(list(read_corpus(tmp_path, split="validation"))) == 2
    assert list(read_corpus(tmp_path, split="test")) == []


def test_where_documents_are_kept(tmp_path):
    (tmp_path / "folder.json").mkdir()
    assert documents_file(tmp_path / "mscoco") == tmp_path / "mscoco/docs.json"
    assert documents_file(tmp_path / "v1.2") == tmp_path / "v1.2/docs.json"
    assert documents_file(tmp_path / "all.json") == tmp_path / "all.json"
    assert documents_file(tmp_path / "folder.json") == tmp_path / "folder.json/docs.json"


def test_an_image_with_features_needs_no_file(tmp_path):
    row = {"id": "a", "sentences": ["A."], "images": ["known", "unknown"]}
    (tmp_path / "c.jsonl").write_text(json.dumps(row))
    np.save(tmp_path / "features.npy", np.zeros((1, 2), np.float32))
    (tmp_path / "id2row.json").write_text('{"known": 0}')
    (document,) = read_corpus(tmp_path / "c.jsonl")
    assert [image.problem is None for image in document.images] == [True, False]


SHARD = {
    "url": "http://example.org/fit.html",
    "text_list": ["When you lock the door.", "Press the switch.", "When you unlock."],
    "image_info": [
        {"face_detections": None, "image_name": "b9.jpg", "matched_sim": 0.27, "matched_text_index": 2, "raw_url": "http://x"},
        {"face_detections": None, "image_name": "db.jpg", "matched_sim": 0.32, "matched_text_index": 1},
    ],
    "similarity_matrix": [[0.24, 0.31, 0.27], [0.22, 0.32, 0.26]],
    "could_have_url_duplicate": 0,
}  # fmt: skip


def test_a_line_of_mmc4(tmp_path):
    assert looks_like_mmc4(SHARD)
    path = tmp_path / "shard.jsonl"
    path.write_text("\n".join([json.dumps(SHARD)] * 2))
    first, second = read_corpus(path)
    assert (first.id, second.id) == ("http://example.org/fit.html", "http://example.org/fit.html#2")
    assert first.links == ((1, 1), (2, 0))
    assert first.meta["mmc4"]["similarity_matrix"] == SHARD["similarity_matrix"]
    assert first.meta["image_info"][0]["raw_url"] == "http://x"


def test_downloaded_images_of_a_shard_are_found(tmp_path, picture):
    picture("shard_images/b9.jpg")
    (tmp_path / "shard.jsonl").write_text(json.dumps(SHARD))
    (document,) = read_corpus(tmp_path / "shard.jsonl")
    assert [image.problem is None for image in document.images] == [True, False]


def test_an_image_that_is_matched_to_nothing(tmp_path):
    infos = [
        {"image_name": "a"},
        {"image_name": "b", "matched_text_index": None},
        {"image_name": "c", "matched_text_index": -1},
    ]
    lines = [{"text_list": ["A."], "image_info": infos}, {"text_list": ["A."], "image_info": infos[:2]}]
    (tmp_path / "shard.jsonl").write_text("\n".join(map(json.dumps, lines)))
    first, second = read_corpus(tmp_path / "shard.jsonl")
    assert (first.links, second.links) == ((), None)
    assert (first.id, second.id) == ("line-1", "line-2")


def test_names_that_are_taken_are_stepped_over():
    ids = UniqueIds()
    assert [ids.take(name) for name in ("a#2", "a", "a", "a")] == ["a#2", "a", "a#3", "a#4"]
