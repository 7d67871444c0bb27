"""The relations of a link as a reader is told them: those of Clue that are likelier than not.

CITE's questions were asked of steps of recipes and say little of other texts; they are in JSON and Parquet only.
"""

from __future__ import annotations

from typing import Any

from iconotext.corpus.relations import RELATIONS, Relation
from iconotext.types import Link, LinkedDocument

LIKELY = 0.5
"""Least probability of a relation that is shown."""

LABELS = {
    "Visible": "says what it shows",
    "Subjective": "a reaction to it",
    "Action": "a moment of the action",
    "Story": "the story behind it",
    "Meta": "when, where or how",
    "Irrelevant": "maybe unrelated",
}
"""What a reader sees for each."""

_SHOWN = {relation.name: relation for relation in RELATIONS if relation.name in LABELS}


def likely_relations(link: Link) -> list[tuple[Relation, float]]:
    """The relations to show, with their probabilities, the likeliest first."""
    found = [
        (_SHOWN[name], probability)
        for name, probability in (link.relations or {}).items()
        if name in _SHOWN and probability >= LIKELY
    ]
    return sorted(found, key=lambda each: -each[1])


def related_data(linked: LinkedDocument) -> dict[str, Any]:
    """What the script of the reading view needs to show relations; {} where no link has any.

    Returns:
        ``relations``: pairs of label and meaning; ``related``: per link, pairs of their number and the probability in
        per cent.
    """
    if not any(link.relations for link in linked.links):
        return {}
    names = list(LABELS)
    return {
        "relations": [[LABELS[name], _SHOWN[name].meaning] for name in names],
        "related": [
            [[names.index(relation.name), round(100 * probability)] for relation, probability in likely_relations(link)]
            for link in linked.links
        ],
    }
