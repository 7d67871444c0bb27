"""What is written comes back, from every format."""

from __future__ import annotations

import json
import tempfile
import tracemalloc
from dataclasses import fields, replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iconotext.corpus.formats.table import schema_of
from iconotext.corpus.row import IMAGE_TEXTS, SPLITS, Row
from iconotext.corpus.store import count_documents, read_corpus, write_corpus
from iconotext.errors import CorpusError, OutputError
from iconotext.types import Document, Image, Sentence
from tests.support.corpora import KEPT_TEXTS, NOT_KEPT, documents


def plain(document):
    """The document without what reading adds: files that are not there, kinds of sentences and the language once more."""
    images = tuple(replace(image, file=None, problem=None) for image in document.images)
    meta = {name: value for name, value in document.meta.items() if name not in ("sentence_kind", "language")}
    return replace(document, images=images, meta=meta)


def written_and_read(docs, name):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        assert write_corpus(iter(docs), path) == len(docs)
        assert count_documents(path) == len(docs)
        found = [plain(document) for document in read_corpus(path)]
        for split in SPLITS:
            assert [d.id for d in read_corpus(path, split=split)] == [d.id for d in found if d.split == split]
        return found


@pytest.mark.parametrize("name", ["c.jsonl", "c.parquet"])
@settings(max_examples=60, deadline=None)
@given(docs=documents())
@pytest.mark.slow
def test_our_own_formats_keep_everything(name, docs):
    assert written_and_read(docs, name) == docs


@pytest.mark.parametrize("name", ["c.jsonl", "c.parquet"])
def test_every_field_of_an_image_is_kept_but_those_with_a_reason(name):
    assert {*IMAGE_TEXTS.values(), *NOT_KEPT, "source", "position"} == {field.name for field in fields(Image)}
    image = Image("i", position=0, **{field: f"Its {field}." for field in KEPT_TEXTS})
    assert written_and_read([Document("d", (), (image,))], name) == [Document("d", (), (image,))]


def test_a_table_has_the_columns_of_a_row():
    assert schema_of(pa.string()).names == list(Row.model_fields)


@settings(max_examples=25, deadline=None)
@given(
    docs=documents(splits=SPLITS, plain=True, links="one an image"),
    names=st.permutations(["a.jsonl", "b.parquet", "c.jsonl"]),
)
def test_any_chain_of_formats_ends_where_it_began(docs, names):
    with tempfile.TemporaryDirectory() as folder:
        before: list[Document] = docs
        for name in names:
            write_corpus(before, Path(folder) / name)
            before = list(read_corpus(Path(folder) / name))
        found = {document.id: document for document in map(plain, before)}
    assert found == {document.id: document for document in docs}


def test_paths_of_pictures_follow_the_corpus(tmp_path, picture):
    file = picture("photos/a.png")
    document = Document("d", (Sentence("A."),), (Image("anything", file=file), Image("gone.png")))
    write_corpus([document], tmp_path / "photos/c.jsonl")
    write_corpus(read_corpus(tmp_path / "photos/c.jsonl"), tmp_path / "other/deep/c.parquet")
    (found,) = read_corpus(tmp_path / "other/deep/c.parquet")
    assert [image.source for image in found.images] == ["../../photos/a.png", "gone.png"]
    assert found.images[0].problem is None
    assert found.images[0].file.samefile(file)


def test_paths_lead_through_links_between_folders(tmp_path, picture):
    file = picture("photos/a.png")
    (tmp_path / "deep/down").mkdir(parents=True)
    (tmp_path / "short").symlink_to(tmp_path / "deep/down")
    write_corpus([Document("d", (), (Image(str(file), file=file),))], tmp_path / "short/c.jsonl")
    (found,) = read_corpus(tmp_path / "deep/down/c.jsonl")
    assert [(image.source, image.problem) for image in found.images] == [("../../photos/a.png", None)]


