"""The pictures of a library as values: the places where a picture was found, the texts there, and its file's content.

An ``Item`` is a stored picture with all its ``Place`` values, an ``Arrival`` is a picture to be added. A search result
shows one place, chosen by ``shown_place``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from iconotext.corpus.formats.table import files_of_row
from iconotext.corpus.shards import SUFFIXES
from iconotext.errors import CorpusError, StoreError
from iconotext.evidence.words import stems
from iconotext.library.files import digest_of
from iconotext.plain_text import encodable
from iconotext.system.object_store import opened
from iconotext.types import LinkedSentence, Member

if TYPE_CHECKING:
    from iconotext.features.backbone import Picture
    from iconotext.types import FloatMatrix

_NO_WORD = re.compile(r"(?i)\b(?:\d{8,}|(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{4,})\b")
"""Parts of file names that are not words: a timestamp, or digits of a hash."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place of a picture: a file, or an image of a document.

    Attributes:
        file: The picture's file, absolute; None if it is inside a document or came from the network.
        document: The document's file, absolute; None for a single picture in a folder.
        number: Number of the image in the document, from 0; None without a document.
        source: Its address as the document writes it.
        caption: Its caption in the document.
        alt: Its alternative text in the document.
        sentences: The sentences linked to it here, most confident first.
        around: The sentences of the paragraphs around it in the document.
        language: ISO 639-1 code of the document.
        relations: Log-odds of each relation between the picture and the document's text about it; None without a text,
            if the text is not English, or without a relation model.
        written: The words in the picture; None if there are none, or if they were not read.
        id: Id of the document in a shard; ``document`` is then the shard, or its result.
        part: Number of the shard's part that contains the document.
        member: The picture's place in a tar or a table.
    """

    file: str | None = None
    document: str | None = None
    number: int | None = None
    source: str | None = None
    caption: str | None = None
    alt: str | None = None
    sentences: tuple[LinkedSentence, ...] = ()
    around: tuple[str, ...] = ()
    language: str | None = None
    relations: tuple[float, ...] | None = None
    written: str | None = None
    id: str | None = None
    part: int | None = None
    member: Member | None = None

    @property
    def image(self) -> str:
        """Name of the picture at this place: its file, its address on the web, or its number in the document."""
        if self.file is not None:
            return self.file
        if self.source is not None and "://" in self.source[:12]:
            return self.source
        if self.member is not None:
            return f"{self.member.file}#{self.source}"
        return f"{self.document_name}#image-{(self.number or 0) + 1}"

    @property
    def document_name(self) -> str | None:
        """Name of the document: its file, or its id if it is in a shard."""
        return self.document if self.id is None else f"{self.document}#{self.id}"

    @property
    def owner(self) -> str:
        """The added file that brought the picture in: a document, a part of a shard, or the picture's file."""
        return (self.document or self.file or "") if self.part is None else part_name(self.document or "", self.part)

    @property
    def text(self) -> str | None:
        """The document's text about the picture: caption, else the most probable linked sentence, else the alt text."""
        best = self.sentences[0].text if self.sentences else None
        return self.caption or best or self.alt or None

    @property
    def files(self) -> list[str]:
        """The files of the picture and of its document, and the tar or table around the picture."""
        files = (self.file, self.document, None if self.member is None else self.member.file)
        return [file for file in files if file is not None]

    def within(self, folder: str) -> bool:
        """Whether the picture's file or its document is in a folder, or below."""
        return folder in folders_of([self])


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """A picture as the library stores it: once, however often it was found.

    Attributes:
        date: When it was taken, in local time, else the time of its oldest file, even of one that is gone; None if
            unknown.
        vector: (dim,) float32 unit vector.
        offsets: (R,) float32, the picture's part of the log-odds of each relation; None without a relation model.
        relation_model: Name of the model of ``offsets``; empty without one.
        thumbnail: A small picture as a data URI, for a picture without a file of its own.
        text_vectors: (texts, dim) vectors of the texts about it, in the order of ``texts_of``; None without texts.
        taken: Whether the date is the camera's.
        words: The stored stems, see ``words_of``; empty if not stored yet.
        own: How many of them, from the first on, are of its texts and names; the others are of the text around it.
    """

    digest: str
    places: tuple[Place, ...]
    date: datetime | None
    vector: FloatMatrix
    offsets: FloatMatrix | None = None
    relation_model: str = ""
    thumbnail: str | None = None
    text_vectors: FloatMatrix | None = None
    taken: bool = False
    words: str = ""
    own: int = 0


