from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iconotext.plain_text import cell, counted, data_size, percent, readable


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1+cmd|' /C calc'!A0", "@SUM(A1)", "\t=1", "\r=1", "＝1", "\x1b=1"])
def test_a_cell_begins_no_formula(text):
    assert cell(text) == f"'{readable(text)}"


@given(st.text())
def test_other_cells_read_as_they_are_and_act_on_nothing(text):
    found = cell(text)
    assert found.removeprefix("'" if found != readable(text) else "") == readable(text)
    assert found[:1] not in tuple("=+-@\t\r\n")
    found.encode()
    assert "\x1b" not in found


@pytest.mark.parametrize(
    ("share", "digits", "shown"),
    [
        (0.0, 0, "0 %"), (0.004, 0, "<1 %"), (0.5, 0, "50 %"), (0.996, 0, ">99 %"), (1.0, 0, "100 %"),
        (0.0004, 1, "<0.1 %"), (0.3333, 1, "33.3 %"), (0.9996, 1, ">99.9 %"), (1.0, 1, "100.0 %"), (float("nan"), 0, "?"),
    ],
)  # fmt: skip
def test_shares_are_rounded_one_way(share, digits, shown):
    assert percent(share, digits).replace("\u00a0", " ") == shown


def test_things_are_counted():
    assert [counted(n, "document") for n in (0, 1, 2, 2000)] == [
        "0 documents", "1 document", "2 documents", "2,000 documents",
    ]  # fmt: skip


def test_sizes_have_the_unit_that_fits_them():
    assert [data_size(n) for n in (0, 1, 1023, 1024, 300_000, 2**20 - 1, 3 * 2**29, 2**50)] == [
        "0 bytes", "1 byte", "1,023 bytes", "1 KiB", "293 KiB", "1,024 KiB", "1.5 GiB", "1,024 TiB",
    ]  # fmt: skip
