"""Formulas of LaTeX in documents, shown as text that people read."""

from __future__ import annotations

import json

import pytest

from iconotext.read.formulas import readable, shown
from iconotext.report.source_offsets import source_spans
from tests.support.reading import read_as, texts


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (r"\sqrt{x_1} \le \alpha", "√x₁ ≤ α"),
        (r"V_{rms}=V/\sqrt{2}", "V_rms = V/√2"),
        (r"\frac{a+b}{c} \cdot 10^{-3}~{\rm V}", "(a + b)/c ⋅ 10⁻³ V"),
        (r"\sum_{i=1}^n x_{i+1}^2", "∑_(i=1)ⁿx_(i+1)²"),
        (r"90^{\circ}, \hat{x}, -1, \vec{F} = m\vec{a}", "90°, x̂, −1, F⃗ = ma⃗"),
        (r"\sqrt[3]{8}: \mathbf{X} \in \mathbb{R}^n", "³√8: X ∈ ℝⁿ"),
        (r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}", "(a b; c d)"),
        (r"^{\circ}", "°"),
        (r"x_1, \dots, x_n", "x₁, …, x_n"),
        (r"\unheard x", None),
        (r"\frac{", None),
        ("{" * 900, None),
    ],
)
def test_what_is_shown_for_a_formula(formula, text):
    assert readable(formula) == text


@pytest.mark.parametrize("written", ["$20 and US$", "$5/month or 10$", "$HOME/bin:$", "$PATH$"])
def test_other_dollars_are_no_formulas(written):
    assert shown(written) is None


def test_dollars_behind_prices_begin_no_formula(tmp_path):
    text = "It costs 8 (5$) or 9 (10$). At 90$^{\\circ}$ it is $N$."
    assert texts(read_as(tmp_path / "a.md", text)) == ["It costs 8 (5$) or 9 (10$).", "At 90° it is N."]


MARKDOWN = (
    "The root $\\sqrt{x_1}$ of *all* $a_i * b_i$ costs \\$5, not $6 or $7. Write $\\unheard$ so. An $N$ of $10$.\n\n"
    "$$\\sqrt{a} = b$$\n\n\\begin{align}a &= b\\\\ c &= d\\end{align}\n\n![The $\\alpha$ of it](a.png)\n"
)


def test_in_markdown(tmp_path, picture):
    picture()
    found = read_as(tmp_path / "a.md", MARKDOWN)
    assert texts(found) == [
        "The root √x₁ of all a_i * b_i costs $5, not $6 or $7.",
        "Write $\\unheard$ so.",
        "An N of 10.",
        "√a = b",
        "a = b; c = d",
    ]
    assert found.images[0].alt == "The α of it"
    places = [MARKDOWN[slice(*span)] for span in source_spans(found) if span]
    assert places[0] == MARKDOWN[: MARKDOWN.index(" Write")]
    assert places[3] == "$$\\sqrt{a} = b$$"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.md", "The root {math}`\\sqrt{x_1}` of it.", "The root √x₁ of it."),
        ("a.rst", "The root :math:`\\sqrt{x_1}` of it.", "The root √x₁ of it."),
        ("a.adoc", "Both stem:[sqrt(x) and y] and stem:[\\frac{a}{b}].", "Both sqrt(x) and y and a/b."),
        ("a.adoc", "The root latexmath:[\\sqrt{x_1}] of stem:[x^2].", "The root √x₁ of x²."),
        ("a.tex", r"The root \(\sqrt{x_1}\) of it.", "The root √x₁ of it."),
        ("a.org", r"The root \(\sqrt{x_1}\) of it.", "The root √x₁ of it."),
        (
            "a.ipynb",
            json.dumps({"cells": [{"cell_type": "markdown", "source": "The root $\\sqrt{x_1}$ of it."}]}),
            "The root √x₁ of it.",
        ),
    ],
)
def test_in_other_formats(tmp_path, name, text, expected):
    assert texts(read_as(tmp_path / name, text)) == [expected]
