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

from iconotext.errors import ImageError, LibraryError, SettingError
from iconotext.features.languages import is_english
from iconotext.library.candidates import Candidates, Filters, Match, find_candidates
from iconotext.library.damage import TABLE
from iconotext.library.items import Item, Near, Place, member_content
from iconotext.library.models import library_encoder, relation_model_of
from iconotext.library.settings import SETTINGS
from iconotext.library.store import Library, open_library
from iconotext.relations import find_relation, relation_name
from iconotext.system.object_store import is_remote
from iconotext.types import Document, Image, LinkedSentence, Member, TextLine

if TYPE_CHECKING:
    from iconotext.encoders.encoder import Encoder
    from iconotext.encoders.relation_model import RelationModel
    from iconotext.types import FloatMatrix

CANDIDATES = 200
"""Number of nearest pictures among which a wanted relation chooses; more if more results are wanted."""

SHOWN = 8
"""A page folds no weak matches before it shows this many results."""

WEIGHT = 0.5
"""The weight of a factor of e in the relation's probability, in standard deviations of the similarities."""

SPREAD_OF = 100
"""Number of nearest pictures from which this standard deviation is computed."""

LEAST = 0.05
"""Lower limit for probabilities, so that a picture that fits much better comes first whatever its relation."""

DETAILS_BATCH = 40
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
        relation: Name of the wanted relation between picture and sentence, one of the library's; None for any.
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
        score: The similarity, raised or lowered by the texts about the picture, and lowered if the wanted relation is
            improbable.
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
    sentences: tuple[LinkedSentence, ...]
    file: str | None
    number: int | None
    places: int
    member: Member | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the result as ``search --json`` prints it."""
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
            "sentences": [
                {"text": linked.text, "confidence": round(linked.confidence, 4)} for linked in self.sentences
            ],
            "date": None if self.date is None else self.date.isoformat(),
            "places": self.places,
        }


def search(
    library: Library,
    query: Query,
    encoder: Encoder,
    relation_model: RelationModel | None = None,
) -> list[Result]:
    """Find the best results: strong matches first, then good and weak ones, each sorted by score.

    Without a good match, the ``NEAREST`` nearest pictures are returned.

    Args:
        relation_model: The relation model that the library was made with; None searches without relations.

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
    text_vectors = None if query.text is None else encoder.encode_sentences([query.text])
    relation, where = query.relation, query.filters.condition
    needed = query.top + isinstance(query.picture, str)  # a picture of the library finds itself
    most = max(needed, CANDIDATES if relation is not None else 0)
    sentence = query.text if query.by_words else None
    vector = _vector(library, query, encoder, text_vectors)
    candidates = find_candidates(library, encoder, vector, most, sentence=sentence, where=where)
    odds = None
    if query.text and relation_model is not None and _is_of_library(relation_model, library) and is_english(query.text):
        odds = relation_model.text_logits([query.text])[0]
    details = _Details(library, query, candidates.near, odds)
    if relation is not None:
        order, scores = _by_relation(candidates, details, relation, needed)
    else:
        scores = candidates.scores
        order = _ordered(candidates, scores, np.ones_like(scores))
    shown = [i for i in order if candidates.near[i].digest != query.picture][: query.top]
    details.read(shown)
    results = [details.result(i, float(scores[i]), candidates.match(i)) for i in shown]
    return results if query.anyway or has_good_match(results) else results[:NEAREST]


