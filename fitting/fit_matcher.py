"""Training the matcher of captions with sentences: sentences that cite a figure against the others of the document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from iconotext.errors import ShapeError
from iconotext.evidence.caption import WEIGHTS, Matcher

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

    from iconotext.types import FloatMatrix

RANK, EPOCHS, BATCH, RATE, DECAY, DROPOUT = 48, 6, 16, 2e-3, 0.02, 0.1


class CitedCaptions(NamedTuple):
    """The figures of a document; S sentences, V figures, d dimensions of the encoder.

    Attributes:
        sentences: (S, d) vectors.
        captions: (V, d) vectors; zeros for a figure without a text, which takes no part.
        positive: (S, V) bool, the sentence cites the figure.
        weight: How much each figure counts.
    """

    sentences: FloatMatrix
    captions: FloatMatrix
    positive: NDArray[np.bool_]
    weight: float = 1.0


def fit_matcher(documents: Sequence[CitedCaptions], probe: FloatMatrix, *, seed: int = 0) -> Matcher:
    """The matcher under which the sentences that cite are the most probable of their documents.

    The loss of a figure is -log of the share of its citing sentences in the softmax over the document's sentences.

    Args:
        probe: (d,) the encoder's vector of ``matcher.PROBE``.

    Raises:
        ShapeError: No figure has both a text and a citing sentence.
    """
    import torch

    usable = [each for each in documents if _known(each).any()]
    if not usable:
        raise ShapeError("no figure has both a text and a sentence that cites it: nothing to fit")
    generator = np.random.default_rng(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        weights = _start(len(probe))
        optimiser = torch.optim.AdamW(list(weights.values()), lr=RATE, weight_decay=DECAY)
        steps = EPOCHS * -(-len(usable) // BATCH)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps)
        for _ in range(EPOCHS):
            order = generator.permutation(len(usable))
            for begin in range(0, len(order), BATCH):
                some = [usable[i] for i in order[begin : begin + BATCH]]
                losses = [_loss(weights, each) for each in some]
                figures = sum(int(_known(each).sum()) for each in some)
                optimiser.zero_grad()
                (torch.stack(losses).sum() / figures).backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
                optimiser.step()
                schedule.step()
    captions, sentences, citing, scale = (weights[name].detach().numpy() for name in WEIGHTS[:4])
    return Matcher(captions, sentences, citing, scale, probe)


def _start(size: int) -> dict[str, torch.Tensor]:
    """The weights before the first step: the cosine, little else."""
    import torch

    projection = torch.empty(RANK, size).normal_(std=0.05)
    return {
        "captions": projection.clone().requires_grad_(),
        "sentences": projection.clone().requires_grad_(),
        "citing": torch.zeros(size, requires_grad=True),
        "scale": torch.tensor([10.0, 5.0, 3.0], requires_grad=True),
    }


def _loss(weights: dict[str, torch.Tensor], document: CitedCaptions) -> torch.Tensor:
    """Sum over the figures of a document."""
    import torch
    from torch.nn.functional import dropout

    known = _known(document)
    sentences, captions = torch.from_numpy(document.sentences), torch.from_numpy(document.captions[known])
    positive = torch.from_numpy(document.positive[:, known])
    left, right = sentences @ weights["sentences"].T, captions @ weights["captions"].T
    cosine, learned, citing = weights["scale"]
    score = cosine * (sentences @ captions.T) + learned * (dropout(left, DROPOUT) @ dropout(right, DROPOUT).T)
    score = score + citing * (dropout(sentences, DROPOUT) @ weights["citing"])[:, None]
    right_ones = torch.logsumexp(score.masked_fill(~positive, -1e9), dim=0)
    return document.weight * (torch.logsumexp(score, dim=0) - right_ones).sum()


def _known(document: CitedCaptions) -> NDArray[np.bool_]:
    """(V,) the figures that take part."""
    return np.asarray(document.positive.any(axis=0) & document.captions.any(axis=1))
