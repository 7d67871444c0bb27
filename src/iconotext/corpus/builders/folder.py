"""A corpus out of documents as people have them: files of any format that is read.

Splits depend on which documents share an image, so they are known only after the last document was read. Until then
the documents wait on disk: memory holds a few numbers for each document and image.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from iconotext.corpus.builders.fetched import fetched_file, saved_image
from iconotext.corpus.builders.layout_links import LinkRule, layout_links
from iconotext.corpus.builders.settings import BuilderSettings
from iconotext.corpus.document_row import row_of, written_source
from iconotext.corpus.formats.jsonl import line_of
from iconotext.corpus.image_files import ImageKeys
from iconotext.corpus.row import Split, UniqueIds
from iconotext.corpus.split import Shares, at_least_two, connected, grouped_splits
from iconotext.errors import CorpusError, DocumentError, IconotextError
from iconotext.images import inspect
from iconotext.read import SUFFIXES, ReadSettings, find_documents, read_documents
from iconotext.read.address import REMOTE
from iconotext.read.find import no_documents
from iconotext.types import Document, Image

if TYPE_CHECKING:
    from iconotext.corpus.builders.run import Build, Values

UNREAD = "document that cannot be read"
UNFETCHED = "on the web and not fetched"
BARE = "document without sentences or usable pictures"

FILES = 8
"""Files that are read together."""

PARTICULARS = re.compile(r" \(\d+ × \d+\)| as image \d+|(?<=outside the folder) \S+/")
"""Sizes, numbers and folders: what differs between images that have the same problem."""


class Settings(ReadSettings, BuilderSettings):
    """Make a corpus out of documents: files of any format that is read, or folders of them.

    Pictures that came inside a document, or from the web, are written beside the corpus; others stay where they are.
    Captions are not among the sentences. What cannot be used is dropped and reported. Documents that share a picture go
    together into train, validation or test.

    **Examples**

    - `iconotext corpus build folder --source docs/ --output corpus.jsonl`
    - `iconotext corpus build folder --source site/ --root site/static -o corpus.parquet --test 0.1`
    - `iconotext corpus build folder --source recipes/ -o recipes.jsonl --links step`
    - `iconotext corpus build folder -s books/ -o books.jsonl --epub chapters --language en`
    """

    source: tuple[Path, ...]
    """A file or folder; may be given several times."""

    links: LinkRule | None = None
    """Gold links from the layout. adjacent: the paragraph at the picture. step: the list item or section it stands in.
    caption: the sentence that says what the caption says. Without it none are known."""

    validation: float = Field(0.1, ge=0, lt=1)
    """Share of the documents for validation."""

    test: float = Field(0.0, ge=0, lt=1)
    """Share of the documents for test."""

    interval: float = Field(1.0, ge=0.1)
    """Seconds between two requests to one server, where pictures are fetched."""

    seed: int = 0
    """Seed of the random choices."""


def documents(build: Build, settings: Settings) -> Iterator[Values]:
    """Documents of files and folders, in order of their names.

    A document's id is its path from the folder that was given, without the suffix. Images that came inside a document,
    or from the web, become files of the folder ``images_folder(build.output)``, each once. Images with a problem are
    dropped, and so are documents without a sentence or an image. ``meta.source`` is the path from the corpus to the
    document. Documents that share an image are in the same split, and a share above 0 gets two documents at least, if
    there are enough.

    Raises:
        DocumentError: There is no document, or none can be read.
        CorpusError: None has a sentence and an image, or so many share an image that a split would be empty.
        OutputError: An image cannot be written.
    """
    shares = Shares(settings.validation, settings.test)
    total = _count(build, settings)
    images = images_folder(build.output)
    unfetched = _fetch(build, settings, images, total) if settings.fetch else {}
    found = build.spool(_read_all(build, settings, images, total, unfetched))
    if build.report.dropped[UNREAD] == total:
        raise DocumentError(f"{total} of {total} documents cannot be read: there is nothing for a corpus")
    if not len(found):
        which = "the document does not have" if total == 1 else f"none of {total:,} documents has"
        raise CorpusError(f"{which} both sentences and a picture that can be used")
    splits = _splits(found, connected(document["keys"] for document in found), shares, settings.seed)
    ids, inside, beside = UniqueIds(), set[str](), f"{build.relative_path(images)}/"
    used = linked = 0
    for document, split in zip(found, splits, strict=True):
        values = document["values"]
        inside.update(source for source in values["images"] if source.startswith(beside))
        used += len(values["images"])
        linked += len({image for _, image in values.get("links", ())})
        yield values | {"id": ids.take(values["id"]), "split": split}
    build.report.count("pictures", used)
    if settings.links is not None:
        build.report.count(f"pictures with a link ({settings.links})", linked)
    if settings.validation and "validation" not in splits:
        build.report.note("too few documents to leave any for validation: give more, or validation=0")
    if inside:
        build.report.note(
            f"{images} has {len(inside)} pictures that came inside documents, or from the web: keep it beside the "
            "corpus"
        )


def images_folder(output: Path) -> Path:
    """Where the images lie that have no file of their own: ``corpus_images`` beside ``corpus.jsonl``."""
    return output.with_name(f"{output.stem}_images")


def _count(build: Build, settings: Settings) -> int:
    """How many files there are to read; ``DocumentError`` where there are none."""
    skipped: Counter[str] = Counter()
    total = sum(1 for _ in find_documents(settings.source, settings, skipped=skipped))
    if not total:
        raise no_documents(settings.source, settings, skipped)
    build.report.count("files", total)
    return total


Item = tuple[str, str | None, str]
"""A file, the folder that was given (None: the file itself was), and the id of its document."""


def _items(settings: Settings) -> Iterator[Item]:
    siblings: tuple[str | None, Counter[str]] = (None, Counter())
    for path, top in find_documents(settings.source, settings):
        if top is None:
            yield str(path), None, _text(path.stem)
            continue
        here = str(path.parent)
        if siblings[0] != here:
            names = map(os.path.splitext, os.listdir(here))
            siblings = here, Counter(stem for stem, suffix in names if suffix.lower() in SUFFIXES)
        relative = path.relative_to(top)
        alone = siblings[1][path.stem] == 1
        yield str(path), str(top), _text((relative.with_suffix("") if alone else relative).as_posix())


def _text(name: str) -> str:
    """A name in characters that a corpus can hold."""
    return name.encode("utf-8", "replace").decode()


def _fetch(build: Build, settings: Settings, folder: Path, total: int) -> dict[str, str]:
    """Fetch the images on the web that documents name; by address, why one is not there."""
    look = partial(_addresses, settings=settings)
    found = build.mapped(_items(settings), look, total=total, label="Looking for addresses", chunk=FILES)
    addresses = list(dict.fromkeys(address for some in found for address in some))
    problems = build.fetched(addresses, folder, settings.interval)
    build.report.count("pictures on the web", len(addresses))
    build.report.count("pictures on the web that are there", len(addresses) - len(problems))
    return problems


def _addresses(item: Item, settings: Settings) -> list[str]:
    try:
        found = _documents_of(item, settings)
    except IconotextError:
        return []  # reported when it is read
    return [address for document in found for image in document.images if (address := _address(image))]


def _documents_of(item: Item, settings: Settings) -> list[Document]:
    """The documents of a file. The reader fetches no images: it would ask for them one by one, and hurriedly."""
    path, within, name = item
    reading = settings.model_copy(update={"fetch": False})
    return list(read_documents(Path(path), reading, within=Path(within) if within else None, identifier=name))


def _address(image: Image) -> str | None:
    """The address of an image on the web that the document does not bring along."""
    return _web(image.source) if image.file is None and REMOTE.match(image.source) else None


def _web(source: str) -> str:
    return f"https:{source}" if source.startswith("//") else source


def _read_all(
    build: Build, settings: Settings, images: Path, total: int, unfetched: dict[str, str]
) -> Iterator[dict[str, Any]]:
    """Every document as a corpus will have it, with the keys of its images; what is dropped is reported."""
    read = partial(_read, settings=settings, folder=build.folder, images=images)
    for found in build.mapped(_items(settings), read, total=total, label="Reading", chunk=FILES):
        for rule, place, reason in found["dropped"]:
            if rule == f"picture: {UNFETCHED}":
                reason = unfetched.get(_web(place.partition(": ")[2]), reason)
            build.report.drop(rule, place, reason)
        yield from found["documents"]


def _read(item: Item, settings: Settings, folder: Path, images: Path) -> dict[str, list[Any]]:
    """The documents of a file, with the keys of their images; and what is dropped, and why."""
    path = item[0]
    dropped: list[tuple[str, str, str]] = []
    try:
        found = _documents_of(item, settings)
    except IconotextError as error:
        return {"documents": [], "dropped": [(UNREAD, path, str(error).removeprefix(f"{path}: "))]}
    ready_ones = []
    for document in found:
        with_files = replace(document, images=_with_fetched(document.images, images, settings))
        ready = _ready(with_files, folder, images, dropped)
        if ready is None:
            continue
        if settings.links is not None:
            ready = replace(ready, links=layout_links(ready, settings.links))
        try:
            row = row_of(ready, folder)
            line_of(row)
        except CorpusError as error:  # its title, for example, has half a surrogate pair
            dropped.append((UNREAD, path, f"does not fit into a corpus: {error}"))
            continue
        keys = ImageKeys()
        of_images = [keys.of(image).hex() for image in ready.images]
        ready_ones.append({"values": row.model_dump(exclude_none=True), "keys": of_images})
    return {"documents": ready_ones, "dropped": [tuple(map(_text, one)) for one in dropped]}


def _ready(document: Document, folder: Path, images: Path, dropped: list[tuple[str, str, str]]) -> Document | None:
    """The document as the corpus will have it; None, which is noted in ``dropped``, where it cannot have it."""
    place = str(document.source or document.id)
    usable = []
    for image in document.images:
        problem = image.problem or _unwritable(image, folder)
        if problem is not None:
            alike = PARTICULARS.sub("", problem)
            dropped.append((f"picture: {alike}", f"{place}: {image.source}", problem if alike != problem else ""))
        elif isinstance(image.file, bytes):
            usable.append(replace(image, file=saved_image(image.file, images)))
        else:
            usable.append(image)
    if not document.sentences or not usable:
        dropped.append((BARE, place, "no picture that can be used" if document.sentences else "no sentences"))
        return None
    meta = dict(document.meta)
    if document.source is not None:
        meta["source"] = _text(written_source(Image("", document.source), folder))
    return replace(document, images=tuple(usable), meta=meta)


def _with_fetched(images: tuple[Image, ...], folder: Path, settings: Settings) -> tuple[Image, ...]:
    """The images, those on the web with the files that were fetched of them, if any were to be."""
    if not settings.fetch:
        return images
    there = []
    for image in images:
        address = _address(image)
        if address is not None:
            file = fetched_file(address, folder)
            image = replace(image, file=file, problem=None if file else UNFETCHED)
        there.append(image)
    return inspect(there, min_side=settings.min_side, max_pixels=settings.max_pixels)


def _unwritable(image: Image, folder: Path) -> str | None:
    """Why a corpus cannot name the file of an image."""
    if isinstance(image.file, Path):
        try:
            written_source(image, folder).encode()
        except UnicodeEncodeError:
            return "the name of its file, or of a folder above it, is not UTF-8: rename it"
    return None


def _splits(found: Sequence[Any], groups: Sequence[int], shares: Shares, seed: int) -> list[Split]:
    """The split of each document; ``CorpusError``, with the image, where so many share one that a split is empty."""
    images = sum(len(document["values"]["images"]) for document in found)
    try:
        return grouped_splits(groups, at_least_two(shares, len(groups), images), seed=seed)
    except CorpusError as error:
        name: dict[str, str] = {}
        count = Counter(
            key
            for document in found
            for key, source in zip(document["keys"], document["values"]["images"], strict=True)
            if name.setdefault(key, source)
        )
        key, number = count.most_common(1)[0]
        raise CorpusError(
            f"{error}. {name[key]} is in {number} of {len(groups)} documents: take it out of them, or give "
            "validation=0 and test=0, and divide the documents yourself"
        ) from error
