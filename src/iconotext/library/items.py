"""What a library keeps of a picture beside its vector: the places where it was found, and what is said of it there.

A search speaks of one of the places: see ``shown_place``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from iconotext.links.words import stems
from iconotext.plain_text import encodable
from iconotext.scale.shards import SUFFIXES
from iconotext.scale.store import is_remote
from iconotext.types import Member

if TYPE_CHECKING:
    from iconotext.features.backbone import Picture
    from iconotext.types import FloatMatrix


_NO_WORD = re.compile(r"(?i)\b(?:\d{8,}|(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{4,})\b")
"""In the name of a file: a time, or digits of a hash."""


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence that a document links to a picture, and how probably, 0 to 1, rightly."""

    text: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Place:
    """A place where a picture was found: a file, or an image of a document.

    Attributes:
        file: The picture's file, absolute; None where it came inside a document or from the network.
        document: The document's file, absolute; None for a picture that lies in a folder on its own.
        number: Which of the document's images it is, from 0; None without a document.
        source: Its address as the document writes it.
        sentences: The sentences linked to it there, most confident first.
        language: ISO 639-1 code of the document.
        relations: Log-odds of each relation, between the picture and what the document says of it; None where it says
            nothing, or not in English, which relation models read, or where there was no relation model.
        written: The words in the picture; None where nobody has looked for any, or there are none.
        id: Of a document of a shard, its id; ``document`` is then the shard, or its result.
        part: Of a document of a shard, the number of the part of the shard that it is in.
        member: Where the picture lies in a tar or a table.
    """

    file: str | None = None
    document: str | None = None
    number: int | None = None
    source: str | None = None
    caption: str | None = None
    alt: str | None = None
    sentences: tuple[Said, ...] = ()
    language: str | None = None
    relations: tuple[float, ...] | None = None
    written: str | None = None
    id: str | None = None
    part: int | None = None
    member: Member | None = None

    @property
    def image(self) -> str:
        """What the picture is called here: its file, its address on the web, or its number in the document."""
        if self.file is not None:
            return self.file
        if self.source is not None and "://" in self.source[:12]:
            return self.source
        if self.member is not None:
            return f"{self.member.file}#{self.source}"
        return f"{self.document_name}#image-{(self.number or 0) + 1}"

    @property
    def document_name(self) -> str | None:
        """What the document is called: its file, and of one in a shard its id there."""
        return self.document if self.id is None else f"{self.document}#{self.id}"

    @property
    def owner(self) -> str:
        """The file that was added and brought the picture in: the document, a part of a shard, or the picture."""
        return (self.document or self.file or "") if self.part is None else part_name(self.document or "", self.part)

    @property
    def text(self) -> str | None:
        """What the document says of it: its caption, else the sentence most probably linked, else its alt text."""
        best = self.sentences[0].text if self.sentences else None
        return self.caption or best or self.alt or None

    def within(self, folder: str) -> bool:
        """Whether the picture's file or its document lies in a folder, or further down in it."""
        return folder in folders_of([self])


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """A picture as the library keeps it, once, however often it was found.

    Attributes:
        date: When it was taken, local time, else the time of its file; None where nobody knows.
        vector: (dim,) float32, of length 1.
        offsets: (R,) float32, what the picture adds to the log-odds of each relation; None without a relation model.
        relation_model: Name of the model that the offsets come from; empty without one.
        thumbnail: A small picture as a data URI, kept for one that is no file of its own.
        said: (texts, dim) vectors of what is said of it, in the order of ``said_of``; None where nothing is.
        taken: Whether the date is the camera's.
        words: As they are stored, see ``words_of``; empty for one that is not stored yet.
    """

    digest: str
    places: tuple[Place, ...]
    date: datetime | None
    vector: FloatMatrix
    offsets: FloatMatrix | None = None
    relation_model: str = ""
    thumbnail: str | None = None
    said: FloatMatrix | None = None
    taken: bool = False
    words: str = ""


class Compared(NamedTuple):
    """What a search compares of a picture, and where the rest of it stands.

    Attributes:
        digest: Names its content.
        vector: As of ``Item``; so are ``said`` and ``words``.
        row: Number of its row, in the version of the library that was searched.
    """

    digest: str
    vector: FloatMatrix
    said: FloatMatrix | None
    words: str
    row: int


