from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from iconotext import Document
from iconotext.read import captions
from iconotext.read.blocks import Block, FlowImage
from iconotext.read.html import image_sources, parse_html
from tests.support.reading import read_as, texts


def page(tmp_path: Path, body: str, head: str = "") -> Document:
    text = f"<!DOCTYPE html><html lang='en'><head>{head}</head><body>{body}</body></html>"
    return read_as(tmp_path / "page.html", text)


def test_sentences_keep_block_kind_and_order(tmp_path):
    document = page(
        tmp_path,
        "<h1>Bread &amp; butter</h1><p>One. Two\n is  <b>bold</b>.</p><ul><li>First.</li><li>Second.<ul><li>Inner.</li></ul></li></ul>"
        "<blockquote><p>Said.</p></blockquote><table><tr><th>Head</th><td>Cell one.</td></tr></table>",
    )
    assert [(s.text, s.kind, s.block) for s in document.sentences] == [
        ("Bread & butter", "heading", 0),
        ("One.", "paragraph", 1),
        ("Two is bold.", "paragraph", 1),
        ("First.", "item", 2),
        ("Second.", "item", 3),
        ("Inner.", "item", 4),
        ("Said.", "quote", 5),
        ("Head", "cell", 6),
        ("Cell one.", "cell", 7),
    ]
    assert document.title == "Bread & butter"
    assert document.language == "en"


def test_figure_gives_caption_and_anchor(tmp_path, picture):
    picture("a.png")
    picture("b.png", seed=1)
    document = page(
        tmp_path,
        "<p>See <a href='#fig-1'>Figure 1</a>. Nothing here.</p>"
        "<figure id='fig-1'><div><img src='a.png' id='one'><img src='b.png'></div><figcaption>Figure 1: Two <i>things</i>.</figcaption></figure>"
        "<p>After.</p>",
    )
    assert texts(document) == ["See Figure 1.", "Nothing here.", "After."]
    assert document.sentences[0].targets == ("fig-1",)
    assert document.sentences[1].targets == ()
    first, second = document.images
    assert first.caption == second.caption == "Figure 1: Two things."
    assert "one" in first.anchors
    assert first.position == 2
    assert first.block == 1


def test_title_of_a_figure_whose_pictures_have_captions(tmp_path, picture):
    picture("a.png")
    picture("b.png", seed=1)
    parts = ["<p><img src='a.png'></p><p><em>Before</em></p>", "<p><img src='b.png'></p><p><em>After</em></p>"]
    titled = page(tmp_path, "<p>Text.</p><p>Figure 3. A filter</p>" + "".join(parts) + "<p>More.</p>")
    assert [image.caption for image in titled.images] == ["Figure 3. A filter. Before", "Figure 3. A filter. After"]
    assert texts(titled) == ["Text.", "More."]
    above = page(tmp_path, "<p>Figure 3. One</p><p><img src='a.png'></p><p>Figure 4. Two</p><p><img src='b.png'></p>")
    assert [image.caption for image in above.images] == ["Figure 3. One", "Figure 4. Two"]
    mixed = page(tmp_path, "<p>Figure 3. One</p>" + "".join(parts) + "<p><img src='a.png'></p>")
    assert mixed.images[2].caption is None


def test_each_caption_above_its_picture_is_looked_at_a_few_times(monkeypatch):
    calls = Counter[str]()

    def counted(block):
        calls[block.text] += 1
        return block.kind == "caption"

    monkeypatch.setattr(captions, "_is_below", counted)
    pictures = [FlowImage((f"{number}.png",)) for number in range(99)]
    above = [[Block(image.sources[0], "caption"), Block(images=[(0, image)])] for image in pictures]
    attached = captions.attach_captions([block for pair in above for block in pair])
    assert [block.images[0][1].caption for block in attached] == [image.sources[0] for image in pictures]
    assert len(calls) > 90
    assert max(calls.values()) <= 2


def test_caption_above_the_picture_and_caption_of_a_table(tmp_path, picture):
    picture("a.png")
    document = page(
        tmp_path,
        "<p>Figure 2. Above.</p><p><img src='a.png'></p><table><caption>Prices.</caption><tr><td>1 euro</td></tr></table>",
    )
    assert document.images[0].caption == "Figure 2. Above."
    assert texts(document) == ["Prices.", "1 euro"]


