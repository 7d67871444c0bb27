from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iconotext.read import ReadSettings, read
from iconotext.report.flow import common_path, heading_paths
from iconotext.report.source_offsets import source_spans
from iconotext.types import Document, Sentence

MARKDOWN = """---
title: On trams and cats
---
# On trams & cats

A **red** tram waits at the [old stop](https://example.org/a_tram) today. "It is late," he said.

## Blue

Yes.

![A cat that sleeps](cat.png) Caf&eacute; owners ca*ll*ed it <em>very</em> new, <!-- do they? --> and they paid 3 \\* 4 euros.

## Red

Yes.

| one | two |
|---|---|
| A table cell has words | and the next one too |
"""
HTML = """<html><head><title>t</title><script>var a = "Cats sleep in the depot all day.";</script></head><body>
<ul><li><a href="#1">Cats</a></li></ul><h1 id="1">Cats</h1>
<p>Cats <b>sl</b>eep in <i>the</i> depot<br>all day.</p><p>Nobody wakes &amp; feeds them, not even M&uuml;ller &#8211; why?</p>
</body></html>"""


def texts(document, source):
    return [None if span is None else source[slice(*span)] for span in source_spans(document)]


def test_markdown(tmp_path):
    (tmp_path / "a.md").write_text(MARKDOWN)
    document = read(tmp_path / "a.md")
    found = texts(document, MARKDOWN)
    assert found == [
        "On trams & cats",
        "A **red** tram waits at the [old stop](https://example.org/a_tram) today.",
        '"It is late," he said.',
        "Blue",
        "Yes.",
        "Caf&eacute; owners ca*ll*ed it <em>very</em> new, <!-- do they? --> and they paid 3 \\* 4 euros.",
        "Red",
        "Yes.",
        "one",
        "two",
        "A table cell has words",
        "and the next one too",
    ]
    first, second = (span for span, text in zip(source_spans(document), found, strict=True) if text == "Yes.")
    assert MARKDOWN[: first[0]].endswith("## Blue\n\n")
    assert MARKDOWN[: second[0]].endswith("## Red\n\n")


def test_html_without_the_table_of_contents(tmp_path):
    (tmp_path / "a.html").write_text(HTML)
    document = read(tmp_path / "a.html")
    spans = dict(zip((s.text for s in document.sentences), texts(document, HTML), strict=True))
    assert spans["Cats sleep in the depot all day."] == "Cats <b>sl</b>eep in <i>the</i> depot<br>all day."
    wakes = next(text for text in spans if text.startswith("Nobody"))
    assert spans[wakes] == "Nobody wakes &amp; feeds them, not even M&uuml;ller &#8211; why?"
    heading = next(n for n, s in enumerate(document.sentences) if s.heading)
    span = source_spans(document)[heading]
    assert span is not None
    assert HTML[: span[0]].endswith('<h1 id="1">')


@given(
    st.lists(
        st.sampled_from(["Yes.", "A tram waits at the old stop.", "No, why?", "*", "Blue é tram", "1. Of 2"]),
        max_size=12,
    )
)
def test_plain_paragraphs_are_found_where_they_are(tmp_path_factory, paragraphs):
    path = tmp_path_factory.mktemp("d") / "a.md"
    source = "\n\n".join(paragraphs)
    path.write_text(source)
    sentences = tuple(Sentence(text, n) for n, text in enumerate(paragraphs))
    ends, at = [], 0
    for text in paragraphs:
        ends.append((at, at + len(text)))
        at += len(text) + 2
    found = source_spans(Document("d", sentences, source=path))
    assert found == [end if re.search(r"\w", text) else None for end, text in zip(ends, paragraphs, strict=True)]


def test_what_has_no_offsets(tmp_path):
    (tmp_path / "a.md").write_text("One sentence.")
    document = read(tmp_path / "a.md")
    assert source_spans(document) == [(0, 13)]
    (tmp_path / "a.md").write_text("Something else.")
    assert source_spans(document) == [None]
    (tmp_path / "a.md").unlink()
    assert source_spans(document) == [None]
    assert source_spans(Document("made", ["One."])) == [None]
    assert source_spans(Document("book", ["One."], source=tmp_path / "a.pdf")) == [None]


@pytest.mark.parametrize("piece", ["<!--", "<script>", "![", "](", "<a ", "&", "][", "*", "[^a", "<"])
@pytest.mark.slow
def test_hostile_files_take_linear_time(tmp_path, piece):
    (tmp_path / "a.md").write_text(piece * (400_000 // len(piece)))
    assert source_spans(Document("d", ["One two three."], source=tmp_path / "a.md")) == [None]


def test_levels_of_headings_make_paths(tmp_path):
    (tmp_path / "a.md").write_text("# Trams\n\nOne.\n\n### Red\n\nTwo.\n\n## Blue\n\nThree.\n")
    document = read(tmp_path / "a.md", ReadSettings())
    assert [s.level for s in document.sentences] == [1, None, 3, None, 2, None]
    paths = heading_paths(document)
    assert paths == [("Trams",), ("Trams",), ("Trams", "Red"), ("Trams", "Red"), ("Trams", "Blue"), ("Trams", "Blue")]
    assert common_path(paths) == ("Trams",)
    assert common_path([]) == ()
    unknown = [
        Sentence(text, n, kind)
        for n, (text, kind) in enumerate([("T", "heading"), ("A", "heading"), ("a", "paragraph"), ("B", "heading")])
    ]
    assert heading_paths(Document("d", tuple(unknown), title="T")) == [("T",), ("T", "A"), ("T", "A"), ("T", "B")]
