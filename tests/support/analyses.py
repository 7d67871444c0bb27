"""Scores for the tests of results and drawings."""

from __future__ import annotations

from iconotext.evaluate.metrics import LINK_METRICS
from iconotext.evaluate.results import DocumentScores, Evaluation


def document_scores(name, auc, p1=0.0, p5=0.0, hits=0.0, *, sentences=2, images=2, links=1, linked_images=1):
    """The figures of a document; without an AUC there are none."""
    if auc is None:
        return DocumentScores(name, sentences, images, 0, undefined="it has no gold links")
    figures = dict.fromkeys(LINK_METRICS, (0.0, 1))
    figures |= {"auc": (auc, 1), "p@1": (p1, 1), "p@5": (p5, 1), "image@1": (hits, linked_images)}
    return DocumentScores(name, sentences, images, links, figures)


def scores(*aucs):
    return Evaluation(tuple(document_scores(f"d{n}", a, (a or 0) / 2, 0.2, 1.0) for n, a in enumerate(aucs)))
