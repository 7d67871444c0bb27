"""Chunks that any program made, against the documents that they were made from: is each picture where its text is?

``read_chunks`` reads the chunks of one program, ``compared`` finds the chunks of each picture, and the functions at the
end are the rules for them. ``FORMATS`` has the rows that are known.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from iconotext.check.faults import FaultSettings
from iconotext.check.language import words
from iconotext.check.page import quoted
from iconotext.errors import SettingError
from iconotext.plain_text import listed, percent
from iconotext.system.files import read_plain
from iconotext.system.strict_json import parse_json
from iconotext.types import Image, LinkedDocument

MAX_BYTES = 256 * 2**20
"""Limit for a file of chunks, and for what the packed elements of a chunk unpack to."""

MAX_ADDRESS = 2_000
"""Characters of an address; longer texts are none."""

MIN_WORDS = 3
"""Words from which a caption or an alternative text stands for its picture."""

FORMATS = {
    "chunks of iconotext": ("document", "chunk", "text"),
    "chunks of docling": ("text", "meta"),
    "documents of docling": ("texts", "pictures", "schema_name"),
    "elements of unstructured": ("text", "type", "metadata"),
    "nodes of LlamaIndex": ("id_", "metadata", "relationships"),
    "documents of LangChain": ("page_content", "metadata"),
}
"""A kind of rows to the fields by which it is recognised."""

_TEXT = ("text", "text_resource.text", "texts", "page_content")
_DOCUMENT = (
    *("document", "metadata.document", "meta.origin.filename", "origin.filename", "metadata.file_path"),
    *("metadata.filename", "metadata.file_name", "metadata.source", "metadata.url"),
)
_CAPTIONS = ("alt", "alt_text", "caption", "description")
_OF_PICTURE = re.compile(r"image|picture|figure", re.IGNORECASE)
_DOCLING_PICTURE = re.compile(r"#/pictures/(\d{1,6})")
_SHOWN = re.compile(r"!\[([^][]*)\]\(\s*<?([^()>\s]+)(?:[>\s][^()]*)?\)")
_SHOWN_BY_TAG = re.compile(r"""<img\b[^<>]*?\bsrc\s*=\s*["']?([^"'<>\s]+)""", re.IGNORECASE)
_MARKUP = re.compile(r"</?[a-zA-Z][^<>]*>|\]\([^()]*\)|_")


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk.

    Attributes:
        name: Its row, or its file.
        text: The words of its text, see ``_plain``.
        captions: The words of its text and of the captions and alternative texts of its pictures, a line for each.
        addresses: What may be addresses of its pictures.
        numbers: Numbers of its pictures in the document, from 0.
        documents: Names of its document, the best one first; () if it has none.
    """

    name: str
    text: str
    captions: str
    addresses: frozenset[str]
    numbers: frozenset[int]
    documents: Sequence[str]


def read_chunks(path: Path) -> list[Piece]:
    """Read chunks: JSON, JSON lines, a file of Markdown, or a folder of such files, each a chunk.

    Raises:
        SettingError: There are none, or they are of no known kind.
    """
    try:
        if path.is_dir() or path.suffix.lower() == ".md":
            files = sorted(path.rglob("*.md")) if path.is_dir() else [path]
            pieces = []
            for file in files:
                name = file.relative_to(path if path.is_dir() else path.parent).as_posix()
                text = read_plain(file, MAX_BYTES).decode("utf-8", "replace")
                pieces.append(_piece(name, text, {}, (name, file.parent.name)))
        else:
            rows = _rows(read_plain(path, MAX_BYTES).decode("utf-8-sig"))
            pieces = [_of_row(f"row {number}", row) for number, row in enumerate(rows, 1)]
    except OSError as error:
        raise SettingError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, zlib.error) as error:
        raise SettingError(f"{path}: {error}") from error
    if not pieces:
        raise SettingError(f"{path}: there are no chunks in it")
    return pieces


def _rows(text: str) -> list[Any]:
    lines = [line for line in text.split("\n") if line.strip()]
    if lines and not (lines[0].startswith("{") and lines[0].rstrip().endswith("}")):
        whole = parse_json(text)  # one value, over several lines or in brackets
        return whole if isinstance(whole, list) else [whole]
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            rows.append(parse_json(line))
        except ValueError as error:
            raise ValueError(f"row {number} is {error}") from error
    return rows


def _of_row(name: str, row: Any) -> Piece:
    row = _at(row, "kwargs") if _at(row, "lc") else row  # LangChain's envelope
    if not isinstance(row, dict) or not any(row.keys() >= set(fields) for fields in FORMATS.values()):
        raise ValueError(f"{name} is no chunk that is known: there are {listed(FORMATS)}, and Markdown")
    text = next((value for place in _TEXT if isinstance(value := _at(row, place), str | list)), "")
    if not isinstance(text, str):
        text = "\n\n".join(str(_at(item, "text") or "") for item in text)
    packed = _at(row, "metadata.orig_elements")  # those from which unstructured made a chunk
    elements = zlib.decompressobj().decompress(base64.b64decode(packed), MAX_BYTES) if isinstance(packed, str) else b"0"
    names = [value for place in _DOCUMENT if isinstance(value := _at(row, place), str) and value]
    return _piece(name, text, {"row": row, "elements": parse_json(elements)}, names)


def _at(value: Any, place: str) -> Any:
    """Return the value at a place such as ``meta.origin.filename``; None if there is none."""
    for name in place.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _piece(name: str, text: str, more: Any, documents: Sequence[str]) -> Piece:
    captions = [text, *(alt for alt, _ in _SHOWN.findall(text))]
    addresses = {address for _, address in _SHOWN.findall(text)} | set(_SHOWN_BY_TAG.findall(text))
    numbers = set()
    waiting = [("", more, False)]  # keys and values, and whether they are below a key that names a picture
    while waiting:
        key, value, inside = waiting.pop()
        if isinstance(value, list):
            waiting += [(key, each, inside) for each in value]
        elif isinstance(value, dict):
            waiting += [(k, each, inside or bool(_OF_PICTURE.search(k))) for k, each in value.items()]
            # An item of docling is a picture, or its caption.
            refs = (_at(value, place) for place in ("self_ref", "parent.$ref", "parent.cref"))
            numbers |= {int(match[1]) for ref in refs if (match := _DOCLING_PICTURE.fullmatch(str(ref)))}
        elif isinstance(value, str) and inside:
            captions.append(value) if key in _CAPTIONS else addresses.add(value)
        elif isinstance(value, int) and key == "image" and inside:
            numbers.add(value)
    lines = list(map(_plain, captions))
    return Piece(name, lines[0], "\n".join(lines), frozenset(addresses), frozenset(numbers), documents)


def _plain(text: str) -> str:
    """Return the words of a text without marks, with a space around each: a sentence is found by its words alone."""
    return f" {' '.join(words(_MARKUP.sub(' ', _SHOWN.sub(' ', text))))} "


@lru_cache(10_000)
def _parts(name: str) -> tuple[str, ...]:
    """Return the last parts of a path or an address, the very last one first."""
    path = "" if name.startswith("data:") or len(name) > MAX_ADDRESS else unquote(re.split(r"[?#]", name)[0])
    return tuple([part for part in re.split(r"[/\\]", path) if part not in ("", ".", "..")][::-1])


def _closest(name: str, paths: Sequence[tuple[str, ...]]) -> list[int]:
    """Return the indices of those paths, as ``_parts``, that end with most parts of a name, at least with its last."""
    parts = _parts(name)
    for length in range(len(parts), 0, -1):
        if found := [index for index, path in enumerate(paths) if path[:length] == parts[:length]]:
            return found
    return []


@dataclass(frozen=True, slots=True)
class Fate:
    """The chunks of a picture.

    Attributes:
        told: Its most probable sentence, and the probability that it belongs to the paragraph of that; None without.
        homes: The chunks that have it.
        right: Those of them that have one of its sentences.
        others: Chunks that have one of its sentences, but not it.
    """

    picture: Image
    path: Path
    told: tuple[str, float] | None
    homes: list[str]
    right: list[str]
    others: list[str]


def compared(
    pieces: Sequence[Piece], linked: Mapping[Path, Sequence[LinkedDocument]]
) -> tuple[list[Fate], list[Piece]]:
    """Return the fates of all pictures that can be linked, and the chunks that belong to none of the documents.

    Args:
        linked: File to its documents, of which an EPUB has several.
    """
    of: dict[Path | None, list[Piece]] = {}
    for piece in pieces:
        of.setdefault(_document(piece, list(linked)), []).append(piece)
    fates = (_fates(path, documents, of.get(path, [])) for path, documents in linked.items())
    return list(chain.from_iterable(fates)), of.get(None, [])


def _document(piece: Piece, paths: Sequence[Path]) -> Path | None:
    """Return the document of a chunk: by path or name, else by the name without its ending."""
    if len(paths) == 1 and list(piece.documents[:1]) in ([], [piece.name]):  # a file of Markdown may have any name
        return paths[0]
    for name in piece.documents:
        stem = Path(name).name.partition(".")[0]
        whole = _closest(name, [_parts(path.as_posix()) for path in paths])
        for found in (whole, _closest(stem, [(path.stem,) for path in paths])):
            if len(found) == 1:
                return paths[found[0]]
    return None


def _fates(path: Path, documents: Sequence[LinkedDocument], pieces: Sequence[Piece]) -> Iterator[Fate]:
    from iconotext.report.chunks import BOTH  # with numpy, which the check alone does without

    images = [image for linked in documents for image in linked.document.images]
    sentences = "\n".join(_plain(sentence.text) for linked in documents for sentence in linked.document.sentences)
    homes = iter(_homes(images, sentences, pieces))
    for linked in documents:
        for number, (image, own) in enumerate(zip(linked.document.images, homes, strict=False)):
            if image.problem is not None or image.decorative:
                continue
            links = sorted((x for x in linked.links if x.image == number), key=lambda x: -x.paragraph_confidence)
            links = [link for link in links if link.paragraph_confidence >= BOTH * links[0].paragraph_confidence]
            texts = [linked.document.sentences[link.sentence].text for link in links]
            plain = list(map(_plain, texts))
            has = [piece.name for piece in pieces if any(text in piece.text for text in plain)]
            told = (texts[0], links[0].paragraph_confidence) if links else None
            right, others = [name for name in has if name in own], [name for name in has if name not in own]
            yield Fate(image, path, told, own, right, others)


def _homes(images: Sequence[Image], sentences: str, pieces: Sequence[Piece]) -> Iterator[list[str]]:
    """Yield the chunks of each picture: by its address, else by its number, else by its caption or alternative text."""
    sources = [image.source for image in images]
    parts = list(map(_parts, sources))
    shown = [[found for address in piece.addresses if (found := _closest(address, parts))] for piece in pieces]
    for number, image in enumerate(images):
        # Pictures of one address are one; of two that are equally close none is.
        alike = {n for n, source in enumerate(sources) if source == image.source}
        own = [p.name for p, found in zip(pieces, shown, strict=True) if any(alike.issuperset(each) for each in found)]
        texts = [_plain(text) for text in (image.caption, image.alt) if text]
        texts = [text for text in texts if len(text.split()) >= MIN_WORDS and text not in sentences]
        own = own or [piece.name for piece in pieces if number in piece.numbers]
        yield own or [piece.name for piece in pieces if any(text in piece.captions for text in texts)]


def counts(fates: Iterable[Fate]) -> dict[str, int]:
    """Count pictures by what became of them; every one is in one column, but for the first and the last."""
    kinds = [(len(fate.homes), fate.told is not None, bool(fate.right)) for fate in fates]
    return {
        "pictures": len(kinds),
        "with a sentence": sum(right for _, _, right in kinds),
        "cut from it": sum(told and not right for homes, told, right in kinds if homes),
        "no sentence": sum(not told for homes, told, _ in kinds if homes),
        "lost": sum(not homes for homes, _, _ in kinds),
        "twice": sum(homes > 1 for homes, _, _ in kinds),
    }


def _told(fate: Fate) -> str:
    text, confidence = fate.told or ("", 0.0)
    return f"its sentence {quoted(text)} ({percent(confidence)})"


def lost(fate: Fate, file: Path, settings: FaultSettings) -> str | None:
    where = f": put it to {_told(fate)} in {fate.others[0]}" if fate.others else ""
    return None if fate.homes else f"no chunk of {file} has it{where}"


def wrong(fate: Fate, file: Path, settings: FaultSettings) -> str | None:
    if not fate.homes or fate.right or not fate.others:
        return None
    return f"in {file} it is in {fate.homes[0]}: put it to {_told(fate)} in {fate.others[0]}"


def cut(fate: Fate, file: Path, settings: FaultSettings) -> str | None:
    if not fate.homes or not fate.told or fate.right or fate.others:
        return None
    return f"in {file} it is in {fate.homes[0]}, and no chunk has {_told(fate)} as a whole"


def twice(fate: Fate, file: Path, settings: FaultSettings) -> str | None:
    idle = [name for name in fate.homes if name not in fate.right]
    if not fate.right or not idle:
        return None
    return f"in {file} it is also in {idle[0]}, without {_told(fate)}: leave it in {fate.right[0]}"
