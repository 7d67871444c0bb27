"""The sentences of another document, compared with those of a text."""

from __future__ import annotations

import numpy as np
import pytest

from iconotext.evidence.caption import EvidenceInput, Reading
from iconotext.evidence.context import LEAST, context_evidence
from iconotext.types import Document, Image, LinkedSentence, Sentence
from tests.support.linking import encode

RED = "A red tram waits at the stop."


def features(*images, sentences):
    document = Document("a", sentences, images)
    (columns,) = context_evidence([document], [EvidenceInput(Reading(encode))])
    return columns


def test_the_same_sentence_counts_by_its_confidence():
    sentences = (Sentence(RED, 0), Sentence("Taxes are due in May.", 1))
    columns = features(
        Image("", context=(LinkedSentence(RED, 0.8),)),
        Image("", context=(LinkedSentence(RED, 0.2),)),
        sentences=sentences,
    )
    # Words in common, 2 * common / (text + sentence + 1), are nearly 1, and the cosine is 1: log(1 + p m² / LEAST).
    for name in ("context.words", "context.meaning"):
        sure, unsure = np.expm1(columns[name][0]) * LEAST
        assert sure == pytest.approx(4 * unsure, rel=1e-4)
        assert 0.6 < sure <= 0.8 + 1e-6
        assert columns["context.words"][1].tolist() == [0, 0]


def test_a_paragraph_counts_as_its_best_sentence_and_a_heading_never():
    sentences = (
        Sentence("A red tram", 0, "heading"),
        Sentence("Nobody waits.", 1),
        Sentence(RED, 1),
        Sentence("Rain.", 2),
    )
    columns = features(Image("", context=(LinkedSentence(RED, 1.0),)), sentences=sentences)
    words, near = columns["context.words"][:, 0], columns["context.words_near"][:, 0]
    assert words.argmax() == 2
    assert words[0] == near[0] == 0
    assert near[1] == near[2] == words[2]
    assert near[3] == 0


def test_the_caption_is_one_more_sentence_where_there_is_a_context():
    sentences = (Sentence("Figure 1 shows it.", 0), Sentence(RED, 1))
    thin = (LinkedSentence("Look here.", 1.0),)
    columns = features(
        Image("", caption="A red tram", context=thin),
        Image("", context=thin),
        Image("", caption="A red tram"),
        sentences=sentences,
    )
    assert columns["context.words"][1].tolist()[0] > 0
    assert columns["context.words"][1].tolist()[1:] == [0, 0]
