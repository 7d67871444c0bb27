from __future__ import annotations

import math
from functools import partial

import pytest
from lxml import etree
from matplotlib.figure import Figure

from iconotext.errors import OutputError
from iconotext_papers.analyses.bias import measure, write_distances
from iconotext_papers.analyses.curves import Curve, write_curves
from iconotext_papers.charts import write_figure
from iconotext_papers.tables.link_sections import write_shares
from iconotext_papers.tables.retrieval import draw_refinement
from papers.support.distances import of
from tests.support.analyses import scores


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

    for kind in ("svg", "png", "pdf"):
        write_figure(draw, tmp_path / f"a.{kind}", width=4, height=3)
    drawing = etree.parse(tmp_path / "a.svg")
    shown = ["".join(text.itertext()).strip() for text in drawing.iter("{*}text")]
    assert set(shown) >= {r"$\frac$", "$x_1$", "[31mred", "lone \ufffd", "<script>alert(1)</script>", "日本"}
    assert not list(drawing.iter("{*}script"))
    assert not any("mathdefault" in text for text in shown)  # powers of ten at the axis are still set as such


VALUES = {"objective": (-1.0, -2.0, -3.0), "auc": (0.9, math.nan, 0.5)}
CURVES = [Curve(f"m$_{n}", (1, 2, 3), VALUES) for n in range(6)]
DISTANCES = measure(of([3, 4, 5, 5], [1, 2, 4.5]), resamplings=100)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("write", "labels"),
    [
        (partial(write_curves, CURVES[4:]), ("m$_5", "objective (−loss, validation)")),  # a name is no formula
        (partial(write_distances, DISTANCES), ("images of other documents", "images of the same document")),
    ],
    ids=["curves", "distances"],
)
def test_equal_numbers_give_equal_charts_and_none_is_replaced_unasked(tmp_path, write, labels):
    path = tmp_path / "a.svg"
    write(path)
    text = path.read_text()
    assert [label for label in labels if label not in text] == []
    with pytest.raises(OutputError, match="exists already"):
        write(path)
    write(path, force=True)
    assert path.read_text() == text
    with pytest.raises(OutputError, match="svg, png, pdf"):
        write(tmp_path / "a.jpg")


@pytest.mark.slow
def test_shares_of_labels_in_any_order(tmp_path):
    supervised, others = {0.5: scores(0.6, 0.8), 0.2: scores(0.5, 0.6)}, {"Ours": scores(0.7), "cost $2": scores(None)}
    texts = []
    for shares in (supervised, dict(reversed(supervised.items()))):
        write_shares(shares, others, tmp_path / "s.svg")
        texts.append((tmp_path / "s.svg").read_text())
    assert texts[0] == texts[1]
    for label in ("supervised", "Ours", "labelled training documents", "AUC", "p@1"):
        assert label in texts[0]


def overlaps(figure):
    """The legends of a figure that lie over its panels."""
    renderer = figure.canvas.get_renderer()
    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes if axes.get_legend())]
    assert legends
    boxes = [(legend, legend.get_window_extent(renderer)) for legend in legends]
    panels = [axes.get_window_extent(renderer) for axes in figure.axes]
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.x1 for _, box in boxes), "a legend is cut off"
    return [legend for legend, box in boxes if any(box.overlaps(panel) for panel in panels)]


@pytest.fixture
def figures(monkeypatch):
    """Every figure that is written."""
    written = []
    save = Figure.savefig

    def saved(figure, *arguments, **options):
        written.append(figure)
        save(figure, *arguments, **options)

    monkeypatch.setattr(Figure, "savefig", saved)
    return written


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 5])
def test_the_legend_of_curves_lies_over_none_and_says_what_is_dashed(figures, tmp_path, number):
    write_curves(CURVES[:number], tmp_path / "a.svg")
    (figure,) = figures
    assert overlaps(figure) == []
    (legend,) = figure.legends
    entries = zip(legend.get_lines(), legend.get_texts(), strict=True)
    assert [(line.get_linestyle(), text.get_text()) for line, text in entries] == [
        ("-", "objective (left axis)"),
        ("--", "AUC (right axis)"),
    ]


@pytest.mark.slow
def test_the_legends_of_other_charts_lie_over_no_curve(figures, tmp_path):
    write_shares(
        {0.5: scores(0.6, 0.8), 0.2: scores(0.5, 0.6)},
        {f"Model {n}": scores(0.7, 0.7) for n in range(7)},
        tmp_path / "b.svg",
    )
    write_distances(DISTANCES, tmp_path / "c.svg")
    ranks = {"median_rank": 3.0}
    draw_refinement({"A model": {0: {"retrieval": ranks, "refined": {"validation": ranks}}}}, tmp_path / "d.svg")
    assert len(figures) == 3
    assert [overlaps(figure) for figure in figures] == [[], [], []]
    assert {"mean in training", "mean in evaluation"} < {each.get_text() for each in figures[1].legends[0].get_texts()}
