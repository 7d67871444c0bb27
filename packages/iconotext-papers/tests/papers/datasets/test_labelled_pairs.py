"""CITE and Clue from small tables with the quirks of the published ones."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from iconotext.corpus.builders.run import build_corpus
from iconotext.corpus.check import check_corpus
from iconotext.corpus.store import read_corpus
from iconotext.errors import CorpusError
from iconotext.relations import CITE, CLUE
from iconotext_papers.datasets import cite as cite_set
from iconotext_papers.datasets import clue as clue_set
from papers.support.labelled_tables import cite, cite_row, clue, clue_row


def build(data_set, *paths, output=None, **settings):
    """The documents, the report as JSON with the counts by what they are of, and the table of what was dropped."""
    output = output or paths[0].with_name("out.jsonl")
    build_corpus("x", data_set.documents, data_set.Settings(source=paths, **settings), output, workers=1, force=True)
    report = json.loads(output.with_suffix(".report.json").read_text())
    counts = {count["what"]: count["found"] for count in report["counts"]}
    table = [line.split("\t") for line in output.with_suffix(".dropped.tsv").read_text().splitlines()[1:]]
    documents = list(read_corpus(output))
    left_out = sum(rule.startswith(("row left out", "pair whose")) for rule, *_ in table)
    assert counts["rows"] == counts["pairs that are used"] + left_out
    assert counts["pairs that are used"] == len(documents) == sum(report["splits"].values())
    return documents, report | counts, table


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
    ((document,), report, table) = build(cite_set, path)
    assert document.id == "297_3"
    assert [sentence.text for sentence in document.sentences] == ["Bake at 350°F for 1 hour."]
    assert [(image.source, image.file) for image in document.images] == [("recipeqa:cake_1_0.jpg", None)]
    assert document.links == ((0, 0),)
    assert document.meta == {
        "relations": dict(zip(CITE, (True, False, False, True, None, False, True), strict=True)),
        "source": "cite.csv", "line": 2, "qimg": "cake_1_0.jpg", "stim_id": "297_3", "q1": "the cake", "q9": False,
        "q10": True, "complement": " for ", "stim_txt": " Bake at 350&#8734;F&#160;for  1 hour. ",
    }  # fmt: skip
    assert report["relations"]["Expansion"] == {"positive": 1, "answered": 1, "rate": 1.0}
    assert table == []


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
    documents, report, table = build(cite_set, path)
    assert [document.id for document in documents] == ["0_1", "5_1", "6_1", "8_1"]
    assert report["rows"] == 9
    assert table == [
        ["row left out: no text", "cite.csv, line 3", ""],
        ["row left out: no picture is named", "cite.csv, line 4", ""],
        ["row left out: wrong number of columns", "cite.csv, line 5", "3 where the header has 16"],
        ["row left out: wrong number of columns", "cite.csv, line 6", "17 where the header has 16"],
        ["answer that is neither yes nor no", "cite.csv, line 8", "q2_resp has 'maybe'"],
        ["quotes that are broken, kept as they are", "cite.csv, line 9", ""],
        ["row left out: broken quotes", "cite.csv, line 10", "without them it has 17 columns where the header has 16"],
    ]
    assert "cite.csv: 1 lines are not utf-8: read as " in report["notes"][0]
    assert documents[2].sentences[0].text == '"never closed'


def test_doubled_ids_become_unique_and_rows_without_one_get_one(tmp_path):
    first = cite(tmp_path, cite_row(0, name="a"), cite_row(1, name="a", text="Eat."), cite_row(2, name="", text="Mix."))
    second = cite(tmp_path, cite_row(0, name="a", text="Cool."), name="more.csv")
    documents, report, _ = build(cite_set, first, second)
    assert [document.id for document in documents] == ["a", "a#2", "cite-4", "a#3"]
    assert [document.meta.get("stim_id") for document in documents] == ["a", "a", None, "a"]
    assert [document.meta["source"] for document in documents] == ["cite.csv"] * 3 + ["more.csv"]
    assert report["sources"] == [str(first), str(second)]
    with pytest.raises(CorpusError, match="named twice"):
        build(cite_set, first, tmp_path / "." / "cite.csv")


def test_exports_of_other_programs(tmp_path):
    """A byte order mark, Windows line ends, commas, quotes, columns in another order and other words for yes."""
    names = ["stim_txt", "QIMG", *(f"q{i}_resp" for i in range(8, 1, -1))]
    lines = [",".join(names), '"Mix, then\r\n""fold"".",b.jpg,1,0,Yes,No,TRUE,f,1.0', "Bake.,b.jpg,,,,,,,nan"]
    path = tmp_path / "excel.csv"
    path.write_bytes("\ufeff".encode() + "\r\n".join(lines).encode())
    documents, _, _ = build(cite_set, path)
    assert [document.sentences[0].text for document in documents] == ['Mix, then "fold".', "Bake."]
    assert list(documents[0].meta["relations"].values()) == [True, False, True, False, True, False, True]
    assert set(documents[1].meta["relations"].values()) == {None}
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
    documents, report, _ = build(clue_set, path)
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
    assert report["rows that repeat the text and picture of an earlier one"] == 1
    once, _, table = build(clue_set, path, once=True)
    assert [document.id for document in once] == [document.id for document in documents if "#" not in document.id]
    assert table[0] == [
        "row left out: the same text and picture as an earlier row", "clue.tsv, line 4", "clue.tsv, line 2",
    ]  # fmt: skip


def many(tmp_path, count=50):
    return clue(tmp_path, *(clue_row(f"caption {i}", f"http://a.example/{i // 2}.jpg") for i in range(count)))


SHARED = "pairs of validation and test that share a picture with one of training"


def test_splits_by_seed_and_group(tmp_path):
    path = many(tmp_path)
    documents, report, _ = build(clue_set, path)
    assert report["splits"] == {"train": 36, "validation": 4, "test": 10}
    assert report[SHARED] > 0
    assert any("share a picture or a text with one of training" in note for note in report["notes"])
    assert build(clue_set, path)[0] == documents
    assert build(clue_set, path, seed=1)[0] != documents
    grouped, report, _ = build(clue_set, path, group=True)
    assert report["splits"] == {"train": 36, "validation": 4, "test": 10}
    assert report[SHARED] == 0
    assert [replace(document, split=None) for document in grouped] == [replace(d, split=None) for d in documents]


def test_only_pairs_with_a_picture(tmp_path, picture):
    path = many(tmp_path)
    picture("p/3.png")
    picture("p/4.png", seed=1)
    documents, report, table = build(clue_set, path, images=tmp_path / "p", only_found=True)
    assert [document.sentences[0].text for document in documents] == [f"caption {i}" for i in (6, 7, 8, 9)]
    assert (report["different pictures"], report["pictures that are there"]) == (25, 2)
    assert report["dropped"] == {"picture that is not there": 23, "pair whose picture is not there": 46}
    assert table[0] == ["picture that is not there", "http://a.example/0.jpg", "not found in p"]
    assert report["splits"] == {"train": 3, "test": 1}
    with pytest.raises(CorpusError, match="none of 50 pairs has a picture"):
        build(clue_set, path, only_found=True)


def test_what_is_written_is_read_and_checked(tmp_path, picture):
    path, file = many(tmp_path), picture("p/3.png")
    for name in ("c.jsonl", "c.parquet"):
        read, _, _ = build(clue_set, path, output=tmp_path / name, images=tmp_path / "p")
        assert read[6].images[0].file.samefile(file)
        assert read[0].images[0].problem == "not at hand: http://a.example/0.jpg is an address"
        checked = check_corpus(tmp_path / name)
        assert checked.problems == ()
        assert checked.notes[0] == "24 images are named by an address and are not at hand"
        assert "pictures of pairs with relations are in two splits" in checked.notes[1]
        assert len(checked.notes) == 2


def test_nothing_that_can_be_used(tmp_path):
    empty = clue(tmp_path, clue_row("", "http://a.example"), clue_row(" ", "http://a.example"))
    with pytest.raises(CorpusError, match=r"none of 2 rows can be used \(dropped: 2 row left out: no text"):
        build(clue_set, empty)
    with pytest.raises(CorpusError, match="none of 0 rows"):
        build(clue_set, clue(tmp_path))
    with pytest.raises(CorpusError, match=r"does not name the columns caption, .* it should be a table of the folder"):
        build(clue_set, cite(tmp_path, cite_row(0)))


def test_the_figures_of_the_papers_stand_beside_ours(tmp_path):
    _, report, _ = build(clue_set, many(tmp_path))
    (used,) = [count for count in report["counts"] if count["what"] == "pairs that are used"]
    assert used["published"] == 7559
    assert "6,047 pairs for training and validation and 1,512 for test" in report["notes"][-1]
    _, report, _ = build(cite_set, cite(tmp_path, cite_row(0)))
    assert "4,299 pairs in the paper, 3,439 for training and validation and 860 for test" in report["notes"][-1]
