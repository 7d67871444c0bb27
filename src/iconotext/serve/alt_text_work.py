"""Alternative texts of a collection: the table of people's decisions, and the work on files in the pool's processes."""

from __future__ import annotations

import hashlib
import logging
import time
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from sqlite3 import Row
from typing import TYPE_CHECKING, Any, NamedTuple

from iconotext.errors import DocumentError, OutputError
from iconotext.plain_text import json_text, readable
from iconotext.read import ReadSettings
from iconotext.serve.sources import Place, without_place
from iconotext.serve.store import Store
from iconotext.system.files import open_atomic

if TYPE_CHECKING:
    from iconotext.alt_text.writing import Change
    from iconotext.check.rules import Finding
    from iconotext.excerpts import Excerpt
    from iconotext.report.embedded import Embedded
    from iconotext.types import Image, LinkedDocument

logger = logging.getLogger(__name__)

TABLES = """
create table if not exists alt_texts_wanted (
    document integer not null references documents on delete cascade, key text not null, primary key (document, key)
) without rowid;
create table if not exists alt_texts_said (
    id integer primary key, document integer not null references documents on delete cascade, key text not null,
    text text, made real not null, undone integer not null default 0, written integer not null default 0
);
create index if not exists alt_texts_said_of on alt_texts_said (document, key);
"""


class Decision(NamedTuple):
    """A person's decision about a picture's alternative text.

    It holds as long as the ``key`` of the picture (from ``to_describe``) is the same. It does not depend on the text
    around the picture: unlike a verdict of a review, it stays right when a sentence is mended.

    Attributes:
        text: None to leave the picture as it is.
        written: Whether the text is in the file.
    """

    id: int
    document: int
    key: str
    text: str | None
    written: bool


class Counts(NamedTuple):
    """The progress of a document; ``accepted`` counts texts that are not in the file yet."""

    wanted: int
    said: int
    accepted: int


