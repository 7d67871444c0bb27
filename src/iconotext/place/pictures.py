"""The pictures to place in a text, with their captions, contexts and links.

``pictures_of`` makes ``Image`` values, without a place, of everything that pictures come with: linked documents, their
chunks and contexts, in memory or in the files that ``iconotext link``, ``chunks`` and ``context`` write, documents, and
plain files of pictures. An image's ``context`` has the sentences that its own document links with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from pydantic import TypeAdapter, ValidationError

from iconotext.errors import DocumentError, IconotextError, ImageError
from iconotext.excerpts import Chunk, ChunkImage, Excerpt, SlimChunk, SlimImage
from iconotext.images import is_harmless
from iconotext.images.file import IMAGE_FORMATS
from iconotext.read import Failure, find_documents, read_all, read_files
from iconotext.read.address import inside, open_address
from iconotext.read.format import formats_in_words, suffix_format
from iconotext.read.sentences import split_sentences
from iconotext.read.settings import ReadSettings
from iconotext.report.as_json import ImageOut, LinkedOut
from iconotext.report.context import Context
from iconotext.system.strict_json import parse_json
from iconotext.types import Document, Image, Link, LinkedDocument, LinkedSentence, Sentence, TextLine

Given = Image | Document | LinkedDocument | Chunk | SlimChunk | Context | Path | str
"""The kinds of sources of pictures; a ``str`` is the name of a file or folder."""

Row = TypeVar("Row", ChunkImage, SlimImage, Context)

LinkAll = Callable[[Iterable[Document | Failure]], Iterator[LinkedDocument | Failure]]

SENTENCES, LEAST = 10, 0.01
"""Largest number of an image's context sentences, and their smallest probability."""

PICTURES = frozenset(suffix for row in IMAGE_FORMATS for suffix in row.suffixes)
"""Suffixes of files of pictures."""

ROWS = (".json", ".jsonl")
"""Suffixes of files with linked documents, chunks or contexts."""

_CHUNK, _SLIM, _CONTEXT = TypeAdapter(Chunk), TypeAdapter(SlimChunk), TypeAdapter(Context)


def pictures_of(pictures: Iterable[Given], link: LinkAll, reading: ReadSettings | None = None) -> list[Image]:
    """Return the images of everything given, in order, without icons and repeats.

    Args:
        link: Links documents that are not linked yet, such as ``Linker.link_all``.
        reading: How documents are read; with a ``root``, files outside it are not used.

    Raises:
        DocumentError: A file cannot be read, or is nothing with pictures.
        TypeError: Something else was given.
    """
    settings = reading or ReadSettings()
    if isinstance(pictures, (str, Path, Image, Document, LinkedDocument, Chunk, SlimChunk, Context)):
        raise TypeError(f"pictures is a list of them, not one {type(pictures).__name__}: put it into [ ]")
    images = [image for item in pictures for image in _images(item, link, settings)]
    merged: dict[object, Image] = {}
    for name, image in images:
        before = merged.get(name)
        merged[name] = image if before is None else replace(before, context=_best([*before.context, *image.context]))
    return [image for image in merged.values() if not (image.problem and is_harmless(image.problem))]


def from_elsewhere(linked: LinkedDocument, *, probable: bool | None = None) -> list[Image]:
    """Return the images of a linked document, without their places in it and with their contexts.

    Args:
        probable: Whether its scores are probabilities; else they are cosines, since pictures were the only evidence,
            and only the links count. By default the links show it.
    """
    sentences = linked.document.sentences
    if probable is None:
        probable = any(link.score == link.confidence for link in linked.links)
    images = []
    for number, image in enumerate(linked.document.images):
        confidence = linked.similarity[:, number].astype(float) if probable else np.zeros(len(sentences))
        for link in linked.links:
            if link.image == number:
                confidence[link.sentence] = link.confidence
        context = [
            LinkedSentence(s.text, float(p)) for s, p in zip(sentences, confidence, strict=True) if not s.heading
        ]
        images.append(_placeless(image, _best(context)))
    return images


def chunk_images(chunk: Chunk | SlimChunk) -> list[Image]:
    """Return the images of a chunk; one without links has the whole chunk as its context."""
    return [
        _placeless(
            Image(item.source, None if item.file is None else Path(item.file), alt=item.alt, caption=item.caption),
            _chunk_quotes(item, chunk.text) or _evenly(chunk.text),
            item.problem,
        )
        for item in chunk.images
    ]


