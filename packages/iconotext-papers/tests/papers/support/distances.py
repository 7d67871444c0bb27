"""Distances for the tests of drawings."""

from __future__ import annotations

import numpy as np

from iconotext_papers.analyses.bias import Distances


def of(training, evaluation):
    """Distances of one document."""
    far, near = np.array(training, float), np.array(evaluation, float)
    return Distances(far, near, np.array([len(far)]), np.array([len(near)]), 1, ((1,),))
