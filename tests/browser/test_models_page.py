"""The story of a researcher: which model is good, where it fails, and where another one does better."""

from __future__ import annotations

import json

import pytest

from iconotext.embed.folder import METRICS, WEIGHTS, shipped_folder
from tests.browser.visit import accessible_in_every_look
from tests.serve.conftest import Running
from tests.serve.models import BROKEN, WHY, write_corpus, write_epochs, write_models

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    folder = tmp_path_factory.mktemp("research")
    models, corpus = write_models(folder / "models"), write_corpus(folder / "corpus")
    with Running(folder / "data", "--models", str(models), "--corpus", str(corpus)) as made:
        yield made, models


def drawn(page):
    """All drawings are there; the server draws them in a process of its own."""
    page.evaluate("Promise.all([...document.images].map((image) => image.decode()))")


def follow(page, name):
    page.get_by_role("link", name=name, exact=True).click()
    page.wait_for_load_state()  # its scripts too


def measure(page, name):
    follow(page, name)
    page.focus("#begin")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Hardest documents")


def test_from_the_list_to_a_document_with_two_models(visit, running):
    server, _ = running
    page = visit(server).page
    follow(page, "Models")
    assert page.locator(".model").count() == 5
    assert page.locator(".model", has_text=WHY).locator("text=collapsed").count() == 1
    assert page.get_by_text(BROKEN, exact=True).count() == 1
    measure(page, "captions")
    follow(page, "photographs")
    page.wait_for_selector("text=Not measured yet")
    page.click("main .notice a")
    page.wait_for_selector("#begin")
    follow(page, "All models")
    measure(page, "photographs")
    drawn(page)
    page.locator("section", has=page.locator("text=Hardest documents")).get_by_role("link").first.click()
    page.wait_for_selector("html.js")  # a reading view
    assert page.locator("figure.picture").count() == 3
    page.go_back()
    follow(page, "captions")
    page.wait_for_selector("text=captions is better")
    page.click("#better a >> nth=0")
    page.wait_for_selector(".compared")
    assert page.locator(".compared").count() == 3
    assert page.locator(".side").count() == 6
    assert (
        page.locator(".compared img").first.evaluate("(image) => image.decode().then(() => image.naturalWidth)") == 120
    )


def test_curves_grow_while_a_model_is_trained_and_it_ends(visit, running):
    server, models = running
    came = visit(server)
    came.go("/models/growing")
    drawn(came.page)
    before = came.page.get_attribute(".chart img", "src")
    came.page.wait_for_timeout(500)
    write_epochs(models / "growing", 5)
    came.page.wait_for_selector("text=growing: epoch 5.")
    drawn(came.page)
    assert came.page.get_attribute(".chart img", "src") != before
    (models / "growing" / WEIGHTS).write_bytes((shipped_folder() / WEIGHTS).read_bytes())
    metrics = json.loads((shipped_folder() / METRICS).read_text())
    (models / "growing" / METRICS).write_text(json.dumps(metrics))
    came.page.wait_for_selector("#begin")


def test_pages_of_models_are_accessible(visit, running):
    server, _ = running
    for name in ("captions", "photographs"):
        server.ask("POST", f"/v1/models/{name}/evaluation")
    came = visit(server)
    for name in ("captions", "photographs"):
        came.go(f"/models/{name}")
        came.page.wait_for_selector("text=Hardest documents")
    pair = "/models/captions/with/photographs"
    for path in ("/models", "/models/captions", "/models/dead", pair, f"{pair}/documents/1"):
        accessible_in_every_look(visit, server, path, drawn)


def test_an_empty_folder_says_what_a_model_is(visit, tmp_path):
    server = Running(tmp_path / "data", "--models", str(tmp_path))
    came = visit(server)
    came.go("/models")
    came.page.wait_for_selector("text=There is no model in this folder")
    came.accessible()
    server.close()
