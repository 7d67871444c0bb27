"""MyST, Quarto, R Markdown and bookdown: what stands in the file tells it. Numbers were counted by hand."""

from __future__ import annotations

import pytest

from iconotext.evidence.reference import EXPLICIT, reference_evidence
from iconotext.read.code_cells import shown_files
from iconotext.read.directives import MAX_DEPTH
from iconotext.report.source_offsets import source_spans
from tests.support.reading import pictures, read_as, texts

MYST = """# Trams

(the-old)=
```{figure} img/old.png
:name: old-tram
:alt: A tram
:width: 50%

The *old* tram.

It ran until 1970.
```

As {numref}`old-tram` shows, they were red. See {ref}`the-old`, {ref}`that one <old-tram>` or Fig. {numref}`{number}<new tram>`.

::::{note} Take care
:::{figure-md} new tram
![New](img/new.png)

The new tram.
:::
They ring. The other is in {numref}`elsewhere` and [](#old-tram).
::::

```{code-cell} python
:tags: [hide]
draw()
```

```{glue:figure} ridership
:name: riders

Riders a year.
```

```{toctree}
other
```

`{numref}` is a role, and

    {numref}`old-tram` is code.
"""

QUARTO = """---
title: Trams
---
# Old ones {#sec-old}

![The *old* tram.](img/old.png){#fig-old fig-alt="A red tram" width=50%}

See @fig-old, [-@fig-old] and @fig-both; not @smith2004 nor me@fig-old.com.

::: {#fig-both layout-ncol=2}

![Left.](l.png){#fig-l}

![Right.](r.png){#fig-r}

Two trams.
:::

@fig-r is the right one; @fig-made is drawn.

```{r}
#| label: fig-made
#| fig-cap: "Riders, by year."
#| fig-alt: A line that falls.
plot(riders)
```

```{python}
1 + 1
```

::: {.callout-note}
## Note
In a frame.
:::
"""

BOOKDOWN = """# Trams

(ref:cap) A caption with *emphasis* from elsewhere.

Figure \\@ref(fig:map) shows the lines, `r nrow(x)` of them, and Figure \\@ref(fig:two) two trams.

```{r map, fig.cap="(ref:cap)", out.width = c("49%", "1%")}
# knitr::include_graphics("not.png")
knitr::include_graphics("img/map.png")
```

```{r two, fig.cap=c("One, (1).", 'The "other".'), fig.alt=c("a", "b")}
include_graphics(c("one.png", "two.png"), dpi = 100)
```

```{r gone, fig.cap="Not shown.", eval=FALSE}
knitr::include_graphics("gone.png")
```

```{r plotted, fig.cap="A plot."}
plot(1)
```

```{r}
# A comment that is no heading
library(x)
```
"""


def test_myst(tmp_path):
    found = read_as(tmp_path / "a.md", MYST)
    assert pictures(found) == [
        ("img/old.png", "A tram", "The old tram."),
        ("img/new.png", "New", "The new tram."),
        ("code:ridership", None, "Riders a year."),
    ]
    assert texts(found) == [
        "Trams",
        "It ran until 1970.",
        "As Fig. 1 shows, they were red.",
        "See Figure 1, that one or Fig. 2.",
        "Take care",
        "They ring.",
        "The other is in the figure and Figure 1.",
        "{numref} is a role, and",
    ]
    assert set(found.images[0].anchors) == {"old-tram", "the-old"}
    evidence = reference_evidence(found)
    assert (evidence[2:4] == EXPLICIT).tolist() == [[True, False, False], [True, True, False]]
    assert (evidence[6] == EXPLICIT).tolist() == [True, False, False]
    assert not evidence[[0, 1, 4, 5, 7]].any()


