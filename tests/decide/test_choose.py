import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from iconotext.decide.choose import choose_links, chosen_cells
from iconotext.decide.combine import (
    EXPLICIT_PRECISION,
    OVERRATED,
    REFERENCE_WEIGHTS,
    Coefficients,
    combine,
    load_coefficients,
    paragraph_confidence,
    weigh_evidence,
)
from iconotext.decide.settings import LinkSettings
from iconotext.errors import SettingError, ShapeError
from iconotext.evidence.caption import Reading
from iconotext.evidence.gather import DocumentEvidence
from iconotext.evidence.kinds import EVIDENCE
from iconotext.evidence.reference import DIRECTED, ELSEWHERE, EXPLICIT, VAGUE
from iconotext.types import Image, LinkedDocument, LinkedSentence, TextLine
from tests.support.linking import BLOCKS, READING, TEXTS, document, documents, encode, workshop

evidences = st.sets(st.sampled_from(EVIDENCE))


def cosines(d: Any, seed: Any = 0) -> Any:
    shape = (len(d.sentences), len(d.images))
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def link_document(
    d: Any, image_similarity: Any, *, reading: Any = READING, evidence: Any = EVIDENCE, model: str = "", **chosen: Any
) -> LinkedDocument:
    """One document, weighed and linked."""
    weighed = weigh_evidence(d, image_similarity, reading, evidence=evidence)
    return choose_links(d, weighed, LinkSettings(**chosen), model=model)


@settings(deadline=None)
@given(documents(), evidences)
def test_any_evidence_gives_probabilities(d: Any, evidence: Any) -> None:
    found = weigh_evidence(d, cosines(d), READING, evidence=evidence)
    for matrix in (found.score, found.confidence, *found.contributions.values()):
        assert matrix.shape == (len(d.sentences), len(d.images))
        assert matrix.dtype == np.float32
        assert np.isfinite(matrix).all()
    assert ((found.confidence >= 0) & (found.confidence <= 1)).all()
    if "reference" not in evidence:
        assert (found.confidence.sum(axis=0) <= 1 + 1e-5).all()
    assert set(found.contributions) <= evidence
    broken = [j for j, image in enumerate(d.images) if image.problem]
    assert not found.score[:, broken].any()
    assert not found.confidence[:, broken].any()
    assert (found.paragraph >= found.confidence).all()
    assert (found.paragraph <= 1).all()
    # What is stated is less than what the weights say, most where they are sure, in the same order.
    assert (found.confidence <= found.share).all()
    if "reference" not in evidence:
        assert found.confidence.max(initial=0) <= 1 - OVERRATED + 1e-6
        order = np.argsort(found.share, axis=0)
        assert (np.diff(np.take_along_axis(found.confidence, order, axis=0), axis=0) >= -1e-7).all()


@settings(deadline=None)
@given(documents(), st.sampled_from([1, 3, 99]), st.floats(0, 1))
def test_links_are_sorted_sure_enough_and_of_good_images(d: Any, k: Any, least: Any) -> None:
    linked = link_document(d, cosines(d), k=k, min_confidence=least)
    keys = [(-link.score, link.image, link.sentence) for link in linked.links]
    assert keys == sorted(keys)
    for link in linked.links:
        assert link.confidence >= least
        assert d.images[link.image].problem is None
        assert link.score == pytest.approx(float(linked.similarity[link.sentence, link.image]))


@pytest.mark.slow
@settings(deadline=None)
@given(documents(), st.randoms(use_true_random=False))
def test_permuting_images_permutes_results(d: Any, random: Any) -> None:
    order = list(range(len(d.images)))
    random.shuffle(order)
    # images between the same two sentences are told apart by their order, so give each its own place or none
    d = replace(d, images=tuple(replace(i, position=None) for i in d.images))
    turned = replace(d, images=tuple(d.images[j] for j in order))
    found = weigh_evidence(d, cosines(d), READING).confidence
    after = weigh_evidence(turned, cosines(d)[:, order], READING).confidence
    np.testing.assert_allclose(after, found[:, order], atol=1e-4)


def test_a_document_with_all_kinds() -> None:
    sign = (TextLine("Paint for roofs", 0.9, (0, 0, 1, 1)),)
    d = workshop(
        Image("a.jpg", caption="A brother helping.", position=4, context=(LinkedSentence("My brother helped.", 0.9),)),
        Image("b.jpg", caption="Figure 2: Roof", position=6, lines=sign),
    )
    linked = link_document(d, cosines(d), k=1, model="m")
    assert isinstance(linked, LinkedDocument)
    assert linked.model == "m"
    assert {(BLOCKS[link.sentence], link.image) for link in linked.links} == {(1, 0), (2, 1)}
    assert set(linked.links[0].evidence) == set(EVIDENCE)


