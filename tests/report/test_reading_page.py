from __future__ import annotations

import base64
import hashlib
import io
import json
import re
from dataclasses import replace

import pytest
from lxml import html
from PIL import Image as Pillow

from iconotext.plain_text import readable
from iconotext.report.embedded import embed
from iconotext.report.reading_page import reading_page
from iconotext.types import Image, Sentence
from tests.support.linked import explained, link, make_linked, photograph


def parse(page: str):
    return html.document_fromstring(page.encode(), parser=html.HTMLParser(encoding="utf-8"))


def test_the_structure_of_the_text_is_kept(linked):
    tree = parse(reading_page(linked))
    assert tree.findtext(".//h1/a") is None
    assert tree.xpath("string(//h1)").strip() == "On cats"
    assert [e.text_content().strip() for e in tree.xpath("//article//li/span")] == ["Milk", "Fish"]
    assert tree.xpath("string(//blockquote)").strip() == "Meow, she said."
    assert [e.text_content() for e in tree.xpath("//div[@class='cells']/p")] == ["left", "right"]
    assert tree.xpath("string(//article/p[@dir='auto'])") == "A cat sleeps. It dreams of mice."


def test_links_that_people_chose_have_their_names_and_no_confidence(linked):
    image = linked.links[0].image
    page = reading_page(replace(linked, chosen={image: ("Ada", "Bob")}), correct="/review?picture=")
    (note,) = parse(page).xpath(f"//figure[@id='p{image}']//span[@class='note']/bdi/text()")
    assert note.endswith("chosen by Ada, Bob")
    assert f"picture {image + 1} (chosen by Ada, Bob)" in page
    assert '"correct":"/review?picture="' in page
    assert '"correct":' not in reading_page(linked)  # a page on disk has no server to tell


def test_sentences_lead_to_their_pictures(linked):
    tree = parse(reading_page(linked))
    found = {e.get("id"): e.get("href") for e in tree.xpath("//a[@data-sentence]")}
    assert found == {"s1": "#p0", "s2": "#p0", "s3": "#p1"}
    assert [e.get("id") for e in tree.xpath("//figure")] == ["p0", "p1"]
    assert "picture 1 (90\u00a0%)" in tree.get_element_by_id("s1").get("aria-description")
    assert tree.xpath("//li[@id='p2']//*[contains(@class, 'broken')]")[0].text == "file not found"


def test_what_there_is_to_know_of_the_links_stands_above_the_text(linked):
    tree = parse(reading_page(replace(linked, notes=("not compared <b>by meaning</b>",))))
    assert [e.text for e in tree.xpath("//header/p[@class='kind']")] == ["Note: not compared <b>by meaning</b>."]
    assert not parse(reading_page(linked)).xpath("//header/p[@class='kind']")


@pytest.mark.parametrize("made", [lambda linked: linked, explained])
def test_the_policy_names_script_and_style_by_their_hash(linked, made):
    page = reading_page(made(linked))
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.S)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.S)
    policy = policy.replace("&#39;", "'").replace("&#43;", "+")
    for name, content in (("script-src", script), ("style-src", style)):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{name} 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; img-src data:;")


@pytest.mark.parametrize("made", [lambda linked: linked, explained])
def test_hostile_text_stays_text(hostile, made):
    text, linked = hostile
    page = reading_page(made(linked))
    tree = parse(page)
    assert [e.get("type") for e in tree.iter("script")] == ["application/json", None]
    assert not tree.xpath("//@onerror | //@style")
    assert all(value.startswith(("data:image/", "#")) for value in tree.xpath("//@src | //@href"))
    assert tree.xpath("count(//b)") == page.count('<span class="note"><b>') + 1 + (made is explained)  # ours alone
    assert "49" not in tree.xpath("string(//h1)")
    if text.isprintable():
        assert " ".join(tree.get_element_by_id("s0").text_content().split()) == " ".join(readable(text).split())
    data = json.loads(tree.get_element_by_id("data").text)
    assert data["images"][0]["caption"] == readable(text)


@pytest.mark.parametrize(
    ("texts", "images", "message"),
    [
        ([], [], "neither text nor pictures"),
        (["a"], [], "has no pictures"),
        ([], [Image("a.png", photograph())], "has no text"),
        (["a"], [Image("a.png", photograph())], "No picture was linked"),
    ],
)
def test_empty_documents_say_so(texts, images, message):
    assert message in reading_page(make_linked(texts, images, []))


