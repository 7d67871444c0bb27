"""What the Tab key offers for values that are no files: names of models, recipes, relations.

Shells offer files where nothing here begins with what was typed.
"""

from __future__ import annotations


def models() -> list[tuple[str, str]]:
    """Models that come with the program, each with what it is."""
    return [
        ("default", "the model that ships"),
        ("photographs", "better at everyday photographs; for research only"),
        ("no-training", "the concept bridge"),
    ]


def recipes() -> list[str]:
    """Recipes that come with the program."""
    from iconotext.recipe import shipped_recipes

    return list(shipped_recipes())


def relations() -> list[tuple[str, str]]:
    """Coherence relations, each with its meaning."""
    from iconotext.relations import RELATIONS

    return [(relation.short, relation.meaning) for relation in RELATIONS]
