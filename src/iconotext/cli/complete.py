"""Completion by the Tab key for values that are not files: names of models, recipes, relations.

Shells complete files if none of these values begins with the typed text.
"""

from __future__ import annotations


def models() -> list[tuple[str, str]]:
    """The included models, each with a description."""
    return [
        ("default", "the model that ships"),
        ("photographs", "better at everyday photographs; for research only"),
        ("no-training", "the concept bridge"),
    ]


def outputs() -> list[tuple[str, str]]:
    """The formats of links, each with its summary."""
    from iconotext.report.outputs import outputs

    return [(output.name, output.summary) for output in outputs()]


def recipes() -> list[str]:
    """The names of the included recipes."""
    from iconotext.recipe import shipped_recipes

    return list(shipped_recipes())


def relations() -> list[tuple[str, str]]:
    """Coherence relations, each with its meaning."""
    from iconotext.relations import RELATIONS

    return [(relation.short, relation.meaning) for relation in RELATIONS]
