"""Measures how good links are: metrics, intervals, and whether one model is better than another.

``metrics`` scores one matrix, ``results`` a corpus; ``intervals`` and ``significance`` show how reliable figures are.
``random_scores`` is the baseline of chance. Pairs of one text and one image have measures of their own: ``retrieval``
(with ``pair_vectors`` and ``retrieval_scores``) and the ``average_precision`` of relations.
"""

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
