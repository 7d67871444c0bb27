"""Linked documents as JSON: the format described in the documentation as "Linked document"."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from iconotext.plain_text import json_list, json_text
from iconotext.types import Image, Link, LinkedDocument, Promise, Sentence

if TYPE_CHECKING:
    from iconotext.read import Failure


def json_object(linked: LinkedDocument) -> dict[str, Any]:
    """One linked document as what ``json.dumps`` takes.

    Numbers keep six significant digits, so that a file does not grow by digits that mean nothing; one that is not
    finite becomes None, since JSON has no word for it.
    """
    document = linked.document
    found = {
        "id": document.id,
        "source": document.place,
        "title": document.title,
        "language": document.language,
        "model": linked.model,
        "notes": list(linked.notes),
        "habit": linked.habit,
        "sentences": [_sentence(sentence) for sentence in document.sentences],
        "images": [_image(image) for image in document.images],
        "links": [_link(link) for link in linked.links],
        "similarity": [[plain_number(cell) for cell in row] for row in linked.similarity.tolist()],
    }
    return found | ({"promises": list(map(promise_object, linked.promises))} if linked.promises else {})


def json_array(results: Iterable[LinkedDocument | Failure]) -> Iterator[str]:
    """The pieces of a list with one object for each document, as they come; ends with a newline.

    A document that failed gives an object with ``id``, ``source`` and ``error``, so that none is missing.
    """
    return json_list(map(_any_object, results))


def json_lines(results: Iterable[LinkedDocument | Failure]) -> Iterator[str]:
    """The objects of ``json_array``, each a line, newline included; nothing is held longer than its line."""
    for result in results:
        yield json_text(_any_object(result)) + "\n"


def _any_object(result: LinkedDocument | Failure) -> dict[str, Any]:
    if isinstance(result, LinkedDocument):
        return json_object(result)
    return {"id": result.path.stem, "source": str(result.path), "error": str(result.error)}


def _sentence(sentence: Sentence) -> dict[str, Any]:
    return {
        "text": sentence.text,
        "block": sentence.block,
        "heading": sentence.heading,
        "kind": sentence.kind,
        **({} if sentence.level is None else {"level": sentence.level}),
    }


def _image(image: Image) -> dict[str, Any]:
    return {
        "source": image.source,
        "alt": image.alt,
        "caption": image.caption,
        "block": image.block,
        "position": image.position,
        "page": image.page,
        "problem": image.problem,
        **({} if image.lines is None else {"lines": [asdict(line) for line in image.lines]}),
    }


def _link(link: Link) -> dict[str, Any]:
    found: dict[str, Any] = {
        "sentence": int(link.sentence),
        "image": int(link.image),
        "score": plain_number(link.score),
        "confidence": plain_number(link.confidence),
        "evidence": {kind: plain_number(weight) for kind, weight in link.evidence.items()},
    }
    if link.paragraph is not None:
        found["paragraph"] = plain_number(link.paragraph)
    if link.explanation is not None:
        found["explanation"] = {
            "words": [[begin, end, plain_number(weight)] for begin, end, weight in link.explanation.words],
            "regions": [[plain_number(value) for value in region] for region in link.explanation.regions],
        }
    if link.relations is not None:
        found["relations"] = {name: plain_number(probability) for name, probability in link.relations.items()}
    return found


def promise_object(promise: Promise) -> dict[str, Any]:
    """A promise as ``json_object`` has it."""
    said = asdict(promise)
    return said | {"pictures": sorted(said.pop("images"))}


def plain_number(value: float) -> float | None:
    """A number with six significant digits; None for one that is not finite."""
    return float(f"{value:.6g}") if math.isfinite(value) else None
