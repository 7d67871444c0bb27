"""Rows of data engines: each schema by hand, each kind of batch, and what a stranger's rows may not do."""

from __future__ import annotations

import base64
import io
import json
import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image as Pillow

import iconotext
from iconotext import link_rows
from iconotext.corpus.check import check_corpus
from iconotext.corpus.row_schemas import SCHEMAS, schema_of
from iconotext.corpus.shards import Counts, find_shards, shard_documents
from iconotext.errors import CorpusError
from tests.support.shards import write_tar

CAT, CUP = "Our cat sits still for long.", "The cup of coffee has to be warm."


@pytest.fixture
def pictures(tmp_path, picture):
    """A folder with two pictures whose names say what they show."""
    picture("pictures/cat.png")
    picture("pictures/sub/coffee-cup.png", seed=1)
    return tmp_path / "pictures"


@pytest.fixture
def data(pictures):
    """The bytes of both pictures."""
    return [(pictures / name).read_bytes() for name in ("cat.png", "sub/coffee-cup.png")]


def first(row):
    """The strongest link of each picture of a row: its number to the number of the text, and the sentence."""
    best: dict[int, tuple[int | None, str]] = {}
    for link in row["iconotext_links"]:
        best.setdefault(link["image"], (link["text"], link["sentence"]))
    return best


def test_a_corpus_of_ours(pictures):
    row = {"sentences": [CAT, CUP], "images": ["cat.png", "coffee-cup.png"], "links": [[1, 0]], "other": object()}
    (linked,) = link_rows([row], pictures=pictures)
    assert first(linked) == {0: (0, CAT), 1: (1, CUP)}
    assert linked["iconotext_problems"] == []
    assert linked["other"] is row["other"]
    assert "iconotext_links" not in row


def test_obelics_counts_texts_and_pictures_by_their_places(data):
    images = [{"bytes": each, "path": name} for each, name in zip(data, ("cat.png", "cup.png"), strict=True)]
    row = {"texts": [None, f"Once.\n\n{CAT}", None, CUP], "images": [images[0], None, images[1], None]}
    (linked,) = link_rows([row])
    assert first(linked) == {0: (1, CAT), 2: (3, CUP)}


def test_mmc4(pictures, data):
    infos = [{"image_name": "cat.png"}, {"image_name": "cup.png", "image_base64": base64.b64encode(data[1]).decode()}]
    (linked,) = link_rows([{"text_list": [CAT, CUP], "image_info": infos, "url": "u"}], pictures=pictures)
    assert first(linked) == {0: (0, CAT), 1: (1, CUP)}
    (linked,) = link_rows([{"text_list": [CAT], "image_info": [{"image_name": "a.png", "image_base64": "no!"}]}])
    assert "a.png: " in linked["iconotext_problems"][0]
    (odd,) = link_rows([{"text_list": [CAT], "image_info": 3}])
    assert odd["iconotext_problems"] == ["field image_info: image_info must be a list of objects"]


def test_marks_of_pictures_in_a_text(data):
    rows = [
        {"text": f"<__dj__image> {CAT} <|__dj__eoc|> <__dj__image> {CUP} <|__dj__eoc|>", "images": data},
        {"text": f"{CAT} {CUP}", "images": [data[0]]},
        {"text": "One <image> mark.", "images": data},
        {"text": None, "images": data},
        {"text": CAT, "images": 3},
        {"text": CAT, "images": "cat.png"},
        {"text": CAT, "images": None},
    ]
    both, plain, wrong, *odd, without = link_rows(rows)
    assert {text for text, _ in first(both).values()} == {None}
    assert {link["sentence"] for link in both["iconotext_links"]} == {CAT, CUP}
    assert plain["iconotext_problems"] == []
    assert wrong["iconotext_problems"] == ["field text: the text has 1 marks for pictures where images has 2"]
    for row in odd:
        assert row["iconotext_problems"] == ["field text: text must be a text, and images a list of pictures"]
    assert without["iconotext_links"] == without["iconotext_problems"] == []


def tiff(data):
    pages = [Pillow.open(io.BytesIO(each)).convert("RGB") for each in data]
    file = io.BytesIO()
    pages[0].save(file, "TIFF", save_all=True, append_images=pages[1:])
    return file.getvalue()


MINT = {"texts": [CAT, None, CUP, None], "images": [None, "page_0_image_8", None, "page_1_image_9"], "url": "u"}


def test_samples_of_a_webdataset(data):
    mint = {"__key__": "a", "json": MINT, "tiff": tiff(data)}
    (linked,) = link_rows([mint])
    assert {image: text for image, (text, _) in first(linked).items()} == {1: 0, 3: 2}
    assert linked["iconotext_problems"] == []
    (cut,) = link_rows([mint | {"tiff": tiff(data[:1])}])
    assert [problem.split(":")[0] for problem in cut["iconotext_problems"]] == ["page_1_image_9"]
    (broken,) = link_rows([mint | {"tiff": b"II*\0 no TIFF"}])
    assert "not a picture, or damaged" in broken["iconotext_problems"][0]
    (odd,) = link_rows([mint | {"json": MINT | {"texts": [CAT]}}])
    assert odd["iconotext_problems"] == ["texts has 1 entries where images has 4"]
    (ours,) = link_rows([{"__key__": "b", ".json": json.dumps({"sentences": [CAT, CUP]}).encode(), "cat.png": data[0]}])
    assert first(ours) == {0: (0, CAT)}
    (text,) = link_rows([{"__key__": "c", "txt": f"{CAT} {CUP}", "cat.png": Pillow.open(io.BytesIO(data[0]))}])
    assert first(text) == {0: (0, CAT)}


