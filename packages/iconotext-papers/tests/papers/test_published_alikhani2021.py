from __future__ import annotations

import pytest

from iconotext.relations import CITE, CLUE
from iconotext_papers.published import published_cells, published_facts, published_rates, published_tables


def cells(number):
    return published_cells(f"alikhani2021/{number}")


def test_the_tables_are_complete():
    sizes = {name: len(table.published) for name, table in published_tables().items() if table.kind == "retrieval"}
    assert {name.partition("/")[2]: size for name, size in sizes.items()} == {
        "1": 7, "2": 6, "4": 11, "5": 10, "6": 5, "7": 2, "8": 8, "fig5": 4, "fig8": 14, "search": 8,
    }  # fmt: skip
    assert all(set(cells(7)[row]) == set(CITE) | set(CLUE) for row in cells(7))


def test_every_cell_has_all_its_figures():
    for table in published_tables().values():
        for row in table.published.values():
            assert set(row) <= set(table.columns)
            assert all(len(figures) == len(table.figures) for figures in row.values())


def test_relations_have_the_names_of_the_corpora():
    assert list(published_rates()) == [*CITE, *CLUE]
    assert list(cells(8)["CMCM"]) == list(CLUE)
    assert [name.removeprefix("CMCM ") for name in list(cells(4))[4:]] == list(CITE)
    assert [name.removeprefix("CMCM ") for name in list(cells(5))[4:]] == list(CLUE)
    assert set(cells(6)) <= {*CITE, *CLUE}


def test_some_figures_of_each_table():
    assert (published_rates()["Temporal i>t"], published_rates()["Meta"]) == (58.8, 39.1)
    assert cells(4)["CMCM Elaboration i-tool"]["CITE++"] == (3.7, 1.3, 46.6, 51.5, 54.4)
    assert cells(4)["CMCM Temporal i<t"]["CITE++"][1] == 1.4
    assert cells(5)["CMCM Story"]["Clue"] == (17.7, 1.7, 13.0, 30.7, 41.5)
    assert list(cells(6)["Meta"].values()) == [(56, 9, 25, 10)]
    assert cells(7)["CMCM"]["Irrelevant"] == (4.0, 21.0, 54.0, 62.0)
    assert cells(8)["CMCM Irrelevant"] == {"Irrelevant": (0.41,)}


@pytest.mark.parametrize("number", [4, 5, 7])
def test_ranks_and_recalls_are_possible(number):
    for row in cells(number).values():
        for median, *_, one, five, ten in row.values():
            assert 1 <= median <= published_facts("alikhani2021")["pool"]
            assert 0 <= one <= five <= ten <= 100


def test_the_shares_of_votes_are_whole():
    assert all(sum(figures) == 100 for row in cells(6).values() for figures in row.values())
