from __future__ import annotations

import pytest

from iconotext.papers.published import alikhani2021
from iconotext.papers.published.alikhani2021 import (
    ALIKHANI,
    FIGURE_5,
    POOL,
    TABLE_1,
    TABLE_2,
    TABLE_4,
    TABLE_5,
    TABLE_6,
    TABLE_7,
    TABLE_8,
    Votes,
)
from iconotext.relations import CITE, CLUE


def test_the_tables_are_complete():
    assert {name: len(rows) for name, rows in ALIKHANI.items()} == {
        "alikhani2021/4": 11,
        "alikhani2021/5": 10,
        "alikhani2021/6": 5,
        "alikhani2021/7": 2,
        "alikhani2021/8": 8,
        "alikhani2021/fig5": 14,
    }
    assert all(set(rows) == set(CITE) | set(CLUE) for rows in TABLE_7.values())
    assert all(row == {} for row in FIGURE_5.values())


def test_relations_have_the_names_of_the_corpora():
    assert (alikhani2021.CITE, alikhani2021.CLUE) == (CITE, CLUE)
    assert list(TABLE_1) == list(CITE)
    assert list(TABLE_2) == list(TABLE_8["CMCM"]) == list(CLUE)
    assert [name.removeprefix("CMCM ") for name in list(TABLE_4)[4:]] == list(CITE)
    assert [name.removeprefix("CMCM ") for name in list(TABLE_5)[4:]] == list(CLUE)
    assert set(TABLE_6) <= {*CITE, *CLUE}


def test_some_figures_of_each_table():
    assert TABLE_4["CMCM Elaboration i-tool"]["CITE++"] == (3.7, 1.3, 46.6, 51.5, 54.4)
    assert TABLE_4["CMCM Temporal i<t"]["CITE++"].deviation == 1.4
    assert TABLE_5["CMCM Story"]["Clue"] == (17.7, 1.7, 13.0, 30.7, 41.5)
    assert TABLE_6["Meta"] == Votes(56, 9, 25, 10)
    assert TABLE_7["CMCM"]["Irrelevant"] == (4.0, None, 21.0, 54.0, 62.0)
    assert TABLE_8["CMCM Irrelevant"] == {"Irrelevant": 0.41}


@pytest.mark.parametrize("table", [TABLE_4, TABLE_5, TABLE_7])
def test_ranks_and_recalls_are_possible(table):
    figures = [figure for row in table.values() for figure in row.values()]
    for figure in figures:
        assert 1 <= figure.median <= POOL
        assert 0 <= figure.r1 <= figure.r5 <= figure.r10 <= 100


def test_the_shares_of_votes_are_whole():
    assert all(sum(row) == 100 for row in TABLE_6.values())
