"""A corpus out of documents as people have them: Markdown, HTML, DOCX, EPUB and PDF files.

Splits depend on which documents share a picture, so they are known only after the last document was read. Until then
the documents wait on disk: memory holds a few numbers for each document and picture.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from iconotext.corpus.builders.frame.build import Build, Values
from iconotext.corpus.builders.images.fetched import fetch_images, fetched_file
from iconotext.corpus.builders.images.saved import saved_image
from iconotext.corpus.builders.layout_links import LinkRule, layout_links
from iconotext.corpus.connected import connected
from iconotext.corpus.document_row import row_of, written_source
from iconotext.corpus.image_keys import ImageKeys
from iconotext.corpus.jsonl import line_of
from iconotext.corpus.row import Split
from iconotext.corpus.split import Shares, grouped_splits
from iconotext.corpus.unique_id import UniqueIds
from iconotext.errors import CorpusError, DocumentError, IconotextError, SettingError
from iconotext.images import inspect
from iconotext.read import SUFFIXES, ReadSettings, find_documents, read_documents
from iconotext.read.address import REMOTE
from iconotext.read.find import no_documents
from iconotext.read.web.polite import Politeness
from iconotext.types import Document, Image

UNREAD = "document that cannot be read"
UNFETCHED = "on the web and not fetched"
BARE = "document without sentences or usable pictures"

FILES = 8
"""Files that are read, and kept, together."""

PARTICULARS = re.compile(r" \(\d+ × \d+\)| as image \d+|(?<=outside the folder) \S+/")
"""Sizes, numbers and folders: what differs between pictures that have the same problem."""


class FolderSettings(BaseModel):
    """What a corpus out of documents is like; how they are read say ``ReadSettings``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    links: LinkRule | None = None
    """Where gold links come from, see ``layout_links``; none: nobody knows them."""

    validation: float = Field(0.1, ge=0, lt=1)
    """Share of the documents for validation."""

    test: float = Field(0.0, ge=0, lt=1)
    """Share of the documents for test."""

    interval: float = Field(1.0, ge=0.1)
    """Seconds between two requests to one server, where pictures are fetched."""


def folder_rows(
    build: Build, paths: Sequence[Path], settings: FolderSettings | None = None, reading: ReadSettings | None = None
) -> Iterator[Values]:
    """Documents of files and folders, in order of their names.

    A document's id is its way from the folder that was given, without the suffix. Pictures that came inside a document,
    or from the web, become files of the folder ``images_folder(build.output)``, each once. Pictures with a problem
    are dropped, and so are documents without a sentence or a picture. ``meta.source`` is the way from the corpus to the
    document. Documents that share a picture are in the same split, and a share above 0 gets two documents at least,
    if there are enough.

    Args:
        build: The frame.
        paths: Files, and folders that are walked.
        settings: Links and splits.
        reading: How documents are read. With ``fetch``, pictures on the web are fetched first, politely.

    Raises:
        DocumentError: There is no document, or none can be read.
        CorpusError: None has a sentence and a picture, or so many share a picture that a split would be empty.
        OutputError: A picture cannot be written.
    """
    settings, reading = settings or FolderSettings(), reading or ReadSettings()
    shares = Shares(settings.validation, settings.test)
    skipped: Counter[str] = Counter()
    total = sum(1 for _ in find_documents(paths, reading, skipped=skipped))
    if not total:
        raise no_documents(paths, reading, skipped)
    build.report.count("files", total)
    pictures = images_folder(build.output)
    fetched = _fetch(build, paths, reading, pictures, settings.interval, total) if reading.fetch else {}
    read = partial(_read, reading=reading, folder=build.folder, pictures=pictures, rule=settings.links)
    groups = connected(
        document["keys"]
        for found in build.mapped("documents", _items(paths, reading), read, total=total, label="Reading", chunk=FILES)
        for document in _told(build, found, fetched)
    )
    if build.report.dropped[UNREAD] == total:
        raise DocumentError(f"{total} of {total} documents cannot be read: there is nothing for a corpus")
    if not groups:
        raise CorpusError(f"none of {total} documents has both sentences and a picture that can be used")
    splits = iter(_splits(build, groups, shares))
    ids = UniqueIds()
    inside: set[str] = set()
    saved = f"{build.way(pictures)}/"
    there = linked = 0
    held_out: set[Split] = set()
    for document in _documents(build):
        values = document["values"]
        inside.update(source for source in values["images"] if source.startswith(saved))
        there += len(values["images"])
        linked += len({image for _, image in values.get("links", ())})
        split = next(splits)
        held_out.add(split)
        yield values | {"id": ids.take(values["id"]), "split": split}
    build.report.count("pictures", there)
    if settings.links is not None:
        build.report.count(f"pictures with a link ({settings.links})", linked)
    if settings.validation and "validation" not in held_out:
        build.report.note("too few documents to leave any for validation: give more, or validation=0")
    if inside:
        build.report.note(
            f"{pictures} has {len(inside)} pictures that came inside documents, or from the web: keep it beside the "
            "corpus"
        )


