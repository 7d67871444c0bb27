"""MediaWiki markup: what is running text stays, everything else goes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iconotext_papers.datasets.wikitext import image_name, named_images, paragraphs
from tests.support.counted import calls


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("Plain text, nothing else.", "Plain text, nothing else."),
        ("'''Paris''' is the ''capital'' of '''''France'''''.", "Paris is the capital of France."),
        ("It is John's dog's ''bone''.", "It is John's dog's bone."),
        (
            "A [[political philosophy]] and [[dog|dogs]] of [[Paris#History|old]].",
            "A political philosophy and dogs of old.",
        ),
        ("[[Bus]]es and [[Train station]]s.", "Buses and Train stations."),
        ("See [[:Category:Dogs]] and [[:Image:A.jpg|this]].", "See Category:Dogs and this."),
        ("Text.[[Category:Dogs]][[de:Hund]][[zh-min-nan:X]][[simple:Dog]]", "Text."),
        ("[[CSI: Miami]] and [[TV: The Book]] ran.", "CSI: Miami and TV: The Book ran."),
        ("[[fr:Chien|the French]] page.", "the French page."),
        ("A {{convert|5|km|{{nested|{{deep}}}}}} walk.", "A walk."),
        ("{{Infobox\n| name = X {{y}}\n| image = A.jpg\n}}\nText here.", "Text here."),
        ('Before.<ref name="a">{{cite|x}} Inside.</ref> After.<ref name=a />', "Before. After."),
        ("One.<!-- two\nthree -->Four.", "One.Four."),
        ('A <b>bold</b> and <span style="x">small</span> word.', "A bold and small word."),
        ("Water is H<sub>2</sub>O.", "Water is H2O."),
        ("So <math>x^2 < 3</math> holds.", "So holds."),
        ("Use [http://example.org the site] or http://example.org/a?b=c or [http://x.org].", "Use the site or or."),
        ("Fish &amp; chips &ndash; 5&nbsp;&euro; &#8364; &#x20AC;", "Fish & chips – 5 € € €"),
        ("Paris ({{IPA|x}}) is (, ) big.", "Paris is big."),
        ("__NOTOC__ Text. __TOC__", "Text."),
        ("{{{1}}} remains", "remains"),
        ("Line one\ngoes on here.", "Line one goes on here."),
        ("A<br>B<br />C", "A B C"),
        ("Über die Straße – 東京.", "Über die Straße – 東京."),
    ],
)
def test_one_paragraph(markup, text):
    assert paragraphs(markup) == [text]


@pytest.mark.parametrize(
    "markup",
    [
        "[[Image:A b.jpg|thumb|right|200px|A [[caption]] with ''style'', {{t|x}} and [[b|c]].]]",
        "[[File:A.jpg|thumb|One [[Image:B.png]] in it]]",
        "[[ image : a.jpg ]]",
        "<gallery>\nImage:A.jpg|Caption\nB.jpg\n</gallery>",
        '{| class="wikitable"\n! a !! b\n|-\n| 1 || [[two|2]]\n|}',
        "{|\n|\n{|\n| inner\n|}\n| outer\n|}",
        "== A heading ==\n=== Another ===",
        "#REDIRECT [[Paris]]",
        "  #redirect: [[Paris]]\nmore text",
        "----",
        "<references />",
        "{{Stub}}",
        "<timeline>\nImageSize = width:10\n</timeline>",
        "",
        " \n\n ",
        "* \n* '' ''\n",
    ],
)
def test_what_is_no_text(markup):
    assert paragraphs(markup) == []


def test_paragraphs_headings_and_lists_divide():
    markup = (
        "One.\nStill one.\n\nTwo.\n== H ==\nThree.\n* a b\n** c\n# d\n; e: f\n:g\n<p>h</p>i\n<blockquote>j</blockquote>"
    )
    assert paragraphs(markup) == ["One. Still one.", "Two.", "Three.", "a b", "c", "d", "e", "f", "g", "h", "i", "j"]


def test_a_picture_within_a_paragraph_leaves_it_whole():
    markup = "The tower\n[[Image:T.jpg|thumb|The tower. It is high.]]\nis old."
    assert paragraphs(markup) == ["The tower is old."]


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("{{Infobox\n| a = b\n\nReal text.", "Real text."),
        ("[[Image:A.jpg|thumb|a caption\nReal text.", "Real text."),
        ("A [[link that never ends.", "A link that never ends."),
        ("Real text.<ref>never closed", "Real text. never closed"),
        ("Real </b>text</div>.", "Real text."),
        ("Real text. <!-- never closed\n\nmore", "Real text."),
        ("{| \n| a\n\nReal text.", "Real text."),
        ("Real ]] text }}.", "Real text."),
        ("&bogus; &#xD800; text", "&bogus; text"),
    ],
)
def test_markup_that_is_never_closed(markup, text):
    assert paragraphs(markup)[-1] == text
    assert not any(mark in " ".join(paragraphs(markup)) for mark in ("[[", "{{", "{|", "<ref"))


MARKS = "[[ ]] {{ }} {| |} | ''' <ref> </ref> <!-- --> Image:a.jpg &amp; < > <br> \x00 é \u2028".split(" ")
MARKS += ["\n", "== h ==\n", "word ", "* ", "http://a.b/c "]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(MARKS), max_size=40).map("".join))
def test_nothing_of_markup_is_left_whatever_comes(markup):
    found = paragraphs(markup)
    for text in found:
        assert "[[" not in text
        assert "{{" not in text
        assert "\n" not in text
        assert text == text.strip()
        assert any(character.isalnum() for character in text)


@pytest.mark.parametrize("piece", ["<b>", "{|\n|", "'''", "<ref>", "==", "&amp;", "[http://a ", "{{a}}", "[[a]]", "* "])
def test_repeating_anything_takes_linear_work(piece):
    paragraphs(piece)  # what is prepared once is not counted
    once, twice = calls(paragraphs, piece * 300), calls(paragraphs, piece * 600)
    assert twice < 2.5 * once + 100


@pytest.mark.parametrize("opening", ["[[", "{{", "{{a|", "[[Image:a|"])
def test_an_article_that_opens_and_never_closes_is_refused(opening):
    with pytest.raises(ValueError, match=r"times .* without "):
        paragraphs(opening * 60)
    assert paragraphs(f"Text. {'[[a]] {{b}} ' * 200}")


def test_pictures_by_name():
    markup = (
        "{{Infobox | picture = tower_by night.JPG | flag=Flag of France.svg}}\n"
        "[[Image:mona_Lisa.jpg|thumb]] [[file: second.png ]] [[Image:Mona Lisa.jpg]]\n"
        "<gallery>\nImage:Third.gif|x\nFourth.tiff|y\n</gallery> no.txt [[Paris.jpg is no picture]]\n"
        "http://example.org/x.jpg"
    )
    assert named_images(markup) == [
        "Tower by night.JPG",
        "Flag of France.svg",
        "Mona Lisa.jpg",
        "Second.png",
        "Third.gif",
        "Fourth.tiff",
    ]


def test_names_are_the_wikis():
    assert image_name(" mona__Lisa .jpg") == "Mona Lisa .jpg"
    assert image_name("éa.jpg") == "Éa.jpg"
    assert image_name("") == ""
