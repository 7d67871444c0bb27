"""Web Annotations (W3C): writes links as annotations of a sentence and a picture, as JSON-LD, and reads them.

A sentence is identified by its words (``TextQuoteSelector``), and by its position if the document has a text in which
to count (``TextPositionSelector``): a text file, or the text content of an HTML page's ``body``.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from iconotext import __version__
from iconotext.adapters.stable_id import stable_id
from iconotext.errors import SettingError
from iconotext.plain_text import encodable, json_text
from iconotext.report.as_json import plain_number
from iconotext.report.document_text import Span, document_text, sentences_within
from iconotext.report.shown_relations import shown_relations
from iconotext.report.source_offsets import countable_text
from iconotext.types import Document, Image, LinkedDocument

CONTEXT = ["http://www.w3.org/ns/anno.jsonld", {"iconotext": "urn:iconotext:"}]
"""The vocabulary of the standard, with our own for confidence and relations."""

logger = logging.getLogger(__name__)

AROUND = 32
"""Characters before and after a quotation that distinguish it from equal words elsewhere."""


def annotations_json(documents: Iterable[LinkedDocument], folder: Path) -> Iterator[str]:
    """Pieces of a page of annotations (``AnnotationPage``).

    Args:
        folder: Of the file of annotations; names of documents and pictures are relative to it.
    """
    rest = iter(documents)
    first = next(rest, None)
    name = stable_id(first.document if first else Document("nothing", ()), "annotations")
    head = json_text({"@context": CONTEXT, "id": f"urn:uuid:{name}", "type": "AnnotationPage"})
    yield f'{head.removesuffix("}")}, "items": ['
    separator = "\n"
    for linked in chain([] if first is None else [first], rest):
        for annotation in link_annotations(linked, folder):
            yield separator + json_text(annotation)
            separator = ",\n"
    yield "\n]}\n"


def link_annotations(linked: LinkedDocument, folder: Path) -> Iterator[dict[str, Any]]:
    """The links of a document as annotations, strongest first; see ``annotations_json``."""
    document = linked.document
    texts = _Texts(document)
    source = _document_name(document, folder)
    relations = shown_relations(linked.links)
    for link in linked.links:
        found = relations[link.sentence, link.image]
        yield {
            "id": f"urn:uuid:{stable_id(document, f'link-{link.sentence}-{link.image}')}",
            "type": "Annotation",
            "motivation": "linking",
            "generator": {"id": "urn:iconotext:program", "type": "Software", "name": f"iconotext {__version__}"},
            "target": [
                {"type": "SpecificResource", "source": source, "selector": texts.selectors(link.sentence)},
                _picture(document, link.image, source, folder),
            ],
            "iconotext:confidence": plain_number(link.confidence),
            **({"iconotext:relation": [relation.name for relation, _ in found]} if found else {}),
        }


class _Texts:
    """The texts of a document for finding sentences: the one in which to count, and the one of its sentences."""

    def __init__(self, document: Document) -> None:
        text, spans = document_text(document)
        self.plain: tuple[str, list[Span | None]] = (text, list(spans))
        self.counted = countable_text(document)

    def selectors(self, sentence: int) -> list[dict[str, Any]]:
        """The selectors of a sentence."""
        if self.counted is not None and (span := self.counted[1][sentence]) is not None:
            return [
                _quotation(self.counted[0], span),
                {"type": "TextPositionSelector", "start": span[0], "end": span[1]},
            ]
        span = self.plain[1][sentence]
        assert span is not None  # every sentence has a position
        return [_quotation(self.plain[0], span)]


def _quotation(text: str, span: Span) -> dict[str, Any]:
    start, end = span
    before, after = text[max(start - AROUND, 0) : start], text[end : end + AROUND]
    parts = {"exact": text[start:end], "prefix": before, "suffix": after}
    return {"type": "TextQuoteSelector", **{name: encodable(part) for name, part in parts.items()}}


def _document_name(document: Document, folder: Path) -> str:
    address = document.meta.get("address")
    if isinstance(address, str):
        return address
    return f"urn:uuid:{stable_id(document, 'document')}" if document.source is None else _name(document.source, folder)


def _name(file: Path, folder: Path) -> str:
    try:
        relative = os.path.relpath(file.absolute().parent.resolve(), folder.absolute().resolve())
    except ValueError:  # on another drive (Windows)
        return file.absolute().as_uri()
    return quote(Path(relative, file.name).as_posix())


def _picture(document: Document, number: int, source: str, folder: Path) -> dict[str, Any]:
    """A picture by its own name; if it has none, as a part of its document."""
    name = _picture_name(document, document.images[number], folder)
    if name is not None:
        return {"id": name, "type": "Image"}
    part = {"type": "FragmentSelector", "value": f"picture={number}"}
    return {"type": "SpecificResource", "source": source, "selector": part}


def _picture_name(document: Document, image: Image, folder: Path) -> str | None:
    """The name of a picture that is a file or on the web; for a missing one, its address in the document."""
    if isinstance(image.file, Path):
        return _name(image.file, folder)
    if image.source.lower().startswith(("https://", "http://")):
        return image.source
    if image.file is not None or document.source is None or ":" in image.source or "\x00" in image.source:
        return None
    return _name(Path(os.path.normpath(document.source.parent / unquote(image.source))), folder)


def with_links(document: Document, found: object, folder: Path) -> Document:
    """Set the links in annotations as a document's gold links.

    An annotation is used if the document's text, and one of its pictures, are among its targets and bodies, as
    ``link_annotations`` writes them. Its quotation is found by its position if its words are there, else by its words.

    Args:
        document: As it was read.
        found: The parsed JSON: a page or collection, a list, or one annotation.
        folder: Of the file of annotations.

    An annotation of this document without any of its pictures is left out, with a warning in the log.

    Raises:
        SettingError: Not an annotation, or its quotation is not in the document.
    """
    texts, source = _Texts(document), _document_name(document, folder)
    numbers = {name: n for n, image in enumerate(document.images) if (name := _picture_name(document, image, folder))}
    links: set[tuple[int, int]] = set()
    for annotation in _all(found):
        resources = [each for name in ("target", "body") for each in _listed(annotation.get(name))]
        images = {n for each in resources if (n := _image(each, numbers, source, document)) is not None}
        of_text = [each for each in resources if isinstance(each, Mapping) and each.get("source") == source]
        if of_text and not images:
            logger.warning("left out: annotation %s: it names no picture of %s", annotation.get("id"), document.id)
            continue
        for each in of_text:
            selectors = {s.get("type"): s for s in _listed(each.get("selector")) if isinstance(s, Mapping)}
            if {"TextQuoteSelector", "TextPositionSelector"} & selectors.keys():
                sentences = _quoted(texts, selectors)
                if not sentences:
                    name = annotation.get("id", "without an id")
                    raise SettingError(f"annotation {name}: what it quotes is not in {document.id}")
                links |= {(sentence, image) for sentence in sentences for image in images}
    return replace(document, links=tuple(sorted(links)))


def _all(found: object) -> Iterator[Mapping[str, Any]]:
    for each in _listed(found):
        if not isinstance(each, Mapping):
            raise SettingError(f"no annotation: {each!r:.80}")
        parts = each.get("items", each.get("first"))
        yield from [each] if parts is None else _all(parts)


def _listed(value: object) -> list[Any]:
    """A list of one or several values, as in JSON-LD; a single address is a resource."""
    found = value if isinstance(value, list) else [] if value is None else [value]
    return [{"id": each} if isinstance(each, str) else each for each in found]


def _image(resource: Any, numbers: Mapping[str, int], source: str, document: Document) -> int | None:
    if not isinstance(resource, Mapping):
        return None
    name = resource.get("id", resource.get("source"))
    if isinstance(name, str) and name in numbers:
        return numbers[name]
    for selector in _listed(resource.get("selector")):
        kind, value = selector.get("type"), str(selector.get("value", ""))
        part = value.removeprefix("picture=")
        if resource.get("source") == source and kind == "FragmentSelector" and part.isdecimal() and part != value:
            return int(part) if int(part) < len(document.images) else None
    return None


def _quoted(texts: _Texts, selectors: Mapping[Any, Mapping[str, Any]]) -> set[int]:
    quotation, position = selectors.get("TextQuoteSelector"), selectors.get("TextPositionSelector")
    exact = quotation.get("exact") if quotation else None
    if position is not None and texts.counted is not None:
        text, spans = texts.counted
        start, end = position.get("start"), position.get("end")
        if isinstance(start, int) and isinstance(end, int) and exact in (None, encodable(text[start:end])):
            return sentences_within(spans, start, end)
    if quotation is None or not isinstance(exact, str) or not exact:
        return set()
    before, after = (str(quotation.get(name) or "") for name in ("prefix", "suffix"))
    for text, spans in filter(None, (texts.counted, texts.plain)):
        text = encodable(text)
        for around in (before + exact + after, exact):
            at = text.find(around)
            if at >= 0:
                start = at + (len(before) if around != exact else 0)
                return sentences_within(spans, start, start + len(exact))
    return set()