def test_a_picture_that_cannot_be_decoded_shows_why(tmp_path):
    images = [Image("a.png", tmp_path / "gone.png"), Image("b.png", b"no picture"), Image("c.png")]
    page = reading_page(make_linked(["a"], images, [link(0, i, 0.5) for i in range(3)]))
    missing = [e.text_content() for e in parse(page).find_class("missing")]
    assert len(missing) == 3
    assert all(missing)
    assert str(tmp_path) not in page


def test_only_pictures_that_are_shown_are_decoded():
    broken = Image("a.png", b"no picture", problem="too small")
    assert "too small" in reading_page(make_linked(["a"], [broken], []))


def test_the_same_picture_is_in_the_file_once():
    images = [Image(f"{n}.jpg", photograph(5)) for n in range(3)]
    page = reading_page(make_linked(["a"], images, [link(0, i, 0.5) for i in range(3)]))
    assert page.count("data:image/webp") == 1
    assert page.count('data-same="0"') == 2


def test_large_pictures_become_smaller_and_drawings_stay_sharp():
    images = [Image("a.jpg", photograph(1, (2400, 1200))), Image("b.jpg", photograph(2, (80, 70)))]
    found = embed(images, [0, 1])
    assert [(e.width, e.height) for e in found.values()] == [(900, 450), (80, 70)]
    file = io.BytesIO()
    Pillow.new("RGB", (200, 200), "red").save(file, "PNG")
    (drawing,) = embed([Image("c.png", file.getvalue())], [0]).values()
    assert drawing.uri is not None
    assert drawing.uri.startswith("data:image/png")


def test_pictures_of_a_page_take_half_the_bytes():
    smooth = Pillow.effect_mandelbrot((1200, 800), (-2, -1, 1, 1), 100).convert("RGB")
    file = io.BytesIO()
    smooth.save(file, "JPEG", quality=95)
    images = [Image("a.jpg", file.getvalue()), Image("b.jpg", photograph(1, (1200, 900)))]
    page = reading_page(make_linked(["a"], images, [link(0, i, 0.5) for i in range(2)]))
    shown = [base64.b64decode(src.partition(",")[2]) for src in parse(page).xpath("//figure//img/@src")]
    assert [max(Pillow.open(io.BytesIO(data)).size) for data in shown] == [720, 720]
    large = embed(images, [0, 1])
    assert sum(map(len, shown)) < 0.6 * sum(len(each.content[1]) for each in large.values())


def test_drawings_of_a_page_stay_sharp():
    drawing = Pillow.new("RGB", (300, 200), "white")
    drawing.paste((200, 0, 0), (40, 40, 90, 120))
    file = io.BytesIO()
    drawing.save(file, "PNG")
    (made,) = embed([Image("a.png", file.getvalue())], [0], small=True).values()
    kind, data = made.content
    assert kind == "webp"
    assert Pillow.open(io.BytesIO(data)).convert("RGB").tobytes() == drawing.tobytes()


def test_right_to_left_documents_turn_the_page_round():
    made = make_linked(["مرحبا"], [Image("a.jpg", photograph())], [link(0, 0, 0.5)], language="ar")
    tree = parse(reading_page(made))
    assert tree.get_element_by_id("reading").get("dir") == "rtl"
    assert tree.get_element_by_id("text").get("lang") == "ar"


def test_sentences_of_full_width_scripts_stand_without_a_space():
    made = make_linked([Sentence("你好。", 0), Sentence("再见。", 0)], [], [])
    assert "你好。再见。" in parse(reading_page(made)).xpath("string(//article)")


def test_a_page_without_explanations_knows_nothing_of_them(linked):
    page = reading_page(linked)
    for part in ('id="why"', "about-why", "carried by", "heat", '"boxes"'):
        assert part not in page


def test_an_explained_page_says_in_words_what_carries_each_link(linked):
    tree = parse(reading_page(explained(linked)))
    assert tree.get_element_by_id("s1").get("aria-description") == "Linked to picture 1 (90\u00a0%), carried by: cat"
    label = tree.xpath("//figure[@id='p1']/button")[0].get("aria-label")
    assert label.endswith("Linked to 1 sentence, 60\u00a0%, the strongest carried by: Milk.")
    assert "nothing else" in tree.get_element_by_id("about-why").text_content()
    data = json.loads(tree.get_element_by_id("data").text)
    assert data["boxes"] == [[[0, 0, 0.5, 0.5], [0.5, 0, 1, 0.5], [0, 0.5, 0.5, 1], [0.5, 0.5, 1, 1]]]
    assert data["why"][0] == [[[0, 1, 0.3, 0], [2, 5, 0.1, 1], [6, 12, 0.0333, 0]], 0, [0.3, 0.1, 0.1, -0.1], "cat"]


