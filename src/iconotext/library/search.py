"""Search a library: the pictures that match a sentence or a picture best, with their relations to the sentence.

``find_images`` searches once; a ``Searcher`` searches repeatedly and loads the models that the library was made with.
Both call ``search``, which takes the models as arguments.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from iconotext.decide.choose import LANGUAGE
from iconotext.encoders.coherence import Refinement, read_refinement, refine
from iconotext.encoders.stored_model import init_folder
from iconotext.errors import ImageError, LibraryError, SettingError
from iconotext.library.candidates import Filters, Match, find_candidates
from iconotext.library.damage import TABLE
from iconotext.library.items import Item, Near, Place, Said, different_places, own_relations, shown_place
from iconotext.library.models import library_encoder, relation_model_of
from iconotext.library.refinement import probabilities, refined
from iconotext.library.settings import SETTINGS
from iconotext.library.store import Library, open_library
from iconotext.read.sentences import detect_language
from iconotext.relations import find_relation, relation_name
from iconotext.types import Member

if TYPE_CHECKING:
    from iconotext.encoders.encoder import Encoder
    from iconotext.encoders.relation_model import RelationModel
    from iconotext.types import FloatMatrix

CANDIDATES = 200
"""Number of nearest pictures among which a wanted relation chooses; more if more results are wanted."""

SHOWN = 8
"""A page folds no weak matches before it shows this many results."""

TOLD_AT_ONCE = 40
"""Number of pictures whose relations are read at a time: reading those of all candidates takes longer than finding
them.
"""

NEAREST = 3
"""Number of results if none is a good match."""


@dataclass(frozen=True, slots=True)
class Query:
    """A search to make: a sentence, a picture, or both, with filters.

    Attributes:
        text: A sentence; None for a search by picture alone.
        picture: Find pictures like this one: a file, its bytes, or the digest of a picture in the library, which is
            then not among the results. With a sentence too, results are like the picture and fit the sentence.
        relation: Name of the wanted relation between picture and sentence, one of ``searchable_relations``; None for
            any.
        top: Upper limit for the number of results.
        filters: Restrict the search to some pictures.
        anyway: Return ``top`` results even if no picture is a good match.
    """

    text: str | None = None
    picture: Path | bytes | str | None = None
    relation: str | None = None
    top: int = 10
    filters: Filters = field(default_factory=Filters)
    anyway: bool = False

    @property
    def by_words(self) -> bool:
        """Whether the texts about pictures count: only if the query is a sentence alone."""
        return self.text is not None and self.picture is None


@dataclass(frozen=True, slots=True)
class Result:
    """A picture that a search returns.

    Attributes:
        image: Its file, its address on the web, or its number in the document that contains it.
        score: The similarity, raised or lowered by the texts about the picture, lowered if the wanted relation is
            improbable, and multiplied by a confidence if the model has a refinement.
        similarity: Cosine of the picture with the query, -1 to 1.
        match: How well it matches the sentence, and why; None for a search by picture.
        relations: Probability of each relation between query and picture; empty if unknown.
        date: When the camera took it, in local time; None if unknown.
        written: The words in it; None if there are none, or if they were not read.
        sentences: The sentences of the document that belong to it, most confident first.
        file: The picture's file; None if it is inside a document or came from the network.
        number: Number of the image in the document, from 0; None without a document.
        places: Number of places where it was found; a file and a document that shows it count as one.
        member: Its place in a tar or a table; None if it is in neither.
    """

    digest: str
    image: str
    score: float
    similarity: float
    match: Match | None
    relations: dict[str, float]
    date: datetime | None
    document: str | None
    caption: str | None
    alt: str | None
    written: str | None
    sentences: tuple[Said, ...]
    file: str | None
    number: int | None
    places: int
    member: Member | None = None

    def as_json(self) -> dict[str, Any]:
        """The result as ``search --json`` prints it."""
        return {
            "image": self.image,
            "score": round(self.score, 4),
            "document": self.document,
            "caption": self.caption,
            "relations": {name: round(value, 4) for name, value in self.relations.items()},
            "similarity": round(self.similarity, 4),
            "match": None if self.match is None else self.match.level,
            "why": None if self.match is None else self.match.as_json(),
            "alt": self.alt,
            "written": self.written,
            "sentences": [{"text": said.text, "confidence": round(said.confidence, 4)} for said in self.sentences],
            "date": None if self.date is None else self.date.isoformat(),
            "places": self.places,
        }


def search(
    library: Library,
    query: Query,
    encoder: Encoder,
    relation_model: RelationModel | None = None,
    refinement: Refinement | None = None,
) -> list[Result]:
    """Find the best results: strong matches first, then good and weak ones, each sorted by score.

    Without a good match, the ``NEAREST`` nearest pictures are returned.

    A coherence-aware model (trained with ``objective.coherence``) predicts relations itself; for these relations its
    predictions replace those of the relation model.

    Args:
        relation_model: The relation model that the library was made with; None searches without relations.
        refinement: λ and T of the selective similarity refinement (Alikhani 2021, Eq. 4-6) of a coherence-aware model;
            used for sentences without a wanted relation.

    Raises:
        LibraryError: The library is empty, or was made with another model.
        ImageError: The picture of the query cannot be read, or is not in the library.
        SettingError: Neither sentence nor picture is given, or the wanted relation cannot be computed.
    """
    check_models(library, query, encoder, relation_model)
    if library.count() == 0:
        raise LibraryError(
            f"{library.path}: the library is empty; add pictures: iconotext library add {library.path} PATH"
        )
    vector, odds = _vector(library, query, encoder), None
    if query.text and relation_model is not None and _speaks_for(relation_model, library) and is_english(query.text):
        odds = relation_model.text_logits([query.text])[0]
    wanted = query.relation
    column = library.settings.relations.index(wanted) if wanted in library.settings.relations else None
    refines = refinement is not None and wanted is None and query.text is not None and encoder.coherence is not None
    wants = query.top + isinstance(query.picture, str)
    found = find_candidates(
        library,
        encoder,
        vector,
        max(wants, CANDIDATES if wanted is not None or refines else 0),
        sentence=query.text if query.by_words else None,
        where=query.filters.condition,
    )
    near, similarities = found.near, found.scores
    coherence = _coherence(query, near, encoder)
    items: dict[str, Item] = {}

    def tell(numbers: Iterable[int]) -> None:
        told = library.told(near[i].picture for i in numbers if near[i].digest not in items)
        items.update({name: _of_relation_model(told[name], library.settings.relation_model) for name in told})

    def known(i: int) -> dict[str, float]:
        item = items[near[i].digest]
        own = own_relations(item.places, query.filters.folder, column)
        return _known(probabilities(odds, item.offsets, own), coherence[i], library, encoder)

    def ordered() -> list[int]:
        return sorted(
            range(len(near)), key=lambda i: (found.level(i), -float(scores[i]), -float(chances[i]), near[i].digest)
        )

    scores, chances = similarities, np.zeros(len(near), np.float32)
    if wanted is not None:
        # Relations only lower scores: read those of the best candidates until the best results all have theirs.
        chances += 1
        while not all(near[i].digest in items for i in ordered()[:wants]):
            some = [i for i in ordered() if near[i].digest not in items][: max(wants, TOLD_AT_ONCE)]
            tell(some)
            # A picture without relations has the wanted one with a probability of one half.
            chances[some] = [known(i).get(wanted, 0.5) for i in some]
            scores = refined(similarities, chances)
    elif refines and refinement is not None and len(near):
        sure = np.stack([row for row in coherence if row is not None])
        scores = refine(similarities[None], sure[None], strength=refinement.strength, threshold=refinement.threshold)[0]
    shown = [i for i in ordered() if near[i].digest != query.picture][: query.top]
    tell(shown)
    places = {i: shown_place(items[near[i].digest].places, query.filters.folder, column) for i in shown}
    results = [
        _result(items[near[i].digest], place, near[i].similarity, float(scores[i]), found.match(i), known(i))
        for i, place in places.items()
    ]
    return results if query.anyway or has_good_match(results) else results[:NEAREST]


def has_good_match(results: Sequence[Result]) -> bool:
    """Whether a result is a good match; always True for a search by picture, where this is unknown."""
    return any(result.match is None or result.match.level != "weak" for result in results)


def firm_results(results: Sequence[Result]) -> int:
    """How many results a page shows before it folds the weak matches at the end; all if none matches well."""
    weak = takewhile(lambda result: result.match is not None and result.match.level == "weak", reversed(results))
    firm = len(results) - sum(1 for _ in weak)
    return min(max(firm, SHOWN), len(results)) if firm else len(results)


def searchable_relations(library: Library, encoder: Encoder) -> tuple[str, ...]:
    """The relations that a search can use: of the library's relation model, and of a coherence-aware model."""
    own = () if encoder.coherence is None else encoder.coherence.relations
    return tuple(dict.fromkeys((*library.settings.relations, *own)))


