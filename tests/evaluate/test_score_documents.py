from __future__ import annotations

import numpy as np

from iconotext.evaluate import Scored, evaluate
from iconotext.evaluate.score_documents import random_scores


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