def test_quarto(tmp_path):
    found = read_as(tmp_path / "a.qmd", QUARTO)
    assert pictures(found) == [
        ("img/old.png", "A red tram", "The old tram."),
        ("l.png", None, "Two trams. Left."),
        ("r.png", None, "Two trams. Right."),
        ("code:fig-made", "A line that falls.", "Riders, by year."),
    ]
    assert found.images[3].problem.startswith("made by code")
    assert texts(found) == [
        "Old ones",
        "See Figure 1, [1] and Figure 2; not @smith2004 nor me@fig-old.com.",
        "Figure 2 (b) is the right one; Figure 3 is drawn.",
        "Note",
        "In a frame.",
    ]
    evidence = reference_evidence(found) == EXPLICIT
    assert evidence.tolist() == [
        [False] * 4,
        [True, True, True, False],
        [False, False, True, True],
        [False] * 4,
        [False] * 4,
    ]


def test_what_was_rendered_is_found(tmp_path):
    folder = tmp_path / "a_files" / "figure-html"
    folder.mkdir(parents=True)
    (folder / "fig-made-1.png").write_bytes(b"a picture")
    image = read_as(tmp_path / "a.qmd", QUARTO).images[3]
    assert image.file == folder / "fig-made-1.png"


def test_bookdown(tmp_path):
    found = read_as(tmp_path / "a.Rmd", BOOKDOWN)
    assert pictures(found) == [
        ("img/map.png", None, "A caption with emphasis from elsewhere."),
        ("one.png", "a", "One, (1)."),
        ("two.png", "b", 'The "other".'),
        ("code:plotted", None, "A plot."),
    ]
    assert texts(found)[0] == "Trams"
    assert texts(found)[1].startswith("Figure 1 shows the lines, of them, and Figure 2")
    assert len(found.sentences) == 2
    assert (reference_evidence(found)[1] == EXPLICIT).tolist() == [True, True, True, False]


@pytest.mark.parametrize(("text", "name"), [(MYST, "a.md"), (QUARTO, "a.qmd"), (BOOKDOWN, "a.Rmd")])
def test_every_sentence_has_its_place_in_the_file(tmp_path, text, name):
    found = read_as(tmp_path / name, text)
    for sentence, span in zip(found.sentences, source_spans(found), strict=True):
        if "of them" in sentence.text:  # what code computes within a sentence is not in the file
            continue
        assert span is not None, sentence.text
        first, last = sentence.text.split()[0].strip("{}"), sentence.text.split()[-1].strip(".")
        written = text[slice(*span)]
        assert written.startswith((first, "@", "As", "{")), written
        assert last in written or "}`" in written or "#" in written


def test_plain_markdown_is_as_before(tmp_path):
    text = "Mail @anna. {braces} and :::\n\n(no target)= here\n\n::: \n\nA `{r}` b.\n\n```python\ncode()\n```\n"
    assert texts(read_as(tmp_path / "a.md", text)) == [
        "Mail @anna.",
        "{braces} and :::",
        "(no target)= here",
        "A {r} b.",
    ]


@pytest.mark.parametrize(
    ("code", "files"),
    [
        ('include_graphics("a.png")', ["a.png"]),
        ("x <- knitr::include_graphics( c('a b.png',\n \"c.jpg\"))", ["a b.png", "c.jpg"]),
        ('Image(filename="a.png", width=3)', ["a.png"]),
        ('#include_graphics("a.png")', []),
        ("include_graphics(path)", []),
        ('include_graphics("a.png"', ["a.png"]),
    ],
)
def test_files_that_code_shows(code, files):
    assert shown_files(code) == files


def test_directives_nest_only_so_deep(tmp_path):
    text = "".join("`" * (100 - n) + "{note}\n" for n in range(MAX_DEPTH + 5)) + "Deep.\n"
    assert texts(read_as(tmp_path / "a.md", text)) == []
    text = "".join(":" * (40 - n) + "{note}\n" for n in range(MAX_DEPTH - 5)) + "Deep.\n"
    assert texts(read_as(tmp_path / "a.md", text)) == ["Deep."]
