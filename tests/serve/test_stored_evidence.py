"""The stored evidence of a document says the same as the document."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from iconotext.decide.combine import weigh
from iconotext.evidence.caption import Reading
from iconotext.evidence.gather import gather_evidence
from iconotext.evidence.habit import Habit
from iconotext.evidence.layout import PLACES
from iconotext.serve import results
from iconotext.serve.results import ABOUT, ARRAYS, store_evidence, stored_evidence
from iconotext.serve.work import habits_of, habits_text
from iconotext.types import Document, Image, Sentence
from tests.support.linking import encode

SUBSETS = (("picture",), ("caption",), ("layout",), ("reference",), ("picture", "caption", "layout", "reference"))


@pytest.fixture
def known():
    texts = ("Boats", "A red boat lies here.", "See Figure 1.", "The tram waits.", "Nothing else.")
    sentences = tuple(Sentence(t, n, "heading" if n == 0 else "paragraph") for n, t in enumerate(texts))
    images = (
        Image("red.png", caption="Figure 1: a red boat", block=2, position=2),
        Image("broken.png", block=3, position=3, problem="broken"),
        Image("tram.png", alt="the tram", position=4),
    )
    document = Document("guide/a", sentences, images, language="en", meta={"book": "b", "other": 1})
    similarity = np.linspace(-0.1, 0.4, 15, dtype=np.float32).reshape(5, 3)
    return replace(gather_evidence([document], [similarity], [Reading(encode)])[0], note="a note")


@pytest.mark.parametrize("evidence", SUBSETS)
def test_it_is_weighed_alike(known, tmp_path, evidence):
    store_evidence(known, "model", "digest", tmp_path)
    found = stored_evidence(tmp_path, "model", "digest")
    assert found is not None
    assert found.evidence is not None
    assert found.evidence.note == "a note"
    assert found.document.meta == {"book": "b"}
    habit = Habit(judged={"guide/a": {2: (3,)}})
    (before,) = weigh([known], evidence=evidence, habits=[habit])
    (after,) = weigh([found.evidence], evidence=evidence, habits=[habit])
    np.testing.assert_array_equal(before.confidence, after.confidence)
    assert before.contributions.keys() == after.contributions.keys()


def test_what_does_not_fit_counts_as_not_kept(known, tmp_path):
    store_evidence(known, "model", "digest", tmp_path)
    assert stored_evidence(tmp_path, "another model", "digest") is None
    assert stored_evidence(tmp_path, "model", "another digest") is None
    assert stored_evidence(tmp_path / "nowhere", "model", "digest") is None
    whole = (tmp_path / ARRAYS).read_bytes()
    for wrong in (b"", whole[:100], b"x" * 100):
        (tmp_path / ARRAYS).write_bytes(wrong)
        assert stored_evidence(tmp_path, "model", "digest") is None
    (tmp_path / ARRAYS).write_bytes(whole)
    for text in ("", "[]", "{}", json.dumps({"form": 1})):
        (tmp_path / ABOUT).write_text(text)
        assert stored_evidence(tmp_path, "model", "digest") is None


def test_of_a_very_large_document_only_the_places_are_kept(known, tmp_path, monkeypatch):
    monkeypatch.setattr(results, "MAX_STORED", 10)
    store_evidence(known, "model", "digest", tmp_path)
    found = stored_evidence(tmp_path, "model", "digest")
    assert found is not None
    assert found.evidence is None
    assert found.places is not None
    assert found.places.likelihood.shape[0] == 2


def test_the_habits_of_a_collection_are_stored_with_the_share_of_silent_captions():
    habits = {"book": Habit({"book/a": np.arange(len(PLACES), dtype=float)}, silent=0.25)}
    text, _ = habits_text(habits)
    (read,) = habits_of(text, {"book/a": {0: (1,)}}).values()
    assert (read.silent, read.judged, read.digest) == (0.25, {"book/a": {0: (1,)}}, habits["book"].digest)
    older = json.dumps({"counts": json.loads(text)["counts"]})
    assert habits_of(older)["book"].silent == 0.0
