"""The component in a pipeline of the real Haystack."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iconotext.errors import DocumentError
from tests.support.linked import linked_documents

pytest.importorskip("haystack", reason="haystack-ai is not installed")

from haystack import Document, Pipeline
from haystack.components.writers import DocumentWriter
from haystack.document_stores.in_memory import InMemoryDocumentStore

from iconotext.adapters.haystack import PictureConverter, PicturePlacer, documents


@given(linked_documents(), st.integers(1, 40))
@settings(max_examples=30)
def test_a_round_trip_through_the_serialisation_of_haystack(linked, words):
    found = list(documents(linked, words))
    again = [Document.from_dict(each.to_dict()) for each in found]
    assert again == found
    assert [each.content for each in again] == [chunk.text for chunk in linked.chunks(words)]
    images = [image["image"] for each in again for image in each.meta["images"]]
    assert set(images) == set(range(len(linked.document.images)))
    assert len({each.id for each in again}) == len(again)


@given(linked_documents())
@settings(max_examples=10)
def test_limits_in_tokens_hold(linked):
    found = list(documents(linked, tokens=30, once=True))
    assert [each.content for each in found] == [chunk.text for chunk in linked.chunks(tokens=30)]
    images = [image["image"] for each in found for image in each.meta["images"]]
    assert sorted(images) == list(range(len(linked.document.images)))


@pytest.mark.slow
def test_in_a_pipeline(article, caplog):
    (article.parent / "broken.docx").write_bytes(b"no archive")
    store = InMemoryDocumentStore()
    made = Pipeline()
    made.add_component("convert", PictureConverter(words=16))
    made.add_component("write", DocumentWriter(document_store=store))
    made.connect("convert.documents", "write.documents")
    pipeline = Pipeline.loads(made.dumps(), allowed_modules=["iconotext.adapters.haystack"])
    converter: Any = pipeline.get_component("convert")
    writer: Any = pipeline.get_component("write")
    assert converter.words == 16
    writer.document_store = store
    answer = pipeline.run({"convert": {"sources": [article.parent]}}, include_outputs_from={"convert"})
    (failure,) = answer["convert"]["failures"]
    assert "broken.docx" in failure
    assert "left out" in caplog.text
    trams, cats = sorted(store.filter_documents(), key=lambda each: each.meta["chunk"])
    assert (trams.meta["headings"], trams.meta["file_path"]) == (["Trams"], str(article))
    assert [image["source"] for image in cats.meta["images"]] == ["two.png", "gone.png"]
    found = store.filter_documents({"field": "meta.chunk", "operator": "==", "value": 1})
    assert [each.content for each in found] == [cats.content]


@pytest.mark.slow
def test_documents_that_were_loaded_from_files(article):
    converter = PictureConverter(words=16)
    loaded = [Document(content="page", meta={"file_path": str(article), "team": "docs", "page": n}) for n in (1, 2)]
    made = converter.run(documents=loaded)["documents"]
    assert [each.meta["team"] for each in made] == ["docs", "docs"]
    assert [each.id for each in made] == [each.id for each in converter.run(sources=[str(article)])["documents"]]
    with pytest.raises(DocumentError, match="no file_path"):
        converter.run(documents=[Document(content="A text of its own.")])


@pytest.mark.slow
def test_answers_get_the_pictures_of_their_chunks(article):
    chunks = PictureConverter(words=16).run(sources=[article])["documents"]
    made = Pipeline()
    made.add_component("place", PicturePlacer(most=1, min_confidence=0.33))
    pipeline = Pipeline.loads(made.dumps(), allowed_modules=["iconotext.adapters.haystack"])
    replies = ["Nothing is said.\n\nOn the roof sleeps a *cat*.", "It rains."]
    answer = pipeline.run({"place": {"replies": replies, "documents": chunks}})["place"]
    assert answer["replies"][0].startswith(f"{replies[0]}\n\n![A sleeping cat](<")
    assert [each["picture"] for each in answer["placed"][0]["placed"]] == ["two.png"]
    with pytest.raises(DocumentError, match="document 1: no chunk of PictureConverter: document: "):
        PicturePlacer().run(replies, [Document(id="1", content="A text of its own.")])