def _chunk_quotes(item: ChunkImage | SlimImage, text: str) -> tuple[LinkedSentence, ...]:
    if isinstance(item, ChunkImage):
        return _quoted(item.sentences)
    places = ((int(min(start, len(text))), int(min(end, len(text))), p) for start, end, p in item.sentences)
    return _best(LinkedSentence(text[start:end], p) for start, end, p in places)


def _images(source: Given, link: LinkAll, settings: ReadSettings) -> Iterator[tuple[object, Image]]:
    """Yield images, each with a name that is the same for an image that comes in parts."""
    if isinstance(source, Document):
        yield from _linked([source], link)
    elif isinstance(source, (str, Path)):
        yield from _of_path(Path(source), link, settings)
    else:
        yield from _of_value(source)


def _of_value(source: Image | LinkedDocument | Chunk | SlimChunk | Context) -> Iterator[tuple[object, Image]]:
    if isinstance(source, Image):
        yield object(), source  # a name like no other: it is a whole image
    elif isinstance(source, LinkedDocument):
        for number, image in enumerate(from_elsewhere(source)):
            yield (source.document.id, number), image
    elif isinstance(source, Chunk | SlimChunk):
        numbers = [item.image for item in source.images]
        yield from (((source.document, n), image) for n, image in zip(numbers, chunk_images(source), strict=True))
    elif isinstance(source, Context):
        file = None if source.file is None else Path(source.file)
        image = Image(source.source, file, alt=source.alt, caption=source.caption)
        yield (source.document, source.image), _placeless(image, _quoted(source.sentences), source.problem)
    else:
        raise TypeError(
            "pictures are images, documents, linked documents, chunks, contexts or files, "
            f"not {'None' if source is None else f'a {type(source).__name__}'}"
        )


def _linked(documents: Iterable[Document | Failure], link: LinkAll) -> Iterator[tuple[object, Image]]:
    for linked in link(documents):
        if isinstance(linked, Failure):
            raise linked.error
        yield from _of_value(linked)


def _of_path(path: Path, link: LinkAll, settings: ReadSettings) -> Iterator[tuple[object, Image]]:
    suffix = path.suffix.lower()
    if path.is_dir():
        documents = list(find_documents([path], settings))
        images = list(_linked(read_files(documents, settings), link))
        yield from images
        files = {image.file.resolve() for _, image in images if isinstance(image.file, Path)}
        for file in sorted(path.rglob("*")):
            if file.suffix.lower() in PICTURES and file.is_file() and file.resolve() not in files:
                yield file.resolve(), _own_file(file, settings)
    elif suffix in PICTURES:
        if not path.is_file():
            raise DocumentError(f"{path}: no such file")
        yield path.resolve(), _own_file(path, settings)
    elif suffix in ROWS:
        yield from _of_rows(path, settings)
    elif suffix_format(path) is not None:
        yield from _linked(read_all([path], settings), link)
    else:
        raise DocumentError(
            f"{path}: nothing with pictures; name linked documents, chunks or contexts (.json, .jsonl), pictures "
            f"({' '.join(sorted(PICTURES))}), or documents: {formats_in_words()}"
        )


def _own_file(file: Path, settings: ReadSettings) -> Image:
    try:
        inside(file, settings.root or file.parent, settings)
    except ImageError as error:
        return Image(file.name, problem=str(error))
    return Image(file.name, file)


def _of_rows(path: Path, settings: ReadSettings) -> Iterator[tuple[object, Image]]:
    try:
        if path.stat().st_size > settings.max_bytes:
            raise DocumentError(
                f"{path}: larger than the limit of {settings.max_bytes:,} bytes: the option max-bytes raises it"
            )
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise DocumentError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise DocumentError(f"{path}: not UTF-8, as JSON is") from error
    in_lines = path.suffix.lower() == ".jsonl" and not text.lstrip().startswith("[")  # a list is what --json prints
    lines = text.splitlines() if in_lines else [text]
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = parse_json(line)
            for row in value if isinstance(value, list) else [value]:
                yield from _of_value(of_row(row, path.parent, settings))
        except (ValueError, IconotextError) as error:
            where = f"{path}, line {number}" if len(lines) > 1 else str(path)
            raise DocumentError(f"{where}: {error}") from error


