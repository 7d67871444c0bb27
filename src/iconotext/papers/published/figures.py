"""What a published figure is."""

from __future__ import annotations

Figures = tuple[float, float, float]
"""AUC, p@1, p@5, in percent."""

Table = dict[str, dict[str, Figures]]
"""Name of the row to data set to figures."""
