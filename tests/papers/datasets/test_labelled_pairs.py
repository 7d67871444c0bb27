"""CITE and Clue from small tables with the quirks of the published ones."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from iconotext.corpus.check import check_corpus
from iconotext.corpus.store import read_corpus, write_corpus
from iconotext.errors import CorpusError
from iconotext.papers.datasets.cite import CITE_TABLE
from iconotext.papers.datasets.clue import CLUE_TABLE
from iconotext.papers.datasets.labelled.pairs import labelled_documents, survey_tables
from iconotext.relations import CITE, CLUE

CITE_HEAD = "|Index|q10_resp|q1_resp|q2_resp|q3_resp|q4_resp|q5_resp|q6_resp|q7_resp|q8_resp|q9_resp|qimg|stim_id|stim_txt|complement"
CLUE_HEAD = "caption\turl\tVisible\tSubjective\tAction\tStory\tMeta\tIrrelevant\tOther\tWhen\tWhere\tHow\tComment"


def cite_row(
    number, *, answers=("True",) * 7, image="cake_1_0.jpg", name=None, text="Bake the cake.", q9="", q10="", **more
):
    name = f"{number}_1" if name is None else name
    return "|".join(
        [str(number), "7", q10, more.get("q1", "the cake"), *answers, q9, image, name, text, more.get("complement", "")]
    )


def clue_row(caption, url, labels="100000", other="0000", comment=""):
    return "\t".join([caption, url, *labels, *other, comment])


def table(tmp_path, name, *lines):
    path = tmp_path / name
    path.write_bytes(b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines) + b"\n")
    return path


def cite(tmp_path, *lines, name="cite.csv"):
    return table(tmp_path, name, CITE_HEAD, *lines)


def clue(tmp_path, *lines, name="clue.tsv"):
    return table(tmp_path, name, CLUE_HEAD, *lines)


def build(data_set, *paths, files=None, once=False, **options):
    survey = survey_tables(data_set, paths, once=once)
    documents = list(labelled_documents(data_set, survey, files or {}, **options))
    report = survey.report.as_json()
    assert report["rows"] == report["used"] + report["left_out"] == report["left_out"] + len(documents)
    assert sum(report["splits"].values()) == len(documents) == report["documents"]
    return documents, report


def test_a_row_of_cite(tmp_path):
    path = cite(
        tmp_path,
        cite_row(
            0,
            answers=("True", "False", "False", "True", "", "false", "True"),
            q9="False",
            q10="True",
            name="297_3",
            text=" Bake at 350&#8734;F&#160;for  1 hour. ",
            complement=" for ",
        ),
    )
    ((document,), report) = build(CITE_TABLE, path)
    assert document.id == "297_3"
    assert [sentence.text for sentence in document.sentences] == ["Bake at 350°F for 1 hour."]
    assert [(image.source, image.file) for image in document.images] == [("recipeqa:cake_1_0.jpg", None)]
    assert document.links == ((0, 0),)
    assert document.meta == {
        "relations": dict(zip(CITE, (True, False, False, True, None, False, True), strict=True)),
        "source": "cite.csv", "line": 2, "qimg": "cake_1_0.jpg", "stim_id": "297_3", "q1": "the cake", "q9": False,
        "q10": True, "complement": " for ", "stim_txt": " Bake at 350&#8734;F&#160;for  1 hour. ",
    }  # fmt: skip
    assert report["relations"]["Temporal i<t"] == {"yes": 0, "no": 0, "unanswered": 1, "positive_rate": None}
    assert report["relations"]["Expansion"] == {"yes": 1, "no": 0, "unanswered": 0, "positive_rate": 1.0}


def test_every_row_is_used_or_left_out_with_its_reason(tmp_path):
    path = cite(
        tmp_path,
        cite_row(0),
        cite_row(1, text=" &#160; "),
        cite_row(2, image=" "),
        "3|7|too few",
        cite_row(4) + "|too many",
        "",
        cite_row(5, answers=("maybe", *("",) * 6)),
        cite_row(6, text='"never closed'),
        cite_row(7, text='"a|b'),
        cite_row(8, text="Crème brûlée").encode("cp1252"),
    )
    documents, report = build(CITE_TABLE, path)
    assert [document.id for document in documents] == ["0_1", "5_1", "6_1", "8_1"]
    (source,) = report["sources"]
    assert (source["rows"], source["used"]) == (9, 4)
    assert source["rows_left_out"] == [
        {"line": 3, "reason": "no text"},
        {"line": 4, "reason": "no picture is named"},
        {"line": 5, "reason": "wrong number of columns: 3 where the header has 16"},
        {"line": 6, "reason": "wrong number of columns: 17 where the header has 16"},
        {"line": 10, "reason": "broken quotes: without them it has 17 columns where the header has 16"},
    ]
    assert source["left_out"] == {
        "wrong number of columns": 2, "no text": 1, "no picture is named": 1, "broken quotes": 1,
    }  # fmt: skip
    assert source["rows_with_notes"] == [
        {"line": 8, "note": "q2_resp has 'maybe', neither yes nor no: counted as no answer"},
        {"line": 8, "note": "no relation is answered"},
        {"line": 9, "note": "broken quotes: kept as they are"},
    ]
    assert source["encoding"] == "utf-8"
    assert list(source["lines_in_other_encoding"].values()) == [1]
    assert documents[2].sentences[0].text == '"never closed'


def test_doubled_ids_become_unique_and_rows_without_one_get_one(tmp_path):
    first = cite(tmp_path, cite_row(0, name="a"), cite_row(1, name="a", text="Eat."), cite_row(2, name="", text="Mix."))
    second = cite(tmp_path, cite_row(0, name="a", text="Cool."), name="more.csv")
    documents, report = build(CITE_TABLE, first, second)
    assert [document.id for document in documents] == ["a", "a#2", "cite-4", "a#3"]
    assert [document.meta.get("stim_id") for document in documents] == ["a", "a", None, "a"]
    assert [document.meta["source"] for document in documents] == ["cite.csv"] * 3 + ["more.csv"]
    assert [source["file"] for source in report["sources"]] == ["cite.csv", "more.csv"]
    with pytest.raises(CorpusError, match="named twice"):
        survey_tables(CITE_TABLE, [first, tmp_path / "." / "cite.csv"])


def test_exports_of_other_programs(tmp_path):
    """A byte order mark, Windows line ends, commas, quotes, columns in another order and other words for yes."""
    names = ["stim_txt", "QIMG", *(f"q{i}_resp" for i in range(8, 1, -1))]
    lines = [",".join(names), '"Mix, then\r\n""fold"".",b.jpg,1,0,Yes,No,TRUE,f,1.0', "Bake.,b.jpg,,,,,,,nan"]
    path = tmp_path / "excel.csv"
    path.write_bytes("\ufeff".encode() + "\r\n".join(lines).encode())
    documents, report = build(CITE_TABLE, path)
    assert [document.sentences[0].text for document in documents] == ['Mix, then "fold".', "Bake."]
    assert list(documents[0].meta["relations"].values()) == [True, False, True, False, True, False, True]
    assert set(documents[1].meta["relations"].values()) == {None}
    assert report["sources"][0]["separator"] == ","
    assert [document.id for document in documents] == ["excel-2", "excel-4"]


def test_rows_of_clue(tmp_path):
    path = clue(
        tmp_path,
        clue_row("a dog .", "http://a.example/1.jpg", "101010", "0110"),
        clue_row("our office", "http://b.example/2.jpg", "000000", "1000", '"is it ""our"" office?"'),
        clue_row("a dog .", "http://a.example/1.jpg", "000001"),
        clue_row("no address", "photo.jpg"),
        clue_row("a  cat", ""),
    )
    documents, report = build(CLUE_TABLE, path)
    assert [document.sentences[0].text for document in documents] == ["a dog .", "our office", "a dog .", "no address"]
    assert documents[2].id == f"{documents[0].id}#2"
    assert [document.images[0].source for document in documents] == [
        "http://a.example/1.jpg", "http://b.example/2.jpg", "http://a.example/1.jpg", "clue:photo.jpg",
    ]  # fmt: skip
    assert list(documents[0].meta["relations"]) == list(CLUE)
    assert documents[1].meta == {
        "relations": dict.fromkeys(CLUE, False), "source": "clue.tsv", "line": 3, "url": "http://b.example/2.jpg",
        "Other": True, "When": False, "Where": False, "How": False, "Comment": 'is it "our" office?',
    }  # fmt: skip
    assert (report["repeated_pairs"], report["left_out"]) == (1, 1)
    once, report = build(CLUE_TABLE, path, once=True)
    assert [document.id for document in once] == [document.id for document in documents if "#" not in document.id]
    assert report["sources"][0]["rows_left_out"] == [
        {"line": 4, "reason": "the same text and picture as an earlier row: line 2 of clue.tsv"},
        {"line": 6, "reason": "no picture is named"},
    ]


def many(tmp_path, count=50):
    return clue(tmp_path, *(clue_row(f"caption {i}", f"http://a.example/{i // 2}.jpg") for i in range(count)))


def test_splits_by_seed_and_group(tmp_path):
    path = many(tmp_path)
    documents, report = build(CLUE_TABLE, path)
    assert report["splits"] == {"train": 36, "validation": 4, "test": 10}
    assert report["shared_with_training"]["either"] > 0
    assert build(CLUE_TABLE, path) == (documents, report)
    assert build(CLUE_TABLE, path, seed=1)[0] != documents
    grouped, report = build(CLUE_TABLE, path, group=True)
    assert report["splits"] == {"train": 36, "validation": 4, "test": 10}
    assert report["shared_with_training"] == {"picture": 0, "text": 0, "either": 0}
    assert [replace(document, split=None) for document in grouped] == [replace(d, split=None) for d in documents]


def test_only_pairs_with_a_picture(tmp_path, picture):
    path, file = many(tmp_path), picture("p/3.png")
    files = {"http://a.example/3.jpg": file, "http://a.example/4.jpg": file}
    documents, report = build(CLUE_TABLE, path, files=files, only_found=True)
    assert [document.sentences[0].text for document in documents] == [f"caption {i}" for i in (6, 7, 8, 9)]
    assert report["pictures"] == {"named": 25, "there": 2, "missing": 23}
    assert report["left_out"] == 46
    assert report["sources"][0]["left_out"] == {"its picture is not there": 46}
    assert report["splits"] == {"train": 3, "validation": 0, "test": 1}
    with pytest.raises(CorpusError, match="none of 50 pairs has a picture"):
        build(CLUE_TABLE, path, only_found=True)


def test_what_is_written_is_read_and_checked(tmp_path, picture):
    path, file = many(tmp_path), picture("p/3.png")
    for name in ("c.jsonl", "c.parquet"):
        documents, _ = build(CLUE_TABLE, path, files={"http://a.example/3.jpg": file})
        write_corpus(documents, tmp_path / name)
        read = list(read_corpus(tmp_path / name))
        assert [(d.id, d.split, d.links, d.meta) for d in read] == [(d.id, d.split, d.links, d.meta) for d in documents]
        assert read[6].images[0].file == file
        assert read[0].images[0].problem == "not at hand: http://a.example/0.jpg is an address"
        checked = check_corpus(tmp_path / name)
        assert checked.problems == ()
        assert checked.notes[0] == "24 images are named by an address and are not at hand"
        assert "pictures of pairs with relations are in two splits" in checked.notes[1]
        assert len(checked.notes) == 2


def test_nothing_that_can_be_used(tmp_path):
    with pytest.raises(CorpusError, match=r"none of 2 rows can be used \(no text: 2\)"):
        survey_tables(CLUE_TABLE, [clue(tmp_path, clue_row("", "http://a.example"), clue_row(" ", "http://a.example"))])
    with pytest.raises(CorpusError, match="none of 0 rows"):
        survey_tables(CLUE_TABLE, [clue(tmp_path)])
    with pytest.raises(CorpusError, match=r"does not name the columns caption, .* it should be a table of the folder"):
        survey_tables(CLUE_TABLE, [cite(tmp_path, cite_row(0))])


def test_a_file_that_changes_between_the_readings(tmp_path):
    path = many(tmp_path)
    survey = survey_tables(CLUE_TABLE, [path])
    many(tmp_path, 60)
    with pytest.raises(CorpusError, match="changed while it was read"):
        list(labelled_documents(CLUE_TABLE, survey, {}))
    many(tmp_path, 40)
    with pytest.raises(CorpusError, match="changed while it was read"):
        list(labelled_documents(CLUE_TABLE, survey, {}))


def test_the_report_is_json(tmp_path):
    _, report = build(CLUE_TABLE, many(tmp_path))
    assert json.loads(json.dumps(report)) == report
    assert report["published"] == {"pairs": 7559, "train": 6047, "test": 1512}
    _, report = build(CITE_TABLE, cite(tmp_path, cite_row(0)))
    assert report["published"] == {"pairs": {"CITE": 2057, "CITE++": 4299}, "train": 3439, "test": 860}