def test_contributions_and_the_null_option_make_the_confidence() -> None:
    found = weigh_evidence(workshop(), cosines(workshop()), READING, evidence=["caption", "layout"])
    assert not found.contributions["caption"][
        :, 1
    ].any()  # the second image has no text, and is judged without captions
    for image, name in enumerate(("caption+layout", "layout")):
        log_odds = sum(matrix[:, image] for matrix in found.contributions.values()) - load_coefficients()[name].null
        # the shares of exp(log-odds) with 1 for the null option
        share = np.exp(log_odds) / (1 + np.exp(log_odds).sum())
        np.testing.assert_allclose(found.share[:, image], share, rtol=1e-3)
        np.testing.assert_allclose(found.confidence[:, image], share - OVERRATED * share**4, rtol=1e-3)
    np.testing.assert_array_equal(found.score, found.confidence)


def test_weighed_evidence_is_not_changed_by_choosing() -> None:
    d = workshop()
    weighed = weigh_evidence(d, cosines(d), READING)
    before = weighed.score.tobytes(), weighed.confidence.tobytes()
    linked = choose_links(d, weighed, LinkSettings(k=99, min_confidence=0))
    assert (weighed.score.tobytes(), weighed.confidence.tobytes()) == before
    for link in linked.links:
        assert link.confidence == weighed.confidence[link.sentence, link.image]
        assert link.paragraph_confidence == weighed.paragraph[link.sentence, link.image]
        assert link.evidence == {
            kind: float(matrix[link.sentence, link.image]) for kind, matrix in weighed.contributions.items()
        }


def test_a_paragraph_has_the_sum_of_its_sentences() -> None:
    d = document(["One.", "Two.", "Three.", "Four."], [Image("a.jpg")], blocks=[0, 0, 1, None])
    odds = np.log(np.array([[2], [1], [1], [4]], np.float32))  # and 1 for none of them: 9 in all
    evidence = DocumentEvidence(d, d, np.arange(1), {"layout": {"layout.x": odds}})
    (found,) = combine([evidence], {"layout": Coefficients(0.0, {"layout.x": 1.0})})
    np.testing.assert_allclose(found.share[:, 0], [2 / 9, 1 / 9, 1 / 9, 4 / 9], rtol=1e-5)
    # 0.94 p ** 0.64 of 3/9 and 1/9; a sentence without a paragraph has p - 0.2 p ** 4
    np.testing.assert_allclose(found.paragraph[:, 0], [0.46534, 0.46534, 0.23036, 0.43664], rtol=1e-4)
    np.testing.assert_allclose(found.confidence[:, 0], [0.221734, 0.111081, 0.111081, 0.43664], rtol=1e-4)


@settings(deadline=None)
@given(documents())
def test_the_paragraphs_of_an_image_share_what_is_not_nowhere(d: Any) -> None:
    found = weigh_evidence(d, cosines(d), READING, evidence=["picture", "caption", "layout"])
    for j in range(len(d.images)):
        sums: dict[Any, float] = {}
        for i, sentence in enumerate(d.sentences):
            key = (i,) if sentence.block is None else sentence.block
            sums[key] = sums.get(key, 0.0) + float(found.share[i, j])
        nowhere = 1 - float(found.share[:, j].sum())
        assert sum(sums.values()) + nowhere == pytest.approx(1)
        assert nowhere >= -1e-5
        for i, sentence in enumerate(d.sentences):
            if sentence.block is None:
                assert found.paragraph[i, j] == found.confidence[i, j]
            else:
                mass = np.array([min(sums[sentence.block], 1.0)])
                assert found.paragraph[i, j] == pytest.approx(float(paragraph_confidence(mass)[0]), abs=1e-5)


def test_pictures_alone_score_by_their_cosine() -> None:
    d = workshop()
    found = weigh_evidence(d, cosines(d), READING, evidence=["picture"])
    np.testing.assert_array_equal(found.score, cosines(d))


def test_every_citing_sentence_is_nearly_certain() -> None:
    d = document(["See Figure 1.", "Nothing.", "Again Figure 1 shows it."], [Image("a.jpg", caption="Figure 1: A.")])
    found = weigh_evidence(d, None, READING)
    assert (found.confidence[[0, 2], 0] >= EXPLICIT_PRECISION).all()
    assert found.confidence[1, 0] < 0.01
    assert (found.paragraph >= found.confidence).all()


def test_each_strength_of_a_reference_adds_its_log_odds() -> None:
    picture = Image("a.jpg", caption="Figure 1: A.", position=1)
    for text, strength in (
        ("See Figure 1.", EXPLICIT),
        ("The photo below shows it.", DIRECTED),
        ("In this photo.", VAGUE),
        ("See Figure 2.", ELSEWHERE),
    ):
        images = [picture, Image("b.jpg", caption="Figure 2: B.", position=2)]
        found = weigh_evidence(document([text, "Nothing."], images), None, READING, evidence=["reference"])
        assert found.contributions["reference"][:, 0].tolist() == [np.float32(REFERENCE_WEIGHTS[strength]), 0]


