"""The share of false discoveries over many draws."""

from __future__ import annotations

from typing import Any

import numpy as np


def mean_false(shares: list[float]) -> tuple[float, float]:
    """The mean, and twice its Monte Carlo error."""
    return float(np.mean(shares)), 2 * float(np.std(shares)) / len(shares) ** 0.5


def share(kept: Any, false: Any) -> float:
    """The share of those kept that is false; 0 if none is kept."""
    return float(false[kept].mean()) if kept.any() else 0.0
