"""A corpus made from people's documents: files of any format that can be read, with optional links from the layout.

``documents`` is the builder, ``layout_links`` the rules for links. Splits depend on which documents share an image, so
they are known only after the last document was read. Until then the documents wait on disk: memory holds a few numbers
for each document and image.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from iconotext.corpus.builders.build import BuilderSettings
from iconotext.corpus.builders.fetched import fetched_file, saved_image
from iconotext.corpus.builders.photos import is_text
from iconotext.corpus.formats.json_lines import line_of
from iconotext.corpus.image_files import ImageKeys
from iconotext.corpus.row import Split, UniqueIds, row_of, written_source
from iconotext.corpus.split import Shares, at_least_two, connected, grouped_splits
from iconotext.errors import CorpusError, DocumentError, IconotextError
from iconotext.images import inspect, is_harmless, kind_of
from iconotext.read import ReadSettings, find_documents, formats_by_suffix, read_documents
from iconotext.read.address import REMOTE
from iconotext.read.find import no_documents
from iconotext.types import Document, Image, Sentence

if TYPE_CHECKING:
    from iconotext.corpus.builders.build import Build, Values


def layout_links(document: Document) -> tuple[tuple[int, int], ...]:
    """Return the links of a document by its layout, sorted.

    A picture inside a paragraph, list item or table cell belongs to all of its sentences; a picture that stands alone
    belongs to the paragraph above it, or to the one below if it stands at the beginning or right under a heading; to
    the heading if there is no paragraph.
    """
    if not (document.sentences and document.images and document.has_layout):
        return ()
    images = enumerate(document.images)
    return tuple(sorted({(s, i) for i, image in images for s in _adjacent(document.sentences, image)}))


def _adjacent(sentences: tuple[Sentence, ...], image: Image) -> list[int]:
    position = image.position or 0
    inside = _block(sentences, image.block)
    if inside:
        return inside
    above, below = _neighbour(sentences, position, -1), _neighbour(sentences, position, +1)
    if above is not None and not sentences[above].heading:
        return _block(sentences, sentences[above].block)
    if below is not None and not sentences[below].heading:
        return _block(sentences, sentences[below].block)
    return [] if above is None else [above]


def _block(sentences: tuple[Sentence, ...], block: int | None) -> list[int]:
    """Return the sentences of a block without its captions."""
    return [s for s, sentence in enumerate(sentences) if sentence.block == block and sentence.kind != "caption"]


def _neighbour(sentences: tuple[Sentence, ...], position: int, step: Literal[-1, 1]) -> int | None:
    """Return the nearest sentence before (-1) or after (1) a position, captions not counted."""
    places: Iterator[int] = iter(range(position - 1, -1, -1) if step < 0 else range(position, len(sentences)))
    return next((s for s in places if sentences[s].kind != "caption"), None)


UNREAD = "document that cannot be read"
UNFETCHED = "on the web and not fetched"
BARE = "document without sentences or usable pictures"

FILES = 8
"""Number of files that are read together."""

PARTICULARS = re.compile(r" \(\d+ × \d+\)|(?<=outside the folder) \S+/")
"""Sizes and folders, in which messages about the same problem differ, besides the details of icons and repeats."""


class Settings(ReadSettings, BuilderSettings):
    """Make a corpus out of documents: files of any format that is read, or folders of them.

    Pictures that came inside a document, or from the web, are written beside the corpus; others stay where they are.
    Captions are not among the sentences, unless --captions is given. What cannot be used is dropped and reported.
    Documents that share a picture go together into train, validation or test.

    **Examples**

    - `iconotext corpus build folder --source docs/ --output corpus.jsonl`
    - `iconotext corpus build folder -s site/ --root site/static -o corpus.parquet`
    - `iconotext corpus build folder --source recipes/ -o recipes.jsonl --links`
    - `iconotext corpus build folder -s books/ -o books.jsonl --epub chapters`
    """

    source: tuple[Path, ...]
    """A file or folder; may be given several times."""

    links: bool = False
    """Gold links from the layout: the paragraph at the picture. Without it, links are unknown."""

    validation: float = Field(0.1, ge=0, lt=1)
    """Share of the documents for validation."""

    test: float = Field(0.0, ge=0, lt=1)
    """Share of the documents for test."""

    interval: float = Field(1.0, ge=0.1)
    """Seconds between requests to a server."""

    seed: int = 0
    """Seed of the random choices."""


def documents(build: Build, settings: Settings) -> Iterator[Values]:
    """Yield documents of files and folders, in order of their names.

    A document's id is its path below the given folder, without the suffix. Images from inside a document or from the
    web become files of the folder ``images_folder(build.output)``, each once. Images with a problem are dropped, and so
    are documents without a sentence or an image. Documents that share an image are in the same split, and a share above
    0 gets at least two documents, if there are enough.
    """
    shares = Shares(settings.validation, settings.test)
    total = _count(build, settings)
    images = images_folder(build.output)
    unfetched = _fetch(build, settings, images, total) if settings.fetch else {}
    records = build.spool(_read_all(build, settings, images, total, unfetched))
    if build.report.dropped[UNREAD] == total:
        raise DocumentError(f"{total} of {total} documents cannot be read: there is nothing for a corpus")
    if not len(records):
        subject = "the document does not have" if total == 1 else f"none of {total:,} documents has"
        raise CorpusError(f"{subject} both sentences and a picture that can be used")
    splits = _splits(records, connected(document["keys"] for document in records), shares, settings.seed)
    ids, saved, saved_prefix = UniqueIds(), set[str](), f"{build.relative_path(images)}/"
    pictures = linked = 0
    for document, split in zip(records, splits, strict=True):
        values = document["values"]
        saved.update(source for source in values["images"] if source.startswith(saved_prefix))
        pictures += len(values["images"])
        linked += len({image for _, image in values.get("links", ())})
        yield values | {"id": ids.take(values["id"]), "split": split}
    build.report.count("pictures", pictures)
    if settings.links:
        build.report.count("pictures with a link", linked)
    if settings.validation and "validation" not in splits:
        build.report.note("too few documents to leave any for validation: give more, or validation=0")
    if saved:
        build.report.note(
            f"{images} has {len(saved)} pictures that came inside documents, or from the web: keep it beside the corpus"
        )


def images_folder(output: Path) -> Path:
    """Return the folder for images without a file of their own: ``corpus_images`` beside ``corpus.jsonl``."""
    return output.with_name(f"{output.stem}_images")


def _count(build: Build, settings: Settings) -> int:
    skipped: Counter[str] = Counter()
    total = sum(1 for _ in find_documents(settings.source, settings, skipped=skipped))
    if not total:
        raise no_documents(settings.source, settings, skipped)
    build.report.count("files", total)
    return total


Item = tuple[str, str | None, str]
"""A file, the given folder that contains it (None if the file itself was given), and the id of its document."""


def _items(settings: Settings) -> Iterator[Item]:
    siblings: tuple[str | None, Counter[str]] = (None, Counter())
    for path, top in find_documents(settings.source, settings):
        if top is None:
            yield str(path), None, _text(path.stem)
            continue
        parent = str(path.parent)
        if siblings[0] != parent:
            names = map(os.path.splitext, os.listdir(parent))
            siblings = parent, Counter(stem for stem, suffix in names if suffix.lower() in formats_by_suffix())
        relative = path.relative_to(top)
        # The suffix is part of an id only where another document beside it, such as ``guide.html``, has the same stem.
        alone = siblings[1][path.stem] == 1
        yield str(path), str(top), _text((relative.with_suffix("") if alone else relative).as_posix())


def _text(name: str) -> str:
    """Return a name with only the characters that a corpus can store."""
    return name.encode("utf-8", "replace").decode()


def _fetch(build: Build, settings: Settings, folder: Path, total: int) -> dict[str, str]:
    """Fetch the images on the web that documents name; returns the problems by address."""
    look = partial(_addresses, settings=settings)
    batches = build.mapped(_items(settings), look, total=total, label="Looking for addresses", chunk=FILES)
    addresses = list(dict.fromkeys(address for batch in batches for address in batch))
    problems = build.fetched(addresses, folder, settings.interval)
    build.report.count("pictures on the web", len(addresses))
    build.report.count("pictures on the web that are there", len(addresses) - len(problems))
    return problems


def _addresses(item: Item, settings: Settings) -> list[str]:
    try:
        documents = _documents_of(item, settings)
    except IconotextError:
        return []  # the problem is reported when the file is read
    return [address for document in documents for image in document.images if (address := _address(image))]


def _documents_of(item: Item, settings: Settings) -> list[Document]:
    """Return the documents of a file. The reader fetches no images: it would ask one by one and without pauses."""
    path, within, name = item
    reading = settings.model_copy(update={"fetch": False})
    return list(read_documents(Path(path), reading, within=Path(within) if within else None, identifier=name))


def _address(image: Image) -> str | None:
    """Return the web address of an image that is not inside the document."""
    return _web(image.source) if image.file is None and REMOTE.match(image.source) else None


def _web(source: str) -> str:
    return f"https:{source}" if source.startswith("//") else source


def _read_all(
    build: Build, settings: Settings, images: Path, total: int, unfetched: dict[str, str]
) -> Iterator[dict[str, Any]]:
    """Yield every document in the form of a corpus, with the keys of its images; dropped items are reported."""
    read = partial(_read, settings=settings, folder=build.folder, images=images)
    for batch in build.mapped(_items(settings), read, total=total, label="Reading", chunk=FILES):
        for rule, place, reason in batch["dropped"]:
            if rule == f"picture: {UNFETCHED}":  # the worker gives the address, since it does not know the reason
                reason = unfetched.get(reason, "")
            build.report.drop(rule, place, reason)
        yield from batch["documents"]


def _read(item: Item, settings: Settings, folder: Path, images: Path) -> dict[str, list[Any]]:
    """Return the documents of a file, with the keys of their images, and the dropped items with reasons."""
    path = item[0]
    dropped: list[tuple[str, str, str]] = []
    try:
        documents = _documents_of(item, settings)
    except IconotextError as error:
        return {"documents": [], "dropped": [(UNREAD, path, str(error).removeprefix(f"{path}: "))]}
    ready_ones = []
    for document in documents:
        with_files = replace(document, images=_with_fetched(document.images, images, settings))
        ready = _ready(with_files, folder, images, dropped)
        if ready is None:
            continue
        if settings.links:
            ready = replace(ready, links=layout_links(ready))
        try:
            row = row_of(ready, folder)
            line_of(row)  # which fails if JSON cannot represent its ``meta``: a title with half a surrogate pair
        except CorpusError as error:
            dropped.append((UNREAD, path, f"does not fit into a corpus: {error}"))
            continue
        keys = ImageKeys()
        of_images = [keys.of(image).hex() for image in ready.images]
        ready_ones.append({"values": row.model_dump(exclude_none=True), "keys": of_images})
    return {"documents": ready_ones, "dropped": [tuple(map(_text, row)) for row in dropped]}


def _ready(document: Document, folder: Path, images: Path, dropped: list[tuple[str, str, str]]) -> Document | None:
    """Return the document in the form of a corpus; None, with the reason in ``dropped``, if it has no such form."""
    place = str(document.source or document.id)
    usable = []
    for image in document.images:
        problem = image.problem or _unwritable(image, folder)
        if problem is not None:
            alike = kind_of(problem) if is_harmless(problem) else PARTICULARS.sub("", problem)
            reason = "" if alike == problem else problem
            if problem == UNFETCHED:
                reason = _web(image.source)
            dropped.append((f"picture: {alike}", f"{place}: {image.source}", reason))
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
    if not settings.fetch:
        return images
    present = []
    for image in images:
        address = _address(image)
        if address is not None:
            file = fetched_file(address, folder)
            image = replace(image, file=file, problem=None if file else UNFETCHED)
        present.append(image)
    return inspect(present, min_side=settings.min_side, max_pixels=settings.max_pixels)


def _unwritable(image: Image, folder: Path) -> str | None:
    """Return why a corpus cannot name the file of an image."""
    if isinstance(image.file, Path) and not is_text(written_source(image, folder)):
        return "the name of its file, or of a folder above it, is not UTF-8: rename it"
    return None


def _splits(records: Sequence[Any], groups: Sequence[int], shares: Shares, seed: int) -> list[Split]:
    """Return the split of each document; ``CorpusError`` if so many share an image that a split is empty."""
    images = sum(len(document["values"]["images"]) for document in records)
    try:
        return grouped_splits(groups, at_least_two(shares, len(groups), images), seed=seed)
    except CorpusError as error:
        key, number = Counter(key for document in records for key in document["keys"]).most_common(1)[0]
        document = next(document for document in records if key in document["keys"])
        name = document["values"]["images"][document["keys"].index(key)]
        raise CorpusError(
            f"{error}. {name} is in {number} of {len(groups)} documents: take it out of them, or give "
            "validation=0 and test=0, and divide the documents yourself"
        ) from error
