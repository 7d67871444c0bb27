"""Relations of links for output: which are shown, their names for readers, and the data for the reading view."""

from __future__ import annotations

from collections.abc import Iterable
from math import log
from typing import Any

from iconotext.relations import RELATIONS, Relation
from iconotext.types import Link, LinkedDocument

LIKELY = 0.5
"""Smallest probability of a relation that is shown."""

TIMES = 3.0
"""Smallest ratio of a shown relation's odds to its typical odds in the document."""

TYPICAL = {"Visible": 0.23, "Subjective": 0.05, "Action": 0.05, "Story": 0.70, "Meta": 0.10, "Irrelevant": 0.05}
"""Average probability (of log-odds) that the model in the package gives each relation, over the links of 333 documents
(``benchmarks/shown_relations.py``); the prior of a document's own average."""

PRIOR_LINKS = 10
"""Weight of ``TYPICAL``, in links of the document."""

LABELS = {
    "Visible": "says what it shows",
    "Subjective": "a reaction to it",
    "Action": "a moment of the action",
    "Story": "the story behind it",
    "Meta": "when, where or how",
    "Irrelevant": "maybe unrelated",
}
"""The name that readers see for each relation."""

_LABELLED = {relation.name: relation for relation in RELATIONS if relation.name in LABELS}


def shown_relations(links: Iterable[Link]) -> dict[tuple[int, int], list[tuple[Relation, float]]]:
    """Return the shown relations of each link, by (sentence, image), with probabilities, the most likely first."""
    probabilities = {(link.sentence, link.image): link.relations or {} for link in links}
    least = {}
    for name, typical in TYPICAL.items():
        odds = [_log_odds(by_name[name]) for by_name in probabilities.values() if name in by_name]
        mean = (sum(odds) + PRIOR_LINKS * _log_odds(typical)) / (len(odds) + PRIOR_LINKS)
        least[name] = mean + log(TIMES)
    return {
        place: sorted(
            (
                (_LABELLED[name], probability)
                for name, probability in relations.items()
                if name in _LABELLED and probability >= LIKELY and _log_odds(probability) >= least[name]
            ),
            key=lambda pair: -pair[1],
        )
        for place, relations in probabilities.items()
    }


def relation_data(linked: LinkedDocument) -> dict[str, Any]:
    """Make the data with which the reading view's script shows relations; {} if no link has any.

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
    clipped = min(max(probability, 1e-5), 1 - 1e-5)
    return log(clipped / (1 - clipped))
