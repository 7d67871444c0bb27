"""Contexts and chunks as tables of pandas."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from iconotext import to_pandas
from iconotext.report.as_excerpts import row
from iconotext.report.chunks import chunks
from iconotext.report.context import contexts
from tests.support.linked import linked_documents

pd = pytest.importorskip("pandas", reason="pandas is not installed")


def plain(value):
    return None if value is pd.NA or (isinstance(value, float) and value != value) else value


@given(linked=linked_documents())
@settings(max_examples=30)
@pytest.mark.parametrize("of", [contexts, chunks])
def test_a_row_for_each(linked, of):
    found = of(linked, 40)
    table = to_pandas(found)
    assert [{name: plain(value) for name, value in each.items()} for each in table.to_dict("records")] == [
        row(each) for each in found
    ]


def test_numbers_stay_whole(linked):
    table = to_pandas(contexts(linked))
    assert (str(table["page"].dtype), str(table["image"].dtype)) == ("Int64", "Int64")
    assert table["page"].isna().all()
    assert list(to_pandas([]).columns) == list(table.columns)
