"""Nodes of the real LlamaIndex: what goes in comes back, through its own stores and pipelines."""

from __future__ import annotations

import base64
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iconotext.errors import DocumentError
from iconotext.types import Image, Sentence
from tests.support.linked import link, linked_documents, make_linked, photograph

pytest.importorskip("llama_index.core", reason="llama-index-core is not installed")

from llama_index.core import Document
from llama_index.core.base.response.schema import Response
from llama_index.core.schema import ImageNode, NodeRelationship, NodeWithScore, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore

from iconotext import Linker
from iconotext.adapters.llama_index import PictureNodeParser, nodes, place

pytestmark = pytest.mark.slow  # it takes seconds to import


def split(found):
    texts = [node for node in found if not isinstance(node, ImageNode)]
    return texts, [node for node in found if isinstance(node, ImageNode)]


@given(linked_documents(), st.integers(1, 40))
@settings(max_examples=30)
def test_limits_in_tokens_hold(linked, words):
    texts, _ = split(nodes(linked, tokens=words + 20, once=True))
    assert [node.text for node in texts] == [chunk.text for chunk in linked.chunks(tokens=words + 20)]
    assert [child for node in texts for child in node.child_nodes or ()] != [] or not linked.document.images


@given(linked_documents(), st.integers(1, 40))
@settings(max_examples=30)
def test_every_picture_is_one_node_that_its_chunks_name(linked, words):
    texts, images = split(nodes(linked, words))
    cut = linked.chunks(words)
    assert [node.text for node in texts] == [chunk.text for chunk in cut]
    assert [node.metadata["image"] for node in images] == list(range(len(linked.document.images)))
    by_id = {node.node_id: node for node in (*texts, *images)}
    assert len(by_id) == len(texts) + len(images)
    for node, chunk in zip(texts, cut, strict=True):
        children = [by_id[each.node_id] for each in node.child_nodes or []]
        assert [child.metadata["image"] for child in children] == [each.image for each in chunk.images]
    for node in images:
        named = {
            text.metadata["chunk"] for text in texts if node.node_id in {c.node_id for c in text.child_nodes or []}
        }
        other = node.metadata["also_in"]
        assert named == {by_id[node.parent_node.node_id].metadata["chunk"]} | (
            {by_id[other].metadata["chunk"]} if other else set()
        )
    assert [node.node_id for node in nodes(linked, words)] == list(by_id)
    for before, after in pairwise(texts):
        assert (before.next_node.node_id, after.prev_node.node_id) == (after.node_id, before.node_id)


def test_a_round_trip_through_a_store_of_llama_index(tmp_path):
    inside = Image("inside", photograph(1), alt="A cat", caption="Figure 1: asleep", position=2)
    file = Image("img/milk.jpg", tmp_path / "milk.jpg", alt="Milk", position=2)
    texts = [Sentence("Cats", 0, "heading"), Sentence("A cat sleeps.", 1)]
    found = nodes(make_linked(texts, [inside, file], [link(1, 0, 0.9)]))
    store = SimpleDocumentStore()
    store.add_documents(found)
    store.persist(str(tmp_path / "store.json"))
    again = SimpleDocumentStore.from_persist_path(str(tmp_path / "store.json"))
    text, cat, milk = (again.get_document(node.node_id) for node in found)
    assert type(text) is TextNode
    assert (text.text, text.metadata["headings"]) == ("Cats\n\nA cat sleeps.", "Cats")
    assert [child.node_id for child in text.child_nodes] == [cat.node_id, milk.node_id]
    assert type(cat) is ImageNode
    assert base64.b64decode(cat.image) == photograph(1)
    assert cat.text == "Figure 1: asleep\nA cat sleeps."
    assert cat.parent_node.node_id == text.node_id
    assert (milk.image_path, milk.metadata["by"]) == (str(tmp_path / "milk.jpg"), "place")
    assert "confidence" not in cat.get_content("embed")


def test_the_node_parser_in_a_pipeline(article):
    from llama_index.core.ingestion import IngestionPipeline

    loaded = [Document(text=article.read_text(), metadata={"file_path": str(article), "team": "docs"})]
    parser = PictureNodeParser(words=16)
    texts, images = split(IngestionPipeline(transformations=[parser]).run(documents=[*loaded, *loaded]))
    assert [node.metadata["headings"] for node in texts] == ["Trams", "Trams › Cats"]
    assert [node.metadata["source"] for node in images] == ["one.png", "two.png", "gone.png"]
    assert images[0].parent_node.node_id == texts[0].node_id
    assert images[1].image_path == str(article.parent / "two.png")
    assert {node.ref_doc_id for node in (*texts, *images)} == {loaded[0].node_id}
    assert {node.metadata["team"] for node in (*texts, *images)} == {"docs"}
    source = article.read_text()
    assert source[texts[1].start_char_idx : texts[1].end_char_idx].startswith("Cats\n\nA cat sleeps")
    assert texts[0].next_node.node_id == texts[1].node_id
    assert NodeRelationship.NEXT not in texts[1].relationships
    assert parser.to_dict().items() >= {"class_name": "PictureNodeParser", "words": 16, "model": "default"}.items()
    with pytest.raises(DocumentError, match="no file_path"):
        parser.get_nodes_from_documents([Document(text="A text of its own.")])


def test_an_answer_gets_the_pictures_of_its_nodes(article):
    linker = Linker.load()
    texts, images = split(nodes(linker.link(article), words=16))
    store = SimpleDocumentStore()
    store.add_documents([*texts, *images])
    response = Response("Nothing is said.\n\nOn the roof sleeps a *cat*.", [NodeWithScore(node=texts[1], score=0.9)])
    placed = place(response, linker, store)
    assert [placed.document.images[each.image].source for each in placed.links] == ["two.png"]
    assert [placed.document.sentences[each.sentence].text for each in placed.links] == ["On the roof sleeps a cat."]
    assert place(response, linker).document.images == ()
    foreign = Response("A cat.", [NodeWithScore(node=ImageNode(id_="x", image_path="cat.png"))])
    with pytest.raises(DocumentError, match="node x: no image node of PictureNodeParser: its metadata has no 'source'"):
        place(foreign, linker)
