"""How often links of a confidence are right, measured on publishers left out of the fit."""

from __future__ import annotations

import json
from collections.abc import Collection
from importlib.resources import files
from typing import NamedTuple

from iconotext.plain_text import percent


class Measured(NamedTuple):
    """How often links of at least a confidence were right, on publishers left out of the fit; shares, 0 to 1.

    Attributes:
        source: The data of the measurement, in words.
        at_least: The confidence.
        coverage: Share of the figures whose best link has at least this confidence; the next shares are of these.
        sentence: Share whose link leads to the right sentence.
        sentence_range: Lowest and highest share of a publisher.
        paragraph: Share whose link leads to the right paragraph.
        paragraph_range: Lowest and highest share of a publisher.
    """

    source: str
    at_least: float
    coverage: float
    sentence: float
    sentence_range: tuple[float, float]
    paragraph: float
    paragraph_range: tuple[float, float]

    @property
    def confidence(self) -> str:
        """The confidence, in percent."""
        return percent(self.at_least)

    @property
    def figures(self) -> str:
        """Share of the figures, in percent."""
        return percent(self.coverage)

    @property
    def right_sentence(self) -> str:
        """Share of right sentences in percent, with its range."""
        return _with_range(self.sentence, self.sentence_range)

    @property
    def right_paragraph(self) -> str:
        """Share of right paragraphs in percent, with its range."""
        return _with_range(self.paragraph, self.paragraph_range)

    @property
    def words(self) -> str:
        """The row as a sentence."""
        sentence = _with_range(self.sentence, self.sentence_range, " by publisher")
        return (
            f"Of sentences that were {self.confidence} sure or more, {sentence} were right and {self.right_paragraph} "
            f"in the right paragraph, measured on {self.source} that were left out of the fit; {self.figures} of the "
            "figures had such a link."
        )


def _with_range(share: float, ends: tuple[float, float], suffix: str = "") -> str:
    return f"{percent(share)} ({100 * ends[0]:.0f}–{100 * ends[1]:.0f}{suffix})"


_TABLE = json.loads(files("iconotext.decide").joinpath("confidence.json").read_text(encoding="utf-8"))
MEASURED = tuple(
    Measured(
        _TABLE["source"],
        row["at_least"],
        row["kept"],
        row["sentence"],
        tuple(row["sentence_range"]),
        row["paragraph"],
        tuple(row["paragraph_range"]),
    )
    for row in _TABLE["rows"]
)
"""By ascending confidence; from ``confidence.json``, which ``python -m fitting confidence`` writes."""


def measured_for(evidence: Collection[str]) -> tuple[Measured, ...]:
    """Return ``MEASURED`` for evidence that includes captions and layout, as in the measurement; else nothing."""
    return MEASURED if {"caption", "layout"} <= set(evidence) else ()


def measured_at(confidence: float, evidence: Collection[str]) -> Measured | None:
    """Return the row of ``measured_for`` for the largest confidence up to this one, else the first; None without."""
    rows = measured_for(evidence)
    return next((row for row in reversed(rows) if row.at_least <= confidence), rows[0] if rows else None)
