"""Measures how good links are: metrics, intervals, and whether one model is better than another.

``metrics`` scores one matrix, ``results`` a corpus; ``statistics`` shows how reliable figures are. ``scores`` stores
the scores of a model. Pairs of one text and one image have separate measures: ``retrieval`` (with ``pair_vectors`` and
``retrieval_report``) and the ``average_precision`` of relations.
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
