"""How often what training takes for a link is one."""

from __future__ import annotations

import numpy as np
import pytest

from iconotext.evaluate.results import Scored
from iconotext.recipe import SimilaritySettings
from iconotext.train import train
from iconotext.train.validate import Sampling, gold_among
from tests.support.training import log_of, small_recipe, write_synthetic

# Best images of the sentences: 0, 0, 2; best sentences of the images: 0, 2, 1. Worst: 2, 1, 0 and 2, 0, 0.
SCORES = np.array([[0.9, 0.1, 0.0], [0.8, 0.2, 0.3], [-0.1, 0.4, 0.5]], np.float32)


@pytest.mark.parametrize(
    ("settings", "links", "likely", "unlikely"),
    [
        # Both directions choose k = 3 each: (0,0) (1,0) (2,2) and (0,0) (2,1) (2,2).
        ({"kind": "dense"}, [(0, 0), (1, 1), (2, 2)], 4 / 6, 1 / 6),
        ({"kind": "top-k"}, [(0, 0), (1, 1), (2, 2)], 4 / 6, 1 / 6),
        # k = 2: (0,0) (1,0) and (0,0) (2,2); unlikely (2,0) (0,2) and (2,0) (0,2).
        ({"kind": "top-k", "k": "half"}, [(0, 0), (2, 0)], 2 / 4, 2 / 4),
        # The best matching is (0,0) (1,2) (2,1) or (0,0) (1,1) (2,2): 1.6 each; with k = 1 it is (0,0), the worst (2,0).
        ({"kind": "assignment", "k": 1}, [(2, 0)], 0.0, 1.0),
        ({"kind": "assignment", "k": 1}, [(0, 0)], 1.0, 0.0),
    ],
)
def test_by_hand(settings, links, likely, unlikely):
    found = gold_among([Scored("d", SCORES, tuple(links))], SimilaritySettings(**settings))
    assert found == pytest.approx((likely, unlikely, len(links) / 9), abs=1e-6)


def test_means_over_documents_that_have_links_and_others():
    every = tuple((i, j) for i in range(3) for j in range(3))
    documents = [Scored("a", SCORES, ((0, 0),)), Scored("b", SCORES, every), Scored("c", SCORES, ()),
                 Scored("d", SCORES[:1], ((0, 2),))]  # fmt: skip
    found = gold_among(documents, SimilaritySettings(kind="top-k", k=1))
    assert found == pytest.approx((0.5, 0.5, (1 / 9 + 1 / 3) / 2), abs=1e-6)
    assert gold_among(documents[1:3], SimilaritySettings()) == Sampling()


@pytest.mark.training
@pytest.mark.parametrize(("kind", "links"), [("top-k", True), ("top-k", False), ("single-pair", True)])
def test_a_run_logs_it_where_gold_links_are_known(tmp_path, kind, links):
    corpus = write_synthetic(tmp_path, 40, links=links)
    train(small_recipe(similarity={"kind": kind}, training={"epochs": 2}), [corpus], tmp_path / "m")
    for row in log_of(tmp_path / "m"):
        shares = [row[name] for name in ("likely_gold", "unlikely_gold", "gold")]
        if kind == "single-pair" or not links:
            assert shares == ["", "", ""]
        else:
            assert float(shares[2]) == 0.25
            assert 0 <= float(shares[1]) <= 1
            assert 0 <= float(shares[0]) <= 1
