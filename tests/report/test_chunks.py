from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iconotext.errors import OutputError, SettingError
from iconotext.excerpts import Chunk
from iconotext.report.as_excerpts import row, write_excerpts
from iconotext.report.chunks import chunks
from iconotext.report.flow import document_text
from iconotext.types import Image, LinkedDocument, Sentence
from tests.support.linked import link, linked_documents, make_linked


@given(linked_documents(), st.integers(1, 40))
def test_every_sentence_is_in_one_chunk_and_every_picture_in_one_or_two(linked, words):
    found = chunks(linked, words)
    document = linked.document
    text, spans = document_text(document)
    assert [i for chunk in found for i in range(chunk.first, chunk.last + 1)] == list(range(len(document.sentences)))
    for chunk in found:
        assert chunk.text == text[chunk.start : chunk.end]
        own = document.sentences[chunk.first : chunk.last + 1]
        assert own == () or (chunk.start, chunk.end) == (spans[chunk.first][0], spans[chunk.last][1])
        assert chunk.words <= words or len(own) == 1
        assert all(" ".join(each.text.split()) in chunk.text for each in own)
    homes = [
        [chunk.chunk for chunk in found if any(each.image == n for each in chunk.images)]
        for n in range(len(document.images))
    ]
    assert [n for n, home in enumerate(homes) if len(home) not in (1, 2)] == []
    for chunk in found:
        assert [each.image for each in chunk.images] == sorted({each.image for each in chunk.images})
        for each in chunk.images:
            assert each.also_in == next((other for other in homes[each.image] if other != chunk.chunk), None)
            assert each.source == document.images[each.image].source


@given(linked_documents(), st.integers(1, 40))
def test_a_picture_is_where_the_confidence_of_its_sentences_is(linked, words):
    """The oracle adds up the confidences of each chunk from the links."""
    found = chunks(linked, words)
    for n in range(len(linked.document.images)):
        shares: Counter[int] = Counter()
        for each in linked.links:
            if each.image == n:
                (at,) = [chunk.chunk for chunk in found if chunk.first <= each.sentence <= chunk.last]
                shares[at] += each.confidence
        here = {chunk.chunk: each for chunk in found for each in chunk.images if each.image == n}
        if not shares:
            assert {each.by for each in here.values()} <= {"place", "unknown"}
            continue
        best = max(shares.values())
        assert any(shares[at] == best for at in here)
        assert all(
            each.by == "links" and each.confidence == pytest.approx(min(shares[at], 1)) for at, each in here.items()
        )
        others = [share for at, share in shares.items() if at not in here]
        if len(here) == 2:
            assert min(shares[at] for at in here) >= best / 2
        else:
            assert all(share < best / 2 or share == 0 for share in others)
        for at, each in here.items():
            assert {s.sentence for s in each.sentences} == {
                x.sentence for x in linked.links if x.image == n and found[at].first <= x.sentence <= found[at].last
            }


def article() -> LinkedDocument:
    """Two sections of two paragraphs; 5 words a sentence, 1 a heading."""
    texts = [
        Sentence("Trams", 0, "heading", level=1),
        Sentence("Red", 1, "heading", level=2),
        Sentence("A red tram waits here.", 2),
        Sentence("It waits for the driver.", 2),
        Sentence("He drinks coffee at home.", 3),
        Sentence("Blue", 4, "heading", level=2),
        Sentence("Blue trams are quite new.", 5),
        Sentence("They have no steps inside.", 6),
    ]
    images = [
        Image("red.png", block=7, position=8),
        Image("both.png", block=8, position=8),
        Image("lost.png", block=9, position=5, problem="file not found"),
        Image("inline.png", block=5, position=6),
        Image("alone.png"),
    ]
    links = [link(2, 0, 0.9), link(4, 1, 0.5), link(7, 1, 0.3), link(6, 0, 0.2)]
    return make_linked(texts, images, links, title="Trams")


