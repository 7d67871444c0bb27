from __future__ import annotations

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iconotext import read_corpus
from iconotext.corpus import image_files
from iconotext.corpus.image_files import ImageFiles, Whereabouts
from iconotext.corpus.row import Row, parse_json_row, parse_row
from iconotext.corpus.store import read_rows, write_rows
from iconotext.errors import CorpusError
from iconotext.system.strict_json import parse_json
from tests.support.shards import write_jsonl

GOOD: dict[str, Any] = {
    "id": "paris",
    "sentences": ["The tower at dusk.", "A bridge."],
    "images": ["img/a.png", "img/gone.png"],
}


def corpus(tmp_path, *rows):
    return write_jsonl(tmp_path / "corpus.jsonl", rows)


def test_a_document_with_everything(tmp_path, picture):
    picture("img/a.png")
    row = GOOD | {
        "split": "train", "links": [[0, 0], [1, 1]], "blocks": [0, 2], "positions": [1, 2], "captions": ["Dusk.", None],
        "alts": [None, "A bridge"], "relations": {"Visible": True}, "meta": {"sentence_kind": ["h", "p"], "source": "x"},
    }  # fmt: skip
    (document,) = read_corpus(corpus(tmp_path, row, ""))
    assert (document.id, document.split, document.links) == ("paris", "train", ((0, 0), (1, 1)))
    assert [(s.text, s.block, s.heading) for s in document.sentences] == [
        ("The tower at dusk.", 0, True),
        ("A bridge.", 2, False),
    ]
    first, second = document.images
    assert (first.file, first.caption, first.position, first.problem) == (tmp_path / "img/a.png", "Dusk.", 1, None)
    assert (second.file, second.alt) == (None, "A bridge")
    assert "not found" in (second.problem or "")
    assert document.meta["relations"] == {"Visible": True}
    assert document.has_layout


def test_unknown_links_differ_from_none(tmp_path):
    path = corpus(tmp_path, GOOD, GOOD | {"id": "b", "links": []}, GOOD | {"id": "c", "links": None})
    documents = list(read_corpus(path))
    assert [document.links for document in documents] == [None, (), None]
    assert not documents[0].has_layout


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"links": [[0, 2]]}, r"links has \[0, 2\]"),
        ({"links": [[0]]}, "line 2, field links.0"),
        ({"links": [[-1, 0]]}, "links.0"),
        ({"sentences": "text"}, "field sentences"),
        ({"sentences": [1]}, "field sentences.0"),
        ({"blocks": [0]}, "blocks has 1 entries where 2"),
        ({"positions": [0, 3]}, "positions has 3"),
        ({"captions": [None]}, "captions has 1"),
        ({"split": "dev"}, "field split"),
        ({"id": ""}, "field id"),
        ({"colour": "red"}, "field colour"),
        ({"id": "first"}, "also the id of line 1"),
    ],
)
def test_errors_name_file_line_and_field(tmp_path, change, message):
    path = corpus(tmp_path, GOOD | {"id": "first"}, GOOD | change)
    with pytest.raises(CorpusError, match=message) as error:
        list(read_corpus(path))
    assert str(path) in str(error.value)
    assert "line 2" in str(error.value)


def test_one_split(tmp_path):
    path = corpus(tmp_path, GOOD | {"split": "test"}, GOOD | {"id": "b"}, GOOD | {"id": "c", "split": "test"})
    assert [document.id for document in read_corpus(path, split="test")] == ["paris", "c"]
    assert list(read_corpus(path, split="train")) == []
    with pytest.raises(CorpusError, match="split 'dev': there are train, validation, test"):
        read_corpus(path, split="dev")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(
    change=st.dictionaries(st.sampled_from([*Row.model_fields, "colour"]), JSON, max_size=3),
    drop=st.sampled_from([None, "id", "sentences"]),
    escaped=st.booleans(),
    cut=st.none() | st.integers(0, 200),
)
@pytest.mark.slow
def test_the_quick_way_to_read_a_line_finds_what_the_careful_one_does(change, drop, escaped, cut):
    values = {name: value for name, value in (GOOD | change).items() if name != drop}
    line = json.dumps(values, ensure_ascii=escaped).encode("utf-8", "surrogatepass")[:cut]
    try:
        careful = parse_row(parse_json(line.decode()), "line 2")
    except ValueError:
        assert parse_json_row(line, "line 2") is None
        return
    quick = parse_json_row(line, "line 2")
    if careful.row is None:
        assert quick is None
    elif quick is not None:
        assert quick == careful


@pytest.mark.parametrize(
    ("meta", "quick"),
    [
        ('{"x": NaN}', False), ('{"x": -Infinity}', False), ('{"x": "NaN"}', False), ('{"x": "\\ud800"}', False),
        ('{"x": 1e400}', True), (f'{{"x": {"9" * 5000}}}', False), (f'{{"x": {"[" * 300 + "]" * 300}}}', False),
        ('{"x": 1, "x": 2}', True), ('{"x": 12345678901234567890123}', True), ('{"x": 0.1234567890123456789}', True),
    ],
)  # fmt: skip
def test_lines_that_need_care(meta, quick):
    line = f'{{"id": "a", "sentences": [], "images": [], "meta": {meta}}}'
    found = parse_json_row(line.encode(), "line 1")
    assert (found is not None) == quick
    if found is not None:
        assert found == parse_row(parse_json(line), "line 1")


def test_rows_are_written_as_documents_are(tmp_path):
    rows = [Row(id="a", sentences=["A."], images=["x.png"]), Row(id="b", split="test", sentences=[], images=[])]
    for name in ("c.jsonl", "c.parquet"):
        assert write_rows(iter(rows), tmp_path / name) == 2
        assert list(read_rows(tmp_path / name)) == rows
    with pytest.raises(CorpusError, match="two documents have this id"):
        write_rows([rows[0], rows[0]], tmp_path / "d.jsonl")
    assert not (tmp_path / "d.jsonl").exists()


NAMES = st.sampled_from(["a.png", "gone.png", "img", "lost", "https:", "host", "", ".", "..", "x" * 300, "b\0"])


@settings(max_examples=300, deadline=None)
@given(st.lists(st.lists(NAMES, min_size=1, max_size=4).map("/".join), max_size=8), st.integers(1, 3))
@pytest.mark.slow
def test_pictures_are_where_the_system_says(sources, remembered):
    """Oracle: a look for each file, with no folder remembered."""
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(image_files, "FOLDERS", remembered)
        folder = Path(name, "corpus")
        for file in ("a.png", "img/a.png", "https:/host/a.png", "https:/a.png"):
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).touch()
        images = ImageFiles(folder)
        for source in sources:
            other = Whereabouts.WEB if source.startswith("https:") else Whereabouts.LOST
            is_there = os.path.isfile(os.path.join(folder, source))
            assert images.whereabouts(source) is (Whereabouts.FILE if is_there else other)
