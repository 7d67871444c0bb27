"""Data sets as the real ``datasets`` opens them, with nothing to be had from the network."""

from __future__ import annotations

import io

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given, settings
from PIL import Image as Pillow

from iconotext.errors import OutputError
from iconotext.excerpts import Chunk
from iconotext.report.as_excerpts import TABLE, row, write_dataset
from iconotext.report.chunks import chunks
from iconotext.report.context import Context, contexts
from iconotext.types import Image, Sentence
from tests.support.linked import link, linked_documents, make_linked, photograph

datasets = pytest.importorskip("datasets", reason="datasets is not installed")

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="90" height="70"><rect width="90" height="70" fill="red"/></svg>'


def opened(folder, monkeypatch):
    """The rows, opened without a network."""
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    return datasets.load_dataset(str(folder), split="train", cache_dir=str(folder.parent / "cache"))


def written(linked, folder, kind, words=40):
    found = contexts(linked, words) if kind is Context else chunks(linked, words)
    write_dataset(((linked.document, each) for each in found), folder, kind)
    return found


@pytest.fixture
def article(tmp_path):
    """A photograph inside, a drawing, one that is not there, and one that is cut off."""
    (tmp_path / "drawing.svg").write_bytes(SVG)
    images = [
        Image("img/cat.jpg", photograph(1), alt="A cat", caption="Figure 1: asleep", position=2),
        Image("drawing.svg", tmp_path / "drawing.svg", position=2),
        Image("gone.png", None, position=3, problem="file not found"),
        Image("half.jpg", photograph(2)[:900], position=3, problem="damaged"),
    ]
    texts = [Sentence("Katzen", 0, "heading"), Sentence("A cat sleeps.", 1), Sentence("A red wall.", 2)]
    return make_linked(texts, images, [link(1, 0, 0.9), link(2, 1, 0.5)], language="de")


def test_contexts(article, tmp_path, monkeypatch):
    found = written(article, tmp_path / "out", Context)
    rows = opened(tmp_path / "out", monkeypatch)
    assert isinstance(rows.features["picture"], datasets.Image)
    cat, drawing, gone, half = rows
    assert np.array_equal(np.asarray(cat["picture"]), np.asarray(Pillow.open(io.BytesIO(photograph(1)))))
    assert drawing["picture"].size[0] > drawing["picture"].size[1]
    assert drawing["picture"].convert("RGB").getpixel((5, 5)) == (255, 0, 0)
    assert (gone["picture"], gone["problem"], half["picture"]) == (None, "file not found", None)
    assert "file" not in rows.column_names
    assert [each["text"] for each in rows] == [each.text for each in found]
    assert cat["sentences"][0]["confidence"] == pytest.approx(0.9)
    raw = rows.cast_column("picture", datasets.Image(decode=False))
    assert raw[0]["picture"] == {"bytes": photograph(1), "path": "cat.jpg"}


def test_the_card(article, tmp_path):
    written(article, tmp_path / "out", Context)
    _, head, body = (tmp_path / "out" / "README.md").read_text().split("---\n", 2)
    said = yaml.safe_load(head)
    assert (said["language"], said["size_categories"]) == (["de"], ["n<1K"])
    assert said["dataset_info"]["splits"][0]["num_examples"] == 4
    assert "4 contexts of 1 document; documents by language: de (1)" in body


def test_chunks(article, tmp_path, monkeypatch):
    found = written(article, tmp_path / "out", Chunk)
    (only,) = opened(tmp_path / "out", monkeypatch)
    assert [picture is None for picture in only["pictures"]] == [False, False, True, True]
    assert [each["source"] for each in only["images"]] == [each.source for each in found[0].images]
    assert only["images"][0]["sentences"][0]["text"] == "A cat sleeps."


@pytest.mark.slow
@given(linked_documents())
@settings(max_examples=30)
@pytest.mark.parametrize("kind", [Context, Chunk])
def test_nothing_is_lost(tmp_path_factory, kind, linked):
    folder = tmp_path_factory.mktemp("data") / "out"
    found = contexts(linked, 40) if kind is Context else chunks(linked, 40)
    if not found:
        with pytest.raises(OutputError, match="nothing to write"):
            written(linked, folder, kind)
        assert not (folder / TABLE).exists()
    else:
        written(linked, folder, kind)
    again = pq.read_table(folder / TABLE).to_pylist() if found else []
    for given_, read in zip(found, again, strict=True):
        wanted = row(given_)
        for name in ("document", "text", "headings"):
            assert read[name] == wanted[name]


def test_what_is_there_stays(article, tmp_path):
    folder = tmp_path / "out"
    written(article, folder, Context)
    before = (folder / TABLE).read_bytes()
    with pytest.raises(OutputError, match=r"out has something in it already; the option force"):
        written(article, folder, Chunk)
    assert (folder / TABLE).read_bytes() == before
    (tmp_path / "file").write_text("a")
    with pytest.raises(OutputError, match="it is a file, and a data set is a folder"):
        written(article, tmp_path / "file", Context)
