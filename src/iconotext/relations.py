"""The coherence relations between text and image that the published data sets label (Alikhani 2021, Tables 1, 2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from iconotext.errors import SettingError


@dataclass(frozen=True, slots=True)
class Relation:
    """A coherence relation.

    Attributes:
        name: As in corpora, results and tables.
        short: The name that users may type.
        source: The data set whose annotators judged it.
        meaning: Its meaning, as a clause after "the image and the text:".
        question: Number of its question in CITE; None for Clue.
    """

    name: str
    short: str
    source: Literal["clue", "cite"]
    meaning: str
    question: str | None = None


RELATIONS: tuple[Relation, ...] = (
    Relation("Visible", "visible", "clue", "the text says what the image shows"),
    Relation("Subjective", "reaction", "clue", "the text reacts to what the image shows, or judges it"),
    Relation("Action", "action", "clue", "the text describes an action, and the image is a moment of it"),
    Relation("Story", "story", "clue", "the text gives the story or the circumstances behind the image"),
    Relation("Meta", "meta", "clue", "the text also says when, where or how the image was made"),
    Relation("Irrelevant", "irrelevant", "clue", "the text has nothing to do with the image"),
    Relation(
        "Expansion", "expansion", "cite", "the image adds something to see to the step that the text describes", "q2"
    ),
    Relation("ImageNeeded", "needed", "cite", "the step cannot be carried out without seeing the image", "q3"),
    Relation("Elaboration t", "quantities", "cite", "the text has quantities that the image does not show", "q4"),
    Relation("Elaboration i-tool", "tool", "cite", "the image shows a tool that the text does not mention", "q5"),
    Relation("Temporal i<t", "before", "cite", "the image shows the preparations for what the text describes", "q6"),
    Relation("Temporal i>t", "result", "cite", "the image shows the result of what the text describes", "q7"),
    Relation("Temporal i=t", "during", "cite", "the image shows what the text describes while it is being done", "q8"),
)
"""Clue's relations in the order of Table 2, then CITE's in that of Table 1."""

CLUE = tuple(relation.name for relation in RELATIONS if relation.source == "clue")
CITE = tuple(relation.name for relation in RELATIONS if relation.source == "cite")


def in_order(names: Iterable[str]) -> list[str]:
    """Sort relations: first the papers' in the order of ``RELATIONS``, then others by name."""
    place = {relation.name: number for number, relation in enumerate(RELATIONS)}
    return sorted(names, key=lambda name: (place.get(name, len(place)), name))


def short_name(name: str) -> str:
    """Return the short name of a relation; the name itself if it is not one of the papers'."""
    return next((relation.short for relation in RELATIONS if relation.name == name), name)


def relation_name(name: str, names: Sequence[str]) -> str:
    """Return one of the full ``names``, given its name, its short name or its question in CITE, ignoring case.

    Raises:
        SettingError: ``name`` means none of ``names``; the message lists all of them.
    """
    query = name.strip().casefold()
    for full in names:
        if query in (full.casefold(), short_name(full)):
            return full
    for relation in RELATIONS:
        if query == relation.question and relation.name in names:
            return relation.name
    choices = ", ".join(full if short_name(full) == full else f"{short_name(full)} ({full})" for full in names)
    raise SettingError(f"{name}: not among the relations: {choices or 'none'}")


def find_relation(name: str) -> Relation:
    """Return a published relation, given its name, its short name or its question in CITE, ignoring case.

    Raises:
        SettingError: No relation has this name; the message lists all relations.
    """
    full = relation_name(name, [relation.name for relation in RELATIONS])
    return next(relation for relation in RELATIONS if relation.name == full)
