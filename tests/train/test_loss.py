"""How the recipe's objectives are put together (Li 2021, Eq. 5)."""

from __future__ import annotations

import pytest
import torch

from iconotext.objectives import OBJECTIVES
from iconotext.objectives.contrastive import directions, hinge
from iconotext.objectives.within import draw_members, intra_document
from iconotext.similarity.sets import set_similarities
from iconotext.train.batches import Batch
from iconotext.train.loss import losses_of
from tests.support.training import small_recipe

SENTENCES, IMAGES = [3, 2, 4, 2], [2, 2, 3, 1]
COSINES = torch.rand(sum(SENTENCES), sum(IMAGES), generator=torch.Generator().manual_seed(2)) * 2 - 1
STRANGERS = ~torch.eye(4, dtype=torch.bool)
POSITIVES = 3


def losses(similarity="top-k", directions="mean", posteriors=None, **objective):
    recipe = small_recipe(similarity={"kind": similarity, "directions": directions}, objective=objective)
    batch = Batch(
        None, POSITIVES, SENTENCES, IMAGES, None, None, None, torch.zeros(0), STRANGERS, posteriors=posteriors
    )
    one = torch.tensor(1.0)
    generator = torch.Generator().manual_seed(5)
    return losses_of(COSINES, batch, recipe, epoch=0, generator=generator, scale=one, bias=one)


def blocks():
    return [rows.split(IMAGES, 1)[i] for i, rows in enumerate(COSINES.split(SENTENCES))]


@pytest.mark.parametrize("kind", ["top-k", "dense"])
def test_the_total_is_the_weighted_sum_of_the_three(kind):
    c, i, d = (
        losses(kind, cross_document=float(n == 0), intra_document=float(n == 1), sub_document=float(n == 2))
        for n in range(3)
    )
    total = losses(kind, cross_document=0.5, intra_document=2.0, sub_document=3.0)
    torch.testing.assert_close(total, 0.5 * c + 2 * i + 3 * d)


@pytest.mark.parametrize("name", [row.name for row in OBJECTIVES.values() if row.compares])
def test_every_objective_of_the_table_counts_by_its_weight(name):
    cells = sum(s * v for s, v in zip(SENTENCES[:POSITIVES], IMAGES[:POSITIVES], strict=True))
    likely = torch.full((cells,), 0.5) if name == "posterior" else None
    once, twice = (
        losses(**({"cross_document": 0.0} | {name: weight}), posteriors=likely, margin=2.0) for weight in (1.0, 2.0)
    )
    assert (once > 0).any()
    torch.testing.assert_close(twice, 2 * once)


def test_the_intra_document_objective_has_half_the_margin():
    found = losses(cross_document=0.0, intra_document=1.0, margin=0.4)
    for loss, block in zip(found, blocks()[:POSITIVES], strict=True):
        likely = set_similarities(block, [len(block)], [block.shape[1]], kind="top-k", directions="mean")[0]
        unlikely = -set_similarities(-block, [len(block)], [block.shape[1]], kind="top-k", directions="mean")[0]
        torch.testing.assert_close(loss, intra_document(likely, unlikely, margin=0.2)[0])


def test_the_sub_document_objective_compares_parts_with_whole_documents_by_half_the_margin():
    found = losses(cross_document=0.0, sub_document=1.0, p_sub=0.6, margin=0.4)
    whole = set_similarities(COSINES, SENTENCES, IMAGES, kind="top-k", directions="mean")
    generator = torch.Generator().manual_seed(5)
    rows, n = draw_members(SENTENCES[:POSITIVES], 0.6, generator)
    columns, m = draw_members(IMAGES[:POSITIVES], 0.6, generator)
    assert (n, m) == ([1, 1, 2], [1, 1, 1])
    own = torch.stack(
        [
            set_similarities(COSINES[r][:, c], [len(r)], [len(c)], kind="top-k", directions="mean")[0, 0]
            for r, c in zip(rows.split(n), columns.split(m), strict=True)
        ]
    )
    masks = STRANGERS[:POSITIVES], STRANGERS[:POSITIVES]
    torch.testing.assert_close(found, hinge(own, directions(whole, *masks), margin=0.2, negatives="hardest"))


def test_all_of_a_document_is_the_cross_document_objective_with_half_the_margin():
    whole = losses(cross_document=0.0, sub_document=1.0, p_sub=1.0, margin=0.4)
    torch.testing.assert_close(whole, losses(margin=0.2))


def test_a_margin_of_the_mean_asks_as_much_as_twice_that_of_the_sum():
    torch.testing.assert_close(losses(directions="sum", margin=0.4), 2 * losses(directions="mean", margin=0.2))


@pytest.mark.parametrize("kind", ["hinge", "softmax", "logistic"])
def test_assignments_have_all_three_too(kind):
    found = losses("assignment", "sum", kind=kind, intra_document=1.0, sub_document=1.0)
    assert found.shape == (POSITIVES,)
    assert found.isfinite().all()
