from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import markdown as python_markdown
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lxml import html
from markdown_it import MarkdownIt

from iconotext.plain_text import readable
from iconotext.report.as_markdown import block_text, markdown, markdown_pages
from iconotext.types import Image, Kind, Sentence
from tests.support.linked import explained, link, make_linked

PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def test_pictures_stand_after_the_block_of_their_best_sentence(linked):
    text = markdown(linked, Path())
    places = [
        text.index(x) for x in ("# On cats", "dreams of mice", "![A cat](<img/cat.jpg>)", "- Milk", "img/milk.jpg")
    ]
    assert places == sorted(places)
    assert "*Figure 1: asleep*" in text
    assert (
        "“A cat sleeps.” (90\u00a0%, its paragraph 95\u00a0%); “It dreams of mice.” (40\u00a0%, its paragraph 40\u00a0%)"
        in text
    )
    assert text.index("## Pictures that were not linked") > text.index("The end.")
    assert "- img/gone.jpg: file not found" in text
    assert "> Meow, she said." in text


def test_the_words_that_carry_a_link_stand_with_it(linked):
    assert "“A cat sleeps.” (90\u00a0%, its paragraph 95\u00a0%; carried by: cat)" in markdown(
        explained(linked), Path()
    )
    made = make_linked(["_fox_|y"], [Image("a.png")], [link(0, 0, 0.5)])
    assert "carried by: fox)" in markdown(explained(made), Path())


def test_the_title_is_said_once(linked):
    assert markdown(linked, Path()).count("On cats") == 1
    assert "".join(markdown_pages([linked, linked], Path())).count("# On cats") == 2


def inline(source: str):
    tokens = PARSER.parse(source)
    assert [t.type for t in tokens] in ([], ["paragraph_open", "inline", "paragraph_close"]), source
    return [] if not tokens else tokens[1].children or []


@given(st.text(max_size=60) | st.text(st.sampled_from("ab 1.)#-+=>*_`~[](){}<>!|&;:\\/$^\n\t@"), max_size=30))
def test_escaped_text_reads_as_itself(text):
    children = inline(block_text(text))
    assert {t.type for t in children} <= {"text", "text_special"}
    assert "".join(t.content for t in children) == " ".join(readable(text).split())


HOSTILE_PIECES = [
    *"ab1 .)(#-+=>*_`~[]{}<!|&;:/$^\n\t@'\"\\\u202e\x1b\u2028",
    *("<img src=x onerror=alert(1)>", "<svg onload=alert(1)>", "<base href=//evil.org>", "<!--", "-->", "</p>"),
    *("<link rel=stylesheet href=//evil.org>", "<https://evil.org>", "[a](javascript:alert(1))", "&lt;b&gt;", "&#60;"),
    *("```", "| a | b |\n|---|---|", "1. ", "- ", "# ", "    ", "\n\n", "\n---\n", "[x]: //evil.org", "ﷺ", "\ud800"),
]
texts = st.text(max_size=30) | st.lists(st.sampled_from(HOSTILE_PIECES), max_size=8).map("".join)
RENDERERS = {
    "CommonMark with HTML": PARSER.render,
    "GitHub's": MarkdownIt("js-default", {"html": True}).render,
    "Python-Markdown": lambda text: python_markdown.markdown(text, extensions=["tables", "attr_list", "toc"]),
}


def plain(text: str) -> str:
    return " ".join(readable(text).split())


@pytest.mark.slow
@pytest.mark.parametrize("renderer", RENDERERS)
@settings(deadline=None)
@example(title="C #", said=[("C #", "heading")], about=("a.png", "C #", "C #", "C #"))
@given(
    title=texts,
    said=st.lists(st.tuples(texts, st.sampled_from(get_args(Kind))), max_size=4),
    about=st.tuples(*[texts] * 4),
)
def test_whatever_a_document_holds_is_text_again_when_the_markdown_is_rendered(renderer, title, said, about):
    source, alt, caption, problem = about
    sentences = [Sentence(text, n, kind) for n, (text, kind) in enumerate([("Begin.", "paragraph"), *said])]
    images = [
        Image(source, None, alt=alt, caption=caption),
        Image(source, None, alt=alt, caption=caption, problem=problem),
    ]
    made = make_linked(sentences, images, [link(0, 0, 0.5)], title=title)
    page = html.fromstring(f"<main>{RENDERERS[renderer](markdown(made, Path()))}</main>")
    meant = {"main", "h1", "h2", "p", "ul", "li", "blockquote", "img", "em", "br"}
    assert {str(element.tag) for element in page.iter()} <= meant
    for element in page.iter():
        assert set(element.keys()) <= ({"src", "alt"} if element.tag == "img" else {"id"}), element.attrib
    for picture in page.iter("img"):
        assert not re.match(r"(?i)\s*(javascript|vbscript|data):", picture.get("src"))
        assert plain(picture.get("alt")) == plain(alt)
    shown = plain("".join(page.itertext()))
    at = 0
    for text in [text for text, _ in said]:
        at = shown.index(plain(text), at) + len(plain(text))
    assert plain(title) in shown
    assert plain(caption) in shown
    assert plain(problem) in shown


def test_addresses_do_not_become_links_by_themselves():
    escaped = block_text("see https://example.org, www.example.org and a@example.org")
    assert "https:" not in escaped
    assert "www." not in escaped
    assert "@" not in escaped


def test_hostile_text_makes_no_markup(hostile):
    _, made = hostile
    tokens = PARSER.parse(markdown(made, Path()))
    kinds = {t.type for token in tokens for t in [token, *(token.children or [])]}
    assert not kinds & {"html_block", "html_inline", "link_open", "fence", "code_inline", "s_open", "table_open"}
    assert sum(t.type == "image" for token in tokens for t in token.children or []) == 1


def test_a_picture_within_the_document_and_a_script_have_no_address():
    for source in ("data:image/png;base64,AAAA", "javascript:alert(1)"):
        text = markdown(make_linked(["a"], [Image(source)], [link(0, 0, 0.5)]), Path())
        assert "](<data" not in text
        assert "script:" not in text


def test_no_sentences_and_no_images():
    assert markdown(make_linked([], [], []), Path()) == "# doc\n"
    assert "not linked" in markdown(make_linked([], [Image("a.png")], []), Path())


def test_addresses_are_as_seen_from_where_the_markdown_lies(tmp_path):
    images = [
        Image("pics/a%20b.png", tmp_path / "site" / "pics" / "a b.png"),
        Image("/img/b.png", tmp_path / "site" / "img" / "b.png"),
        Image("https://example.org/c.png", b"..."),
    ]
    made = make_linked(["One.", "Two.", "Three."], images, [link(0, 0, 0.9), link(1, 1, 0.8), link(2, 2, 0.7)])
    made = replace(made, document=replace(made.document, source=tmp_path / "site" / "page.md"))

    def addresses(folder):
        return re.findall(r"!\[\]\(<(.*?)>\)", markdown(made, folder))

    assert addresses(tmp_path / "site") == ["pics/a%20b.png", "img/b.png", "https://example.org/c.png"]
    assert addresses(tmp_path / "out" / "far") == [
        "../../site/pics/a%20b.png",
        "../../site/img/b.png",
        "https://example.org/c.png",
    ]
