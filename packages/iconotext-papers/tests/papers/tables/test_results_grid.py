from __future__ import annotations

import numpy as np
import pytest

from iconotext.evaluate import Scored, evaluate
from iconotext.report.tables import NO_ROWS, Bold, Grid
from iconotext_papers.published import published_cells, published_tables
from iconotext_papers.published.sizes import TABLE_1
from iconotext_papers.tables.results_grid import is_bold, losses_grid, results_grid

PUBLISHED = {name: table.published for name, table in published_tables().items() if table.kind == "links"}


def test_published_figures_hold_together():
    for name, table in PUBLISHED.items():
        for row in table.values() if name != "fine-tuning" else ():
            for data_set, (area, p1, p5) in row.items():
                assert 0 < p5 <= 100
                assert 0 < p1 <= 100
                assert 49 < area <= 100
                assert data_set in TABLE_1
    # what does not depend on b is the same in both tables of the supplement, and in the paper
    for paper, supplement in (("2", ("S1", "S2")), ("3", ("S3", "S4"))):
        for name in ("Random", "Object detection"):
            assert PUBLISHED[paper][name] == PUBLISHED[supplement[0]][name] == PUBLISHED[supplement[1]][name]
    # single figures, read from the page
    assert PUBLISHED["2"]["TK + ½k"]["MSCOCO"] == (99.0, 95.0, 81.1)
    assert PUBLISHED["3"]["AP"]["RQA"] == (69.3, 47.3, 37.3)
    assert PUBLISHED["S1"]["NoStruct + hard"]["DII-Stress"] == (51.9, 4.3, 3.1)
    assert PUBLISHED["S2"]["AP + hard + ½k"]["Story-SIS"] == (67.4, 51.8, 37.8)
    assert PUBLISHED["S3"]["DC"]["DIY"] == (59.5, 19.3, 15.2)
    assert PUBLISHED["S4"]["AP + hard"]["DIY"] == (61.9, 24.4, 17.8)
    assert PUBLISHED["li2021/2"]["Ours"]["Story-SIS"] == (70.2, 53.1, 39.8)
    assert PUBLISHED["li2021/3"]["5 GRU+CNN, C+I+D"]["Story-DII"] == (84.0, 72.9, 58.0)
    assert PUBLISHED["li2021/4"]["1 Transfer"]["Story-DII"] == (78.6, 66.5, 49.5)


BOLD_AUC = {
    "2": {
        "MSCOCO": {"DC", "TK", "TK + ½k", "AP", "AP + ½k"},
        "Story-DII": {"DC", "TK", "TK + ½k", "AP"},
        "Story-SIS": {"DC", "TK", "AP"},
        "DII-Stress": {"DC", "TK", "TK + ½k", "AP", "AP + ½k"},
    },
    "3": {"RQA": {"AP", "AP + ½k"}, "DIY": {"AP"}},
}


@pytest.mark.parametrize("name", ["2", "3"])
def test_bold_auc_is_as_in_the_paper(name):
    for data_set, bold in BOLD_AUC[name].items():
        column = {row: figures[data_set][0] for row, figures in published_cells(name).items() if figures}
        assert {row for row, value in column.items() if is_bold(value, max(column.values()))} == bold


def ours():
    good = Scored("a", np.array([[0.9, 0.1], [0.2, 0.8]], np.float32), ((0, 0), (1, 1)))
    return evaluate([good, good._replace(id="b")])


def test_markdown():
    text = results_grid({"AP": {"mine": ours()}, "Own": {"mine": ours()}}, PUBLISHED["3"], title="Table 3").markdown()
    lines = text.splitlines()
    assert lines[0] == "**Table 3**"
    assert lines[2].startswith("|  | mine (ours): AUC | mine (ours): p@1 / p@5 | RQA (published): AUC |")
    rows = {line.split(" | ")[0].strip("| "): line for line in lines[4:]}
    assert list(rows) == [*PUBLISHED["3"], "Own"]
    assert "| **100.0** (15.8–100.0) | **100.0** (15.8–100.0) / **50.0** (7.9–92.1) | **69.3** |" in rows["AP"]
    assert rows["DC"].startswith("| DC | – | – | 63.5 | 38.3 / 30.6 |")
    assert rows["Own"].endswith("| – | – | – | – |")
    assert len({line.count("|") for line in lines[2:]}) == 1


def test_losses_stand_beside_the_published_ones_and_are_compared():
    rows = {name: {"WIKI": evaluate([])} for name in ("Fixed CNN", "Finetuned CNN")}
    losses = {"Fixed CNN": {"WIKI": 0.25}, "Finetuned CNN": {"WIKI": 0.2}}
    grid = losses_grid(rows, losses, PUBLISHED["fine-tuning"], title="", notes=[])
    groups = [column[0] for column in grid.columns[1::2]]
    assert groups == ["RQA (published)", "DIY (published)", "WIKI (ours)", "WIKI (published)"]
    assert grid.rows == [
        ["Fixed CNN", "67.6", "-0.37", "60.9", "-0.37", "–", "-0.250", "–", "-0.26"],
        ["Finetuned CNN", "65.7", "-0.40", "57.9", "-0.39", "–", "-0.200", "–", "-0.21"],
    ]
    assert "the loss of Finetuned CNN is 20% lower than that of Fixed CNN (published: about 20 %" in grid.notes[-1]


def test_html_escapes_and_is_one_table():
    from lxml import etree

    columns = ["", ("<b>", "AUC"), ("<b>", "p@1 / p@5")]
    text = Grid("x < y", columns, [["a & b", "50.0", [Bold("1.0"), "/", "–"]]], ["note <i>"]).html()
    assert '<th colspan="2" scope="colgroup">&lt;b&gt;</th>' in text
    assert "a &amp; b" in text
    assert "<td><b>1.0</b> / –</td>" in text
    assert "note &lt;i&gt;" in text
    etree.fromstring(f"<div>{text}</div>")
    plain = Grid("", ["of", "n"], [["a", "<1>"]]).html()
    assert "<thead><tr><td>of</td>" in plain
    assert "<h2>" not in plain
    etree.fromstring(f"<div>{plain}</div>")


def test_a_table_without_rows_is_none():
    empty = Grid("Nothing", ["of", "n"], [], ["Why."])
    assert empty.html().splitlines() == ["<h2>Nothing</h2>", f"<p>{NO_ROWS}</p>", "<p>Why.</p>"]
    assert empty.markdown() == f"**Nothing**\n\n{NO_ROWS}\n\nWhy.\n"


def test_a_row_without_figures_and_a_pipe_in_a_name():
    empty = evaluate([])
    text = results_grid({"a|b": {"c": empty}}).markdown()
    assert "| a&#124;b | – | – |" in text
    assert "ours" not in text  # nothing to tell apart