def test_references_alone_link_only_what_is_cited() -> None:
    d = document(["See Figure 1.", "Nothing."], [Image("a.jpg", caption="Figure 1: A."), Image("b.jpg")])
    links = link_document(d, None, evidence=["reference"]).links
    assert [(link.sentence, link.image, set(link.evidence)) for link in links] == [(0, 0, {"reference"})]


@pytest.mark.parametrize(
    ("position", "block"), [(4, None), (3, None), (4, 1)], ids=["below the paragraph", "within", "at its end"]
)
def test_a_bare_picture_prefers_its_paragraph(position: Any, block: Any) -> None:
    confidence = weigh_evidence(workshop(Image("IMG_1.jpg", position=position, block=block)), None, READING).confidence
    first, own, last = confidence.reshape(3, 2).sum(axis=1)
    assert own > max(first, last)


@pytest.mark.parametrize(("texts", "images"), [([], []), ([], [Image("a.jpg", position=0)]), (["One."], [])])
def test_empty_documents(texts: Any, images: Any) -> None:
    d = document(texts, images)
    linked = link_document(d, cosines(d))
    assert linked.links == ()
    assert linked.similarity.shape == (len(texts), len(images))


def test_wrong_arguments() -> None:
    d = workshop()
    with pytest.raises(SettingError, match="smell"):
        link_document(d, None, evidence=["smell"])
    with pytest.raises(ShapeError, match=r"\(2, 2\)"):
        link_document(d, np.zeros((2, 2), np.float32))
    with pytest.raises(ShapeError, match="sentence_vectors"):
        link_document(d, None, reading=Reading(encode, np.zeros((1, 3), np.float32)))


def test_great_log_odds_do_not_overflow() -> None:
    d = document(["One.", "Two."], [Image("a.jpg", caption="A caption.")])
    features = {"layout": {"layout.x": np.array([[1000.0], [-1000.0]], np.float32)}}
    weights = {"layout": Coefficients(0.0, {"layout.x": 1.0})}
    (found,) = combine([DocumentEvidence(d, d, np.arange(1), features)], weights)
    np.testing.assert_allclose(found.share[:, 0], [1, 0])
    np.testing.assert_allclose(found.confidence[:, 0], [1 - OVERRATED, 0])


def test_heavy_packages_wait() -> None:
    code = "import sys, iconotext.run; sys.exit(any(m in sys.modules for m in ('torch', 'scipy', 'lap')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_picture_with_nothing_else_gets_its_best_guess() -> None:
    bare = document(TEXTS[:4], [Image("IMG_1.jpg"), Image("IMG_2.jpg")], blocks=[None] * 4)
    for evidence in (["picture"], EVIDENCE):  # asked for, or all there is
        linked = link_document(bare, cosines(bare), evidence=evidence, k=1)
        assert [link.image for link in linked.links].count(0) == 1
        assert len(linked.links) == 2
    assert link_document(bare, cosines(bare), evidence=["picture"], min_confidence=0.99).links == ()


CONFIDENCE = np.array([[0.9, 0.8], [0.7, 0.1], [0.0, 0.0]], np.float32)

matrices = arrays(
    np.float32, array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=4), elements=st.floats(0, 1, width=32)
)


@pytest.mark.parametrize(
    ("options", "cells"),
    [
        ({"k": 1}, {(0, 0), (0, 1)}),
        ({"k": 2}, {(0, 0), (1, 0), (0, 1), (1, 1)}),
        ({"k": 2, "min_confidence": 0.5}, {(0, 0), (1, 0), (0, 1)}),
        ({"k": 99, "min_confidence": 0.8}, {(0, 0), (0, 1)}),
    ],
)
def test_by_hand(options: Any, cells: Any) -> None:
    chosen = chosen_cells(CONFIDENCE, **options)
    assert set(zip(*(axis.tolist() for axis in chosen.nonzero()), strict=True)) == cells


@given(matrix=matrices, k=st.integers(1, 5), least=st.floats(0, 1))
def test_shape_number_and_threshold(matrix: Any, k: int, least: Any) -> None:
    chosen = chosen_cells(matrix, k=k, min_confidence=least)
    assert chosen.shape == matrix.shape
    assert (matrix[chosen] >= least).all()
    assert (chosen.sum(axis=0) <= k).all()


def test_ties_go_to_the_first_sentence() -> None:
    chosen = chosen_cells(np.full((4, 2), 0.5, np.float32), k=1)
    np.testing.assert_array_equal(chosen.nonzero()[0], [0, 0])
