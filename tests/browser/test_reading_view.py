"""The reading view as a reader meets it: with a mouse, with a keyboard, on a telephone, in the dark."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from iconotext.decide.measured import MEASURED
from iconotext.types import Image, Sentence
from tests.support.browser import accessible, contrast, ground, luminance, until
from tests.support.linked import HOSTILE, explained, link, make_linked, photograph

pytestmark = pytest.mark.browser

WORDS = "The quick brown fox of the north jumps over one lazy dog after another until the evening comes"


@pytest.fixture
def linked():
    """Thirty sentences in ten blocks and three pictures; picture 0 has links of 20, 55 and 90 %."""
    sentences: list[str | Sentence] = [Sentence(f"{WORDS}, {n}.", n // 3) for n in range(30)]
    images = [
        Image(f"img/{n}.jpg", photograph(n, (300, 200)), alt=f"Alt {n}", caption=f"Caption {n}", block=20)
        for n in range(3)
    ]
    images.append(Image("gone.jpg", None, problem="file not found"))
    links = [link(1, 0, 0.2), link(4, 0, 0.55), link(5, 0, 0.9), link(8, 1, 0.7), link(20, 2, 0.35)]
    return make_linked(sentences, images, links, title="Foxes")


def threads(page):
    """Stroke widths of the threads in the page, by number of the link."""
    return page.eval_on_selector_all(
        ".thread", "all => Object.fromEntries(all.map(e => [e.dataset.link, +e.getAttribute('stroke-width')]))"
    )


def lit(page):
    """Ids of the sentences and pictures that are highlighted."""
    return set(page.eval_on_selector_all("a.on, figure.on", "all => all.map(e => e.id)"))


def focused(page):
    """Id of the sentence or picture that has the focus."""
    return page.evaluate("document.activeElement.closest('[id]')?.id ?? null")


def test_threads_grow_with_the_confidence(open_page, linked):
    page = open_page(linked, height=1600)
    widths = threads(page)
    ordered = [widths[str(n)] for n in range(5)]  # links stand in descending order
    assert ordered == sorted(ordered, reverse=True)
    assert len(set(ordered)) == 5
    opacities = page.eval_on_selector_all(".thread", "all => all.map(e => +e.getAttribute('stroke-opacity'))")
    assert all(0.3 <= opacity <= 1 for opacity in opacities)


def test_threads_begin_at_the_sentence_and_end_at_the_picture(open_page, linked):
    page = open_page(linked)
    thread = page.locator('.thread[data-link="0"]').bounding_box()
    sentence, picture = page.locator("#s5").bounding_box(), page.locator("#p0 .frame").bounding_box()
    assert abs(thread["x"] + thread["width"] - picture["x"]) < 12
    ends = (thread["y"] - 6, thread["y"] + thread["height"] + 6)
    assert ends[0] <= sentence["y"] + sentence["height"] / 2 <= ends[1]


def test_pictures_stand_beside_the_text_without_overlap(open_page, linked):
    page = open_page(linked)
    boxes = sorted((page.locator(f"#p{n}").bounding_box() for n in range(3)), key=lambda box: box["y"])
    text = page.locator("#text").bounding_box()
    assert all(box["x"] > text["x"] + text["width"] for box in boxes)
    assert all(a["y"] + a["height"] < b["y"] for a, b in pairwise(boxes))
    sentence = page.locator("#s20").bounding_box()
    frame = page.locator("#p2 .frame").bounding_box()
    assert abs(frame["y"] + frame["height"] / 2 - sentence["y"] - sentence["height"] / 2) < 5


def test_crowded_pictures_do_not_overlap(open_page):
    images = [Image(f"{n}.jpg", photograph(n, (100, 150)), alt=f"Alt {n} " + WORDS) for n in range(12)]
    page = open_page(make_linked([WORDS, WORDS], images, [link(n % 2, n, 0.5) for n in range(12)]))
    boxes = sorted((page.locator(f"#p{n}").bounding_box() for n in range(12)), key=lambda box: box["y"])
    assert all(a["y"] + a["height"] <= b["y"] for a, b in pairwise(boxes))
    assert page.locator("footer").bounding_box()["y"] > boxes[-1]["y"] + boxes[-1]["height"]


def test_a_guess_stays_where_its_author_put_it_with_a_thin_thread(open_page, linked):
    images = [replace(image, position=24) for image in linked.document.images]
    linked = replace(linked, document=replace(linked.document, images=tuple(images)))
    linked = replace(linked, links=(link(2, 1, 0.8), link(5, 0, 0.12), link(6, 2, 0.29)))
    page = open_page(linked, height=2000)
    assert {number: width for number, width in threads(page).items() if number != "0"} == {"1": 1, "2": 1}
    before, after = (page.locator(x).bounding_box() for x in ("#s2", "#s23"))
    guesses = [page.locator(f"#p{n}").bounding_box() for n in (0, 2)]
    assert page.locator("#p1").bounding_box()["y"] < before["y"] + before["height"]
    assert all(abs(box["y"] - after["y"]) < 300 for box in guesses)
    page.set_viewport_size({"width": 390, "height": 844})
    until(page, "document.querySelectorAll('.thread').length === 0")
    order = page.eval_on_selector_all("#s23, #s24, figure", "all => all.map(e => e.id)")
    assert order == ["p1", "s23", "p0", "p2", "s24"]
    borders = page.eval_on_selector_all("figure", "all => all.map(e => getComputedStyle(e).borderInlineStartWidth)")
    assert borders == ["3px", "1px", "1px"]


def test_pictures_of_one_place_read_in_order_down_the_page(open_page):
    sentences: list[str | Sentence] = [Sentence(f"{WORDS}, {n}.", n // 8) for n in range(24)]
    images = [Image(f"{n}.jpg", photograph(n, (300, 200)), position=16) for n in range(10)]
    links = [link(n, image, 0.4) for n, image in enumerate((0, 8, 9, 1))] + [link(3, n, 0.2) for n in range(2, 8)]
    page = open_page(make_linked(sentences, images, links))
    found = page.eval_on_selector_all(
        "figure", "all => all.map(e => [e.getBoundingClientRect().top, e.id, e.querySelector('b').textContent])"
    )
    assert [(name, number) for _, name, number in sorted(found)] == [
        (f"p{n}", str(k)) for k, n in enumerate((0, 1, 8, 9, *range(2, 8)), 1)
    ]


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_count_opens_the_further_pictures_of_a_sentence(open_page, width, scheme):
    images = [Image(f"{n}.jpg", photograph(n), alt=f"Alt {n}") for n in range(12)]
    made = make_linked([WORDS, WORDS], images, [link(0, n, 0.9 - n / 100) for n in range(12)])
    page = open_page(made, width=width, color_scheme=scheme)
    more = page.get_by_role("button", name="9 more pictures of this sentence")
    assert more.inner_text() == "+9"
    assert page.locator(".others a:visible").count() == 0
    more.click()
    assert more.get_attribute("aria-expanded") == "true"
    assert page.locator(".others a:visible").all_inner_texts() == [str(n) for n in range(4, 13)]
    accessible(page)
    page.get_by_role("link", name="Picture 12").click()
    assert focused(page) == "p11"
    more.click()
    assert page.locator(".others a:visible").count() == 0


@pytest.mark.parametrize(("width", "opened"), [(1280, True), (390, False)])
def test_contents_are_folded_on_a_telephone(open_page, width, opened):
    sentences: list[str | Sentence] = []
    for n in range(6):
        sentences += [Sentence(f"Chapter {n}", 2 * n, "heading"), Sentence(f"{WORDS}. " * 20, 2 * n + 1)]
    page = open_page(make_linked(sentences, [Image("a.jpg", photograph())], [link(1, 0, 0.5)]), width=width)
    entry = page.get_by_role("link", name="Chapter 5")
    assert entry.is_visible() is opened
    accessible(page)
    if not opened:
        page.get_by_text("Contents").click()
    entry.click()
    until(page, "document.getElementById('s10').getBoundingClientRect().top < innerHeight")
    assert page.locator("#s10").bounding_box()["y"] > page.locator(".bar").bounding_box()["height"]


def test_hovering_either_side_lights_the_other(open_page, linked):
    page = open_page(linked)
    page.locator("#s4").hover()
    assert lit(page) == {"s4", "p0"}
    assert page.eval_on_selector_all(".thread.on", "all => all.length") == 1
    page.locator("#p0 img").hover()
    assert lit(page) == {"s1", "s4", "s5", "p0"}
    assert page.eval_on_selector_all(".thread.on", "all => all.length") == 3
    faded = page.locator("#p1").evaluate("e => +getComputedStyle(e).opacity")
    assert faded < 0.5
    page.mouse.move(3, 300)
    assert lit(page) == set()


def test_a_thread_that_was_drawn_anew_while_lit_goes_out_again(open_page, linked):
    page = open_page(linked)
    page.locator("#s4").focus()
    page.mouse.move(3, 500)
    page.mouse.wheel(0, 2000)  # out of sight, where threads are taken away, and back
    page.wait_for_selector(".thread.on", state="detached")
    page.mouse.wheel(0, -2000)
    page.wait_for_selector(".thread.on", state="attached")
    # Not wait_for_function: the page's Content-Security-Policy lets it look once, and refuses it the second time.
    page.evaluate("new Promise((done) => (function look() { scrollY ? requestAnimationFrame(look) : done(); })())")
    assert page.locator(".thread.on").count() == 1
    page.locator("#s20").focus()
    page.wait_for_selector(".thread.on[data-link='3']", state="attached")
    page.wait_for_selector(".thread.on:not([data-link='3'])", state="detached")


def test_the_slider_hides_links_and_the_count_follows(open_page, linked):
    page = open_page(linked, height=1600)
    slider = page.get_by_label("Sentence confidence")
    assert page.locator("#count").inner_text() == "5 of 5 links"
    slider.fill("50")
    until(page, "document.getElementById('count').textContent === '3 of 5 links'")
    assert set(threads(page)) == {"0", "1", "2"}
    assert page.locator("#s1").get_attribute("tabindex") == "-1"
    assert "off" in page.locator("#p2").get_attribute("class")
    page.locator("#p0 img").hover()
    assert lit(page) == {"s4", "s5", "p0"}
    slider.focus()
    page.keyboard.press("End")
    until(page, "document.getElementById('count').textContent === '0 of 5 links'")
    assert slider.get_attribute("aria-valuetext") == "100 %"
    assert threads(page) == {}
    page.keyboard.press("Home")
    until(page, "document.querySelectorAll('.thread').length === 5")


def test_the_slider_says_how_often_such_links_are_right(open_page, linked):
    links = tuple(replace(each, evidence={"caption": 1.0, "layout": 0.5}) for each in linked.links)
    page = open_page(replace(linked, links=links))
    slider, measured = page.get_by_label("Sentence confidence"), page.locator("#measured")
    assert not measured.is_visible()
    slider.hover()
    assert measured.is_visible()
    assert measured.text_content() == MEASURED[0].words
    slider.fill("57")
    until(page, "document.getElementById('minimum-shown').textContent === '57 %'")
    assert measured.text_content() == MEASURED[4].words
    accessible(page)


def test_everything_can_be_done_with_the_keyboard(open_page, linked):
    page = open_page(linked)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Tab")
    assert focused(page) == "minimum"
    page.keyboard.press("Tab")
    assert focused(page) == "s1"
    assert lit(page) == {"s1", "p0"}
    assert page.locator("#s1").evaluate("e => getComputedStyle(e).outlineStyle") == "solid"
    page.keyboard.press("ArrowDown")
    assert focused(page) == "s4"
    page.keyboard.press("ArrowUp")
    assert focused(page) == "s1"
    page.keyboard.press("ArrowRight")
    assert focused(page) == "p0"
    assert lit(page) == {"s1", "s4", "s5", "p0"}
    page.keyboard.press("ArrowDown")
    assert focused(page) == "p1"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowLeft")
    assert focused(page) == "s5"  # the strongest
    page.keyboard.press("Enter")
    assert focused(page) == "p0"
    page.keyboard.press("Escape")
    assert lit(page) == set()


def test_the_dialog_shows_a_picture_and_gives_the_focus_back(open_page, linked):
    page = open_page(linked)
    page.locator("#p0 button").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Picture 1 of 4")
    assert dialog.is_visible()
    for text in ("Caption 0", "Alt 0", "img/0.jpg", "90\u00a0% sure", "What the picture shows", "−1.2"):
        assert text in dialog.inner_text()
    assert dialog.locator("ol > li").count() == 3
    page.keyboard.press("ArrowRight")
    assert page.get_by_role("dialog", name="Picture 2 of 4").is_visible()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Escape")
    assert not page.locator("dialog").is_visible()
    until(page, "document.activeElement.dataset.open === '0'")


def test_a_sentence_in_the_dialog_leads_into_the_text(open_page, linked):
    page = open_page(linked, height=500)
    page.locator("#p0 button").click()
    page.locator(".quote").nth(1).click()
    until(page, "document.activeElement.id === 's4'")
    assert not page.locator("dialog").is_visible()
    page.locator("#p0 button").click()
    page.mouse.click(5, 250)  # beside it
    assert not page.locator("dialog").is_visible()


def test_pictures_without_links_are_listed_with_their_reason(open_page, linked):
    page = open_page(linked)
    section = page.get_by_role("region", name="Pictures that were not linked")
    assert "file not found" in section.inner_text()


@pytest.mark.parametrize("made", [lambda linked: linked, explained])
def test_nothing_of_a_document_runs(open_page, made):
    sentences: list[str | Sentence] = [Sentence(text, n, "heading") for n, text in enumerate(HOSTILE)]
    images = [Image(text, photograph(n), alt=text, caption=text) for n, text in enumerate(HOSTILE)]
    images += [Image(text, None, alt=text, caption=text, problem=text) for text in HOSTILE]
    links = [link(n, n, 0.5) for n in range(len(HOSTILE))]
    page = open_page(made(make_linked(sentences, images, links, title="".join(HOSTILE))), width=390, height=844)
    for n in range(len(HOSTILE)):
        text = page.locator(f"#s{n}").evaluate("e => e.textContent")
        page.locator(f"#s{n}").focus()  # where links are explained, words are shaded
        assert page.locator(f"#s{n}").evaluate("e => e.textContent") == text
        page.locator(f"#p{n} button").click()
        assert page.locator("dialog").is_visible()
        page.keyboard.press("Escape")
    assert page.evaluate("document.scripts.length") == 2
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_even_markup_that_got_in_could_not_run(open_page, linked):
    page = open_page(linked)
    page.evaluate("window.ran = 0")
    injected = '<img src="data:," onerror="ran = 1"><iframe srcdoc="<script>parent.ran = 1</script>"></iframe>'
    page.locator("#text").evaluate("(e, html) => e.insertAdjacentHTML('beforeend', html)", injected)
    for _ in range(6000):
        if sum("Content Security Policy" in each for each in open_page.wrong) == 2:  # the handler and the script
            break
        page.wait_for_timeout(50)
    else:
        raise AssertionError(f"the policy refused {open_page.wrong}")
    assert page.evaluate("window.ran") == 0
    open_page.wrong.clear()


@pytest.mark.parametrize("made", [lambda linked: linked, explained])
def test_no_width_scrolls_sideways(open_page, linked, made):
    page = open_page(made(linked))
    for width in (1440, 1024, 768, 700, 390, 320):
        page.set_viewport_size({"width": width, "height": 844})
        page.locator("#s4").focus()
        until(page, f"document.documentElement.scrollWidth <= {width}")
        assert page.get_by_role("switch").is_visible() == (made is explained)
        page.locator("#p0 button").click()
        assert page.evaluate("document.querySelector('dialog').scrollWidth") <= width
        page.keyboard.press("Escape")


def test_on_a_telephone_each_picture_follows_its_sentence(open_page, linked):
    page = open_page(linked, width=390, height=844, has_touch=True)
    assert threads(page) == {}
    sentence, picture, following = (page.locator(x).bounding_box() for x in ("#s5", "#p0", "#s6"))
    assert sentence["y"] + sentence["height"] <= picture["y"]
    assert picture["y"] + picture["height"] <= following["y"]
    hue = page.locator("#p0").evaluate("e => getComputedStyle(e).borderInlineStartColor")
    assert page.locator("#s5 .end").evaluate("e => getComputedStyle(e, '::after').color") == hue
    page.locator("#s4").tap()
    until(page, "document.activeElement.dataset.open === '0'")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(open_page, linked, scheme):
    page = open_page(linked, color_scheme=scheme)
    colour = "e => getComputedStyle(e).color"
    paper = page.locator("body").evaluate("e => getComputedStyle(e).backgroundColor")
    assert (luminance(paper) > 0.5) is (scheme == "light")
    for selector in ("#s0", "#s1", ".numbers", ".note", ".caption", ".broken", "#count", "footer p", "h1"):
        assert contrast(page.locator(selector).first.evaluate(colour), paper) >= 4.5, selector
    for hue in range(6):
        found = page.locator(".note b").first.evaluate(
            f"e => {{ e.style.background = 'var(--c{hue})'; return getComputedStyle(e).backgroundColor }}"
        )
        assert contrast(found, paper) >= 4.5, hue
    page.locator("#s1").hover()
    marker = ground(page.locator("#s1"))
    assert marker != paper
    assert contrast(page.locator("#s1").evaluate(colour), marker) >= 4.5


def test_a_right_to_left_document_has_its_pictures_on_the_left(open_page):
    images = [Image("a.jpg", photograph(1, (300, 200)), alt="قطة")]
    page = open_page(make_linked(["مرحبا بالعالم. " * 12, "القطة نائمة."], images, [link(1, 0, 0.8)], language="ar"))
    text, picture, thread = (page.locator(x).bounding_box() for x in ("#text", "#p0 .frame", ".thread"))
    assert picture["x"] + picture["width"] <= thread["x"] + 12
    assert thread["x"] < text["x"]
    page.locator("#s1").focus()
    page.keyboard.press("ArrowLeft")
    assert focused(page) == "p0"


def test_a_resized_window_is_laid_out_anew(open_page, linked):
    page = open_page(linked)
    page.set_viewport_size({"width": 400, "height": 800})
    until(page, "document.querySelectorAll('.thread').length === 0")
    page.set_viewport_size({"width": 1200, "height": 1600})
    until(page, "document.querySelectorAll('.thread').length === 5")


def test_a_copied_picture_shows_the_original(open_page):
    images = [Image(f"{n}.jpg", photograph(7)) for n in range(2)]
    page = open_page(make_linked(["a", "b"], images, [link(n, n, 0.5) for n in range(2)]))
    until(page, "[...document.images].every(i => i.naturalWidth === 96)")


def test_print_shows_text_and_pictures_in_one_column(open_page, linked):
    page = open_page(linked)
    page.emulate_media(media="print")
    assert not page.locator(".bar").is_visible()
    assert page.locator("#p0").evaluate("e => getComputedStyle(e).position") == "static"


def test_a_very_long_document_stays_usable(open_page):
    sentences: list[str | Sentence] = [Sentence(f"{WORDS}, {n}.", n // 4) for n in range(5000)]
    images = [Image(f"{n}.jpg", photograph(n % 20), alt=f"Alt {n}") for n in range(300)]
    links = [link((n * 16 + k * 5) % 5000, n, 0.9 - 0.2 * k) for n in range(300) for k in range(3)]
    page = open_page(make_linked(sentences, images, links))
    assert 0 < page.locator(".thread").count() < 200
    page.locator("#p299").scroll_into_view_if_needed()
    page.locator("#p299 img").hover()
    assert "p299" in lit(page)
    page.get_by_label("Sentence confidence").fill("80")
    until(page, "document.getElementById('count').textContent === '300 of 900 links'")


def test_a_notebook_shows_it_in_a_frame_of_its_own(open_page, linked, browser, tmp_path):
    script = "document.title = 'changed'; try { parent.document.title = 'changed' } catch { }"
    made = replace(linked, model=f'<script>{script}</script><img src=x onerror="{script}">')
    (tmp_path / "notebook.html").write_text(f"<!doctype html><title>Notebook</title>{made._repr_html_()}", "utf-8")
    page = browser.new_page()
    page.goto((tmp_path / "notebook.html").as_uri())
    frame = page.frame_locator("iframe")
    frame.locator("html.js").wait_for()
    frame.locator("[data-open]").first.click()
    assert frame.locator("dialog[open]").count() == 1
    assert page.title() == "Notebook"
    assert page.evaluate("document.querySelectorAll('*').length") == 5  # html, head, title, body and the frame
    page.close()
