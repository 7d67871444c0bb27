from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

from iconotext.errors import FeatureError, OutputError, SettingError
from iconotext.excerpts import Chunk, SlimChunk
from iconotext.linked import LinkedDocument
from iconotext.plain_text import encodable, json_list
from iconotext.report.as_excerpts import row, write_excerpts
from iconotext.report.chunks import chunks
from iconotext.report.flow import count_words, document_text
from iconotext.report.length import tokens_ruler
from iconotext.types import Image, Sentence
from tests.support.linked import link, linked_documents, make_linked


def test_every_sentence_is_in_one_chunk_unless_it_is_longer_than_one():
    @given(linked_documents(), st.integers(1, 40), st.booleans(), st.booleans())
    def of(linked, limit, in_tokens, once):
        limit += 20 * in_tokens
        found = linked.chunks(tokens=limit, once=once) if in_tokens else linked.chunks(limit, once=once)
        document = linked.document
        text, spans = document_text(document)
        assert "".join("".join(chunk.text for chunk in found).split()) == "".join(text.split())
        for chunk in found:
            assert chunk.text == text[chunk.start : chunk.end]
            assert (lengths([chunk.text])[0] if in_tokens else count_words(chunk.text)) <= limit
            assert chunk.words == count_words(chunk.text)
            assert chunk.tokens == (lengths([chunk.text])[0] if in_tokens else None)
            if chunk.first <= chunk.last:
                cut = [spans[chunk.first][0] < chunk.start, chunk.end < spans[chunk.last][1]]
                assert chunk.cut == {(1, 0): "start", (0, 1): "end", (1, 1): "both", (0, 0): None}[tuple(cut)]
        for before, after in pairwise(found):
            assert after.first == before.last + (before.cut not in ("end", "both"))
        homes = [
            [chunk.chunk for chunk in found if any(each.image == n for each in chunk.images)]
            for n in range(len(document.images))
        ]
        assert [n for n, home in enumerate(homes) if len(home) not in ((1,) if once else (1, 2))] == []
        for chunk in found:
            assert [each.image for each in chunk.images] == sorted({each.image for each in chunk.images})
            for each in chunk.images:
                assert each.also_in == next((other for other in homes[each.image] if other != chunk.chunk), None)
                assert each.source == document.images[each.image].source

    lengths = tokens_ruler(99, "minilm").lengths
    of()


@given(linked_documents(), st.integers(1, 40))
def test_a_picture_is_where_the_confidence_of_its_paragraphs_is(linked, words):
    """The oracle takes the confidences of each chunk's paragraphs as independent; a sentence is where it begins, and
    a paragraph that is cut counts in each chunk by its sentences."""
    found = chunks(linked, words)
    _, spans = document_text(linked.document)

    def begins(chunk, sentence):
        return chunk.start <= spans[sentence][0] < chunk.end

    for n in range(len(linked.document.images)):
        parts: dict[int, Counter[int]] = defaultdict(Counter)
        own = [each for each in linked.links if each.image == n]
        blocks = [linked.document.sentences[each.sentence].block for each in own]
        for each, block in zip(own, blocks, strict=True):
            (at,) = [chunk.chunk for chunk in found if begins(chunk, each.sentence)]
            beside = [other for other, b in zip(own, blocks, strict=True) if b == block is not None] or [each]
            total = sum(other.confidence for other in beside)
            paragraph = -1 - each.sentence if block is None else block
            parts[at][paragraph] += each.paragraph_confidence * (each.confidence / total if total else 1 / len(beside))
        shares = {at: 1 - math.prod(1 - part for part in each.values()) for at, each in parts.items()}
        here = {chunk.chunk: each for chunk in found for each in chunk.images if each.image == n}
        if not shares:
            assert {each.by for each in here.values()} <= {"place", "unknown"}
            continue
        best = max(shares.values())
        assert max(shares[at] for at in here) == pytest.approx(best)
        for at, each in here.items():
            assert each.by == "links"
            assert each.paragraph_confidence == pytest.approx(shares[at])
        others = [share for at, share in shares.items() if at not in here]
        if len(here) == 2:
            assert min(shares[at] for at in here) >= best / 2 - 1e-9
        else:
            assert all(share < best / 2 + 1e-9 or share == 0 for share in others)
        for at, each in here.items():
            assert {s.sentence for s in each.sentences} == {
                x.sentence for x in linked.links if x.image == n and begins(found[at], x.sentence)
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


def test_two_paragraphs_of_a_chunk_are_not_sure_together():
    links = [link(2, 0, 0.7), link(4, 0, 0.6)]
    (chunk,) = chunks(replace(article(), links=tuple(links)))
    assert chunk.images[0].paragraph_confidence == pytest.approx(1 - 0.3 * 0.4)  # and not 1.3


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
    assert [(chunk.first, chunk.last, chunk.words, chunk.cut) for chunk in found] == [
        (0, 1, 6, None),
        (2, 2, 3, None),
        (3, 3, 8, "end"),
        (3, 3, 2, "start"),
    ]
    assert [chunk.first for chunk in chunks(make_linked(texts[:2], [], []), 3)] == [0, 1]


def tokenizer(kind: str, folder: Path) -> str:
    """A tokeniser whose tokens do not add up: spaces and line breaks belong to words, and a text gets more around it."""
    bytes_ = kind == "bytes"
    made = Tokenizer(models.BPE() if bytes_ else models.Unigram())
    made.pre_tokenizer = pre_tokenizers.ByteLevel() if bytes_ else pre_tokenizers.Metaspace()
    trainer: trainers.BpeTrainer | trainers.UnigramTrainer
    options = {"special_tokens": ["<s>", "</s>", "<unk>"], "show_progress": False}
    if bytes_:
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, **options)
    else:
        trainer = trainers.UnigramTrainer(vocab_size=60, unk_token="<unk>", **options)
    made.train_from_iterator(
        ["A red tram waits here.\n\nIt waits for the driver. He drinks coffee at home."] * 9, trainer
    )
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", made.token_to_id("<s>")), ("</s>", made.token_to_id("</s>"))]
    )
    made.enable_truncation(8)  # as files of models have it; it must not count
    made.save(str(folder / "tokenizer.json"))
    return str(folder)