@pytest.mark.parametrize(
    "below",
    [
        "<p><em>A red tram.</em></p>",
        "<p class='wp-caption-text'>A red tram.</p>",
        "<div class='image-caption'>A red tram.</div>",
        "<div class='thumbcaption'>A red tram.</div>",
        "<span class='article__caption-text'><div class='caption__text'>A red tram.</div></span>",
        "<p>A red tram.</p>",  # repeats the alternative text
    ],
)
def test_what_counts_as_a_caption(tmp_path, picture, below):
    picture("a.png")
    document = page(tmp_path, f"<p>Text.</p><p><img src='a.png' alt='A red tram'></p>{below}<p>More.</p>")
    assert document.images[0].caption == "A red tram."
    assert texts(document) == ["Text.", "More."]


@pytest.mark.parametrize(
    ("below", "caption"),
    [
        ("図１：路面電車", True),
        ("图2　电车", True),
        ("图 2 显示了电车。", False),
        ("الشكل ١: الترام", True),
        ("Rys. 3. Tramwaj", True),
        ("图三：电车", True),
        ("圖十二　電車", True),
        ("图三显示了电车。", False),
        ("Εικόνα 3: Το τραμ", True),
        ("चित्र ३: ट्राम", True),
        ("Ryc. 3. Tramwaj", True),
        ("3. ábra: A villamos", True),
        ("Figur 4 viser en sporvogn.", False),
    ],
)
def test_labels_of_captions_in_many_languages(tmp_path, picture, below, caption):
    picture("a.png")
    document = page(tmp_path, f"<p>Text.</p><p><img src='a.png' alt=''></p><p>{below}</p>")
    assert (document.images[0].caption is not None) == caption


def test_main_text_only(tmp_path, picture):
    for number, name in enumerate(("logo", "a", "ad", "rel")):
        picture(f"{name}.png", seed=number)
    article = "".join(
        f"<p>Paragraph {n} tells a long story about trams in the old town, in full sentences.</p>" for n in range(8)
    )
    document = page(
        tmp_path,
        "<div class='cookie-banner'><p>We use cookies to improve your experience. Accept all?</p><button>OK</button></div>"
        "<header><a href='/'><img src='logo.png'></a><nav><ul><li><a href='/a'>Home</a></li><li><a href='/b'>About us</a></li></ul></nav></header>"
        "<div id='page'><div class='sidebar'><h3>Popular</h3><p>Read this other thing.</p><img src='ad.png'></div>"
        f"<div class='content'><h1>Trams</h1>{article}<figure><img src='a.png'><figcaption>A tram.</figcaption></figure>"
        "<ul class='share-buttons'><li><a href='https://x.example'>Tweet</a></li><li><a href='https://f.example'>Like</a></li></ul></div>"
        "<section class='related-posts'><h2>Related</h2><p><a href='/x'>Buses</a><img src='rel.png'></p></section></div>"
        "<footer><p>Copyright 2020 by nobody. All rights reserved.</p></footer>",
        head="<title>Trams | A site</title>",
    )
    assert [i.source for i in document.images] == ["a.png"]
    assert texts(document)[0] == "Trams"
    assert len(document.sentences) == 9
    assert document.title == "Trams | A site"