def is_english(text: str) -> bool:
    """Whether a query is in English, the language of the relation model; a guess, since a query has few words."""
    return detect_language(text) == LANGUAGE


def check_models(library: Library, query: Query, encoder: Encoder, relation_model: RelationModel | None = None) -> None:
    """Check that a library can be searched with this query and these models.

    Raises:
        LibraryError: The library was made with another model.
        SettingError: See ``search``.
    """
    settings = library.settings
    if settings.space != encoder.fingerprint:
        raise LibraryError(
            f"{library.path}: made with the model {settings.space}, and this is {encoder.fingerprint}: use the one"
            " it was made with, or make a new library"
        )
    if query.text is None and query.picture is None:
        raise SettingError("nothing to search for: give a sentence, or a picture with picture=...")
    if query.text is not None and not query.text.strip():
        raise SettingError("the sentence is empty: say what the picture should show")
    if query.relation is None:
        return
    own = () if encoder.coherence is None else encoder.coherence.relations
    relations = searchable_relations(library, encoder)
    if not relations:
        raise SettingError(f"{library.path}: made without a relation model, so relation=... cannot be told")
    if query.relation not in relations:
        raise SettingError(f"{query.relation}: not among the relations that can be told here: {', '.join(relations)}")
    if query.relation not in own and (relation_model is None or not _speaks_for(relation_model, library)):
        raise LibraryError(
            f"{library.path}: made with the relation model {settings.relation_model}; bring it up to date with:"
            f" iconotext library add {library.path}"
        )