@pytest.mark.parametrize("kind", ["bytes", "pieces"])
def test_no_chunk_exceeds_a_limit_in_tokens_of_any_tokenizer(tmp_path, kind):
    name = tokenizer(kind, tmp_path)
    count = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    count.no_truncation()

    @given(linked_documents(), st.integers(30, 60))
    @settings(max_examples=40)
    def of(linked, tokens):
        text, _ = document_text(linked.document)
        found = linked.chunks(tokens=tokens, tokenizer=name)
        assert "".join("".join(chunk.text for chunk in found).split()) == "".join(text.split())
        sizes = [len(count.encode(encodable(chunk.text))) for chunk in found]
        assert sizes == [chunk.tokens for chunk in found]
        assert all(size <= tokens for size in sizes)

    of()


def test_a_sentence_longer_than_the_limit_is_split_between_words():
    texts = ["Short one.", "The red tram " * 30 + "ends.", "Figure " + "\U0001f68b" * 200 + " ends.", "Last."]
    linked = make_linked(texts, [Image("a.png", position=3)], [link(1, 0, 0.9)])
    found = linked.chunks(tokens=40)
    assert {word for chunk in found for word in chunk.text.split()} == {
        word for text in texts for word in text.split()
    }  # also the long word of one token
    assert [chunk.cut for chunk in found] == [None, "end", "both", "start"]
    assert [chunk.chunk for chunk in found if chunk.images] == [1]  # where its sentence begins
    slim = row(found[1].slim())
    assert slim["cut"] == "end"
    (start, end, confidence) = slim["images"][0]["sentences"][0]
    assert (slim["text"][start:end], confidence) == (slim["text"], 0.9)


def test_limits_that_cannot_hold():
    linked = make_linked(["A word. \ufdfa"], [], [])
    with pytest.raises(SettingError, match="tokens is 2, but the tokeniser minilm itself adds 2"):
        linked.chunks(tokens=2)
    with pytest.raises(SettingError, match="words and tokens are two limits"):
        linked.chunks(3, tokens=30)
    with pytest.raises(SettingError, match="the tokenizer other has nothing to count"):
        linked.chunks(tokenizer="other")
    with pytest.raises(FeatureError, match="no such model"):
        linked.chunks(tokens=30, tokenizer="nobody/nothing")


def test_each_picture_once():
    red, blue = article().chunks(18, once=True)
    assert [(each.source, each.also_in) for each in red.images][1] == ("both.png", None)
    assert [each.source for each in blue.images] == ["inline.png"]


def test_slim_rows_are_little_longer_than_their_text():
    """Each text stands there once, and what is unknown not at all."""
    sentences = [f"Sentence {n} of this guide says what the red tram does at stop {n % 7}." for n in range(90)]
    images = [Image(f"img/{n}.png", alt=f"The tram at stop {n}", position=10 * n) for n in range(9)]
    images.append(Image("data:image/png;base64," + "A" * 30_000, alt="Same", caption="Same"))
    linked = make_linked(sentences, images, [link(10 * n + k, n, 0.3) for n in range(9) for k in range(3)])
    chunks_ = linked.chunks(tokens=200)
    text = sum(len(chunk.text) for chunk in chunks_)
    slim = [row(chunk.slim()) for chunk in chunks_]
    assert len("".join(json_list(slim))) < 1.5 * text
    assert len("".join(json_list(map(row, chunks_)))) > 3 * text
    assert slim[0]["images"][-1] == {
        "image": 9,
        "source": "data:image/png;base64",
        "caption": "Same",
        "sentences": [],
    }


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
    write_excerpts([chunk.slim() for chunk in found], tmp_path / "slim.parquet", SlimChunk)
    slim = pq.read_table(tmp_path / "slim.parquet").to_pylist()
    assert [each["text"] for each in slim] == [line["text"] for line in lines]
    assert [len(image["sentences"]) for each in slim for image in each["images"]] == [
        len(image["sentences"]) for each in lines for image in each["images"]
    ]
    write_excerpts([], tmp_path / "empty.parquet", Chunk)
    assert pq.read_table(tmp_path / "empty.parquet").num_rows == 0
    with pytest.raises(OutputError, match=r"ends in \.jsonl or \.parquet"):
        write_excerpts(found, tmp_path / "c.txt", Chunk)
    with pytest.raises(OutputError, match="exists already"):
        write_excerpts(found, tmp_path / "c.jsonl", Chunk)
