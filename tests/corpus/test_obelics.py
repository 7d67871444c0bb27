"""Tables of OBELICS, made as the data set's own last step makes them."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iconotext.corpus.check import check_corpus
from iconotext.corpus.store import count_documents, format_of, left_out, read_corpus, write_corpus
from iconotext.errors import CorpusError
from iconotext.types import Document, Image, Sentence
from tests.support.corpora import PAGE, SCHEMA, entry, page, table


def test_a_page_by_hand(tmp_path):
    path = table(tmp_path / "train-00000-of-01335.parquet", PAGE)
    assert format_of(path) == "obelics"
    assert count_documents(path) == 1
    (document,) = read_corpus(path)
    assert (document.id, document.links, document.language) == ("https://a.example/p", None, "en")
    assert [(sentence.text, sentence.block) for sentence in document.sentences] == [
        ("A title", 0),
        ("First sentence.", 1),
        ("Second one, of 3.5 metres!", 1),
        ("Über ünd over.", 2),
        ("More.", 5),
        ("Another page.", 6),
    ]
    assert [(image.source[-5:], image.position, image.alt) for image in document.images] == [
        ("1.jpg", 4, "A café"),
        ("2.jpg", 4, None),
        ("3.jpg", 6, None),
    ]
    assert document.meta["obelics"]["general"]["warc_filename"] == "crawl/1.warc.gz"
    assert document.meta["obelics"]["images"][1]["original_width"] == 640
    assert document.meta["obelics"]["ends"] == [5]
    assert check_corpus(path).notes == ("3 images are named by an address and are not at hand",)


def test_what_is_read_is_written_back(tmp_path):
    path = table(tmp_path / "a.parquet", PAGE, PAGE, page("Words.", entry("https://b.example/x.png"), url=""))
    documents = list(read_corpus(path))
    assert [d.id for d in documents] == ["https://a.example/p", "https://a.example/p#2", "page-3"]
    write_corpus(documents, tmp_path / "b.parquet", to="obelics")
    written = pq.read_table(tmp_path / "b.parquet")
    assert written.schema == SCHEMA
    first, _, third = written.to_pylist()
    assert first["images"] == PAGE["images"]
    assert first["texts"][0] == "A title\n\nFirst sentence. Second one, of 3.5 metres!\n\nÜber ünd over."
    assert first["texts"][3] == PAGE["texts"][3]
    assert json.loads(first["metadata"]) == json.loads(PAGE["metadata"])
    assert json.loads(first["general_metadata"]) == json.loads(PAGE["general_metadata"])
    assert json.loads(third["general_metadata"]) == {"url": "page-3"}
    again = list(read_corpus(tmp_path / "b.parquet"))
    assert [(d.id, d.sentences, d.images) for d in again] == [(d.id, d.sentences, d.images) for d in documents]


def test_images_without_positions_stand_before_the_sentence_they_belong_to(tmp_path):
    sentences = tuple(Sentence(text) for text in ("One.", "Two.", "Three."))
    document = Document("d", sentences, (Image("a"), Image("b"), Image("c")), links=((2, 0), (1, 0), (0, 2)))
    write_corpus([document], tmp_path / "b.parquet", to="obelics")
    (row,) = pq.read_table(tmp_path / "b.parquet").to_pylist()
    assert row["images"] == ["c", None, "a", None, "b"]
    assert row["texts"] == [None, "One.", None, "Two.\n\nThree.", None]
    assert left_out(document, "obelics") == {"links"}


WORDS = st.text("abcdefgh", min_size=1, max_size=6)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(st.lists(WORDS, min_size=1, max_size=3), max_size=4), st.lists(st.integers(0, 12), max_size=3)
        ),
        max_size=4,
    )
)
def test_paragraphs_and_positions_survive(pages):
    """Each paragraph one sentence: how paragraphs are split is the splitter's affair."""
    documents = []
    for number, (paragraphs, positions) in enumerate(pages):
        sentences = tuple(Sentence(" ".join(words) + ".", block) for block, words in enumerate(paragraphs))
        images = tuple(
            Image(f"http://x.example/{i}", position=min(position, len(sentences)))
            for i, position in enumerate(sorted(positions))
        )
        documents.append(Document(f"http://p.example/{number}", sentences, images))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.parquet"
        write_corpus(documents, path, to="obelics")
        found = list(read_corpus(path))
    assert [d.id for d in found] == [d.id for d in documents]
    for old, new in zip(documents, found, strict=True):
        assert [s.text for s in new.sentences] == [s.text for s in old.sentences]
        assert len({s.block for s in new.sentences}) == len(new.sentences)
        assert [(i.source, i.position) for i in new.images] == [(i.source, i.position) for i in old.images]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"texts": ["A.", "B."]}, "row 2, field texts: texts has 2 entries where images has 1"),
        ({"texts": ["A."]}, r"field texts\.0: there is an image and a text"),
        ({"texts": None}, "field texts: Input should be a valid list"),
        ({"metadata": "[1, "}, "field metadata: .*not JSON"),
        ({"metadata": "{}"}, "field metadata: Input should be a valid list"),
        ({"metadata": "[null, null]"}, "field metadata: metadata has 2 entries where 1"),
        ({"general_metadata": "[]"}, "field general_metadata: Input should be a valid dictionary"),
    ],
)
def test_errors_name_row_and_field(tmp_path, change, message):
    path = table(tmp_path / "a.parquet", PAGE, page(entry("http://x.example/1.png")) | change)
    with pytest.raises(CorpusError, match=message):
        list(read_corpus(path))
    assert len(check_corpus(path).problems) == 1


def test_odd_rows_are_read(tmp_path):
    bare = {"images": [None, "http://x.example/1.png", None], "texts": ["", None, None]}
    odd = page(entry("http://x.example/1.png")) | {"metadata": '["not an object"]', "general_metadata": None}
    path = table(tmp_path / "a.parquet", bare, odd)
    first, second = read_corpus(path)
    assert (first.sentences, len(first.images), first.meta) == ((), 1, {"obelics": {}})
    assert second.id == "page-2"
    short = table(tmp_path / "b.parquet", bare, schema=pa.schema([SCHEMA.field("images"), SCHEMA.field("texts")]))
    assert [image.source for image in next(read_corpus(short)).images] == ["http://x.example/1.png"]


def test_ids_are_unique_over_row_groups(tmp_path):
    path = table(tmp_path / "a.parquet", *[PAGE] * 5, row_group_size=2)
    assert len({document.id for document in read_corpus(path)}) == 5
    assert check_corpus(path).problems == ()
