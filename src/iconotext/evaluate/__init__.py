"""Measures how good links are: metrics, intervals, and whether one model is better than another.

>>> from iconotext.evaluate import Scored, evaluate
>>> evaluation = evaluate([Scored("a", [[0.9, 0.1], [0.4, 0.6]], ((0, 0), (1, 0)))])
>>> evaluation.means["auc"]
0.75
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from iconotext.system.lazy import lazy

if TYPE_CHECKING:
    from iconotext.evaluate.results import (
        Comparison,
        DocumentScores,
        Evaluation,
        Results,
        Scored,
        compare,
        evaluate,
        read_results,
        write_results,
    )

__all__ = [
    "Comparison",
    "DocumentScores",
    "Evaluation",
    "Results",
    "Scored",
    "compare",
    "evaluate",
    "read_results",
    "write_results",
]

__getattr__, __dir__ = lazy(__name__, dict.fromkeys(__all__, "iconotext.evaluate.results"))
