"""One batch that every model of Hessel 2019 learns by heart, step by step as a version written from the paper alone."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from scipy.optimize import linear_sum_assignment
from torch.nn.functional import normalize

from iconotext.encoders.joint_model import JointModel
from iconotext.recipe.encoders import Inputs
from iconotext.train.batches import Batch
from iconotext.train.loop import make_optimizer, training_step
from papers.support.tables import table_rows

WORDS, FEATURES = 40, 12
RATE = 0.003
SMALL = ["dim=24", "text.word_dim=10", "text.dropout=0", "image.dropout=0", f"training.learning_rate={RATE}"]


def a_batch(sizes):
    """Random documents of these numbers of sentences and images."""
    rng = np.random.default_rng(0)
    sentences, images = (list(counts) for counts in zip(*sizes, strict=True))
    lengths = torch.from_numpy(rng.integers(1, 7, sum(sentences)))
    return Batch(
        documents=np.arange(len(sizes)),
        positives=len(sizes),
        sentence_counts=sentences,
        image_counts=images,
        sentences=None,
        words=torch.from_numpy(rng.integers(0, WORDS, int(lengths.sum()))),
        lengths=lengths,
        images=torch.from_numpy(rng.normal(size=(sum(images), FEATURES)).astype(np.float32)),
        negative_mask=~torch.eye(len(sizes), dtype=torch.bool),
    )


class FromThePaper:
    """§3.1, §3.2 and Eq. 1 for one document and sentence after the other, with PyTorch's own GRU and Adam."""

    def __init__(self, model, similarity, worst):
        self.model, self.similarity, self.worst = copy.deepcopy(model), similarity, worst
        self.adam = torch.optim.Adam([p for p in self.model.parameters() if p.requires_grad], RATE)

    def step(self, batch):
        text, image = self.model.text, self.model.image
        sentences = []
        for words in torch.split(batch.words, batch.lengths.tolist()):
            _, state = text.gru(text.embedding(words)[None])
            sentences.append(normalize(state[0, 0], dim=0))
        images = [normalize(image.out(features), dim=0) for features in batch.images]
        s, v = (
            torch.split(torch.stack(vectors), counts)
            for vectors, counts in ((sentences, batch.sentence_counts), (images, batch.image_counts))
        )
        n = len(s)
        sim = [[self.similarity(s[i] @ v[j].T) for j in range(n)] for i in range(n)]
        losses = []
        for i in range(n):
            h = [[torch.relu(0.2 - sim[i][i] + sim[a][b]) for a, b in pairs if a != b]
                 for pairs in ([(i, j) for j in range(n)], [(j, i) for j in range(n)])]  # fmt: skip
            losses.append(sum(self.worst(torch.stack(each)) for each in h))
        loss = sum(losses) / n
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()
        return float(loss.detach())


def dc(m):
    return m.max(1).values.mean() + m.max(0).values.mean()


def tk(m):
    k = min(m.shape)
    return (
        m.max(1).values.sort(descending=True).values[:k].mean()
        + m.max(0).values.sort(descending=True).values[:k].mean()
    )


def ap(m):
    return m[linear_sum_assignment(-m.detach().numpy())].mean()


def nostruct(m):
    return m[0, 0]


@pytest.mark.training
@pytest.mark.parametrize(
    ("key", "similarity", "worst"),
    [("dense", dc, torch.max), ("top-k", tk, torch.max), ("assignment", ap, torch.max),
     ("nostruct", nostruct, torch.mean)],
)  # fmt: skip
def test_a_batch_is_learned_by_heart_step_by_step_as_in_the_paper(key, similarity, worst):
    recipe = next(row.recipe for row in table_rows("2", SMALL) if row.key == key)
    torch.manual_seed(0)
    model = JointModel(recipe, Inputs(words=WORDS, text_features=0, image_features=FEATURES))
    paper = FromThePaper(model, similarity, worst)
    optimizer = make_optimizer(model, recipe)
    # NoStruct sees one drawn sentence and image of each document.
    batch = a_batch([(1, 1)] * 6 if key == "nostruct" else [(3, 5), (5, 3), (4, 4), (2, 4), (4, 2), (3, 3)])

    def step(number):
        losses = training_step(torch.device("cpu"), model, optimizer, batch, recipe, epoch=0, step=number, rate=RATE)
        return float(losses.mean())

    ours, theirs = zip(*((step(number), paper.step(batch)) for number in range(30)), strict=True)
    np.testing.assert_allclose(ours, theirs, atol=2e-4)
    assert ours[0] > 0.3
    assert [step(number) for number in range(30, 150)][-1] < 0.01
