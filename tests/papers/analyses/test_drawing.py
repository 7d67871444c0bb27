from __future__ import annotations

import pytest
from lxml import etree

from iconotext.papers.analyses.drawing import write_figure


@pytest.mark.slow
def test_names_in_a_figure_are_text_and_no_formula_and_break_no_file(tmp_path):
    names = [r"$\frac$", "$x_1$", "\x1b[31mred\x00", "lone \ud800", "<script>alert(1)</script>", "日本"]

    def draw(figure):
        axes = figure.subplots()
        axes.set_title(names[0])
        axes.set_xscale("log")
        for name in names[1:]:
            axes.plot([1, 100], [1, 2], label=name)
        axes.legend()

    for kind in ("svg", "png"):
        write_figure(draw, tmp_path / f"a.{kind}", width=4, height=3)
    drawing = etree.parse(tmp_path / "a.svg")
    shown = ["".join(text.itertext()).strip() for text in drawing.iter("{*}text")]
    assert set(shown) >= {r"$\frac$", "$x_1$", "[31mred", "lone \ufffd", "<script>alert(1)</script>", "日本"}
    assert not list(drawing.iter("{*}script"))
    assert not any("mathdefault" in text for text in shown)  # powers of ten at the axis are still set as such