def of_row(row: Any, folder: Path, settings: ReadSettings) -> LinkedDocument | Chunk | SlimChunk | Context:
    """Read a row of the JSON of ``link``, ``chunks`` or ``context``; ``ValueError`` says what is wrong with it.

    Args:
        folder: That of the JSON file, where relative names of files may begin, if not in the working folder.
    """
    if not isinstance(row, Mapping):
        raise ValueError(f"an object for each document, chunk or context is needed, not {type(row).__name__}")
    try:
        if "links" in row:
            return _linked_document(LinkedOut.model_validate(row), folder, settings)
        if "chunk" in row:
            if "first" in row:
                chunk = _CHUNK.validate_python(row)
                return replace(chunk, images=tuple(_with_file(image, folder, settings) for image in chunk.images))
            slim = _SLIM.validate_python(row)
            return replace(slim, images=tuple(_with_file(image, folder, settings) for image in slim.images))
        if "sentences" in row and "image" in row:
            return _with_file(_CONTEXT.validate_python(row), folder, settings)
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    if "error" in row:
        raise ValueError(f"a document that was not linked: {row['error']}")
    raise ValueError("neither a linked document nor a chunk nor a context: it has no links, chunk or sentences")


def _linked_document(row: LinkedOut, folder: Path, settings: ReadSettings) -> LinkedDocument:
    # Its pictures are named as seen from the document, and the document as seen from where ``link`` ran.
    origin = Path(row.source) if row.source and "://" not in row.source else folder / row.id
    if not origin.is_absolute() and not origin.parent.is_dir():
        origin = folder / origin
    within = settings.root or folder  # a stranger's JSON may name any document of this machine
    images = tuple(_image(image, origin, within, settings) for image in row.images)
    sentences = tuple(Sentence(s.text, s.block, s.kind, level=s.level) for s in row.sentences)
    similarity = np.array(row.similarity, np.float32).reshape(len(sentences), len(images))
    links = tuple(
        Link(e.sentence, e.image, e.score or 0.0, e.confidence or 0.0, e.paragraph_confidence or 0.0, {})
        for e in row.links
    )
    if any(link.sentence >= len(sentences) or link.image >= len(images) for link in links):
        raise ValueError("links: a number is larger than that of the sentences or pictures")
    document = Document(row.id, sentences, images, source=origin, language=row.language)
    return LinkedDocument(document, links, np.nan_to_num(similarity), row.model)


def _image(row: ImageOut, origin: Path, within: Path, settings: ReadSettings) -> Image:
    lines = None if row.lines is None else tuple(TextLine(e.text, e.confidence, tuple(e.box)) for e in row.lines)  # type: ignore[arg-type]  # four numbers
    image = Image(row.source, None, alt=row.alt, caption=row.caption, lines=lines, problem=row.problem)
    if row.problem is not None:
        return image
    try:
        return replace(image, file=open_address(row.source, origin, within, settings, within.resolve()))
    except ImageError as error:
        return replace(image, problem=str(error))


def _with_file(row: Row, folder: Path, settings: ReadSettings) -> Row:
    """Return the row with the path of its file as seen from the working folder."""
    if row.file is None or row.problem is not None:
        return row
    file = Path(row.file) if Path(row.file).is_file() else folder / row.file
    try:
        if inside(file, settings.root or folder, settings) is None:
            raise ImageError(f"{row.file}: no such file")
    except ImageError as error:
        return replace(row, file=None, problem=str(error))
    return replace(row, file=str(file))


def _placeless(image: Image, context: Sequence[LinkedSentence], problem: str | None = None) -> Image:
    problem = problem or image.problem or ("it has no file" if image.file is None else None)
    return replace(image, block=None, position=None, at=None, anchors=(), context=tuple(context), problem=problem)


def _best(context: Iterable[LinkedSentence]) -> tuple[LinkedSentence, ...]:
    highest: dict[str, float] = {}
    for sentence in context:
        highest[sentence.text] = max(highest.get(sentence.text, 0.0), sentence.confidence)
    ranked = sorted(highest.items(), key=lambda pair: -pair[1])[:SENTENCES]
    return tuple(LinkedSentence(text, min(confidence, 1.0)) for text, confidence in ranked if confidence >= LEAST)


def _quoted(sentences: Iterable[Excerpt]) -> tuple[LinkedSentence, ...]:
    return _best(LinkedSentence(s.text, s.score if s.confidence is None else s.confidence) for s in sentences)


def _evenly(text: str) -> tuple[LinkedSentence, ...]:
    sentences = [text[start:end] for start, end in split_sentences(text, "en")]
    return tuple(LinkedSentence(sentence, 1 / len(sentences)) for sentence in sentences)