class _Details:
    """The records of candidates, read when they are needed, and the relations between them and the query.

    Args:
        odds: (R,) log-odds of the relations from the query; None without a sentence or without a relation model.
    """

    def __init__(self, library: Library, query: Query, near: Sequence[Near], odds: FloatMatrix | None) -> None:
        self._library, self._near, self._odds = library, near, odds
        self._folder, names = query.filters.folder, library.settings.relations
        self._column = names.index(query.relation) if query.relation in names else None
        self._items: dict[int, Item] = {}

    def __contains__(self, i: int) -> bool:
        """Whether the record of a candidate was read."""
        return i in self._items

    def read(self, numbers: Iterable[int]) -> None:
        """Read the records of candidates that were not read yet."""
        new = {self._near[i].digest: i for i in numbers if i not in self}
        for digest, item in self._library.details(self._near[i].picture for i in new.values()).items():
            self._items[new[digest]] = _of_relation_model(item, self._library.settings.relation_model)

    def relations(self, i: int) -> dict[str, float]:
        """The probability of each relation between a candidate that was read and the query."""
        item = self._items[i]
        computed = probabilities(self._odds, item.offsets, own_relations(item.places, self._folder, self._column))
        return (
            {} if computed is None else dict(zip(self._library.settings.relations, map(float, computed), strict=True))
        )

    def result(self, i: int, score: float, match: Match | None) -> Result:
        """A candidate that was read, as a result."""
        item = self._items[i]
        place = shown_place(item.places, self._folder, self._column)
        return Result(
            digest=item.digest,
            image=place.image,
            score=score,
            similarity=self._near[i].similarity,
            match=match,
            relations=self.relations(i),
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


def _ordered(candidates: Candidates, scores: FloatMatrix, chances: FloatMatrix) -> list[int]:
    """The candidates from best to worst: by level, score, probability of the wanted relation, and digest."""

    def rank(i: int) -> tuple[int, float, float, str]:
        return candidates.level(i), -float(scores[i]), -float(chances[i]), candidates.near[i].digest

    return sorted(range(len(candidates.near)), key=rank)


def _by_relation(
    candidates: Candidates, details: _Details, relation: str, needed: int
) -> tuple[list[int], FloatMatrix]:
    """The order of the candidates with a wanted relation, and their scores, lowered where it is improbable."""
    # Relations only lower scores: read those of the best candidates until the best results all have theirs.
    scores, chances = candidates.scores, np.ones(len(candidates.near), np.float32)  # 1 lowers no score
    order = _ordered(candidates, scores, chances)
    while not all(i in details for i in order[:needed]):
        batch = [i for i in order if i not in details][: max(needed, DETAILS_BATCH)]
        details.read(batch)
        # A picture without relations has the wanted one with a probability of one half.
        chances[batch] = [details.relations(i).get(relation, 0.5) for i in batch]
        scores = refined(candidates.scores, chances)
        order = _ordered(candidates, scores, chances)
    return order, scores


def probabilities(
    query: FloatMatrix | None, offsets: FloatMatrix | None, place_odds: Sequence[float] | None
) -> FloatMatrix | None:
    """Return the (R,) probabilities of the relations between a query and a picture; None without any source.

    There are two sources of log-odds: the relation model applied to query and picture, and the same model applied to
    the picture and the text about it in a document, which shows what its author used it for. The result is from their
    mean, or from the one that exists: a query by picture has no text, and some pictures have none.

    Args:
        query: (R,) log-odds from the query; None for a query without text.
        offsets: (R,) the picture's part of the log-odds; None if not stored.
        place_odds: (R,) log-odds between the picture and the text about it in its document; None without one.
    """
    sources = []
    if query is not None and offsets is not None:
        sources.append(query + offsets)
    if place_odds is not None:
        sources.append(np.asarray(place_odds, np.float32))
    if not sources:
        return None
    # exp overflows for large odds; beyond 60 the probability is 0 or 1 for every purpose.
    odds = np.clip(np.mean(sources, axis=0, dtype=np.float64), -60, 60)
    return np.asarray(1 / (1 + np.exp(-odds)), np.float32)


def refined(similarities: FloatMatrix, probability: FloatMatrix) -> FloatMatrix:
    """Lower (N,) similarities, best first, by how improbable the (N,) wanted relation is.

    A result should be similar and have the relation. The similarity measures how probably it is the wanted picture, the
    relation model how probably it has the relation; the logarithm of the product is ``similarity / τ + log P``, or, in
    units of similarity, ``similarity + τ log P``. τ is ``WEIGHT`` standard deviations of the similarities among the
    nearest pictures, since models differ in the spread of their similarities. P is at least ``LEAST``, so no score
    falls by more than 1.5 standard deviations: among similar pictures the relation decides, but a much more similar one
    stays ahead.
    """
    return np.asarray(similarities + relation_scale(similarities) * np.log(np.maximum(probability, LEAST)), np.float32)


def relation_scale(similarities: FloatMatrix) -> float:
    """Return τ: the weight of a factor of e in probability, in units of similarity."""
    nearest = np.asarray(similarities[:SPREAD_OF], np.float64)
    return WEIGHT * float(nearest.std()) if len(nearest) else 0.0


def _within(places: Sequence[Place], folder: str | None) -> list[Place]:
    return list(places) if folder is None else [place for place in places if place.within(folder)]


def own_relations(places: Sequence[Place], folder: str | None, column: int | None) -> tuple[float, ...] | None:
    """Return the log-odds of the relations at the place where the wanted one is most probable, else the first place."""
    all_odds = [place.relations for place in _within(places, folder) if place.relations is not None]
    if not all_odds:
        return None
    return all_odds[0] if column is None else max(all_odds, key=lambda odds: odds[column])


def shown_place(places: Sequence[Place], folder: str | None, column: int | None) -> Place:
    """Return the place to show: documents with a text about the picture first, then other documents, then files.

    Places whose files are gone since the last update come last.
    """
    allowed = _within(places, folder) or list(places)

    def worth(place: Place) -> tuple[bool, float, bool, bool]:
        odds = place.relations[column] if column is not None and place.relations is not None else -np.inf
        exists = len(allowed) == 1 or all(is_remote(file) or os.path.exists(file) for file in place.files)
        return exists, float(odds), place.text is not None, place.document is not None

    best = max(allowed, key=worth)  # the first one if several are equal
    if best.file is None:
        files = [place.file for place in allowed if place.file is not None]
        return replace(best, file=next(filter(os.path.exists, files), next(iter(files), None)))
    return best


def different_places(places: Sequence[Place]) -> int:
    """Return the number of places; a file and a document that shows this very file count as one."""
    files = {place.file for place in places if place.document is not None and place.file is not None}
    return sum(place.document is not None or place.file not in files for place in places)


def has_good_match(results: Sequence[Result]) -> bool:
    """Return whether a result is a good match; always True for a search by picture, where this is unknown."""
    return any(result.match is None or result.match.level != "weak" for result in results)


def firm_results(results: Sequence[Result]) -> int:
    """Return how many results a page shows before it folds the weak matches at the end; all if none matches well."""
    weak = takewhile(lambda result: result.match is not None and result.match.level == "weak", reversed(results))
    firm = len(results) - sum(1 for _ in weak)
    return min(max(firm, SHOWN), len(results)) if firm else len(results)


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
    if not settings.relations:
        raise SettingError(f"{library.path}: made without a relation model, so relation=... cannot be computed")
    if query.relation not in settings.relations:
        raise SettingError(f"{query.relation}: not among the relations: {', '.join(settings.relations)}")
    if relation_model is None or not _is_of_library(relation_model, library):
        raise LibraryError(
            f"{library.path}: made with the relation model {settings.relation_model}; bring it up to date with:"
            f" iconotext library add {library.path}"
        )


def _vector(library: Library, query: Query, encoder: Encoder, text_vectors: FloatMatrix | None) -> FloatMatrix:
    """Return the query as a unit vector: of a sentence, of a picture, or halfway between the two."""
    parts = [] if text_vectors is None else [text_vectors[0]]
    if isinstance(query.picture, str):
        items = library.items([query.picture])
        if not items:
            raise ImageError("the picture to be like is not in the library")
        parts.append(items[query.picture].vector)
    elif query.picture is not None:
        encoded = encoder.encode_images([query.picture])
        if (problem := encoded.problems[0]) is not None:
            raise ImageError(problem)
        parts.append(encoded.vectors[0])
    vector = np.sum(parts, axis=0)
    length = float(np.linalg.norm(vector))
    return np.asarray(vector / length if length else vector, np.float32)


def _of_relation_model(item: Item, relation_model: str | None) -> Item:
    """Drop a picture's relations if another model computed them, since an update that renews them is unfinished."""
    if item.relation_model == (relation_model or ""):
        return item
    return replace(item, places=tuple(replace(place, relations=None) for place in item.places), offsets=None)


def _is_of_library(relation_model: RelationModel, library: Library) -> bool:
    """Return whether the library was made with this relation model."""
    return relation_model.name == library.settings.relation_model


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


class Searcher:
    """Searches a library repeatedly, and opens it again when it has changed on disk. Queries are not stored."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._opened_state: object = None
        self._opened: Library | None = None
        self._made_with: object = None
        self._loaded: _Models | None = None

    @property
    def library(self) -> Library:
        """The current version of the library; ``LibraryError`` if there is none."""
        state = self._state()
        if self._opened is None or state != self._opened_state:
            self._opened, self._opened_state = open_library(self.path), state
        return self._opened

    @property
    def relations(self) -> tuple[str, ...]:
        """The relations that a search can use."""
        return self.library.settings.relations

    def find(self, query: Query) -> Answer:
        """Search for a query, whose relation may have any of its names.

        Raises:
            IconotextError: As ``open_library`` and ``search``; a model cannot be loaded; an unknown relation.
        """
        library = self.library
        models = self._models(library)
        if query.relation is not None:
            relations = library.settings.relations  # if there are none, ``search`` reports it
            name = relation_name(query.relation, relations) if relations else find_relation(query.relation).name
            query = replace(query, relation=name)
        results = search(library, query, *models)
        unread = query.text and query.relation and not is_english(query.text)
        return Answer(library, query, results, NOT_ENGLISH if unread else None)

    def _state(self) -> object:
        """Return a value that changes whenever the library does: every commit adds a version file."""
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
            self._loaded = _Models(encoder, relation_model_of(settings.relations_from))
            self._made_with = made_with
        return self._loaded


def find_images(path: Path, query: Query) -> Answer:
    """Search a library once; see ``Searcher.find``."""
    return Searcher(path).find(query)


TOP = 5
"""Number of pictures that are looked for with each sentence."""


def pictures_for(text: Document, library: Path | Searcher, *, top: int = TOP) -> list[Image]:
    """Return the pictures that match a sentence of a text, each once, with the sentences linked to it.

    Args:
        library: The library's folder, or one that is open.
        top: Number of pictures that are looked for with each sentence; those that have nothing but their nearness are
            not taken.

    Raises:
        LibraryError: There is no library, or it is damaged.
    """
    searcher = library if isinstance(library, Searcher) else Searcher(library)
    results: dict[str, Result] = {}
    for sentence in text.sentences:
        for result in searcher.find(Query(sentence.text, top=top)).results:
            match = result.match
            if match is not None and (match.level != "weak" or match.text or match.words):
                results.setdefault(result.digest, result)
    return [_image(result) for result in results.values()]


def _image(result: Result) -> Image:
    file: Path | bytes | None = None if result.file is None else Path(result.file)
    if result.member is not None:
        file = member_content(result.member, result.digest)
    return Image(
        source=result.image,
        file=file,
        alt=result.alt,
        caption=result.caption,
        lines=(TextLine(result.written, 1.0, (0.0, 0.0, 1.0, 1.0)),) if result.written else None,
        context=result.sentences,
        problem=f"it has no file of its own: name {result.document} as well" if file is None else None,
    )
