"""Files that are broken, or made to break us, in each format: one clear error, never a traceback or pickled code."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from importlib import import_module

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iconotext.corpus.formats import json_lines
from iconotext.corpus.formats.json_stream import lists
from iconotext.corpus.store import format_of, read_corpus, read_records
from iconotext.errors import CorpusError
from tests.support.corpora import JSON
from tests.support.shards import write_jsonl

GOOD = {"id": "a", "sentences": ["A.", "B."], "images": ["x.png"]}


def elements(stream, **options):
    """Key, index and value of every element."""
    return [(key, index, value) for key, values in lists(stream, **options) for index, value in enumerate(values)]


def corpus(tmp_path, *rows):
    return write_jsonl(tmp_path / "c.jsonl", rows)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "a", "sentences": ["A."', "line 1: not JSON"),
        ('{"id": "a", "sentences": [], "images": [], "meta": {"x": NaN}}', "line 1: not JSON .NaN is not a number"),
        ('{"id": "a", "sentences": [], "images": [], "meta": {"x": -Infinity}}', "line 1: not JSON"),
        ('{"id": "a", "meta": ' + "[" * 100_000, "nested too deeply"),
        ('{"id": "a", "meta": {"x": ' + "9" * 10_000 + "}}", "line 1: not JSON"),
        ("[]", "line 1: Input should be"),
        ("null", "line 1: Input should be"),
        ('"text"', "line 1: Input should be"),
        ('{"id": "a", "sentences": ["\\ud800"], "images": []}', "line 1, field sentences: .*surrogate"),
        (json.dumps(GOOD | {"links": [[True, 0]]}), "field links.0.0"),
        (json.dumps(GOOD | {"links": [[0.0, 0]]}), "field links.0.0"),
        (json.dumps(GOOD | {"links": [[0, 0, 0]]}), "field links.0"),
        (json.dumps(GOOD | {"links": [[10**30, 0]]}), "line 1, field links"),
        (json.dumps(GOOD | {"meta": {"sentence_kind": ["p"]}}), "field meta.sentence_kind: .* list of 2"),
        (json.dumps(GOOD | {"meta": {"sentence_kind": [["p"], "p"]}}), "field meta.sentence_kind"),
        (json.dumps(GOOD | {"meta": {"title": 3}}), "field meta.title"),
        (json.dumps(GOOD | {"meta": []}), "field meta"),
        (json.dumps(GOOD | {"relations": {"Visible": "maybe"}}), "field relations.Visible"),
    ],
)
def test_a_bad_line_of_json(tmp_path, line, message):
    path = corpus(tmp_path, line)
    with pytest.raises(CorpusError, match=message) as error:
        list(read_corpus(path))
    assert str(error.value).startswith(f"{path}, line 1")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["c.jsonl", "c.jsonl.zip"])
def test_a_file_without_line_ends_does_not_fill_the_memory(tmp_path, monkeypatch, name):
    monkeypatch.setattr(json_lines, "LONGEST", 1000)
    data = json.dumps(GOOD).encode() + b"\n" + b" " * 1001
    if name.endswith(".zip"):
        with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("c.jsonl", data)
    else:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(CorpusError, match=r"c\.jsonl.*, line 2: longer than 1,000 bytes"):
        list(read_corpus(tmp_path / name))


@pytest.mark.slow
def test_an_archive_whose_content_is_damaged(tmp_path):
    path = tmp_path / "c.jsonl.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("c.jsonl", "".join(json.dumps(GOOD | {"id": f"{i * i}"}) + "\n" for i in range(2000)))
    whole = path.read_bytes()
    for at in range(60, 2000, 97):
        path.write_bytes(whole[:at] + bytes(byte ^ 0xFF for byte in whole[at : at + 8]) + whole[at + 8 :])
        with pytest.raises(CorpusError, match=r"damaged|line \d+"):
            list(read_corpus(path))


def test_names_of_pictures_that_no_system_allows(tmp_path):
    names = ["a\0b.png", "x" * 5000, "", "/etc", "../" * 2000]
    (document,) = read_corpus(corpus(tmp_path, GOOD | {"images": names}))
    assert all("not found" in (image.problem or "") for image in document.images)


def test_bytes_that_are_no_text_are_found_in_their_line(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_bytes(json.dumps(GOOD).encode() + b'\n{"id": "\xff"}\n')
    with pytest.raises(CorpusError, match="line 2: not UTF-8"):
        list(read_corpus(path))


def test_the_mark_that_windows_puts_first_does_no_harm(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(GOOD).encode())
    assert [document.id for document in read_corpus(path)] == ["a"]


def test_archives(tmp_path):
    def archive(*names):
        path = tmp_path / "shard.jsonl.zip"
        with zipfile.ZipFile(path, "w") as file:
            for name in names:
                file.writestr(name, json.dumps(GOOD))
        return path

    assert [document.id for document in read_corpus(archive("c.jsonl"))] == ["a"]
    with pytest.raises(CorpusError, match="holds 2 files"):
        read_corpus(archive("c.jsonl", "d.jsonl"))
    (tmp_path / "bad.jsonl.zip").write_bytes(b"PK not really")
    with pytest.raises(CorpusError, match="unpack it"):
        read_corpus(tmp_path / "bad.jsonl.zip")


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(values=st.lists(JSON, max_size=3))
def test_no_json_breaks_the_reader(values, tmp_path_factory):
    folder = tmp_path_factory.mktemp("c")
    (folder / "c.jsonl").write_text("\n".join(map(json.dumps, values)))
    (folder / "docs.json").write_text(json.dumps({"train": values}))
    (folder / "loose.json").write_text(json.dumps(values))
    (folder / "shard.jsonl").write_text(
        "\n".join(json.dumps({"image_info": value, "text_list": value, "url": value}) for value in values)
    )
    for path in (folder / "c.jsonl", folder, folder / "loose.json", folder / "shard.jsonl"):
        try:
            documents = list(read_corpus(path))
        except CorpusError:
            continue
        assert len(documents) <= len(values)


ROW = {"id": ["a"], "sentences": [["A."]], "images": [["x"]]}


def parquet(path, columns, **options):
    pq.write_table(pa.table(columns), path, **options)
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"colour": ["red"]}, "field colour: not a column"),
        ({"id": [1]}, "row 1, field id"),
        ({"id": [None]}, "row 1, field id"),
        ({"sentences": ["A."]}, "row 1, field sentences"),
        ({"sentences": [["A.", None]]}, "row 1, field sentences.1"),
        ({"images": [[b"\xff"]]}, "row 1, field images.0"),
        ({"links": [[[0.0, 0.0]]]}, "row 1, field links.0.0"),
        ({"links": [[[0, 7]]]}, r"row 1, field links: links has \[0, 7\]"),
        ({"meta": ["{broken"]}, "row 1, field meta: not JSON"),
        ({"meta": ["3"]}, "row 1, field meta"),
        ({"relations": [["x"]]}, "row 1, field relations"),
        ({"split": ["dev"]}, "row 1, field split"),
    ],
)
def test_parquet_with_wrong_columns(tmp_path, change, message):
    path = parquet(tmp_path / "c.parquet", ROW | change)
    with pytest.raises(CorpusError, match=message) as error:
        list(read_corpus(path))
    assert str(path) in str(error.value)


def test_parquet_of_others(tmp_path):
    columns = {"id": ["a", "b"], "sentences": [["A."], []], "images": [["x"], ["y"]], "meta": [{"k": 1}, None]}
    first, second = read_corpus(parquet(tmp_path / "c.parquet", columns))
    assert (dict(first.meta), dict(second.meta)) == ({"k": 1}, {})
    with pytest.raises(CorpusError, match="field images: no such column"):
        list(read_corpus(parquet(tmp_path / "d.parquet", {"id": ["a"], "sentences": [["A."]]})))
    twice = parquet(tmp_path / "e.parquet", {"id": ["a", "a"], "sentences": [[""], [""]], "images": [["x"], ["x"]]})
    with pytest.raises(CorpusError, match="row 2, field id: 'a' is also the id of row 1"):
        list(read_corpus(twice))


def test_parquet_that_is_damaged(tmp_path):
    good = parquet(tmp_path / "c.parquet", ROW).read_bytes()
    for name, data in (("none", b""), ("text", b"hello"), ("cut", good[: len(good) // 2]), ("head", b"PAR1" * 8)):
        path = tmp_path / f"{name}.parquet"
        path.write_bytes(data)
        with pytest.raises(CorpusError, match=r"Parquet|cannot be read"):
            list(read_corpus(path))


@pytest.mark.parametrize(
    "column",
    [
        {"blocks": pa.ListArray.from_arrays(pa.array([0, 2_100_000]), pa.array(np.zeros(2_100_000, np.int32)))},
        {"captions": pa.array([["x"] * 2_100_000])},
        {"sentences": pa.array([["x" * 1_000_000] * 140])},
        {"sentences": pa.array([["x" * 1_000_000] * 140], pa.list_(pa.dictionary(pa.int32(), pa.string())))},
        {"relations": pa.array([[("x", True)] * 1_500_000], pa.map_(pa.string(), pa.bool_()))},
        {"meta": pa.array([[{"x": None}] * 1_500_000])},
    ],
)
def test_parquet_of_a_kilobyte_that_unpacks_to_gigabytes(tmp_path, column):
    path = parquet(tmp_path / "c.parquet", ROW | column, compression="zstd")
    assert path.stat().st_size < 200_000
    message = (
        "row group 1: a row unpacks to more than 128 MiB or 2,000,000 values, or takes 768 MiB of memory: split it"
    )
    with pytest.raises(CorpusError, match=message):
        list(read_corpus(path))


def varint(number: int, length: int = 0) -> bytes:
    """A number as Thrift writes it in a footer, in at least so many bytes."""
    number, out = number * 2, list[int]()
    while number >= 128 or len(out) < length - 1:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def test_parquet_that_lies_about_its_values(tmp_path):
    count = 2_100_000
    blocks = pa.ListArray.from_arrays(pa.array([0, count]), pa.array(np.zeros(count, np.int32)))
    path = parquet(tmp_path / "c.parquet", ROW | {"blocks": blocks}, compression="zstd")
    data = path.read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    said = varint(count)
    assert said in data[footer:]
    path.write_bytes(data[:footer] + data[footer:].replace(said, varint(40, len(said))))
    with pq.ParquetFile(path) as table:
        assert max(table.metadata.row_group(0).column(n).num_values for n in range(4)) == 40
    with pytest.raises(CorpusError, match="a row unpacks to more than"):
        list(read_corpus(path))


def test_rows_of_parquet_that_are_too_large_together_are_read_by_fewer(tmp_path, monkeypatch):
    module = import_module("iconotext.corpus.formats.table")
    tried: list[tuple[int, bool]] = []

    def here(function, _memory, _seconds, *given):
        tried.append((given[-1], function(*given)))
        return tried[-1][1]

    monkeypatch.setattr(module, "run_isolated", here)
    monkeypatch.setattr(module, "MAX_BATCH", 100_000)
    many = {"id": [str(n) for n in range(300)], "sentences": [["x" * 3_000]] * 300, "images": [["x"]] * 300}
    path = parquet(tmp_path / "c.parquet", many)
    assert len(list(read_corpus(path))) == 300
    assert set(tried) == {(256, False), (16, True)}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("", "premature EOF"),
        ("[]", "it should be the released format"),
        ('{"train": [], "val": {}}', "it should be the released format"),
        ('{"train": [[[], [], "a"]', "it should be the released format"),
        ('{"train": [[[], [], "a"]]} more', "trailing garbage"),
        ('{"train": [NaN]}', "invalid char in json text"),
        ('{"train": [' + "[" * 100_000, "nested too deeply"),
        ({"dev": [[[], [], "a"]]}, "field dev: not a split"),
        ({"train": [[[], []]]}, "train, document 0, field metadata"),
        ({"train": [[[], [], "a"], "x"]}, "train, document 1: "),
        ({"val": [[["i"], [], "a"]]}, "val, document 0, field images.0"),
        ({"val": [[[["i", -2]], [], "a"]]}, "val, document 0, field images.0.1"),
        ({"val": [[[["i", 1]], [["A.", -1]], "a"]]}, "images.0.1: label 1 in a document of 1 sentences"),
        ({"val": [[[["i", None]], [["A.", 1]], "a"]]}, "sentences.0.1: label 1"),
        ({"val": [[[["i", "0"]], [["A.", 1]], "a"]]}, "images.0.1"),
        ({"test": [[[["i", 0]], [[1, 0]], "a"]]}, "test, document 0, field sentences.0.0"),
    ],
)
def test_bad_released_files(tmp_path, value, message):
    (tmp_path / "docs.json").write_text(value if isinstance(value, str) else json.dumps(value))
    with pytest.raises(CorpusError, match=message) as error:
        list(read_corpus(tmp_path))
    assert str(tmp_path) in str(error.value)


def test_a_folder_without_documents(tmp_path):
    with pytest.raises(CorpusError, match=r"without docs\.json"):
        read_corpus(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"image_info": [{}]}, "line 1, field image_info.0.image_name"),
        ({"image_info": [{"image_name": "a", "matched_text_index": 1}]}, "image_info.0.matched_text_index: sentence 1"),
        ({"image_info": [{"image_name": "a", "matched_text_index": "0"}]}, "image_info.0.matched_text_index"),
        ({"similarity_matrix": [[0.1, 0.2]]}, "similarity_matrix: must have a row for each of 1 images"),
        ({"similarity_matrix": []}, "similarity_matrix"),
        ({"similarity_matrix": [[None]]}, "similarity_matrix.0.0"),
        ({"text_list": None}, "field text_list"),
        ({"url": 1}, "field url"),
    ],
)
def test_bad_shards(tmp_path, change, message):
    path = corpus(tmp_path, {"text_list": ["A."], "image_info": [{"image_name": "a"}]} | change)
    assert format_of(path) == "mmc4"
    with pytest.raises(CorpusError, match=message):
        list(read_corpus(path))


def test_all_problems_are_found_and_good_rows_pass(tmp_path):
    path = corpus(tmp_path, GOOD, "{", GOOD | {"sentences": [1, 2], "colour": "red"}, GOOD)
    found = [(record.place, [problem.field for problem in record.problems]) for record in read_records(path)]
    assert found == [
        ("line 1", []),
        ("line 2", [None]),
        ("line 3", ["sentences.0", "sentences.1", "colour"]),
        ("line 4", ["id"]),
    ]


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(
    value=st.dictionaries(st.text(max_size=3), st.lists(JSON, max_size=3) | JSON, max_size=4),
    piece=st.integers(1, 9),
    indent=st.none() | st.just(1),
)
def test_streaming_reads_what_json_reads_and_passes_over_what_is_no_array_only_if_it_may(value, piece, indent):
    """Oracle: json.loads. Pieces of a few characters cut every token somewhere."""

    class Small(io.BytesIO):
        def read(self, size=-1):
            return super().read(min(size, piece))

    data = json.dumps(value, indent=indent).encode()
    arrays = {key: items for key, items in value.items() if isinstance(items, list)}
    wanted = [(key, index, item) for key, items in arrays.items() for index, item in enumerate(items)]
    assert elements(Small(data), others=True) == wanted
    if arrays == value:
        assert elements(Small(data)) == wanted
    else:
        with pytest.raises(ValueError, match="is no array"):
            elements(Small(data))


def test_streaming_does_not_read_on_where_an_element_is_broken():
    class Endless(io.BytesIO):
        asked = 0

        def read(self, size=-1):
            self.asked += 1
            assert self.asked < 5
            return b'{"a": [{"id" 1}, ' if self.asked == 1 else b'{"id": 2}, ' * (size // 11)

    with pytest.raises(ValueError, match="parse error"):
        elements(Endless())


@settings(max_examples=60, deadline=None)
@given(items=st.lists(st.lists(st.integers(-(10**6), 10**6), max_size=3), min_size=1, max_size=5), data=st.data())
def test_streaming_tells_that_a_file_was_cut_off(items, data):
    text = json.dumps({"a": items, "b": [{"c": "d"}]})
    with pytest.raises(ValueError, match=r"premature EOF|[Ii]ncomplete|malformed number|an object is needed"):
        elements(io.BytesIO(text[: data.draw(st.integers(1, len(text) - 1))].encode()))


def test_features_never_run_code(tmp_path):
    from iconotext.features.feature_table import load_feature_table

    class Trap:
        def __reduce__(self):
            return (open, (str(tmp_path / "trapped"), "w"))

    (tmp_path / "id2row.json").write_text('{"a": 0}')
    np.save(tmp_path / "objects.npy", np.array([[Trap()]], dtype=object), allow_pickle=True)
    (tmp_path / "plain.npy").write_bytes(pickle.dumps(Trap()))
    (tmp_path / "trapped").unlink(missing_ok=True)
    for name in ("objects.npy", "plain.npy"):
        with pytest.raises(CorpusError, match="not an array of numbers"):
            load_feature_table(tmp_path / name)
    assert not (tmp_path / "trapped").exists()


def test_what_is_no_corpus_at_all_is_said_once(tmp_path):
    path = tmp_path / "tools.md"
    path.write_text("# Tools\n\nA text.\n\nAnother.\n")
    with pytest.raises(CorpusError, match=r"tools\.md: not a corpus"):
        format_of(path)


@pytest.mark.parametrize("name", ["gone.jsonl", "gone.parquet"])
def test_a_corpus_that_is_not_there_is_no_such_file(tmp_path, name):
    with pytest.raises(CorpusError, match=f"{name}: no such file$"):
        format_of(tmp_path / name)
