"""Linked documents as JSON: the format described in the documentation as "Linked document"."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from iconotext.report.readable import encodable
from iconotext.types import Image, Link, LinkedDocument, Sentence

if TYPE_CHECKING:
    from iconotext.read import Failure


def json_object(linked: LinkedDocument) -> dict[str, Any]:
    """One linked document as what ``json.dumps`` takes.

    Numbers keep six significant digits, so that a file does not grow by digits that mean nothing; one that is not
    finite becomes None, since JSON has no word for it. Lone surrogates become U+FFFD.
    """
    document = linked.document
    return {
        "id": encodable(document.id),
        "source": None if (place := document.place) is None else encodable(place),
        "title": _text(document.title),
        "language": document.language,
        "model": encodable(linked.model),
        "sentences": [_sentence(sentence) for sentence in document.sentences],
        "images": [_image(image) for image in document.images],
        "links": [_link(link) for link in linked.links],
        "similarity": [[_number(cell) for cell in row] for row in linked.similarity.tolist()],
    }


def json_text(documents: Sequence[LinkedDocument]) -> str:
    """One document as one object, several (or none) as a list of them; ends with a newline."""
    objects = [json_object(linked) for linked in documents]
    return _dump(objects[0] if len(objects) == 1 else objects) + "\n"


def json_array(results: Iterable[LinkedDocument | Failure]) -> Iterator[str]:
    """The pieces of a list with one object for each document, as they come; ends with a newline."""
    separator = "[\n"
    for result in results:
        yield separator + _dump(_any_object(result))
        separator = ",\n"
    yield "[]\n" if separator == "[\n" else "\n]\n"


def json_lines(results: Iterable[LinkedDocument | Failure]) -> Iterator[str]:
    """One line for each document, newline included; nothing is held longer than its line.

    A document that failed gives an object with ``id``, ``source`` and ``error``, so that no line is missing.
    """
    for result in results:
        yield _dump(_any_object(result)) + "\n"


def _any_object(result: LinkedDocument | Failure) -> dict[str, Any]:
    if isinstance(result, LinkedDocument):
        return json_object(result)
    return {
        "id": encodable(result.path.stem),
        "source": encodable(str(result.path)),
        "error": encodable(str(result.error)),
    }


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _sentence(sentence: Sentence) -> dict[str, Any]:
    return {
        "text": encodable(sentence.text),
        "block": sentence.block,
        "heading": sentence.heading,
        "kind": sentence.kind,
    }


def _image(image: Image) -> dict[str, Any]:
    return {
        "source": encodable(image.source),
        "alt": _text(image.alt),
        "caption": _text(image.caption),
        "block": image.block,
        "position": image.position,
        "page": image.page,
        "problem": _text(image.problem),
    }


def _link(link: Link) -> dict[str, Any]:
    found: dict[str, Any] = {
        "sentence": int(link.sentence),
        "image": int(link.image),
        "score": _number(link.score),
        "confidence": _number(link.confidence),
        "evidence": {kind: _number(weight) for kind, weight in link.evidence.items()},
    }
    if link.explanation is not None:
        found["explanation"] = {
            "words": [[begin, end, _number(weight)] for begin, end, weight in link.explanation.words],
            "regions": [[_number(value) for value in region] for region in link.explanation.regions],
        }
    if link.relations is not None:
        found["relations"] = {name: _number(probability) for name, probability in link.relations.items()}
    return found


def _text(text: str | None) -> str | None:
    return None if text is None else encodable(text)


def _number(value: float) -> float | None:
    return float(f"{value:.6g}") if math.isfinite(value) else None
