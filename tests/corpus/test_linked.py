"""Links of ours in rows of MMC4 and OBELICS, as their own tools read them."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest

from iconotext.corpus.convert import as_format_has_it, convert_corpus
from iconotext.corpus.store import read_corpus, write_corpus
from iconotext.types import Image, Sentence
from tests.support.linked import link, make_linked

TEXTS = [Sentence("A tram.", 0), Sentence("It waits.", 0), Sentence("A cat.", 1), Sentence("The end.", 2)]


def linked(*found, positions=(0, 1, 4)):
    images = [Image(f"{name}.png", position=p) for name, p in zip("abc", positions, strict=True)]
    meta = {
        "mmc4": {"url": "https://example.org", "similarity_matrix": [[9] * 4] * 3, "own": 1},
        "image_info": [
            {"image_name": "x.png", "raw_url": f"https://example.org/{n}", "matched_sim": 9} for n in range(3)
        ],
        "obelics": {"general": {"url": "https://example.org"}, "images": [{"src": name} for name in "abc"]},
    }
    return make_linked(TEXTS, images, [link(*each) for each in found], meta=meta)


def test_mmc4(tmp_path):
    """As the data set's readers do: ``matched_text_index`` of ``image_info`` into ``text_list``; a row an image."""
    document = as_format_has_it(linked((2, 0, 0.9), (1, 0, 0.4), (1, 2, 0.6)), "mmc4")
    write_corpus([document], tmp_path / "shard.jsonl", to="mmc4")
    row = json.loads((tmp_path / "shard.jsonl").read_text())
    assert [info["matched_text_index"] for info in row["image_info"]] == [2, None, 1]
    assert [info["matched_sim"] for info in row["image_info"]] == [0.9, None, 0.6]
    assert [info["raw_url"] for info in row["image_info"]] == [f"https://example.org/{n}" for n in range(3)]
    assert row["similarity_matrix"] == [[0, 0.4, 0.9, 0], [0, 0, 0, 0], [0, 0.6, 0, 0]]
    assert (row["url"], row["own"]) == ("https://example.org", 1)
    (again,) = read_corpus(tmp_path / "shard.jsonl")
    assert again.links == ((1, 2), (2, 0))


def test_obelics(tmp_path):
    """As the data set's readers do: walk the lists side by side; each place is a text or an image."""
    document = as_format_has_it(linked((3, 0, 0.9), (0, 0, 0.4), (1, 2, 0.6)), "obelics")
    write_corpus([document], tmp_path / "a.parquet", to="obelics")
    (row,) = pq.read_table(tmp_path / "a.parquet").to_pylist()
    walked = [image or text for image, text in zip(row["images"], row["texts"], strict=True)]
    assert walked == ["c.png", "A tram.", "b.png", "It waits.\n\nA cat.", "a.png", "The end."]
    known = json.loads(row["metadata"])
    assert [each and each["src"] for each in known] == ["c", None, "b", None, "a", None]
    (again,) = read_corpus(tmp_path / "a.parquet")
    assert [image.source for image in again.images] == ["c.png", "b.png", "a.png"]


def test_other_formats_have_every_link():
    assert as_format_has_it(linked((3, 0, 0.9), (0, 0, 0.4), (1, 2, 0.6)), "jsonl").links == ((0, 0), (1, 2), (3, 0))


@pytest.mark.slow
def test_a_shard_is_linked(tmp_path, picture):
    picture("a.png", seed=1)
    row = {"url": "u", "text_list": ["A dog.", "See the red tram."], "image_info": [{"image_name": "a.png"}]}
    (tmp_path / "shard.jsonl").write_text(json.dumps(row) + "\n")
    convert_corpus(tmp_path / "shard.jsonl", tmp_path / "linked.jsonl", to="mmc4", links="default")
    made = json.loads((tmp_path / "linked.jsonl").read_text())
    assert made["text_list"] == row["text_list"]
    assert len(made["similarity_matrix"][0]) == 2
    assert made["image_info"][0]["matched_text_index"] in (0, 1, None)