def test_a_tar_of_mint_is_a_corpus_and_a_shard(tmp_path, data):
    path = write_tar(tmp_path / "00000.tar", {"a.json": json.dumps(MINT).encode(), "a.tiff": tiff(data)})
    (document,) = iconotext.read_corpus(path)
    assert [(image.source, image.position) for image in document.images] == [("image-0", 1), ("image-1", 2)]
    for image, original in zip(document.images, data, strict=True):
        assert isinstance(image.file, bytes)
        shown, given = (np.asarray(Pillow.open(io.BytesIO(each)).convert("RGB")) for each in (image.file, original))
        assert np.array_equal(shown, given)
    assert document.meta["sample"] == {"url": "u"}
    assert check_corpus(path).problems == ()
    (shard,) = find_shards([str(path)])
    (same,) = shard_documents(shard, [path], Counts())
    assert [image.member for image in same.images] == [None, None]
    assert same.sentences == document.sentences


ROWS = [
    {"id": "a", "sentences": [CAT, CUP], "images": ["cat.png"]},
    {"id": "b", "sentences": [CUP], "images": []},
]


def batches():
    """The same rows as each kind of batch, and how to get rows of it again."""
    pandas, table = pytest.importorskip("pandas", reason="pandas is not installed"), pa.Table.from_pylist(ROWS)
    columns = {name: [row[name] for row in ROWS] for name in ROWS[0]}
    arrays = {name: table.to_pandas()[name].to_numpy() for name in columns}
    return {
        "rows": (ROWS, lambda out: out),
        "columns": (columns, lambda out: pandas.DataFrame(out).to_dict("records")),
        "arrays": (arrays, lambda out: pandas.DataFrame(out).to_dict("records")),
        "table": (table, lambda out: out.to_pylist()),
        "record batch": (table.to_batches()[0], lambda out: out.to_pylist()),
        "pandas": (table.to_pandas(), lambda out: out.to_dict("records")),
    }


def test_each_kind_of_batch_comes_back_with_the_same_links(pictures):
    expected = link_rows(ROWS, pictures=pictures)
    for name, (batch, rows) in batches().items():
        linked = link_rows(batch, pictures=pictures)
        assert type(linked) is type(batch), name
        for row, other in zip(rows(linked), expected, strict=True):
            assert first(row) == first(other), name
            assert list(row["iconotext_problems"]) == other["iconotext_problems"]


def test_types_do_not_depend_on_what_was_found(pictures):
    table = pa.Table.from_pylist(ROWS)
    linked = link_rows(table, pictures=pictures)
    assert link_rows(table.slice(1), pictures=pictures).schema == linked.schema == link_rows(linked).schema


def test_a_row_has_the_same_links_in_whatever_batch(pictures):
    rows = [{"sentences": [CAT, CUP, f"{n}."], "images": ["cat.png"], "captions": [f"Cat {n}"]} for n in range(4)]
    together = link_rows(rows, pictures=pictures)
    alone = [link_rows([row], pictures=pictures)[0] for row in rows]
    assert together == alone
    assert pickle.loads(pickle.dumps(link_rows))(rows, pictures=str(pictures)) == together


@pytest.mark.parametrize("name", ["../secret/cat.png", "{}/secret/cat.png", "https://a.example/cat.png", "cat.png\0"])
def test_a_name_never_leads_out_of_the_folder(tmp_path, picture, name):
    secret = picture("secret/cat.png")
    (tmp_path / "pictures").mkdir()
    row = {"sentences": [CAT], "images": [name.format(tmp_path)]}
    (linked,) = link_rows([row], pictures=tmp_path / "pictures")
    assert linked["iconotext_links"] == []
    assert len(linked["iconotext_problems"]) == 1
    (linked,) = link_rows([{"sentences": [CAT], "images": [str(secret)]}])
    assert linked["iconotext_problems"] == [
        f"{secret}: not in the row; name the folder of the pictures: link_rows(batch, pictures=...)"
    ]


def test_a_path_of_the_engine_leads_to_the_picture_of_its_name(pictures):
    (linked,) = link_rows([{"sentences": [CAT], "images": ["/engine/data/cat.png"]}], pictures=pictures)
    assert first(linked) == {0: (0, CAT)}


def test_a_bad_row_spoils_no_other(pictures):
    rows = [{"sentences": "text", "images": ["cat.png"]}, {"sentences": [CAT], "images": ["cat.png"]}]
    bad, good = link_rows(rows, pictures=pictures)
    assert bad["iconotext_problems"][0].startswith("field sentences: ")
    assert good["iconotext_problems"] == []
    assert good["iconotext_links"]


def test_what_cannot_be_asked_for():
    with pytest.raises(CorpusError, match=r"columns body, images: to be linked, rows need .*text and images \(text\)"):
        link_rows([{"body": CAT, "images": []}])
    with pytest.raises(TypeError, match="not str"):
        link_rows("rows")
    with pytest.raises(CorpusError, match="not a folder"):
        link_rows(ROWS, pictures=Path("nowhere"))
    with pytest.raises(CorpusError, match="rows with the columns : to be linked"):
        link_rows([{}])


def test_a_batch_without_rows_stays_as_it_is():
    assert link_rows([]) == []
    assert link_rows({}) == {}


def test_rows_have_the_first_schema_that_fits():
    for schema in SCHEMAS:
        assert schema_of(schema.columns) is schema
    assert schema_of(["text", "texts", "images"]).name == "obelics"