def images_folder(output: Path) -> Path:
    """Where the pictures lie that have no file of their own: ``corpus_images`` beside ``corpus.jsonl``."""
    return output.with_name(f"{output.stem}_images")


Item = tuple[str, str | None, str]
"""A file, the folder that was given (None: the file itself was), and the id of its document."""


def _items(paths: Sequence[Path], reading: ReadSettings) -> Iterator[Item]:
    siblings: tuple[str | None, Counter[str]] = (None, Counter())
    for path, top in find_documents(paths, reading):
        if top is None:
            yield str(path), None, _text(path.stem)
            continue
        here = str(path.parent)
        if siblings[0] != here:
            names = map(os.path.splitext, os.listdir(here))
            siblings = here, Counter(stem for stem, suffix in names if suffix.lower() in SUFFIXES)
        way = path.relative_to(top)
        alone = siblings[1][path.stem] == 1
        yield str(path), str(top), _text((way.with_suffix("") if alone else way).as_posix())


def _text(name: str) -> str:
    """A name in characters that a corpus can hold."""
    return name.encode("utf-8", "replace").decode()


def _fetch(
    build: Build, paths: Sequence[Path], reading: ReadSettings, folder: Path, interval: float, total: int
) -> dict[str, str]:
    """Fetch the pictures on the web that documents name; by address, why one is not there."""
    look = partial(_addresses, reading=reading)
    found = build.mapped(
        "addresses", _items(paths, reading), look, total=total, label="Looking for addresses", chunk=FILES
    )
    addresses = list(dict.fromkeys(address for some in found for address in some))
    results = fetch_images(addresses, folder, politeness=Politeness(interval=interval))
    problems = {
        one.address: one.problem or "not fetched"
        for one in build.watch(results, total=len(addresses), label="Fetching")
        if one.file is None
    }
    build.report.count("pictures on the web", len(addresses))
    build.report.count("pictures on the web that are there", len(addresses) - len(problems))
    return problems


def _addresses(item: Item, reading: ReadSettings) -> list[str]:
    try:
        documents = _documents_of(item, reading)
    except IconotextError:
        return []  # told when it is read
    return [address for document in documents for image in document.images if (address := _address(image))]


def _documents_of(item: Item, reading: ReadSettings) -> list[Document]:
    """The documents of a file. The reader, which does not wait between two requests, fetches no pictures."""
    path, within, name = item
    reading = reading.model_copy(update={"fetch": False})
    return list(read_documents(Path(path), reading, within=Path(within) if within else None, identifier=name))


def _address(image: Image) -> str | None:
    """The address of a picture on the web that the document does not bring along."""
    if image.file is not None or not REMOTE.match(image.source):
        return None
    return f"https:{image.source}" if image.source.startswith("//") else image.source


def _read(
    item: Item, reading: ReadSettings, folder: Path, pictures: Path, rule: LinkRule | None
) -> dict[str, list[Any]]:
    """Documents of a file as a corpus will have them, with the keys of their pictures; and what is dropped, and why."""
    path = item[0]
    told: list[tuple[str, str, str]] = []
    try:
        found = _documents_of(item, reading)
    except IconotextError as error:
        return {"documents": [], "told": [(UNREAD, path, str(error).removeprefix(f"{path}: "))]}
    documents = []
    for document in found:
        images = _with_fetched(document.images, pictures, reading)
        ready = _ready(replace(document, images=images), folder, pictures, told)
        if ready is None:
            continue
        if rule is not None:
            ready = replace(ready, links=layout_links(ready, rule))
        try:
            row = row_of(ready, folder)
            line_of(row)
        except CorpusError as error:  # its title, for example, has half a surrogate pair
            told.append((UNREAD, path, f"does not fit into a corpus: {error}"))
            continue
        keys = ImageKeys()
        of_images = [keys.of(image).hex() for image in ready.images]
        documents.append({"values": row.model_dump(exclude_none=True), "keys": of_images})
    return {"documents": documents, "told": [tuple(map(_text, one)) for one in told]}


