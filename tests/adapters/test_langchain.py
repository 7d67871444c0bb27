"""Documents of the real LangChain: what goes in comes back, lazily."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iconotext.errors import DocumentError
from tests.support.linked import linked_documents

pytest.importorskip("langchain_core", reason="langchain-core is not installed")

from langchain_core.documents import Document

from iconotext.adapters.langchain import PictureLoader, documents


@given(linked_documents(), st.integers(1, 40))
@settings(max_examples=30)
def test_a_round_trip_through_the_serialisation_of_langchain(linked, words):
    found = list(documents(linked, words))
    again = [Document.model_validate_json(each.model_dump_json()) for each in found]
    assert again == found
    assert [each.page_content for each in again] == [chunk.text for chunk in linked.chunks(words)]
    assert all(each.metadata["source"] == "made-up" for each in again)


@given(linked_documents())
@settings(max_examples=10)
def test_limits_in_tokens_hold(linked):
    found = list(documents(linked, tokens=30, once=True))
    assert [each.page_content for each in found] == [chunk.text for chunk in linked.chunks(tokens=30)]
    images = [image["image"] for each in found for image in each.metadata["images"]]
    assert sorted(images) == list(range(len(linked.document.images)))


@pytest.mark.slow
def test_the_loader(article, caplog):
    (article.parent / "broken.docx").write_bytes(b"no archive")
    loader = PictureLoader(article.parent, words=16)
    lazy = loader.lazy_load()
    trams = next(lazy)
    assert (trams.metadata["headings"], trams.metadata["title"]) == (["Trams"], "Trams")
    (cats,) = lazy
    assert [image["source"] for image in cats.metadata["images"]] == ["two.png", "gone.png"]
    assert cats.metadata["source"] == str(article)
    assert [failure.path.name for failure in loader.failures] == ["broken.docx"]
    assert "left out" in caplog.text
    assert loader.load() == [trams, cats]
    with pytest.raises(DocumentError, match="nothing: no such file"):
        PictureLoader(article.parent / "nothing", linker=loader._linker).load()
    (article.parent / "empty").mkdir()
    with pytest.raises(DocumentError, match="no documents in"):
        PictureLoader(article.parent / "empty", linker=loader._linker).load()