def _vector(library: Library, query: Query, encoder: Encoder) -> FloatMatrix:
    """The query as a unit vector: of a sentence, of a picture, or halfway between the two."""
    parts = []
    if query.text is not None:
        parts.append(encoder.encode_sentences([query.text])[0])
    if isinstance(query.picture, str):
        known = library.items([query.picture])
        if not known:
            raise ImageError("the picture to be like is not in the library")
        parts.append(known[query.picture].vector)
    elif query.picture is not None:
        found = encoder.encode_images([query.picture])
        if (problem := found.problems[0]) is not None:
            raise ImageError(problem)
        parts.append(found.vectors[0])
    vector = np.sum(parts, axis=0)
    length = float(np.linalg.norm(vector))
    return np.asarray(vector / length if length else vector, np.float32)


def _coherence(query: Query, near: Sequence[Near], encoder: Encoder) -> list[FloatMatrix | None]:
    """For each picture, its (R',) relations with the sentence by a coherence-aware model; None without either."""
    if not near or query.text is None or encoder.coherence is None:
        return [None] * len(near)
    pictures = np.stack([each.picture.vector for each in near])
    return list(encoder.coherence.probabilities(encoder.encode_sentences([query.text]), pictures)[0])


def _of_relation_model(item: Item, relation_model: str | None) -> Item:
    """Drop a picture's relations if another model computed them, since an update that renews them is unfinished."""
    if item.relation_model == (relation_model or ""):
        return item
    return replace(item, places=tuple(replace(place, relations=None) for place in item.places), offsets=None)


def _known(
    witnessed: FloatMatrix | None, coherence: FloatMatrix | None, library: Library, encoder: Encoder
) -> dict[str, float]:
    """Probability by relation; the values of a coherence-aware model replace those of the relation model."""
    known: dict[str, float] = {}
    if witnessed is not None:
        known |= zip(library.settings.relations, map(float, witnessed), strict=True)
    if coherence is not None and encoder.coherence is not None:
        known |= zip(encoder.coherence.relations, map(float, coherence), strict=True)
    return known


def _speaks_for(relation_model: RelationModel, library: Library) -> bool:
    return relation_model.name == library.settings.relation_model


def _result(
    item: Item, place: Place, similarity: float, score: float, match: Match | None, known: dict[str, float]
) -> Result:
    return Result(
        digest=item.digest,
        image=place.image,
        score=score,
        similarity=similarity,
        match=match,
        relations=known,
        date=item.date if item.taken else None,
        document=place.document_name,
        caption=place.caption,
        alt=place.alt,
        written=place.written,
        sentences=place.sentences,
        file=place.file,
        number=place.number,
        places=different_places(item.places),
        member=place.member,
    )


NOT_ENGLISH = "the sentence is not English, so the relation model, which reads English, says nothing of it"


class Answer(NamedTuple):
    """The results of a search.

    Attributes:
        query: The query, with the canonical name of its relation.
        note: Which part of the query was not used, and why; None if all of it was.
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
        """Search for a query, whose relation may have any of its names.

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
        """A value that changes whenever the library does: every commit adds a version file."""
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