class AltTexts:
    """The tables of decisions; all threads may use it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        with store.change() as sql:
            for line in TABLES.split(";"):
                sql.execute(line)

    def set_wanted(self, document: int, keys: Iterable[str]) -> None:
        """Set the pictures of a document that need attention."""
        with self._store.change() as sql:
            sql.execute("delete from alt_texts_wanted where document = ?", (document,))
            sql.executemany("insert into alt_texts_wanted values (?, ?)", [(document, key) for key in keys])

    def decide(self, document: int, key: str, text: str | None) -> int:
        """Store a text, or None to leave the picture as it is; the decision is on disk when this returns."""
        with self._store.change() as sql:
            row = sql.execute(
                "insert into alt_texts_said (document, key, text, made) values (?, ?, ?, ?)",
                (document, key, text, time.time()),
            )
            return int(row.lastrowid or 0)

    def undo(self, collection: str) -> Decision | None:
        """Undo the last decision in a collection that is not in its file yet; None if there is none."""
        query = (
            "select alt_texts_said.* from alt_texts_said join documents on documents.id = document "
            "where collection = ? and undone = 0 and written = 0 order by alt_texts_said.id desc limit 1"
        )
        with self._store.change() as sql:
            row = sql.execute(query, (collection,)).fetchone()
            if row is None:
                return None
            sql.execute("update alt_texts_said set undone = 1 where id = ?", (row["id"],))
            return _decision(row)

    def decisions(self, document: int) -> dict[str, Decision]:
        """The last decision about each picture of a document, by key."""
        rows = self._store.rows("select * from alt_texts_said where document = ? and undone = 0 order by id", document)
        return {row["key"]: _decision(row) for row in rows}

    def set_written(self, decisions: Iterable[Decision]) -> None:
        """Mark texts as written into the file: they, and decisions before them, can no longer be undone."""
        with self._store.change() as sql:
            sql.executemany(
                "update alt_texts_said set written = 1 where document = ? and key = ? and id <= ?",
                [(decision.document, decision.key, decision.id) for decision in decisions],
            )

    def counts(self, collection: str) -> dict[int, Counts]:
        """The progress of each document of a collection."""
        # Of the decisions about a picture that were not undone, only the last one counts.
        query = """
        select id, (select count(*) from alt_texts_wanted where document = documents.id) as wanted,
            (select count(*) from alt_texts_wanted as wanted where document = documents.id and exists (
                select 1 from alt_texts_said where document = wanted.document and key = wanted.key and undone = 0
            )) as said,
            (select count(*) from alt_texts_said as last where document = documents.id and id = (
                select max(id) from alt_texts_said where document = last.document and key = last.key and undone = 0
            ) and text is not null and written = 0) as accepted
        from documents where collection = ?
        """
        rows = self._store.rows(query, collection)
        return {row["id"]: Counts(row["wanted"], row["said"], row["accepted"]) for row in rows}


def _decision(row: Row) -> Decision:
    return Decision(row["id"], row["document"], row["key"], row["text"], bool(row["written"]))


NOT_WRITTEN = "not-written.txt"
"""File in a zip of changed documents that lists the texts that are not in them, with reasons."""


class Texts(NamedTuple):
    """Alternative texts for a document, by image number; another version of its file than ``sha256`` is not changed."""

    place: Place
    sha256: str
    alts: Mapping[int, str]


def to_describe(linked: LinkedDocument, place: Place, sha256: str, embedded: Mapping[int, Embedded]) -> dict[str, Any]:
    """The pictures of a document, with all information for writing their alternative texts.

    This is made when the document is linked, since the sentences about a picture come from its links.

    Args:
        embedded: Image number to the picture as pages show it.

    Returns:
        JSON data: ``alt_text.DescribedOut`` without people's decisions, and what a vision model is asked about each
        picture (``questions``) and must not repeat (``texts``).
    """
    from iconotext.alt_text.drafts import is_without_alt, present_texts
    from iconotext.alt_text.prompt import question
    from iconotext.alt_text.writing import WRITABLE, WRITABLE_AND
    from iconotext.check.audit import check_page
    from iconotext.check.picture import Picture
    from iconotext.check.rules import CheckSettings
    from iconotext.read.format import file_format
    from iconotext.report.context import contexts
    from iconotext.report.flow import shown_source

    images = linked.document.images
    path, reading = Path(place.path), ReadSettings()
    broken: dict[int, list[Finding]] = {}
    elsewhere: list[Finding] = []
    where: dict[int, str | None] = {}
    unchecked = None
    try:
        format_ = file_format(path, reading)[0]
        if format_ not in WRITABLE:
            raise DocumentError(f"alternative texts are checked in and written into {WRITABLE_AND} only")
        checked = check_page(path, CheckSettings(rules=("alt",)), reading, within=Path(place.within))
        for failed in checked.failed:
            logger.warning("%s", failed)
        at: dict[int | None, int] = {image.at: n for n, image in enumerate(images) if image.at is not None}
        # Pictures in the menus of a web page are checked too, although they are not pictures of the document.
        pictures = checked.page.pictures
        numbers = {p.index: at.get(p.place.at) if format_ == "html" else p.index for p in pictures}
        where = {number: _where(p.place) for p in pictures if (number := numbers[p.index]) is not None}
        for picture, finding in checked.findings:
            number = numbers[picture.index] if isinstance(picture, Picture) else None
            (elsewhere if number is None else broken.setdefault(number, [])).append(finding)
    except DocumentError as error:
        unchecked = without_place(str(error), str(path))
    keys, about = _keys(images, embedded), contexts(linked) if images else []
    return {
        "sha256": sha256,
        "language": linked.document.language,
        "unchecked": unchecked,
        "questions": [question(linked, context) for context in about],
        "texts": list(present_texts(linked)),
        "elsewhere": [{"where": _where(f.place), "source": shown_source(f.source), **_row(f)} for f in elsewhere],
        "pictures": [
            {
                "picture": number,
                "key": keys[number],
                "source": shown_source(image.source),
                "where": where.get(number),
                "problem": image.problem,
                "alt": image.alt,
                "caption": image.caption,
                "missing": is_without_alt(image),
                "decorative": image.decorative,
                "findings": [_row(finding) for finding in broken.get(number, [])],
                "sentences": [_quote(sentence) for sentence in about[number].sentences],
            }
            for number, image in enumerate(images)
        ],
    }


def keys_to_describe(described: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys of the pictures of ``to_describe`` that need attention."""
    if described["unchecked"] is not None:
        return ()
    return tuple(row["key"] for row in described["pictures"] if row["missing"] or row["findings"])