class Compared(NamedTuple):
    """The columns of a picture that a search compares, and its row's number in the version that was searched."""

    digest: str
    vector: FloatMatrix
    text_vectors: FloatMatrix | None
    words: str
    own: int
    row: int


class Near(NamedTuple):
    """A picture near to a query, and its cosine with the query."""

    picture: Compared
    similarity: float

    @property
    def digest(self) -> str:
        """Digest of its content."""
        return self.picture.digest


@dataclass(slots=True)
class Arrival:
    """A picture to be added: its file, or its bytes if it is inside a document or came from the network."""

    digest: str
    picture: Picture
    places: list[Place] = field(default_factory=list)
    date: datetime | None = None
    taken: bool = False


def from_here(file: str) -> str:
    """Return a file's path relative to the working folder if the file is below it, else unchanged."""
    return file.removeprefix(f"{Path.cwd().as_posix()}/")


def part_name(shard: str, part: int) -> str:
    """Return the name of a shard's part as an owner of pictures."""
    return f"{shard}#{part}"


def file_of(owner: str) -> str:
    """Return the file of an owner of pictures, see ``Place.owner``."""
    file, _, part = owner.rpartition("#")
    return file if part.isdecimal() and file.endswith(SUFFIXES) else owner


def folders_of(places: Iterable[Place]) -> list[str]:
    """Return all parent folders of the pictures and documents, and all shards; sorted."""
    files = (file for place in places for file in place.files)
    shards = {Path(place.document).as_posix() for place in places if place.part is not None and place.document}
    return sorted({parent.as_posix() for file in files for parent in Path(file).parents} | shards)


def texts_of(places: Iterable[Place]) -> list[str]:
    """Return the different texts about a picture at its places: captions, alternative texts, sentences."""
    texts = (
        t for place in places for t in (place.caption, place.alt, *(linked.text for linked in place.sentences)) if t
    )
    return list(dict.fromkeys(texts))


def words_of(places: Sequence[Place]) -> tuple[str, int]:
    """Return the stems for full-text search, and how many of them are a picture's own.

    Its own are those of the texts about it, of the words in it, and of its file names; behind them stand those of the
    text around it.
    """
    files = [place.file or place.source or "" for place in places]
    names = dict.fromkeys(Path(file).stem for file in files if not file.startswith("data:"))
    apart = (_NO_WORD.sub(" ", re.sub(r"(?<=[a-z])(?=[A-Z])|[_.]", " ", name)) for name in names)
    ocr_texts = dict.fromkeys(place.written for place in places if place.written)
    own = _stems_of_each([*texts_of(places), *ocr_texts, *apart])
    around = _stems_of_each(dict.fromkeys(text for place in places for text in place.around))
    return " ".join([*own, *around]), len(own)


def _stems_of_each(texts: Iterable[str]) -> list[str]:
    return [word for text in texts for word in sorted(stems(text))]


def clean(text: str | None) -> str | None:
    """Return a text in a form that UTF-8 can store; None for an empty one."""
    return encodable(text) or None if text else None


LARGEST = 256 * 2**20
"""Largest picture that is shown, in bytes."""


def file_content(file: Path, digest: str) -> bytes | None:
    """Return the content of a file; None if it is gone, too large, or another picture now: that must not be shown."""
    try:
        if not file.is_file() or file.stat().st_size > LARGEST:
            return None
        return _if_still(file.read_bytes(), digest)
    except OSError:
        return None


def member_content(member: Member, digest: str) -> bytes | None:
    """Return the content of a picture in a tar or a table; None as for ``file_content``."""
    try:
        with opened(member.file) as file:
            if member.file.endswith(".tar"):
                file.seek(member.start)
                return _if_still(file.read(min(member.part, LARGEST)), digest)
            files = files_of_row(file, member.start)
    except (OSError, CorpusError, StoreError):
        return None
    data = files[member.part] if member.part < len(files) else None
    return None if data is None else _if_still(data, digest)


def _if_still(data: bytes, digest: str) -> bytes | None:
    return data if digest_of(data) == digest else None
