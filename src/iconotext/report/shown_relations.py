"""Which relations of a link a reader is shown: those of Clue that set this link apart from the document's others.

Nearly every sentence of running text tells the story behind its image, so to say it of each sentence says nothing. A
relation is therefore shown only if it is more likely than not and far more likely than for the document's other links.
CITE's questions were asked about steps of recipes and say little about other texts; their probabilities, like all
others, are in JSON and Parquet.
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
"""The odds of a relation that is shown are at least so many times its typical odds in the document."""

TYPICAL = {"Visible": 0.23, "Subjective": 0.05, "Action": 0.05, "Story": 0.70, "Meta": 0.10, "Irrelevant": 0.05}
"""Average probability (of log-odds) that the shipped model gives each relation, over the links of 333 documents
(``benchmarks/shown_relations.py``). A document's own average starts from it."""

PRIOR_LINKS = 10
"""``TYPICAL`` counts as much as so many links of the document."""

LABELS = {
    "Visible": "says what it shows",
    "Subjective": "a reaction to it",
    "Action": "a moment of the action",
    "Story": "the story behind it",
    "Meta": "when, where or how",
    "Irrelevant": "maybe unrelated",
}
"""What a reader sees for each relation."""

_LABELLED = {relation.name: relation for relation in RELATIONS if relation.name in LABELS}


def shown_relations(links: Iterable[Link]) -> dict[tuple[int, int], list[tuple[Relation, float]]]:
    """By sentence and image of each link, its relations and their probabilities, the likeliest first."""
    probabilities = {(link.sentence, link.image): link.relations or {} for link in links}
    least = {}
    for name, typical in TYPICAL.items():
        known = [_log_odds(each[name]) for each in probabilities.values() if name in each]
        mean = (sum(known) + PRIOR_LINKS * _log_odds(typical)) / (len(known) + PRIOR_LINKS)
        least[name] = mean + log(TIMES)
    return {
        place: sorted(
            (
                (_LABELLED[name], probability)
                for name, probability in relations.items()
                if name in _LABELLED and probability >= LIKELY and _log_odds(probability) >= least[name]
            ),
            key=lambda each: -each[1],
        )
        for place, relations in probabilities.items()
    }


def relation_data(linked: LinkedDocument) -> dict[str, Any]:
    """What the script of the reading view needs to show relations; {} where no link has any.

    Returns:
        ``relations``: pairs of label and meaning; ``related``: per link, pairs of their number and the probability.
    """
    if not any(link.relations for link in linked.links):
        return {}
    names, shown = list(LABELS), shown_relations(linked.links)
    return {
        "relations": [[LABELS[name], _LABELLED[name].meaning] for name in names],
        "related": [
            [[names.index(relation.name), float(f"{p:.4g}")] for relation, p in shown[link.sentence, link.image]]
            for link in linked.links
        ],
    }


def _log_odds(probability: float) -> float:
    kept = min(max(probability, 1e-5), 1 - 1e-5)
    return log(kept / (1 - kept))
