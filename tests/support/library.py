"""A space of colours, a relation model that reads two words, and pictures of one colour: quick, and clear by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image as Pillow

from iconotext.decide.settings import LinkSettings
from iconotext.errors import ImageError
from iconotext.features import load_image_backbone
from iconotext.features.backbone import ImageFeatures
from iconotext.images import decode
from iconotext.library.commit import Report
from iconotext.library.items import Item
from iconotext.library.store import open_library
from iconotext.library.update import add_paths
from iconotext.linked import LinkedDocument
from iconotext.read import Failure, ReadSettings, read
from iconotext.types import Document, Link
from tests.support.encoders import MadeUpEncoder

WORDS = {"red": (1, 0, 0), "green": (0, 1, 0), "blue": (0, 0, 1), "yellow": (1, 1, 0), "white": (1, 1, 1)}
RELATIONS = ("Visible", "Story")


class Colours:
    """Encodes a picture as its mean colour; remembers what it was asked to look at."""

    def __init__(self, name: str = "colours") -> None:
        self.name = name
        self.looked: list[Any] = []

    def encoder(self) -> MadeUpEncoder:
        return MadeUpEncoder(self.name, 3, self.texts, self.look, sees=load_image_backbone().name)

    def texts(self, texts: Sequence[str]) -> Any:
        rows = [np.sum([WORDS.get(word, (0, 0, 0)) for word in text.lower().split()], axis=0) for text in texts]
        return unit(np.array(rows, np.float32) + 1e-4)

    def look(self, files: Sequence[Any]) -> Any:
        self.looked += files
        rows: list[Any] = []
        problems: list[str | None] = []
        for file in files:
            try:
                rows.append(np.asarray(decode(file), np.float32).mean((0, 1)))
                problems.append(None)
            except ImageError as error:
                rows.append(np.zeros(3, np.float32))
                problems.append(str(error))
        pooled = np.array(rows, np.float32).reshape(-1, 3)
        return unit(pooled), ImageFeatures(pooled, problems=tuple(problems))


class Relations:
    """Visible is as probable as not; "once" and "then" make a story; a brighter blue makes one more probable, too."""

    def __init__(self, name: str = "relations-1") -> None:
        self.name = name
        self.relations = RELATIONS

    def text_logits(self, texts: Sequence[str]) -> Any:
        stories = [2.0 if {"once", "then"} & set(text.lower().split()) else -2.0 for text in texts]
        return np.array([[0.0, story] for story in stories], np.float32)

    def image_offsets(self, pooled: Any) -> Any:
        return np.stack([np.zeros(len(pooled)), pooled[:, 2] / 255], axis=1).astype(np.float32)


def unit(rows: Any) -> Any:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), np.float32)


def paint(path: Path, colour: Any = (255, 0, 0), *, size: tuple[int, int] = (80, 80), **save: Any) -> Path:
    """A picture of one colour, by name or as three numbers."""
    values = tuple(255 * value for value in WORDS[colour]) if isinstance(colour, str) else colour
    path.parent.mkdir(parents=True, exist_ok=True)
    Pillow.new("RGB", size, values).save(path, **save)
    return path


def link_all(file: Path, folder: Path | None, asked: Mapping[str, Any]) -> Iterable[LinkedDocument | Failure]:
    """Links every sentence to every picture, each with less confidence than the one before."""
    from iconotext.errors import IconotextError

    try:
        reading = {name: value for name, value in asked.items() if name in ReadSettings.model_fields}
        document = read(file, ReadSettings(**reading))
    except IconotextError as error:
        yield Failure(file, error)
        return
    yield link_every(document)


def link_every(document: Document) -> LinkedDocument:
    """See ``link_all``."""
    links = tuple(
        Link(sentence, image, 0.5, 0.9 - 0.1 * sentence, 0.9 - 0.1 * sentence, {})
        for image, shown in enumerate(document.images)
        if shown.problem is None
        for sentence in range(min(3, len(document.sentences)))
    )
    return LinkedDocument(document, links, np.zeros((len(document.sentences), len(document.images)), np.float32), "all")


class EveryLink:
    """Links everything, and remembers which documents."""

    def __init__(self) -> None:
        self.linked: list[str] = []

    __call__ = staticmethod(link_all)

    def link_all(self, documents: Any, asked: Any) -> Any:
        for document in documents:
            self.linked.append(document.id)
            yield link_every(document)


def update(
    lib: Path,
    *paths: Path,
    colours: Colours | None = None,
    relations: Any = None,
    asked: Mapping[str, Any] | None = None,
    link: Any = link_all,
    **more: Any,
) -> Report:
    encoder = (colours or Colours()).encoder()
    reading, linking = (
        kind(**{name: value for name, value in (asked or {}).items() if name in kind.model_fields})
        for kind in (ReadSettings, LinkSettings)
    )
    given: Any = {"load": lambda _: encoder, "load_relations": lambda *_: relations, "link": link}
    return add_paths(lib, paths, reading=reading, linking=linking, **given, **more)


def stored(lib: Path) -> dict[str, Item]:
    """All pictures of a library, by digest."""
    library = open_library(lib)
    return library.items(library.column("digest"))


def content(lib: Path) -> dict[str, list[str]]:
    """The names of the pictures' places, by digest."""
    return {digest: [Path(place.image).name for place in item.places] for digest, item in stored(lib).items()}


def names(lib: Path) -> list[str]:
    """All places, sorted."""
    return sorted(name for places in content(lib).values() for name in places)


__all__ = ["Colours", "EveryLink", "Relations", "content", "link_all", "names", "paint", "stored", "unit", "update"]
