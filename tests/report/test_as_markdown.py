from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from iconotext.report.as_markdown import escape, markdown, markdown_pages
from iconotext.report.readable import readable
from iconotext.types import Image
from tests.report.conftest import explained, link, make_linked

PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def test_pictures_stand_after_the_block_of_their_best_sentence(linked):
    text = markdown(linked)
    places = [
        text.index(x) for x in ("# On cats", "dreams of mice", "![A cat](<img/cat.jpg>)", "- Milk", "img/milk.jpg")
    ]
    assert places == sorted(places)
    assert "*Figure 1: asleep*" in text
    assert "“A cat sleeps.” (90\u00a0%); “It dreams of mice.” (40\u00a0%)" in text
    assert text.index("## Pictures that were not linked") > text.index("The end.")
    assert "- img/gone.jpg: file not found" in text
    assert "> Meow, she said." in text


def test_the_words_that_carry_a_link_stand_with_it(linked):
    assert "“A cat sleeps.” (90\u00a0%; carried by: A)" in markdown(explained(linked))
    made = make_linked(["_x_|y"], [Image("a.png")], [link(0, 0, 0.5)])
    assert "carried by: x)" in markdown(explained(made))


def test_the_title_is_said_once(linked):
    assert markdown(linked).count("On cats") == 1
    assert "".join(markdown_pages([linked, linked])).count("# On cats") == 2


def inline(source: str):
    tokens = PARSER.parse(source)
    assert [t.type for t in tokens] in ([], ["paragraph_open", "inline", "paragraph_close"]), source
    return [] if not tokens else tokens[1].children or []


@given(st.text(max_size=60) | st.text(st.sampled_from("ab 1.)#-+=>*_`~[](){}<>!|&;:\\/$^\n\t@"), max_size=30))
def test_escaped_text_reads_as_itself(text):
    children = inline(escape(text))
    assert {t.type for t in children} <= {"text", "text_special"}
    assert "".join(t.content for t in children) == " ".join(readable(text).split())


def test_addresses_do_not_become_links_by_themselves():
    escaped = escape("see https://example.org, www.example.org and a@example.org")
    assert "https:" not in escaped
    assert "www." not in escaped
    assert "@" not in escaped.replace("\\@", "")


def test_hostile_text_makes_no_markup(hostile):
    _, made = hostile
    tokens = PARSER.parse(markdown(made))
    kinds = {t.type for token in tokens for t in [token, *(token.children or [])]}
    assert not kinds & {"html_block", "html_inline", "link_open", "fence", "code_inline", "s_open", "table_open"}
    assert sum(t.type == "image" for token in tokens for t in token.children or []) == 1


def test_a_picture_within_the_document_and_a_script_have_no_address():
    for source in ("data:image/png;base64,AAAA", "javascript:alert(1)"):
        text = markdown(make_linked(["a"], [Image(source)], [link(0, 0, 0.5)]))
        assert "](<data" not in text
        assert "script:" not in text


def test_no_sentences_and_no_images():
    assert markdown(make_linked([], [], [])) == "# doc\n"
    assert "not linked" in markdown(make_linked([], [Image("a.png")], []))
