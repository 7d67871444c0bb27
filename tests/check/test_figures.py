"""The rules for figures, references, captions and files, on documents of several formats."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from iconotext.check.audit import check
from iconotext.check.page import read_page
from iconotext.check.rules import CheckSettings
from iconotext.read import ReadSettings
from tests.support.docx import Making, run

LONG = " ".join(["The river is wide and slow here and carries boats."] * 60)


def figure(number, name="a", caption="A tram", **attributes):
    more = "".join(f' {key}="{value}"' for key, value in attributes.items())
    return (
        f'\n\n<figure id="fig-{name}"><img src="{name}.png" alt="x"{more}>'
        f"<figcaption>Figure {number}: {caption} {name}</figcaption></figure>\n\n"
    )


@pytest.fixture
def found(tmp_path, picture):
    for name in "abc":
        picture(f"{name}.png")

    def checked_text(text, name="a.md", **settings):
        (tmp_path / name).write_text(text)
        checked = check([tmp_path / name], CheckSettings(**({"skip": ("alt",)} | settings)))
        assert not checked.failures
        return [(each.rule, each.place.line, each.source) for each in checked.findings]

    return checked_text


HEADING = '<w:pPr><w:pStyle w:val="Heading1"/></w:pPr>'
THREE = figure(1, "a") + figure(2, "b") + figure(3, "c")


def test_a_figure_that_is_decoration_needs_no_mention(found):
    decoration = THREE.replace('c.png" alt="x"', 'c.png" alt="" role="presentation"')
    assert found(f"Figure 1 and Figure 2.{decoration}", rules=("figure-unmentioned",)) == []
    assert len(found(f"Figure 1 and Figure 2.{THREE}", rules=("figure-unmentioned",))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "See Figure 1, Figure 2 and Figure 3.",
        "See Figures 1 to 3.",
        "See figures 1-3.",
        "Figure 1 and <a href='#fig-b'>this</a>. Compare Fig. 3.",
        "Figures 1 and 2. The first part of figure 3 is red.",
        "Nothing is said of figures at all.",
        "Figures 1 and 3; the name fig-b is spelled.",
    ],
)
def test_figures_that_the_text_mentions(found, text):
    assert found(f"{text}\n\n{LONG}{THREE}", far=2_000) == []


def test_a_figure_that_nobody_mentions(found):
    assert found(f"See Figures 1 and 3.\n\n{LONG}\n\n{THREE}", far=2_000) == [("figure-unmentioned", 11, "b.png")]
    assert (
        found(f"See Figures 1 and 3.\n\nThe picture below shows it.\n\n{figure(1)}{figure(2, 'b')}{figure(3, 'c')}")
        == []
    )
    assert found(f"See Figure 1.{figure(1)}Type this:{figure(2, 'b')}") == []
    assert found(f"See Figure 1.{figure(1)}Type this.\n\nThen that.\n\nAnd so on.{figure(2, 'b')}") == [
        ("figure-unmentioned", 11, "b.png")
    ]


def test_a_figure_by_its_name_alone(found):
    text = "As @fig-a shows, trams are red.\n\n![A tram](a.png){#fig-a}\n\nMore.\n\nMore yet.\n\n![A boat](b.png){#fig-b}\n"
    assert found(text, "a.qmd") == [("figure-unmentioned", 9, "b.png")]


def test_another_page_of_the_site_may_mention_it(found, tmp_path):
    (tmp_path / "mkdocs.yml").touch()
    text = f"See Figure 3.1 and Figure 3.9.{figure('3.1')}More.\n\nMore.\n\nMore.{figure('3.2', 'b')}"
    assert [rule for rule, *_ in found(text)] == ["figure-unmentioned"]  # 3.9 is no next number
    (tmp_path / "b.md").write_text("As Figure 3.2 showed.")
    assert found(text) == []


def test_numbers_out_of_order(found):
    text = "See Figures 1, 2 and 3.\n\n"
    assert found(text + figure(1, "a") + figure(3, "c") + figure(2, "b")) == [("figure-order", 9, "c.png")]
    assert found(text + figure(3, "c") + figure(1, "a") + figure(2, "b")) == [("figure-order", 5, "c.png")]
    again = f"# One\n\nFigures 1 and 2.{figure(1)}{figure(2, 'b')}\n\n# Two\n\nFigure 1 again.{figure(1, 'c')}"
    assert found(again) == []


def test_a_number_used_twice(found):
    text = "See Figures 1 and 2.\n\n"
    assert found(text + figure(1) + figure(2, "b") + "Text." + figure(2, "c", "A boat")) == [
        ("figure-number", 13, "c.png")
    ]
    assert found(text + figure(1) + figure(2, "b") + "Text." + figure(2, "c", "(continued)")) == []
    assert found(text + figure("1a") + "Text." + figure("1b", "b") + "Text." + figure(2, "c")) == []


def test_a_figure_far_from_its_text(found):
    text = f"See Figure 1.\n\n{LONG}\n\n{figure(1)}"
    assert found(text) == [("figure-far", 7, "a.png")]
    assert found(text, far=700) == []
    assert found(f"See Figure 1.\n\n{LONG}\n\nFigure 1 again.{figure(1)}") == []


def test_a_reference_without_its_figure(found):
    text = f"See Figures 1 and 2.{figure(1)}{figure(2, 'b')}\n\n"
    assert found(text + "As *Figure 3* shows.") == [("reference-missing", 11, "Figure 3")]
    for other in (
        "As Figure 9 shows.",
        "As Figure 3 of [12] shows.",
        "As Table 3 shows.",
        "Figure 3: a table\n\nSee Figure 3.",
    ):
        assert found(text + other) == []
    assert found("See Figures 1 and 2." + figure(1)) == []  # one figure alone shows no way of numbering


def test_a_link_without_its_figure(found):
    text = "Trams, @fig-a and @fig-gone.\n\n![A tram](a.png){#fig-a}\n"
    assert [(rule, line) for rule, line, _ in found(text, "a.qmd")] == [("reference-missing", 1)]
    assert found(text + "\n\n```{python}\n#| label: fig-gone\n```\n", "a.qmd") == []


def test_a_reference_that_leads_to_another_figure(found):
    text = f"See [Figure 2](#fig-a) and [Figure 2](#fig-b) and Figure 1.{figure(1)}{figure(2, 'b')}"
    assert found(text) == [("reference-other", 1, "Figure 2")]


def test_the_same_caption(found):
    plain = "<figure><img src='{}.png'><figcaption>A tram here</figcaption></figure>\n\n"
    assert found(f"{plain.format('a')}Text.\n\n{plain.format('b')}") == [("caption-duplicate", 5, "b.png")]
    between = "<figure><img src='c.png'><figcaption>After it</figcaption></figure>\n\n"
    assert found(f"{plain.format('a')}{between}{plain.format('b')}{between}") == []  # pairs built alike
    assert found(f"{plain.format('a')}# Two\n\n{plain.format('b')}") == []
    labelled = f"{figure(1, 'a', 'At')}{figure(2, 'b', 'A boat')}{figure(3, 'c', 'At')}".replace(
        "At a<", "At it<"
    ).replace("At c<", "At it<")
    assert found(labelled) == [("caption-duplicate", 11, "c.png")]
    assert found("<figure><img src='a.png'><img src='b.png'><figcaption>Two trams</figcaption></figure>") == []


def test_files(found, tmp_path):
    assert found("![x](a.png) ![y](gone/b.png) ![z](https://example.org/c.png) ![z]({{ page.image }})") == [
        ("file-missing", 1, "gone/b.png")
    ]
    assert found("![x](/img/gone.png)") == []  # the folder of the site is not known
    (tmp_path / "mkdocs.yml").touch()
    assert found("![x](/img/gone.png)") == [("file-missing", 1, "/img/gone.png")]


def test_a_similar_name_is_proposed(tmp_path, picture):
    picture("tram-at-night.png")
    (tmp_path / "a.md").write_text("![x](Tram-at-nigth.png)")
    (finding,) = check([tmp_path], CheckSettings(rules=("file",))).findings
    assert finding.message.endswith("; there is tram-at-night.png")


@pytest.mark.parametrize(
    ("size", "attributes", "large"),
    [
        ((1200, 900), {"width": 320}, True),
        ((1200, 900), {"height": 240}, True),
        ((1200, 900), {"width": 320, "height": 240}, True),
        ((1200, 900), {"width": 600}, False),
        ((1200, 900), {"width": "50%"}, False),
        ((1200, 900), {"width": 0}, False),
        ((150, 100), {"width": 30}, False),  # of few bytes
    ],
)
def test_a_picture_of_many_more_pixels_than_are_shown(found, picture, size, attributes, large):
    picture("a.png", size=size)
    assert [rule for rule, *_ in found("Text." + figure(1, **attributes))] == (["file-large"] if large else [])


PAGES = {
    "a.rst": "See Figure 9.\n\n.. figure:: a.png\n\n   Figure 1: A tram\n\nText.\n\nAnd *Figure 3*.\n\n.. figure:: b.png\n\n   Figure 2: A boat\n",
    "a.adoc": "= T\n\nText.\n\n.Figure 1: A tram\nimage::a.png[x]\n\n\nAnd Figure 3.\n\n.Figure 2: A boat\nimage::b.png[x]\n",
    "a.ipynb": '{"cells": [{"cell_type": "markdown", "metadata": {}, "source": [\n"![x](a.png)\\n",\n"\\n",\n"*Figure 1: A tram*\\n",\n"\\n",\n"Text.\\n",\n"\\n",\n"And Figure 3.\\n",\n"\\n",\n"![x](b.png)\\n",\n"\\n",\n"*Figure 2: A boat*"]}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
    "a.html": "<html><body>\n<p>Text.</p>\n<figure><img src=a.png><figcaption>Figure 1: A tram</figcaption></figure>\n\n\n\n\n<p>And <b>Figure</b> 3.</p>\n<figure><img src=b.png><figcaption>Figure 2: A boat</figcaption></figure></body></html>",
}


@pytest.mark.parametrize("name", PAGES)
def test_references_have_their_lines_in_every_format_of_text(found, name):
    assert found(PAGES[name], name, rules=("reference",)) == [
        ("reference-missing", 9 if name in ("a.rst", "a.adoc") else 8, "Figure 3")
    ]


def test_a_word_file_has_headings_instead_of_lines(tmp_path):
    made = Making()
    made.add(HEADING + run("Methods"), run("See Figure 1."))
    (tmp_path / "a.docx").write_bytes(made.bytes())
    page = read_page("docx", tmp_path / "a.docx", ReadSettings())
    assert str(page.place(page.references[0])).endswith('a.docx:under "Methods"')


def test_rules_and_groups_are_chosen(found):
    with pytest.raises(ValueError, match="no rule 'figure-odrer'; did you mean figure-order"):
        CheckSettings(rules=("figure-odrer",))
    names = [rule.name for rule in CheckSettings(rules=("figure", "file-large"), skip=("figure-far",)).chosen]
    assert names == ["figure-unmentioned", "figure-order", "figure-number", "file-large"]


def test_a_rule_of_another_package_is_in_the_report_and_in_its_group(tmp_path, install_package):
    """The package of docs/extend.md, as it is when it is installed."""
    install_package("journal", "", "iconotext.rules", camera="iconotext_journal:CAMERA")
    (tmp_path / "a.md").write_text("![A cat](DSC_0001.jpg)\n")
    tests = Path(__file__).parents[1]
    paths = os.pathsep.join(map(str, (tests.parent / "src", tests / "other_package", tmp_path)))
    command = [sys.executable, "-m", "iconotext", "check", "a.md", "--rules", "journal,alt", "--sarif", "found.sarif"]
    done = subprocess.run(command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()[2:4]) == (1, ["warning", "journal-camera"]), done.stderr
    assert '"ruleId": "journal-camera"' in (tmp_path / "found.sarif").read_text()