class Near(NamedTuple):
    """A picture that a search found, and its cosine with what was searched for."""

    picture: Compared
    similarity: float

    @property
    def digest(self) -> str:
        """Names its content."""
        return self.picture.digest


@dataclass(slots=True)
class Arrival:
    """A picture on its way into the library.

    Attributes:
        picture: Its file, or its bytes where it came inside a document or from the network.
        date: When it was taken, local time, else the time of its file.
        taken: Whether the date is the camera's.
    """

    digest: str
    picture: Picture
    places: list[Place] = field(default_factory=list)
    date: datetime | None = None
    taken: bool = False


def from_here(file: str) -> str:
    """A file as seen from the working folder, where it lies below; else as it is."""
    return file.removeprefix(f"{Path.cwd().as_posix()}/")


def part_name(shard: str, part: int) -> str:
    """What a part of a shard is called, as one that brought pictures in."""
    return f"{shard}#{part}"


def file_of(owner: str) -> str:
    """The file that was added, of one that brought pictures in: see ``Place.owner``."""
    file, _, part = owner.rpartition("#")
    return file if part.isdecimal() and file.endswith(SUFFIXES) else owner


def folders_of(places: Iterable[Place]) -> list[str]:
    """Every folder that a picture or its document lies in, however far up, and every shard; sorted."""
    files = (file for place in places for file in _files_of(place))
    shards = {Path(place.document).as_posix() for place in places if place.part is not None and place.document}
    return sorted({parent.as_posix() for file in files for parent in Path(file).parents} | shards)


def _files_of(place: Place) -> list[str]:
    """The files that a place stands on."""
    files = (place.file, place.document, None if place.member is None else place.member.file)
    return [file for file in files if file is not None]


def said_of(places: Iterable[Place]) -> list[str]:
    """The texts that stand with a picture where it was found, each once: captions, alternative texts, sentences."""
    texts = (t for place in places for t in (place.caption, place.alt, *(said.text for said in place.sentences)) if t)
    return list(dict.fromkeys(texts))


def words_of(places: Sequence[Place]) -> str:
    """The stems that full-text search looks through: of what is said of a picture, of its own words, of its names."""
    files = [place.file or place.source or "" for place in places]
    names = dict.fromkeys(Path(file).stem for file in files if not file.startswith("data:"))
    apart = (_NO_WORD.sub(" ", re.sub(r"(?<=[a-z])(?=[A-Z])|[_.]", " ", name)) for name in names)
    own = dict.fromkeys(place.written for place in places if place.written)
    return " ".join(word for text in [*said_of(places), *own, *apart] for word in sorted(stems(text)))


def clean(text: str | None) -> str | None:
    """A text that can be stored in UTF-8; None for an empty one."""
    return encodable(text) or None if text else None


def _within(places: Sequence[Place], folder: str | None) -> list[Place]:
    """The places that the search is about."""
    return list(places) if folder is None else [place for place in places if place.within(folder)]


def own_relations(places: Sequence[Place], folder: str | None, wanted: int | None) -> tuple[float, ...] | None:
    """What the picture's own text says of the relations: where the wanted one is most probable, else the first."""
    own = [place.relations for place in _within(places, folder) if place.relations is not None]
    if not own:
        return None
    return own[0] if wanted is None else max(own, key=lambda odds: odds[wanted])


def shown_place(places: Sequence[Place], folder: str | None, wanted: int | None) -> Place:
    """The place to show: a document that says something before one that says nothing, and a document before a file.

    One that is gone since the library was brought up to date comes after all that are there.
    """
    allowed = _within(places, folder) or list(places)

    def worth(place: Place) -> tuple[bool, float, bool, bool]:
        odds = place.relations[wanted] if wanted is not None and place.relations is not None else -np.inf
        there = len(allowed) == 1 or all(is_remote(file) or os.path.exists(file) for file in _files_of(place))
        return there, float(odds), place.text is not None, place.document is not None

    best = max(allowed, key=worth)  # the first of equals
    if best.file is None:
        files = [place.file for place in allowed if place.file is not None]
        return replace(best, file=next(filter(os.path.exists, files), next(iter(files), None)))
    return best


def different_places(places: Sequence[Place]) -> int:
    """How many places there are; a file, and a document that shows that very file, are one."""
    shown = {place.file for place in places if place.document is not None and place.file is not None}
    return sum(place.document is not None or place.file not in shown for place in places)