def write(texts: Texts) -> dict[int, str]:
    """Write texts into a document, in one step; texts that cannot be written are left out.

    Returns:
        Image number to the reason why its text could not be written.

    Raises:
        OutputError: The file changed since it was read, or cannot be written.
        DocumentError: It cannot be read.
    """
    from iconotext.alt_text.writing import write_change

    change, problems = _planned(texts)
    if change is not None:
        write_change(change)
    return problems


def pack(items: Sequence[Texts], folder: str, target: str) -> int:
    """Write a zip of documents with their texts, named relative to a folder; the documents are not changed.

    Raises:
        OutputError: A file changed since it was read.
        DocumentError: None of the texts can be written.
    """
    left_out: list[str] = []
    packed = 0
    with open_atomic(Path(target)) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for item in items:
            path = Path(item.place.path)
            name = path.name if path == Path(folder) else path.relative_to(folder).as_posix()
            change, problems = _planned(item)
            left_out += [f"{name}, picture {number + 1}: {problem}" for number, problem in problems.items()]
            if change is not None:
                archive.writestr(name, change.inserted.data)
                packed += 1
        if left_out:
            archive.writestr(NOT_WRITTEN, "\n".join(left_out) + "\n")
        if not packed:
            raise DocumentError("; ".join(left_out) or "nothing is to be written")
    return packed


def _planned(texts: Texts) -> tuple[Change | None, dict[int, str]]:
    """The change with all texts that can be written (None if there are none), and the problems of the others."""
    from iconotext.alt_text.writing import plan_change

    path = Path(texts.place.path)

    def plan(alts: Mapping[int, str]) -> Change:
        within = Path(texts.place.within)
        try:
            return plan_change(path, alts, ReadSettings(), read=texts.sha256, within=within, over=True)
        except (DocumentError, OutputError) as error:
            message = without_place(str(error), str(path))
            raise type(error)(message.replace(str(within.resolve()), within.name)) from error

    try:
        return plan(texts.alts), {}
    except DocumentError as error:
        if len(texts.alts) == 1:
            return None, dict.fromkeys(texts.alts, str(error))
    possible, problems = {}, {}
    for number, text in texts.alts.items():
        try:
            plan({number: text})
            possible[number] = text
        except DocumentError as error:
            problems[number] = str(error)
    return (plan(possible) if possible else None), problems


def _keys(images: Sequence[Image], embedded: Mapping[int, Embedded]) -> list[str]:
    """A key for each picture that depends on its address and contents, but not on the text around it."""
    counts: Counter[str] = Counter()
    keys = []
    for number, image in enumerate(images):
        same = json_text([image.source, embedded[number].digest if number in embedded else None])
        counts[same] += 1
        keys.append(f"{hashlib.sha256(same.encode()).hexdigest()[:16]}-{counts[same]}")
    return keys


def _where(place: Any) -> str | None:
    parts = [place.part, f"line {place.line}, column {place.column}" if place.line is not None else None]
    return ", ".join(part for part in parts if part) or None


def _row(finding: Finding) -> dict[str, Any]:
    return {"rule": finding.rule, "severity": finding.severity, "message": readable(finding.message)}


def _quote(excerpt: Excerpt) -> dict[str, Any]:
    confidence = None if excerpt.confidence is None else round(excerpt.confidence, 4)
    return {"sentence": excerpt.sentence, "text": readable(excerpt.text), "confidence": confidence}
