from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from fit_evidence import dump_calibration

from iconotext.decide.calibration import Figure, calibration_of, kind_of, load_calibration
from iconotext.decide.combine import LONG
from iconotext.decide.target_decoy import DecoyPool
from iconotext.types import Document, Image, Link, LinkedDocument, Sentence, TextLine
from tests.support.linking import encode, link_document, workshop

KIND = "en, caption, layout, by caption+layout"


def test_kinds():
    document = workshop()
    assert kind_of(document, 0, ("caption", "layout")) == KIND
    assert kind_of(document, 0, ("caption", "ocr", "layout")) == KIND  # no words in the picture
    assert kind_of(document, 0, ("caption", "layout", "context")) == KIND  # it comes from no other document
    written = replace(document.images[0], lines=(TextLine("Exit", 0.9, (0, 0, 1, 1)),))
    signed = replace(document, images=(written, *document.images[1:]))
    assert kind_of(signed, 0, ("caption", "ocr", "layout")) == KIND.replace("by caption", "by caption+ocr")
    assert kind_of(document, 1, ("caption",)) == "en, no words, layout, by caption"
    apart = replace(
        document,
        sentences=tuple(Sentence("Text.", n) for n in range(LONG)),
        images=tuple(replace(image, position=LONG) for image in document.images),
    )
    assert kind_of(apart, 0, ("caption", "layout")) == KIND.replace(", layout,", ", no layout,")  # linked without it
    named = replace(document, language="de", images=(Image("my-old-saw.jpg"),))
    assert kind_of(named, 0, ("layout",)) == "de, alternative text or file name, no layout, by layout"


def test_figures_by_hand():
    document = replace(workshop(), links=((3, 0),))
    links = (Link(2, 0, 0.4, 0.4, {}, paragraph=0.7), Link(5, 1, 0.2, 0.2, {}, paragraph=0.3))
    linked = LinkedDocument(document, links, np.zeros((6, 2), np.float32), "m")
    unknown = replace(linked, document=replace(document, links=None))
    table = calibration_of([("mine", linked), ("mine", linked), ("mine", unknown)], ("caption", "layout"))
    # Sentence 2 is not 3, which was meant, but stands in the same paragraph; the second image belongs to none.
    assert table == {
        KIND: {"mine": [[Figure(0.4, False, 0.7, True)]] * 2},
        "en, no words, layout, by caption+layout": {"mine": [[Figure(0.2, False, 0.3, False)]] * 2},
    }


def test_the_table_is_read_as_it_was_written(monkeypatch):
    table = {KIND: {"one": [[Figure(0.12341, True, 0.9, False)], [Figure(0.5, False, 0.5, True)] * 2]}}
    rows = json.loads(dump_calibration(table))[KIND]["one"]
    assert rows == [[[0.1234, 1, 0.9, 0]], [[0.5, 0, 0.5, 1]] * 2]


def test_what_ships_is_numbers_of_three_classes():
    table = load_calibration()
    assert any(kind.startswith("en, caption, layout, by picture+caption+layout+reference") for kind in table)
    for classes in table.values():
        assert len(classes) == 3
        for documents in classes.values():
            assert len(documents) >= 19  # enough for 5 %
            for row in (row for rows in documents for row in rows):
                assert 0 <= row.sentence <= row.paragraph + 1e-3 <= 1.002
                assert row.paragraph_right >= row.sentence_right


def test_the_paragraph_of_a_link_is_the_sum_of_its_block():
    linked = link_document(
        workshop(), None, encode, evidence=("caption", "layout"), select="threshold", min_confidence=0
    )
    cell = {(link.sentence, link.image): link.confidence for link in linked.links}
    for link in linked.links:
        beside = link.sentence // 2 * 2
        assert link.paragraph == pytest.approx(cell[beside, link.image] + cell[beside + 1, link.image])
    sentences = tuple(replace(sentence, block=None) for sentence in linked.document.sentences)
    flat = replace(linked.document, sentences=sentences, images=(Image("a.jpg", caption="A saw."),))
    assert link_document(flat, None, encode, select="best").links[0].paragraph is None


def pool_of(*documents: Document, size: int = 500) -> DecoyPool:
    pool = DecoyPool(size)
    for document in documents:
        pool.add(document)
    return pool


def shelf(name: str, number: int, **fields: object) -> Document:
    images = [Image(f"{name}{n}.jpg", caption=f"{name} {n}", position=1) for n in range(number)]
    return Document(name, (Sentence("A.", 0), Sentence("B.", 1)), images, **fields)


def test_decoys_come_with_their_captions_from_other_documents_and_each_once():
    documents = [shelf("a", 5), shelf("b", 3), shelf("c", 4)]
    mixed, pairs = pool_of(*documents).with_decoys(documents[0])
    decoys = [mixed.images[j] for j, _ in pairs.values()]
    assert list(pairs) == [0, 1, 2, 3, 4]
    assert len({decoy.caption for decoy in decoys}) == 5
    assert all(str(decoy.caption).startswith(decoy.source[0]) and decoy.source[0] in "bc" for decoy in decoys)
    assert mixed.images[:5] == documents[0].images


def test_decoys_come_from_the_documents_own_collection_where_that_has_any():
    one, two, three = ({"collection": name} for name in ("one", "two", "three"))
    documents = [shelf("a", 2, meta=one), shelf("b", 1, meta=one), *(shelf(name, 30, meta=two) for name in "cde")]
    documents.append(shelf("f", 2, meta=three))
    mixed, pairs = pool_of(*documents).with_decoys(documents[0])
    assert {own: (mixed.images[j].source[0], of) for own, (j, of) in pairs.items()} == {0: ("b", "one")}  # the only one
    mixed, pairs = pool_of(*documents).with_decoys(documents[2])
    assert {(mixed.images[j].source[0], of) for j, of in pairs.values()} == {("d", "two"), ("e", "two")}
    mixed, pairs = pool_of(*documents).with_decoys(documents[5])
    assert [(mixed.images[j].source[0] in "abcde", of) for j, of in pairs.values()] == [(True, None)] * 2


def test_decoys_have_words_of_the_same_kind_and_look_like_none_of_the_document():
    logo = Image("logo.png", caption="Our logo", position=0)
    wordless, broken = Image("2.jpg", position=0), Image("x.jpg", caption="x", position=0, problem="broken")
    own = replace(shelf("a", 1), images=(logo, wordless, broken))
    other = replace(shelf("b", 2), images=(logo, Image("3.jpg", position=0), replace(broken, source="y.jpg")))
    mixed, pairs = pool_of(own, other).with_decoys(own)
    assert {mixed.images[i].source: mixed.images[j].source for i, (j, _) in pairs.items()} == {"2.jpg": "3.jpg"}


def test_the_order_of_documents_does_not_matter_and_the_pool_is_bounded():
    documents = [shelf(name, 6) for name in "abcdefgh"]
    one, two = pool_of(*documents, size=10), pool_of(*documents[::-1], size=10)
    for document in documents:
        assert one.with_decoys(document) == two.with_decoys(document)
    drawn = [image for d in documents for image in one.with_decoys(d)[0].images[6:]]
    assert len({image.caption for image in drawn}) <= 10
