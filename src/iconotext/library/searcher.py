"""Keeps a library and its models open for many searches."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from iconotext.embed.folder import init_folder
from iconotext.library.damage import TABLE
from iconotext.library.models import library_encoder, relation_model_of
from iconotext.library.refinement import Refinement, read_refinement
from iconotext.library.search import Query, Result, is_english, search, searchable_relations
from iconotext.library.settings import SETTINGS
from iconotext.library.store import Library, open_library
from iconotext.relations import find_relation, relation_name

if TYPE_CHECKING:
    from iconotext.embed.relation_model import RelationModel
    from iconotext.encoder import Encoder

NOT_ENGLISH = "the sentence is not English, so the relation model, which reads English, says nothing of it"


class Answer(NamedTuple):
    """The results of a search.

    Attributes:
        query: With the relation's canonical name.
        note: What was not searched, and why; None if everything was.
    """

    library: Library
    query: Query
    results: list[Result]
    note: str | None


class _Models(NamedTuple):
    encoder: Encoder
    relations: RelationModel | None
    refinement: Refinement | None


class Searcher:
    """Searches a library repeatedly, and opens it again when it has changed on disk. Queries are not stored."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: object = None
        self._opened: Library | None = None
        self._made_with: object = None
        self._loaded: _Models | None = None

    @property
    def library(self) -> Library:
        """The current version of the library; ``LibraryError`` if there is none."""
        seen = self._state()
        if self._opened is None or seen != self._seen:
            self._opened, self._seen = open_library(self.path), seen
        return self._opened

    @property
    def relations(self) -> tuple[str, ...]:
        """The relations that a search can use; ``IconotextError`` if a model cannot be loaded."""
        library = self.library
        return searchable_relations(library, self._models(library).encoder)

    def find(self, query: Query) -> Answer:
        """Search for a query; its relation may have any of its names.

        Raises:
            IconotextError: As ``open_library`` and ``search``; a model cannot be loaded; an unknown relation.
        """
        library = self.library
        models = self._models(library)
        if query.relation is not None:
            known = searchable_relations(library, models.encoder)  # if there are none, ``search`` reports it
            name = relation_name(query.relation, known) if known else find_relation(query.relation).name
            query = replace(query, relation=name)
        results = search(library, query, *models)
        unread = query.text and models.relations is not None and not is_english(query.text)
        return Answer(library, query, results, NOT_ENGLISH if unread else None)

    def _state(self) -> object:
        """A value that changes whenever the library does: every commit has a file of its own."""
        try:
            about = os.stat(self.path / SETTINGS)
            versions = frozenset(os.listdir(self.path / f"{TABLE}.lance" / "_versions"))
        except OSError:
            return None  # opening the library reports the problem
        return about.st_mtime_ns, about.st_size, about.st_ino, versions

    def _models(self, library: Library) -> _Models:
        settings = library.settings
        made_with = (settings.model, settings.space, settings.relations_from, settings.relation_model)
        if self._loaded is None or made_with != self._made_with:
            encoder = library_encoder(settings.model, cache=False)
            refinement = read_refinement(init_folder(settings.model)) if encoder.coherence is not None else None
            self._loaded = _Models(encoder, relation_model_of(settings.relations_from), refinement)
            self._made_with = made_with
        return self._loaded


def find_images(path: Path, query: Query) -> Answer:
    """Search a library once; see ``Searcher.find``."""
    return Searcher(path).find(query)
