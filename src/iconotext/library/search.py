"""Search a library: the pictures that match a sentence or a picture best, and how each stands to the sentence.

The models are given; ``library.searcher`` searches with those that the library was made with.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.errors import ImageError, LibraryError, SettingError
from iconotext.library.candidates import find_candidates
from iconotext.library.filters import Filters
from iconotext.library.items import Item, Near, Place, Said, different_places, own_relations, shown_place
from iconotext.library.ranking import Match
from iconotext.library.refinement import Refinement, refine
from iconotext.library.relation_ranking import probabilities, refined
from iconotext.library.store import Library
from iconotext.links.link_relations import LANGUAGE
from iconotext.read.sentences import detect_language
from iconotext.types import Member

if TYPE_CHECKING:
    from iconotext.embed.relation_model import RelationModel
    from iconotext.encoder import Encoder
    from iconotext.types import FloatMatrix

CANDIDATES = 200
"""The nearest pictures among which a wanted relation chooses; more where more results are wanted."""

TOLD_AT_ONCE = 40
"""Pictures whose relations are read in one go: reading those of all candidates takes longer than finding them."""

NEAREST = 3
"""Pictures that are told where none is a good match."""


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for.

    Attributes:
        text: A sentence; None for a search by picture alone.
        picture: A picture to be like, or the digest of one of the library, which is then not among the results; with
            a sentence too, pictures like it that fit the sentence.
        relation: Name of the relation in which picture and sentence are to stand, one of
            ``searchable_relations``; None for any.
        filters: Which pictures are looked among.
        anyway: Fill the places even if no picture is a good match.
    """

    text: str | None = None
    picture: Path | bytes | str | None = None
    relation: str | None = None
    top: int = 10
    filters: Filters = field(default_factory=Filters)
    anyway: bool = False

    @property
    def by_words(self) -> bool:
        """Whether what is said of the pictures counts, too: where a sentence alone is searched for."""
        return self.text is not None and self.picture is None


@dataclass(frozen=True, slots=True)
class Result:
    """A picture that was found.

    Attributes:
        image: Its file, its address on the web, or its number in the document it came in.
        score: The similarity, raised or lowered by what is said of the picture, and lowered where the wanted relation
            is improbable; where the model of the library refines, times confidence.
        similarity: Cosine of the picture with the query, -1 to 1.
        match: How well it matches the sentence, and why; None for a search by picture.
        relations: Probability of each relation between query and picture; empty where nothing is known of them.
        date: When the camera took it, local time; None where that is not known.
        written: The words in it; None where nobody has looked for any, or there are none.
        sentences: The sentences of the document that belong to it, most confident first.
        file: Where the picture is; None for one that came inside a document or from the network.
        number: Which of the document's images it is, from 0; None without a document.
        places: How many places it was found in; a file and a document that shows it are one.
        member: Where it lies in a tar or a table; None for one that does not.
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
        """What ``search --json`` prints."""
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
    """The pictures that fit best: strong matches first, then good and weak ones, each by score.

    Where none is a good match, the three nearest.

    A coherence-aware model (trained with ``objective.coherence``) says itself how a sentence and a picture relate; for
    the relations that it knows, its word counts instead of the relation model's.

    Args:
        relation_model: The one that the library was made with; None searches without relations.
        refinement: λ and T of the selective similarity refinement (Alikhani 2021, Eq. 4–6) of a coherence-aware model;
            applied to sentences for which no relation is wanted.

    Raises:
        LibraryError: The library is empty, or was made with another model.
        ImageError: The picture to be like cannot be read, or is not in the library.
        SettingError: There is neither sentence nor picture, or a relation is wanted and cannot be told.
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
        # No relation raises a score: who is among the first as if it were certain, is told until all of these are.
        chances += 1
        while not all(near[i].digest in items for i in ordered()[:wants]):
            some = [i for i in ordered() if near[i].digest not in items][: max(wants, TOLD_AT_ONCE)]
            tell(some)
            # A picture of which nothing is known is as likely as not to stand in the relation.
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
    """Whether one of the results matches well; always in a search by picture, where nobody can tell."""
    return any(result.match is None or result.match.level != "weak" for result in results)


def searchable_relations(library: Library, encoder: Encoder) -> tuple[str, ...]:
    """The relations that a search can tell: those of the library's relation model, and of a coherence-aware model."""
    own = () if encoder.coherence is None else encoder.coherence.relations
    return tuple(dict.fromkeys((*library.settings.relations, *own)))


def is_english(text: str) -> bool:
    """Whether a query is in the language that the relation model reads, as far as so few words tell."""
    return detect_language(text) == LANGUAGE


def check_models(library: Library, query: Query, encoder: Encoder, relation_model: RelationModel | None = None) -> None:
    """See that a library can be asked this with these models.

    Raises:
        LibraryError: It was made with another model.
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
    """The query as a vector: of a sentence, of a picture, or half way between the two."""
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
    """(R',) what a coherence-aware model says of the sentence with each picture; None without one, or a sentence."""
    if not near or query.text is None or encoder.coherence is None:
        return [None] * len(near)
    pictures = np.stack([each.picture.vector for each in near])
    return list(encoder.coherence.probabilities(encoder.encode_sentences([query.text]), pictures)[0])


def _of_relation_model(item: Item, relation_model: str | None) -> Item:
    """The picture, without relations where they are of another model: a run that renews them is not through yet."""
    if item.relation_model == (relation_model or ""):
        return item
    return replace(item, places=tuple(replace(place, relations=None) for place in item.places), offsets=None)


def _known(
    witnessed: FloatMatrix | None, coherence: FloatMatrix | None, library: Library, encoder: Encoder
) -> dict[str, float]:
    """Relation to probability: the relation model's, and where a coherence-aware model has its word, that one's."""
    known: dict[str, float] = {}
    if witnessed is not None:
        known |= zip(library.settings.relations, map(float, witnessed), strict=True)
    if coherence is not None and encoder.coherence is not None:
        known |= zip(encoder.coherence.relations, map(float, coherence), strict=True)
    return known


def _speaks_for(relation_model: RelationModel, library: Library) -> bool:
    """Whether a relation model is the one that the library was made with."""
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
