from __future__ import annotations

import random

import numpy as np
import pytest
from false_discoveries import benjamini_hochberg, competition
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from iconotext.decide.calibration import Figure
from iconotext.decide.false_discovery import Candidate, conformal_p_values, control_false_discoveries, thresholds_of
from iconotext.types import Document, Link, LinkedDocument
from tests.support.false_discoveries import mean_false, share

KIND = "en, caption, layout, by caption+layout"


def figure(score: float, right: bool) -> Figure:
    return Figure(score, right, score, right)


def test_p_values_by_hand():
    documents = [[figure(0.9, True), figure(0.8, False)], [figure(0.5, False)], [figure(0.95, True)]]
    found = conformal_p_values(np.array([0.99, 0.8, 0.5, 0.1]), {"one": documents}, "sentence")
    # Of the first document the wrong figure counts half, of the second one whole; and always one more.
    assert found.tolist() == [1 / 4, 1.5 / 4, 2.5 / 4, 2.5 / 4]
    harder = [[figure(0.999, False)]] * 3
    assert conformal_p_values(np.array([0.99]), {"one": documents, "two": harder}, "sentence") == [1.0]


def test_each_claim_has_its_own_score_and_truth():
    documents = [[Figure(0.2, False, 0.9, True)], [Figure(0.7, True, 0.8, False)]]
    assert conformal_p_values(np.array([0.5]), {"one": documents}, "sentence") == [1 / 3]
    assert conformal_p_values(np.array([0.5]), {"one": documents}, "paragraph") == [2 / 3]


@given(st.lists(st.integers(1, 40), max_size=30), st.sampled_from([0.05, 0.1, 0.2]))
def test_benjamini_hochberg_as_scipy_has_it(twentieths, alpha):
    p = np.minimum(np.array(twentieths, np.float64) / 400, 1)
    expected = false_discovery_control(p) <= alpha + 1e-9 if len(p) else np.zeros(0, bool)
    assert benjamini_hochberg(p, alpha).tolist() == expected.tolist()


def made_up(rng, documents: int, *, wrong: float = 0.0) -> list[list[Figure]]:
    """Documents of several figures, which are alike within each."""
    made = []
    for _ in range(documents):
        easy = rng.normal(scale=0.8)
        right = rng.random(rng.integers(1, 8)) < 1 / (1 + np.exp(-easy))
        scores = rng.normal(np.where(right, 2.0, wrong)) + easy
        made.append([figure(float(s), bool(r)) for s, r in zip(scores, right, strict=True)])
    return made


def test_selection_keeps_its_promise_and_not_with_calibration_of_another_kind():
    rng = np.random.default_rng(4)
    fair: list[float] = []
    unfair: list[float] = []
    for _ in range(300):
        rows = [each for document in made_up(rng, 25) for each in document]
        scores, right = np.array([(each.sentence, each.sentence_right) for each in rows]).T
        table = {"same": made_up(rng, 60), "easier": made_up(rng, 60, wrong=-2)}
        for classes, shares in ((table, fair), ({"easier": table["easier"]}, unfair)):
            kept = benjamini_hochberg(conformal_p_values(scores, classes, "sentence"), 0.2)
            shares.append(share(kept, right == 0))
    mean, error = mean_false(fair)
    assert mean <= 0.2 + error
    mean, error = mean_false(unfair)
    assert mean > 0.25 + error


def test_a_wrong_figure_among_calibration_figures_is_as_good_as_any():
    # Exchangeable figures: whichever of eleven documents is tested, its rank among the others is uniform.
    rng = np.random.default_rng(5)
    found = []
    for _ in range(400):
        *others, own = [[figure(float(s), False) for s in rng.normal(size=rng.integers(1, 4))] for _ in range(10)]
        found.append(conformal_p_values(np.array([own[0].sentence]), {"one": others}, "sentence")[0])
    for level in (0.1, 0.2, 0.5):
        assert np.mean(np.array(found) <= level) <= level + 2 * (level * (1 - level) / 400) ** 0.5


def run_of(number: int, *, kind: str = KIND, decoy: float | None = 0.1) -> list[Candidate]:
    return [Candidate(f"d{n % 4}", n, kind, 0.9, 0.95, 0.8, decoy) for n in range(number)]


GOOD = {KIND: {"one": [[figure(0.99, True)]] * 60}}


def test_all_three_claims():
    promises = control_false_discoveries(run_of(20), GOOD, 0.1, "paragraph")
    assert [(p.claim, p.tested, p.kept, p.calibration, p.refused) for p in promises.made] == [
        ("document", 20, 20, 20, None),
        ("paragraph", 20, 20, 60, None),
        ("sentence", 20, 20, 60, None),
    ]
    links = tuple(Link(0, image, 0.5, 0.5, {}) for image in range(5))
    linked = LinkedDocument(Document("d1", ("a",), ("1", "2", "3", "4", "5")), links, np.zeros((1, 5)), "m")
    kept = promises.keep(linked)
    assert [link.image for link in kept.links] == [1]  # of the first five, the others are of other documents
    assert kept.promises[0].images == {1, 5, 9, 13, 17}
    all_stay = control_false_discoveries(run_of(20), GOOD, 0.1, "none").keep(linked)
    assert all_stay.links == links
    assert [(p.images, p.decides) for p in all_stay.promises] == [(p.images, False) for p in kept.promises]


