"""Scores and distances for the tests of drawings."""

from __future__ import annotations

import numpy as np

from iconotext.evaluate.results import DocumentScores, Evaluation
from iconotext.papers.analyses.bias import Distances


def scores(*aucs):
    return Evaluation(
        tuple(
            DocumentScores(f"d{n}", 2, 2, 1, a, a / 2, 0.2, 1.0, 1) if a else DocumentScores("-", 2, 2, 0, undefined="")
            for n, a in enumerate(aucs)
        )
    )


def of(training, evaluation):
    """Distances of one document."""
    far, near = np.array(training, float), np.array(evaluation, float)
    return Distances(far, near, np.array([len(far)]), np.array([len(near)]), 1)