def test_places_of_words_are_those_of_the_page_as_javascript_counts_them():
    made = explained(make_linked(["a\x00b \U0001f408 \ud800 cat"], [Image("a.jpg", photograph())], [link(0, 0, 0.5)]))
    words = json.loads(parse(reading_page(made)).get_element_by_id("data").text)["why"][0][0]
    shown = "ab \U0001f408 \ufffd cat".encode("utf-16-le")
    assert [shown[2 * begin : 2 * end].decode("utf-16-le") for begin, end, *_ in words] == ["ab", "cat"]


def test_some_links_may_be_explained_and_others_not(linked):
    some = explained(linked)
    mixed = replace(some, links=(*some.links[:1], *linked.links[1:]))
    data = json.loads(parse(reading_page(mixed)).get_element_by_id("data").text)
    assert [each is None for each in data["why"]] == [False, True, True]


def test_pictures_are_numbered_down_the_page():
    images = [Image(f"{n}.jpg", photograph(n), position=6) for n in range(5)]
    links = [link(5, 0, 0.8), link(0, 2, 0.5), link(1, 3, 0.12)]
    tree = parse(reading_page(make_linked([f"Sentence {n}." for n in range(9)], images, links)))
    assert [e.get("id") for e in tree.xpath("//figure")] == ["p2", "p0", "p3"]
    assert [e.text for e in tree.xpath("//figure//b")] == ["1", "2", "3"]
    assert [tree.xpath(f"string(//*[@id='s{n}']/span/@data-n)") for n in (0, 5, 1)] == ["1", "2", "3"]
    labels = [e.get("aria-label") for e in tree.xpath("//*[@data-open]")]
    assert [label.split(":")[0] for label in labels] == [f"Picture {n}" for n in range(1, 6)]
    data = json.loads(tree.get_element_by_id("data").text)
    assert [each["number"] for each in data["images"]] == [2, 4, 1, 3, 5]


def test_a_guess_says_so_where_its_author_put_it():
    images = [Image("a.jpg", photograph(1), position=6), Image("b.jpg", photograph(2), position=0)]
    made = make_linked([f"Sentence {n}." for n in range(9)], images, [link(1, 0, 0.12), link(1, 1, 0.12)])
    tree = parse(reading_page(made))
    assert [e.get("data-after") for e in tree.xpath("//figure")] == ["-1", "5"]
    assert tree.xpath("//figure[@id='p0']/preceding-sibling::p[1]/*/@id") == ["s5"]
    assert tree.xpath("string(//figure[@id='p0']//bdi)") == "a guess: 1 sentence, 12\u00a0%"


def test_a_sentence_of_many_pictures_counts_those_that_do_not_fit():
    images = [Image(f"{n}.jpg", photograph(n)) for n in range(12)]
    tree = parse(reading_page(make_linked(["a b"], images, [link(0, n, 0.9 - n / 100) for n in range(12)])))
    assert tree.xpath("//span[@class='end']/@data-n") == ["1 2 3"]
    (more,) = tree.find_class("others")
    assert [e.text for e in more] == ["+9", *map(str, range(4, 13))]
    assert [e.get("href") for e in more[1:]] == [f"#p{n}" for n in range(3, 12)]


@pytest.mark.parametrize(("headings", "listed"), [(3, False), (4, True)])
def test_a_long_document_has_a_list_of_contents(headings, listed):
    sentences: list[str | Sentence] = [Sentence("Title", 0, "heading", level=1)]
    for n in range(headings):
        sentences.append(Sentence(f"Chapter <{n}>", 2 * n + 1, "heading", level=2 + n % 2))
        sentences.append(Sentence("Words.", 2 * n + 2))
    tree = parse(reading_page(make_linked(sentences, [], [], title="Title")))
    found = [(e.getparent().get("class"), e.get("href"), e.text) for e in tree.xpath("//nav//a")]
    whole = [(f"level-{n % 2}", f"#s{2 * n + 1}", f"Chapter <{n}>") for n in range(headings)]
    assert found == (whole if listed else [])