@pytest.mark.parametrize(
    ("tested", "table", "claim", "why"),
    [
        (run_of(20), {}, 2, "not enough calibration data of this kind (en, caption"),
        (run_of(20), {KIND: {}}, 1, "not enough calibration data"),
        (run_of(20, kind="de, no words"), GOOD, 2, "(de, no words)"),
        (run_of(20), {KIND: {"one": [[figure(1, True)]] * 8}}, 1, "not enough calibration data"),
        (run_of(20), {KIND: {**GOOD[KIND], "two": [[figure(1, True)]] * 8}}, 1, "not enough calibration data"),
        ([each._replace(paragraph=None) for each in run_of(20)], GOOD, 1, "not enough calibration data"),
        (run_of(9), GOOD, 0, "at least 10 are needed"),
        (run_of(20, decoy=None), GOOD, 0, "link several documents"),
    ],
)
def test_what_cannot_be_promised_is_refused(tested, table, claim, why):
    promises = control_false_discoveries(tested, table, 0.1)
    made = promises.made[claim]
    assert why in str(made.refused)
    assert (made.tested, made.kept, made.untested) == (0, 0, len(tested))
    assert not promises.passed[made.claim]


def test_nine_documents_are_enough_where_all_figures_pass():
    made = control_false_discoveries(run_of(5), {KIND: {"one": [[figure(1, True)]] * 9}}, 0.1).made[2]
    assert (made.tested, made.kept, made.refused) == (5, 5, None)


def test_images_of_an_unknown_kind_are_left_out_and_counted():
    mixed = [*run_of(12), *(each._replace(image=each.image + 50) for each in run_of(3, kind="fr", decoy=None))]
    document, _, sentence = control_false_discoveries(mixed, GOOD, 0.1).made
    assert (sentence.tested, sentence.untested, sentence.refused) == (
        12, 3, "not enough calibration data of this kind (fr)",
    )  # fmt: skip
    assert (document.tested, document.untested, document.refused) == (12, 3, "no decoy with words of the same kind")


def test_no_images_no_promise():
    assert [(p.tested, p.kept) for p in control_false_discoveries([], GOOD, 0.1).made] == [(0, 0)] * 3


def test_the_order_of_images_does_not_matter():
    rng = random.Random(1)
    tested = [each._replace(own=rng.random(), decoy=rng.random() / 2, sentence=rng.random()) for each in run_of(60)]
    table = {KIND: {"one": [[figure(rng.random(), rng.random() < 0.8)] for _ in range(60)]}}
    digests = set()
    for _ in range(5):
        rng.shuffle(tested)
        digests.add(control_false_discoveries(tested, table, 0.3).digest)
    assert len(digests) == 1
    assert control_false_discoveries(tested, table, 0.4).digest not in digests


def test_images_in_batches_are_promised_as_all_at_once():
    # The oracle tests every claim with all images in memory.
    rng = random.Random(2)
    table = {KIND: {"one": [[figure(rng.random(), rng.random() < 0.9)] for _ in range(80)]}, "few": {"one": []}}
    for number in (0, 3, 150):
        tested = [
            each._replace(
                document=f"d{n}",
                kind=rng.choice([KIND, KIND, KIND, "few", "fr"]),
                own=rng.randrange(40),
                decoy=rng.choice([None, rng.randrange(12), rng.randrange(12)]),
                collection=rng.choice([None, "one", "two"]),
                sentence=rng.random(),
                paragraph=rng.choice([None, 0.5 + rng.random() / 2]),
            )
            for n, each in enumerate(run_of(number))
        ]
        cuts = sorted(rng.sample(range(number + 1), min(number, 3)))
        batches = [tested[i:j] for i, j in zip([0, *cuts], [*cuts, number], strict=True)]
        rule = thresholds_of(batches, table, 0.3, "paragraph")
        pairs = [each for each in tested if each.decoy is not None]
        scores = np.array([(each.own, each.decoy) for each in pairs], np.float64).reshape(-1, 2).T
        good = competition(scores[0], scores[1], 0.3, [each.collection for each in pairs])
        wanted = {"document": {each.document for each, passed in zip(pairs, good, strict=True) if passed}}
        for claim in ("paragraph", "sentence"):
            known = [each for each in tested if each.kind == KIND and getattr(each, claim) is not None]
            p = conformal_p_values(np.array([getattr(each, claim) for each in known]), table[KIND], claim)
            good = benjamini_hochberg(p, 0.3)
            wanted[claim] = {each.document for each, passed in zip(known, good, strict=True) if passed}
        assert {each.claim: each.kept for each in rule.made} == {claim: len(some) for claim, some in wanted.items()}
        found: dict[str, set[str]] = {claim: set() for claim in wanted}
        for batch in batches:
            for claim, images in rule.promises(batch).passed.items():
                found[claim] |= set(images)
        assert found == wanted
        assert number < 150 or all(wanted.values())