LINKS = "<ul><li><a href='/{0}a'>{0} one</a></li><li><a href='/{0}b'>{0} two</a></li></ul>"
RUNNING = "<p>A paragraph of running text that is long enough to count as the middle of an article.</p>"
MAIN = "<p>The real text, which is much longer than all of the rest of the page taken together.</p>"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "<h2>History<a class='headerlink' href='#h'>¶</a> <span class='mw-editsection'>[edit]</span></h2><p>Long ago.</p>",
            ["History", "Long ago."],
        ),
        ("<div class='content with-sidebar'><p>All the text there is.</p></div>", ["All the text there is."]),
        (
            "<p>Yes.</p><script>var a = 'No.';</script><style>p{}</style><pre>No = 1.</pre><!-- No. --><p>Use <code>x</code>.</p>",
            ["Yes.", "Use x."],
        ),
        (
            f"<div><p>Skip to content.</p></div><main><h1>T</h1>{MAIN}</main><div><p>Imprint.</p></div>",
            ["T", MAIN[3:-4]],
        ),
        (
            LINKS.format("menu") + RUNNING + LINKS.format("flour") + RUNNING + LINKS.format("next"),
            [RUNNING[3:-4], "flour one", "flour two", RUNNING[3:-4]],
        ),
    ],
    ids=["edit links", "menu words", "scripts and code", "main element", "lists of links"],
)
def test_what_is_no_text_of_a_page(tmp_path, body, expected):
    assert texts(page(tmp_path, body)) == expected


@pytest.mark.parametrize(
    ("markup", "wanted"),
    [
        ("<img src='a.jpg'>", ("a.jpg",)),
        ("<img src='a.jpg' srcset='b.jpg 480w, c.jpg 1200w'>", ("c.jpg", "b.jpg", "a.jpg")),
        ("<img srcset='b.jpg, c.jpg 2x'>", ("c.jpg", "b.jpg")),
        ("<img src='data:image/gif;base64,R0lGOD' data-src='real.jpg'>", ("real.jpg",)),
        ("<img src='spinner.gif' data-lazy-src='real.jpg'>", ("real.jpg", "spinner.gif")),
        ("<picture><source srcset='big.webp 2000w'><img src='a.jpg'></picture>", ("big.webp", "a.jpg")),
        ("<img alt='nothing'>", ()),
    ],
)
def test_addresses_of_an_image(markup, wanted):
    assert image_sources(parse_html(markup).find(".//img")) == wanted


def test_pictures_in_the_text(tmp_path, picture):
    picture("a.png")
    document = page(tmp_path, "<p>Before it. Still before <img src='a.png' alt=' a  cat '> and after. Last.</p>")
    assert texts(document) == ["Before it.", "Still before and after.", "Last."]
    (image,) = document.images  # two sentences begin before it
    assert (image.block, image.position, image.alt, image.problem) == (0, 2, "a cat", None)
    document = page(tmp_path, "<p>T.</p><img src='a.png' srcset='gone-2x.png 2x'>")  # the first that exists is taken
    assert [(i.source, i.problem) for i in document.images] == [("a.png", None)]
    document = page(tmp_path, "<p>T.</p><img data-src='a.png'><noscript><img src='a.png'></noscript>")
    assert len(document.images) == 1


def test_inline_drawings_are_listed_in_figures_only(tmp_path):
    svg = "<svg><title>Sales</title><text>12 %</text></svg>"
    document = page(tmp_path, f"<p>Text {svg} more.</p><figure>{svg}<figcaption>Sales rise.</figcaption></figure>")
    assert texts(document) == ["Text more."]
    (image,) = document.images
    assert image.caption == "Sales rise."
    assert "SVG" in (image.problem or "")


@pytest.mark.parametrize(
    ("encoding", "declared"),
    [("utf-8", ""), ("latin-1", "<meta charset='latin-1'>"), ("cp1252", ""), ("utf-16", ""), ("utf-8-sig", "")],
)
def test_encodings(tmp_path, encoding, declared):
    text = "Der Müller führt die Mühle über dem Fluss. " * 20
    html = f"<html><head>{declared}</head><body><p>{text}</p></body></html>"
    document = read_as(tmp_path / "page.html", html.encode(encoding))
    assert document.sentences[0].text == "Der Müller führt die Mühle über dem Fluss."
    assert document.language == "de"


def test_right_to_left_and_cjk(tmp_path):
    assert len(page(tmp_path, "<p>مرحبا بك في البيت. كيف حالك اليوم؟</p>").sentences) == 2
    document = read_as(
        tmp_path / "日本 語.html", "<html lang='ja-JP'><body><p>これは犬です。猫もいます。</p></body></html>"
    )
    assert document.language == "ja"
    assert texts(document) == ["これは犬です。", "猫もいます。"]
    assert document.id == "日本 語"
