"""Tables of annotations as they are found: every row comes out, with its values or with what is wrong with it."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iconotext.errors import CorpusError
from iconotext_papers.datasets.cite import MISREAD
from iconotext_papers.datasets.labelled_pairs import open_table, parse_answer, table_rows
from iconotext_papers.datasets.wiki import clean_text

NEEDED = ("a", "b", "c")


def table(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "t.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return open_table(path, NEEDED, "the table of a test")


def rows(found):
    """Line, then the values of a, b and c, or what is wrong."""
    return [
        (row.line, *(row.values[name] for name in NEEDED)) if row.values else (row.line, row.problem)
        for row in table_rows(found)
    ]


@pytest.mark.parametrize("separator", ["|", "\t", ",", ";"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_separators_line_ends_and_byte_order_marks(tmp_path, separator, end, mark):
    text = end.join(separator.join(line) for line in (["", "A ", "b", "C"], ["0", "1", "é", "3"], ["1", "", "", "x"]))
    found = table(tmp_path, mark + text + end)
    assert (found.separator, found.columns) == (separator, ("", "a", "b", "c"))
    assert rows(found) == [(2, "1", "é", "3"), (3, "", "", "x")]


def test_utf_16(tmp_path):
    assert rows(table(tmp_path, "a|b|c\n1|é|“3”\n", "utf-16")) == [(2, "1", "é", "“3”")]


def test_lines_that_are_not_utf_8_do_not_harm_the_others(tmp_path):
    good = "1|é|“x”".encode()
    odd = ["Crème brûlée, déjà vu|naïve café|à la carte, garçon".encode("cp1252"), "été|français|où".encode("cp1252")]
    found = table(tmp_path, b"\n".join([b"a|b|c", good, *odd, good]))
    assert found.note == "t.csv: 2 lines are not utf-8: read as cp1252"
    assert rows(found)[0] == (2, "1", "é", "“x”") == (2, *rows(found)[3][1:])
    assert rows(found)[1] == (3, "Crème brûlée, déjà vu", "naïve café", "à la carte, garçon")
    assert table(tmp_path, "a|b|c\n").note is None


def test_rows_with_too_few_or_too_many_columns(tmp_path):
    found = table(tmp_path, "a|b|c\n1|2\n\n1|2|3\n1|2|3|4\n")
    assert rows(found) == [
        (2, "wrong number of columns: 2 where the header has 3"),
        (4, "1", "2", "3"),
        (5, "wrong number of columns: 4 where the header has 3"),
    ]


def test_quoted_texts(tmp_path):
    text = 'a|b|c\n1|"x|y"|3\n"1"|"say ""yes"""|"two\n\nlines"\n1|2|3\n'
    assert rows(table(tmp_path, text)) == [
        (2, "1", "x|y", "3"), (3, "1", 'say "yes"', "two\n\nlines"), (6, "1", "2", "3"),
    ]  # fmt: skip


def test_broken_quotes_cost_one_row_at_most(tmp_path):
    text = 'a|b|c\n1|"never closed|3\n1|2|3\n1|"closed" too soon|3\n1|5" wide|3\n1|"x|y|3\n1|2|"end'
    found = table(tmp_path, text)
    assert rows(found) == [
        (2, "1", '"never closed', "3"),
        (3, "1", "2", "3"),
        (4, "1", '"closed" too soon', "3"),
        (5, "1", '5" wide', "3"),
        (6, "broken quotes: without them it has 4 columns where the header has 3"),
        (7, "1", "2", '"end'),
    ]
    assert [row.note for row in table_rows(found)] == [
        "broken quotes: kept as they are", None, "broken quotes: kept as they are", None, None,
        "broken quotes: kept as they are",
    ]  # fmt: skip


@settings(deadline=None)
@given(st.lists(st.lists(st.text('ab"\n|,é '), min_size=3, max_size=3), min_size=1, max_size=6), st.sampled_from("|\t"))
def test_what_the_standard_library_writes_is_read_back(tmp_path_factory, values, separator):
    # A separator in a text of several lines can make one of them look like a whole row: nobody can tell them apart.
    values = [[value.replace(separator, "") if "\n" in value else value for value in row] for row in values]
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=separator, lineterminator="\n")
    writer.writerows([NEEDED, *values])
    found = table(tmp_path_factory.mktemp("t"), stream.getvalue())
    assert [row[1:] for row in rows(found)] == [tuple(value) for value in values]


@settings(deadline=None)
@given(st.text('ab"\n|\r\x00é', max_size=60))
def test_any_text_gives_rows_and_no_other_error(tmp_path_factory, text):
    found = table(tmp_path_factory.mktemp("t"), f"a|b|c\n{text.replace(chr(0), '')}")
    for row in table_rows(found):
        assert (not row.values) == (row.problem is not None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "does not name the columns a, b, c; it should be the table of a test"),
        ("a|b\n", "does not name the columns"),
        ("1|2|3\n", "does not name the columns"),
        ("a|b|c|B\n", "two columns are named b"),
        (b"a|b|c\n\x00\x01", "not a text file"),
    ],
)
def test_what_is_no_such_table(tmp_path, text, message):
    with pytest.raises(CorpusError, match=message):
        table(tmp_path, text)


def test_a_table_that_is_not_there(tmp_path):
    with pytest.raises(CorpusError, match=r"gone\.csv: cannot be read"):
        open_table(tmp_path / "gone.csv", NEEDED, "x")
    with pytest.raises(CorpusError, match="a folder"):
        open_table(tmp_path, NEEDED, "x")


@pytest.mark.parametrize(
    ("text", "answer"),
    [("True", True), (" TRUE", True), ("yes", True), ("1", True), ("1.0", True), ("t", True), ("False", False),
     ("No", False), ("0", False), ("0.0", False), ("", None), (" ", None), ("NaN", None), ("N/A", None),
     *((text, text) for text in ("maybe", "0.5", "2", "True False"))],
)  # fmt: skip
def test_answers(text, answer):
    assert parse_answer(text) is answer


def test_texts_as_readers_see_them():
    assert clean_text(" Caf&eacute;&#160; &amp; M&M's\x00\tx \u200d") == "Café & M&M's x \u200d"
    assert clean_text("350&#8734;F&#8224;now \\tthen won\\u0019t", MISREAD) == "350°F now then won’t"
    assert clean_text("a † ∞") == "a † ∞"
    assert clean_text("&#55357;\ud83d") == "\ufffd"
