"""The relations of a link as a reader is told them: those of Clue that say something of this link among the others.

Nearly every sentence of running text tells a story behind its picture, and to say so of each says nothing. So a
relation is shown where it is likelier than not and far likelier than among the document's links. CITE's questions were
asked of steps of recipes and say little of other texts; they are in JSON and Parquet only, with all probabilities.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import log
from typing import Any

from iconotext.relations import RELATIONS, Relation
from iconotext.types import Link, LinkedDocument

LIKELY = 0.5
"""Least probability of a relation that is shown."""

TIMES = 3.0
"""The odds of a relation that is shown are at least so many times its usual odds in the document."""

USUAL = {
    "Visible": 0.27,
    "Subjective": 0.05,
    "Action": 0.03,
    "Story": 0.67,
    "Meta": 0.10,
    "Irrelevant": 0.06,
}
"""How probable the shipped model finds each relation on average (of log-odds) over links of 333 documents: where a
document starts from (``benchmarks/shown_relations.py``)."""

AS_LINKS = 10
"""What is usual of documents counts as much as so many links of this one."""

LABELS = {
    "Visible": "says what it shows",
    "Subjective": "a reaction to it",
    "Action": "a moment of the action",
    "Story": "the story behind it",
    "Meta": "when, where or how",
    "Irrelevant": "maybe unrelated",
}
"""What a reader sees for each."""

_TOLD = {relation.name: relation for relation in RELATIONS if relation.name in LABELS}


def shown_relations(links: Iterable[Link]) -> dict[tuple[int, int], list[tuple[Relation, float]]]:
    """The relations to show.

    Args:
        links: All links of a document.

    Returns:
        By sentence and image of each link, its relations and their probabilities, the likeliest first.
    """
    told = [(link, link.relations or {}) for link in links]
    least = {}
    for name, usual in USUAL.items():
        known = [_log_odds(relations[name]) for _, relations in told if name in relations]
        least[name] = (sum(known) + AS_LINKS * _log_odds(usual)) / (len(known) + AS_LINKS) + log(TIMES)
    return {
        (link.sentence, link.image): sorted(
            (
                (_TOLD[name], probability)
                for name, probability in relations.items()
                if name in _TOLD and probability >= LIKELY and _log_odds(probability) >= least[name]
            ),
            key=lambda each: -each[1],
        )
        for link, relations in told
    }


def related_data(linked: LinkedDocument) -> dict[str, Any]:
    """What the script of the reading view needs to show relations; {} where no link has any.

    Returns:
        ``relations``: pairs of label and meaning; ``related``: per link, pairs of their number and the probability.
    """
    if not any(link.relations for link in linked.links):
        return {}
    names, shown = list(LABELS), shown_relations(linked.links)
    return {
        "relations": [[LABELS[name], _TOLD[name].meaning] for name in names],
        "related": [
            [[names.index(relation.name), float(f"{p:.4g}")] for relation, p in shown[link.sentence, link.image]]
            for link in linked.links
        ],
    }


def _log_odds(probability: float) -> float:
    kept = min(max(probability, 1e-5), 1 - 1e-5)
    return log(kept / (1 - kept))