def _ready(document: Document, folder: Path, pictures: Path, told: list[tuple[str, str, str]]) -> Document | None:
    """The document as the corpus will have it; None, and told, where it cannot have it."""
    place = str(document.source or document.id)
    images = []
    for image in document.images:
        problem = image.problem or _unwritable(image, folder)
        if problem is not None:
            alike = PARTICULARS.sub("", problem)
            told.append((f"picture: {alike}", f"{place}: {image.source}", problem if alike != problem else ""))
        elif isinstance(image.file, bytes):
            images.append(replace(image, file=saved_image(image.file, pictures)))
        else:
            images.append(image)
    if not document.sentences or not images:
        told.append((BARE, place, "no picture that can be used" if document.sentences else "no sentences"))
        return None
    meta = dict(document.meta)
    if document.source is not None:
        meta["source"] = _text(written_source(Image("", document.source), folder))
    return replace(document, images=tuple(images), meta=meta)


def _with_fetched(images: tuple[Image, ...], pictures: Path, reading: ReadSettings) -> tuple[Image, ...]:
    """The images, those on the web with the files that were fetched of them, if any were to be."""
    if not reading.fetch:
        return images
    there = []
    for image in images:
        address = _address(image)
        if address is not None:
            file = fetched_file(address, pictures)
            image = replace(image, file=file, problem=None if file else UNFETCHED)
        there.append(image)
    return inspect(there, min_side=reading.min_side, max_pixels=reading.max_pixels)


def _unwritable(image: Image, folder: Path) -> str | None:
    """Why a corpus cannot name the file of an image."""
    if isinstance(image.file, Path):
        try:
            written_source(image, folder).encode()
        except UnicodeEncodeError:
            return "the name of its file, or of a folder above it, is not UTF-8: rename it"
    return None


def _told(build: Build, found: dict[str, list[Any]], fetched: dict[str, str]) -> list[Any]:
    """The documents of a file, after the report was told what was dropped; and why pictures could not be fetched."""
    for rule, place, reason in found["told"]:
        if rule == f"picture: {UNFETCHED}":
            source = place.partition(": ")[2]
            reason = fetched.get(f"https:{source}" if source.startswith("//") else source, reason)
        build.report.drop(rule, place, reason)
    return found["documents"]


def _documents(build: Build) -> Iterator[dict[str, Any]]:
    """The documents, once more."""
    for found in build.kept("documents"):
        yield from found["documents"]


def _splits(build: Build, groups: Sequence[int], shares: Shares) -> list[Split]:
    """The split of each document.

    Raises:
        CorpusError: So many share a picture that a split would be empty; names the picture.
    """
    try:
        return grouped_splits(groups, _at_least_two(shares, len(groups)), seed=build.seed)
    except CorpusError as error:
        name: dict[str, str] = {}
        count = Counter(
            key
            for document in _documents(build)
            for key, source in zip(document["keys"], document["values"]["images"], strict=True)
            if name.setdefault(key, source)
        )
        key, number = count.most_common(1)[0]
        raise CorpusError(
            f"{error}. {name[key]} is in {number} of {len(groups)} documents: take it out of them, or give "
            "validation=0 and test=0, and divide the documents yourself"
        ) from error


def _at_least_two(shares: Shares, count: int) -> Shares:
    """Shares that give two documents to each split that is to have any, else one, while two are left to train on.

    A loss compares documents: a single one for validation has none to be compared with, and its loss is always 0.
    """
    wanted = (shares.validation, shares.test)
    for least in (2, 1):
        if count - least * sum(share > 0 for share in wanted) >= 2:
            larger = [max(share, least / count) if share else 0 for share in wanted]
            with contextlib.suppress(SettingError):  # the other share is so large that there are none to train on
                return Shares(*larger)
    return shares
