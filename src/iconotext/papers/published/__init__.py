"""The results tables of the papers, as published, a module for each paper."""

from __future__ import annotations

from iconotext.papers.published import hessel2019, li2021
from iconotext.papers.published.figures import Figures, Table
from iconotext.papers.published.hessel2019 import DENSITY, EXPLAINED, LOWEST_CORRELATION, NEGATIVES

__all__ = ["DENSITY", "EXPLAINED", "LOWEST_CORRELATION", "NEGATIVES", "PUBLISHED", "Figures", "Table"]

PUBLISHED: dict[str, Table] = {**hessel2019.TABLES, **li2021.TABLES}
"""Name of the table to its rows: those of Hessel 2019 have a number alone, others their paper's name before it."""
