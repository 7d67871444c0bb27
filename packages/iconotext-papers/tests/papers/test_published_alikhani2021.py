from __future__ import annotations

import pytest

from iconotext_papers.published import published_cells, published_facts, published_tables


def cells(number):
    return published_cells(f"alikhani2021/{number}")


def test_every_cell_has_all_its_figures():
    for table in published_tables().values():
        for row in table.published.values():
            assert set(row) <= set(table.columns)
            assert all(len(figures) == len(table.figures) for figures in row.values())


@pytest.mark.parametrize("number", [4, 5, 7])
def test_ranks_and_recalls_are_possible(number):
    for row in cells(number).values():
        for median, *_, one, five, ten in row.values():
            assert 1 <= median <= published_facts("alikhani2021")["pool"]
            assert 0 <= one <= five <= ten <= 100
