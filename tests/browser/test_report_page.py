"""Reports with tables and charts, such as ``table.html`` of ``reproduce``, as a reader meets them."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image

from iconotext.report.tables import Drawing, Grid, Note, report_page
from iconotext_papers.analyses.curves import Curve, write_curves
from tests.support.browser import LOOKS, accessible

pytestmark = pytest.mark.browser

TITLE = "Figures of a table"


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    """A report with a wide table of the page's title, a narrow one, one without rows, and a chart of four panels."""
    folder = tmp_path_factory.mktemp("report")
    columns = ["", *((f"Corpus {n}", name) for n in range(8) for name in ("AUC", "p@1 / p@5"))]
    rows = [[f"Model {n} with a long name", *["12.3 (11.1–13.5)"] * 16] for n in range(5)]
    values = {"objective": (-3.0, -2.0, -1.0), "auc": (0.5, 0.7, 0.8)}
    write_curves([Curve(f"model {n}", (1, 2, 3), values) for n in range(4)], folder / "curves.svg")
    sections = [
        Grid(TITLE, columns, rows, ["A note."]),
        Drawing("curves.svg", "Objective and AUC by epoch"),
        Grid("Narrow", ["", "n"], [["one", "1"]]),
        Grid("Nothing", ["", "n"], []),
        Note("Words."),
    ]
    page = folder / "table.html"
    page.write_text(report_page(TITLE, sections), encoding="utf-8")
    return page


@pytest.fixture(params=LOOKS)
def look(open_page, report, request):
    """The page, its width and its colour scheme."""
    width, scheme = request.param
    page = open_page.file(report, width=width, color_scheme=scheme)
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(100)
    return page, width, scheme


def test_all_that_scrolls_is_reached_and_says_so(look):
    page, width, _ = look
    accessible(page)
    hints = page.eval_on_selector_all(".hint", "all => all.map(e => !e.hidden)")
    wide = page.eval_on_selector_all(".wide", "all => all.map(e => e.scrollWidth > e.clientWidth)")
    assert hints == wide == [True, width == 390, False]
    assert page.get_by_text(TITLE, exact=True).count() == 1
    assert page.locator("table").count() == 2
    assert page.get_by_role("group", name="Chart").get_attribute("tabindex") == "0"


def test_a_chart_can_be_read_on_a_telephone_and_in_the_dark(look):
    page, width, scheme = look
    box = page.locator("img").bounding_box()
    assert box["width"] >= min(width * 0.9, 1200)
    assert box["width"] / 4 > 250  # of a panel
    shown = Image.open(io.BytesIO(page.locator(".chart").screenshot())).convert("L")
    counts = shown.histogram()
    paper, ink = (slice(235, 256), slice(0, 90)) if scheme == "light" else (slice(15, 45), slice(170, 256))
    assert sum(counts[paper]) > 0.8 * sum(counts)
    assert sum(counts[ink]) > 0.002 * sum(counts)
