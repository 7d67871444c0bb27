from __future__ import annotations

import numpy as np
import pytest

from iconotext.evaluate import Scored, evaluate
from iconotext.evaluate.score_documents import RealisedPromise, random_scores
from iconotext.types import Document, Image, Link, LinkedDocument, Promise, Sentence


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("sentence", "66.7\u00a0% of the links that were kept lead to a wrong sentence (3 of 4 pictures"),
        ("paragraph", "33.3\u00a0% of the links that were kept lead to a wrong paragraph (3 of 4 pictures"),
        ("document", None),
    ],
)
def test_shares_by_hand(claim, said):
    sentences = tuple(Sentence(f"{n}.", n // 2) for n in range(6))
    images = tuple(Image(f"{n}.png", position=0) for n in range(5))
    # Right; the other sentence of its paragraph; another paragraph; dropped; without gold links.
    document = Document("d", sentences, images, links=((0, 0), (2, 1), (4, 2), (5, 3)))
    links = tuple(Link(i, j, 0.5, 0.5, {}) for i, j in [(0, 0), (3, 1), (1, 2), (5, 4)])
    realised = RealisedPromise(claim)
    realised.see(LinkedDocument(document, links, np.zeros((6, 5), np.float32), "m", (Promise(claim, 0.1, 5, 4, 20),)))
    lines: list[str] = []
    realised.finish(lines.append)
    assert lines[0].startswith(f"Right {claim}: 4 of 5 pictures have a link that is sure enough")
    assert [said in line for line in lines[1:]] == [True] if said else len(lines) == 1


def test_without_a_promise_nothing_is_said():
    lines: list[str] = []
    RealisedPromise("sentence").finish(lines.append)
    assert lines == []


def test_random_scores_depend_on_the_document_and_the_seed_alone():
    one = random_scores("a", 3, 4)
    np.testing.assert_array_equal(one, random_scores("a", 3, 4))
    assert (one != random_scores("b", 3, 4)).any()
    assert (one != random_scores("a", 3, 4, seed=1)).any()
    assert one.dtype == np.float32
    many = [Scored(str(i), random_scores(str(i), 8, 8), tuple((j, j) for j in range(8))) for i in range(600)]
    interval = evaluate(many).intervals["auc"]
    assert interval is not None
    assert interval[0] < 0.5 < interval[1] < interval[0] + 0.03
