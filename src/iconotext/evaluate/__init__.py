"""How good links are: metrics, intervals, comparisons, baselines, and the analyses of Hessel 2019 and Li 2021.

``metrics`` scores one matrix, ``results`` a corpus of them; ``intervals``, ``significance`` and ``seeds`` say how sure
that is. ``random_scores`` and ``object_detection`` are the baselines. ``correlation``, ``difficulty``, ``explained``,
``bias``, ``shares``, ``examples`` and ``curves`` look closer; ``published`` and ``table`` set our figures beside those
of the papers. Text-image pairs have measures of their own: ``retrieval`` (with ``pair_vectors``, ``retrieval_scores``,
``refinement_tuning``), ``average_precision`` of relations, and what people prefer (``human``).
"""

from iconotext.evaluate.results import (
    DocumentScores,
    Evaluation,
    Results,
    Scored,
    evaluate,
    read_results,
    write_results,
)
from iconotext.evaluate.significance import Comparison, compare

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
