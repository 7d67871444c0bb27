"""Web Annotations as a processor of JSON-LD reads them, and back."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings

from iconotext.adapters.web_annotation import annotations_json, link_annotations, with_links
from iconotext.errors import SettingError
from iconotext.read import read
from iconotext.types import Image, Link, LinkedDocument, Sentence
from tests.report.conftest import link, make_linked, photograph
from tests.report.made_up import linked_documents

MARKDOWN = "# Trams\n\nA *red* tram waits. It waits.\n\n![A tram](one.png)\n\nA cat sleeps.\n\n![A cat](my%20cat.png)\n"
HTML = (
    "<html><head><title>T</title></head><body><p>A &amp; <b>B</b> wait\n here. It waits.</p><script>x()</script>"
    '<img src="one.png"><p>A cat sleeps.</p></body></html>'
)
OA, AS = "http://www.w3.org/ns/oa#", "http://www.w3.org/ns/activitystreams#"

# What the context of the standard says of the words that we use; the whole of it is at http://www.w3.org/ns/anno.jsonld.
ANNO = {
    "oa": OA,
    "as": AS,
    "dctypes": "http://purl.org/dc/dcmitype/",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "id": {"@type": "@id", "@id": "@id"},
    "type": {"@type": "@id", "@id": "@type"},
    "Annotation": "oa:Annotation",
    "AnnotationPage": "as:OrderedCollectionPage",
    "Image": "dctypes:StillImage",
    "Software": "as:Application",
    "SpecificResource": "oa:SpecificResource",
    "TextQuoteSelector": "oa:TextQuoteSelector",
    "TextPositionSelector": "oa:TextPositionSelector",
    "FragmentSelector": "oa:FragmentSelector",
    "linking": "oa:linking",
    "motivation": {"@type": "@vocab", "@id": "oa:motivatedBy"},
    "target": {"@type": "@id", "@id": "oa:hasTarget"},
    "body": {"@type": "@id", "@id": "oa:hasBody"},
    "source": {"@type": "@id", "@id": "oa:hasSource"},
    "selector": {"@type": "@id", "@id": "oa:hasSelector"},
    "items": {"@type": "@id", "@id": "as:items", "@container": "@list"},
    "generator": {"@type": "@id", "@id": "as:generator"},
    "name": {"@id": "foaf:name"},
    "value": {"@id": "rdf:value"},
    "exact": {"@id": "oa:exact"},
    "prefix": {"@id": "oa:prefix"},
    "suffix": {"@id": "oa:suffix"},
    "start": {"@type": "xsd:nonNegativeInteger", "@id": "oa:start"},
    "end": {"@type": "xsd:nonNegativeInteger", "@id": "oa:end"},
}


def linked_file(path: Path, *pairs: tuple[int, int, float]) -> LinkedDocument:
    document = read(path)
    made = make_linked(list(document.sentences), list(document.images), [link(*each) for each in pairs])
    return replace(made, document=document)


@pytest.fixture
def folder(tmp_path, picture) -> Path:
    picture("docs/one.png", seed=1)
    picture("docs/my cat.png", seed=2)
    (tmp_path / "docs" / "a b.md").write_text(MARKDOWN)
    (tmp_path / "docs" / "page.html").write_text(HTML)
    return tmp_path


def test_markdown_is_counted_in_its_file(folder):
    linked = linked_file(folder / "docs" / "a b.md", (1, 0, 0.9), (3, 1, 0.5))
    first, second = link_annotations(linked, folder)
    text, image = first["target"]
    quotation, position = text["selector"]
    assert (text["source"], image) == ("docs/a%20b.md", {"id": "docs/one.png", "type": "Image"})
    assert MARKDOWN[position["start"] : position["end"]] == quotation["exact"] == "A *red* tram waits."
    assert (quotation["prefix"], quotation["suffix"][:4]) == ("# Trams\n\n", " It ")
    assert second["target"][1]["id"] == "docs/my%20cat.png"
    assert (first["motivation"], first["iconotext:confidence"]) == ("linking", 0.9)


def test_html_is_counted_in_the_text_of_its_body(folder):
    (found,) = link_annotations(linked_file(folder / "docs" / "page.html", (0, 0, 0.9)), folder / "docs")
    quotation, position = found["target"][0]["selector"]
    body = "A & B wait\n here. It waits.x()A cat sleeps."
    assert quotation["exact"] == body[position["start"] : position["end"]] == "A & B wait\n here."


def test_what_a_processor_makes_of_a_page(folder):
    jsonld = pytest.importorskip("pyld.jsonld", reason="pyld is not installed")
    linked = linked_file(folder / "docs" / "a b.md", (1, 0, 0.9), (3, 1, 0.5))
    page = json.loads("".join(annotations_json([linked], folder)))

    def context(url, _options):
        assert url == "http://www.w3.org/ns/anno.jsonld"
        return {
            "document": {"@context": ANNO},
            "documentUrl": url,
            "contextUrl": None,
            "contentType": "application/json",
        }

    (made,) = jsonld.expand(page, {"documentLoader": context, "base": "file:///home/me/links.jsonld"})
    assert made["@type"] == [f"{AS}OrderedCollectionPage"]
    first, _ = made[f"{AS}items"][0]["@list"]
    assert first["@type"] == [f"{OA}Annotation"]
    assert first[f"{OA}motivatedBy"] == [{"@id": f"{OA}linking"}]
    text, image = first[f"{OA}hasTarget"]
    assert image == {"@id": "file:///home/me/docs/one.png", "@type": ["http://purl.org/dc/dcmitype/StillImage"]}
    assert text[f"{OA}hasSource"] == [{"@id": "file:///home/me/docs/a%20b.md"}]
    selectors = {each["@type"][0]: each for each in text[f"{OA}hasSelector"]}
    assert selectors[f"{OA}TextPositionSelector"][f"{OA}start"][0]["@value"] == 9
    assert first["urn:iconotext:confidence"] == [{"@value": 0.9}]
    assert jsonld.to_rdf(page, {"documentLoader": context, "base": "file:///home/me/", "format": "application/n-quads"})


@pytest.mark.parametrize("name", ["a b.md", "page.html"])
def test_back_from_a_file(folder, name):
    linked = linked_file(folder / "docs" / name, (0, 0, 0.9), (2, 0, 0.5))
    page = json.loads("".join(annotations_json([linked], folder)))
    again = with_links(read(folder / "docs" / name), page, folder)
    assert again.links == ((0, 0), (2, 0))
    assert with_links(read(folder / "docs" / name), [], folder).links == ()


def test_pictures_that_are_not_at_hand_any_more(folder, caplog):
    linked = linked_file(folder / "docs" / "a b.md", (1, 0, 0.9), (3, 1, 0.5))
    page = json.loads("".join(annotations_json([linked], folder)))
    (folder / "docs" / "my cat.png").unlink()
    assert with_links(read(folder / "docs" / "a b.md"), page, folder).links == ((1, 0), (3, 1))
    page["items"][1]["target"][1]["id"] = "docs/other.png"
    assert with_links(read(folder / "docs" / "a b.md"), page, folder).links == ((1, 0),)
    assert "names no picture of a b" in caplog.text


@given(linked_documents())
@settings(max_examples=30)
def test_a_round_trip(linked):
    sentences = tuple(replace(s, text=f"{n} {s.text}") for n, s in enumerate(linked.document.sentences))
    images = tuple(replace(image, file=b"inside") for image in linked.document.images)
    linked = replace(linked, document=replace(linked.document, sentences=sentences, images=images))
    page = json.loads("".join(annotations_json([linked], Path())))
    assert len(page["items"]) == len(linked.links)
    again = with_links(linked.document, page, Path())
    assert again.links == tuple(sorted((each.sentence, each.image) for each in linked.links))


def test_annotations_of_others():
    """The picture as the body, one target, a quotation of part of a sentence, words that stand twice."""
    texts = [Sentence("It waits.", 0), Sentence("A red tram waits at the stop.", 1), Sentence("It waits.", 2)]
    document = make_linked(texts, [Image("https://example.org/a.png"), Image("b", photograph(1))], []).document
    source = next(link_annotations(linked_to(document), Path()))["target"][0]["source"]

    def said(exact, prefix="", body="https://example.org/a.png"):
        quotation = {"type": "TextQuoteSelector", "exact": exact, "prefix": prefix}
        return {"type": "Annotation", "body": body, "target": {"source": source, "selector": quotation}}

    assert with_links(document, said("red tram"), Path()).links == ((1, 0),)
    assert with_links(document, said("It waits.", prefix="stop.\n\n"), Path()).links == ((2, 0),)
    assert with_links(document, {"first": {"items": [said("waits at the stop. ".strip())]}}, Path()).links == ((1, 0),)
    part = {"source": source, "selector": {"type": "FragmentSelector", "value": "picture=1"}}
    assert with_links(document, said("red tram", body=part), Path()).links == ((1, 1),)
    assert with_links(document, said("red tram", body="https://example.org/other.png"), Path()).links == ()
    with pytest.raises(SettingError, match="what it quotes is not in doc"):
        with_links(document, said("blue tram"), Path())
    with pytest.raises(SettingError, match="no annotation: 17"):
        with_links(document, [17], Path())


def linked_to(document) -> LinkedDocument:
    linked = make_linked(list(document.sentences), list(document.images), [Link(0, 0, 0.5, 0.5, {})])
    return replace(linked, document=document)
