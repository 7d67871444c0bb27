"""Tables of OBELICS, made as the data set's own last step makes them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from iconotext.corpus.check import check_corpus
from iconotext.corpus.store import count_documents, format_of, read_corpus
from iconotext.errors import CorpusError
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