def test_borders_and_pictures_by_hand():
    red, blue = chunks(article(), 18)  # 1 + 1 + 5 + 5 + 5 = 17 words, then 1 + 5 + 5 = 11
    assert (red.first, red.last, red.words, red.headings) == (0, 4, 17, ("Trams", "Red"))
    assert (blue.first, blue.last, blue.words, blue.headings) == (5, 7, 11, ("Trams", "Blue"))
    assert red.text == ("Trams\n\nRed\n\nA red tram waits here. It waits for the driver.\n\nHe drinks coffee at home.")
    assert [(each.source, each.by, each.also_in) for each in red.images] == [
        ("red.png", "links", None),  # 0.9 here against 0.2 there
        ("both.png", "links", 1),  # 0.5 here, 0.3 there
        ("lost.png", "place", None),
        ("alone.png", "unknown", None),
    ]
    assert [(each.source, each.by, each.also_in) for each in blue.images] == [
        ("both.png", "links", 0),
        ("inline.png", "place", None),
    ]
    assert [s.text for s in blue.images[0].sentences] == ["They have no steps inside."]
    (whole,) = chunks(article())
    assert whole.headings == ("Trams",)
    assert len(whole.images) == 5


def test_a_paragraph_is_cut_only_where_it_must_be():
    texts = [
        Sentence(text, block) for text, block in [("a b c", 0), ("d e f", 0), ("g h i", 1), ("j k l m n o p q r s", 2)]
    ]
    found = chunks(make_linked(texts, [], []), 8)
    assert [(chunk.first, chunk.last) for chunk in found] == [(0, 1), (2, 2), (3, 3)]
    assert found[2].words == 10
    assert [chunk.first for chunk in chunks(make_linked(texts[:2], [], []), 3)] == [0, 1]


def test_nothing_to_cut():
    assert chunks(make_linked([], [], [])) == []
    (only,) = chunks(make_linked([], [Image("a.png", position=0)], []))
    assert (only.text, only.first, only.last, only.images[0].source) == ("", 0, -1, "a.png")
    with pytest.raises(SettingError, match="words is 0"):
        chunks(article(), 0)


def test_the_method_of_a_document():
    assert article().chunks(18) == chunks(article(), 18)


@given(linked_documents())
def test_rows_say_what_chunks_say(linked):
    for chunk in chunks(linked, 10):
        said = json.loads(json.dumps(row(chunk)))
        assert said.keys() == asdict(chunk).keys()
        assert said["text"] == chunk.text
        assert [each["also_in"] for each in said["images"]] == [each.also_in for each in chunk.images]


def test_files(tmp_path, hostile):
    _, linked = hostile
    found = [*chunks(article(), 18), *chunks(linked)]
    write_excerpts(found, tmp_path / "c.jsonl", Chunk)
    write_excerpts(iter(found), tmp_path / "c.parquet", Chunk)
    lines = [json.loads(line) for line in (tmp_path / "c.jsonl").read_text().split("\n")[:-1]]
    table = pq.read_table(tmp_path / "c.parquet").to_pylist()
    assert len(lines) == len(table) == 3
    for line, other in zip(lines, table, strict=True):
        for name in ("document", "chunk", "text", "headings", "start", "end", "source_start"):
            assert line[name] == other[name]
        assert [each["image"] for each in line["images"]] == [each["image"] for each in other["images"]]
        assert [s["text"] for each in line["images"] for s in each["sentences"]] == [
            s["text"] for each in other["images"] for s in each["sentences"]
        ]
    write_excerpts([], tmp_path / "empty.parquet", Chunk)
    assert pq.read_table(tmp_path / "empty.parquet").num_rows == 0
    with pytest.raises(OutputError, match=r"ends in \.jsonl or \.parquet"):
        write_excerpts(found, tmp_path / "c.txt", Chunk)
    with pytest.raises(OutputError, match="exists already"):
        write_excerpts(found, tmp_path / "c.jsonl", Chunk)
