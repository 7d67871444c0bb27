"""Where the markup of each picture begins in its file."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iconotext.read import ReadSettings, read_flows
from iconotext.read.positions import EditedText

ARTICLE = """---
title: Places
---
# Pictures

`![code](no.png)` ![1](a.png) and ![2](a.png)

> quoted ![3
still](b.png "t") *x [![4](c.png)](http://x)*

| a | b |
|---|---|
| ![5](d.png) | ![6](e.png) |

<p align="center"><img alt="7" src="f.png"> <!-- <img alt="no" src="no.png"> --> <IMG src="g.png" alt=8></p>

    ![code](no.png)

![9][ref] <img src='h.png' alt='10'/>

{{< figure src="i.png" alt="11" caption="Cap" >}} later ![12](j k.png) ![[l.png|13th]] {% comment %}![no](no.png){% endcomment %}

- ![14](m.png){#m}

[ref]: ref.png
"""
PAGE = """<!DOCTYPE html><html><head><title><img src=no.png></title></head><body><!-- <img src="no.png"> -->
<script>"<img src='no.png'>"</script><p>A <img src="a.png" alt="1">
<IMG
  alt="2" src="b.png"/></p><figure><svg><title>3</title></svg></figure></body></html>"""


def places(format_, path, text):
    path.write_bytes(text.encode())
    flows = read_flows(format_, path, ReadSettings())
    return [(image.alt, image.at) for flow in flows for block in flow.blocks for _, image in block.images]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_markdown(tmp_path, line_end):
    text = ARTICLE.replace("\n", line_end)
    found = places("markdown", tmp_path / "a.md", text)
    assert [re.match(r"\d+", alt)[0] for alt, _ in found] == [str(number) for number in range(1, 15)]
    begins = re.compile(r"!\[+|<img|\{\{<", re.IGNORECASE)
    for alt, at in found:
        construct = text[at : at + 60]
        assert begins.match(construct), alt
        said = re.search(r"(?:!\[|alt=[\"']?|\|)(\d+)", construct)
        assert said[1] == re.match(r"\d+", alt)[0]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_html(tmp_path, line_end):
    text = PAGE.replace("\n", line_end)
    found = places("html", tmp_path / "a.html", text)
    expected = [text.index('<img src="a.png"'), text.index("<IMG"), text.index("<svg>")]
    assert found == [("1", expected[0]), ("2", expected[1]), ("3", expected[2])]


@given(
    st.text("ab{}", max_size=30),
    st.lists(st.tuples(st.sampled_from(["a", "b+", "{", "ab", "}}"]), st.sampled_from(["", "x", "yyy"])), max_size=4),
)
def test_characters_that_stay_are_found_where_they_were(text, steps):
    # The oracle: every character of the file is another one, so that it tells itself where it stood.
    marked = {number: chr(0x4E00 + number) for number in range(len(text))}
    edited, twin = EditedText(text), [marked[number] for number in range(len(text))]
    for pattern, replacement in steps:
        compiled = re.compile(pattern)
        made, old = [], 0
        for match in compiled.finditer(edited.text):
            same = match[0] == replacement
            made += twin[old : match.start()] + (
                twin[match.start() : match.end()] if same else ["?"] * len(replacement)
            )
            old = match.end()
        twin = made + twin[old:]
        expected = compiled.sub(replacement, edited.text)
        edited.sub(compiled, replacement)
        assert edited.text == expected
    back = {character: number for number, character in marked.items()}
    for offset, character in enumerate(twin):
        if character != "?":
            assert edited.original(offset) == back[character]
        else:
            assert 0 <= edited.original(offset) <= len(text)
