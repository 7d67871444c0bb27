"""Search a library with the models that it was made with: what ``search`` does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from iconotext.embed.folder import init_folder
from iconotext.features import FeatureCache
from iconotext.library.add_paths import relation_model_of
from iconotext.library.encode import library_encoder
from iconotext.library.refinement import read_refinement
from iconotext.library.search import Query, Result, is_english, search, searchable_relations
from iconotext.library.store import Library, open_library
from iconotext.relations import find_relation, relation_name

if TYPE_CHECKING:
    from iconotext.encoder import Encoder


class Found(NamedTuple):
    """What came of a search.

    Attributes:
        library: That was searched.
        query: With its relation by its name.
        results: The best first.
        note: Why something was not looked at; None: all was.
    """

    library: Library
    query: Query
    results: list[Result]
    note: str | None


def find_images(path: Path, query: Query) -> Found:
    """Search a library.

    Args:
        path: Its folder.
        query: What to look for; its relation by any of its names.

    Raises:
        IconotextError: As ``open_library`` and ``search``; there is no such relation.
    """
    library = open_library(path)
    settings = library.settings
    relation_model = relation_model_of(settings.relations_from, FeatureCache())
    encoder = library_encoder(settings.model)
    refinement = read_refinement(init_folder(settings.model)) if encoder.coherence is not None else None
    if query.relation is not None:
        query = replace(query, relation=_named(query.relation, library, encoder))
    results = search(library, query, encoder, relation_model, refinement)
    note = None
    if query.text and relation_model is not None and not is_english(query.text):
        note = "the sentence is not English, so the relation model, which reads English, says nothing of it"
    return Found(library, query, results, note)


def _named(relation: str, library: Library, encoder: Encoder) -> str:
    """The name of a relation that was typed."""
    told = searchable_relations(library, encoder)
    return relation_name(relation, told) if told else find_relation(relation).name  # search says what is missing