def test_what_reading_documents_finds_survives(tmp_path):
    sentences = (
        Sentence("A title", 0, "heading"),
        Sentence("Text.", 1),
        Sentence("Cell", 2, "cell"),
        Sentence("C", 3, "caption"),
    )
    document = Document("d", sentences, (), title="A title", language="de", links=())
    write_corpus([document], tmp_path / "c.jsonl")
    (found,) = read_corpus(tmp_path / "c.jsonl")
    assert (found.sentences, found.title, found.language) == (sentences, "A title", "de")


@pytest.mark.parametrize("name", ["c.jsonl", "c.parquet"])
@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_documents(tmp_path, name):
    """40 MB of documents, of which a format may hold 256."""

    def many():
        for number in range(2000):
            text = f"{number} " * (20_000 // len(f"{number} "))
            yield Document(f"d{number}", (Sentence(text),), (), split="train")

    tracemalloc.start()
    try:
        assert write_corpus(many(), tmp_path / name) == 2000
        assert sum(1 for _ in read_corpus(tmp_path / name)) == 2000
        assert tracemalloc.get_traced_memory()[1] < 16e6
    finally:
        tracemalloc.stop()


def test_nothing_is_left_of_a_corpus_that_fails(tmp_path):
    def failing():
        yield Document("a", (), (), split="train")
        raise CorpusError("stop")

    for name in ("c.jsonl", "c.parquet"):
        with pytest.raises(CorpusError, match="stop"):
            write_corpus(failing(), tmp_path / name)
        assert [file for file in tmp_path.rglob("*") if file.is_file()] == []


def test_what_cannot_be_written_is_said(tmp_path, picture):
    one = Document("a", (Sentence("A."),), ())
    with pytest.raises(CorpusError, match="two documents have this id"):
        write_corpus([one, one], tmp_path / "c.jsonl")
    with pytest.raises(CorpusError, match="document 'a', field links"):
        write_corpus([replace(one, links=((0, 0),))], tmp_path / "c.jsonl")
    with pytest.raises(CorpusError, match="document 'a', field split"):
        write_corpus([replace(one, split="dev")], tmp_path / "c.jsonl")
    with pytest.raises(CorpusError, match="came inside its document"):
        write_corpus([replace(one, images=(Image("a.png", file=b"x"),))], tmp_path / "c.jsonl")
    for name in ("c.jsonl", "c.parquet"):
        with pytest.raises(CorpusError, match=r"'a'.*cannot be written as JSON"):
            write_corpus([replace(one, meta={"x": float("nan")})], tmp_path / name)
        with pytest.raises(CorpusError, match="'a'"):
            write_corpus([replace(one, meta={"x": "\ud800"})], tmp_path / name)
        with pytest.raises(CorpusError, match="'a'"):
            write_corpus([replace(one, meta={"x": {1, 2}})], tmp_path / name)
    with pytest.raises(OutputError, match=r"\.jsonl or \.parquet"):
        write_corpus([one], tmp_path / "c.csv")
    assert list(tmp_path.rglob("*.*")) == []
    (tmp_path / "c.jsonl").write_text("mine")
    with pytest.raises(OutputError, match="the option force"):
        write_corpus([one], tmp_path / "c.jsonl")
    write_corpus([one], tmp_path / "c.jsonl", force=True)
    assert json.loads((tmp_path / "c.jsonl").read_text()) == {"id": "a", "sentences": ["A."], "images": []}


def test_a_row_without_a_language_is_in_that_of_its_text(tmp_path):
    texts = {
        "en": "The board lies on the table. Then the battery is taken out of it.",
        "de": "Das Brett liegt auf dem Tisch. Danach wird der Akku herausgenommen, damit nichts passieren kann.",
        "ko": "보드는 책상 위에 놓여 있습니다. 그다음 배터리를 꺼냅니다.",
    }
    rows = [{"id": code, "sentences": [text], "images": []} for code, text in texts.items()]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert [document.language for document in read_corpus(path)] == list(texts)
