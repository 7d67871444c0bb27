"""The models of a library: what turns files into what is stored of their pictures."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from pydantic import BaseModel

from iconotext.errors import FeatureError, IconotextError
from iconotext.library.items import Arrival, Item, clean
from iconotext.library.settings import FORMAT
from iconotext.links.settings import LinkSettings
from iconotext.links.text import text_in
from iconotext.pipeline import Linker
from iconotext.plain_text import encodable
from iconotext.read import Failure, ReadSettings, read_documents
from iconotext.recipe.wrong_value import make_settings
from iconotext.types import Document, Image, LinkedDocument

if TYPE_CHECKING:
    from iconotext.embed.relation_model import RelationModel
    from iconotext.encoder import Encoder
    from iconotext.features import FeatureCache
    from iconotext.features.backbone import ImageBackbone
    from iconotext.features.ocr import LineReader
    from iconotext.library.files import Found

    Asked = Mapping[str, Any]

    class Link(Protocol):
        """Reads and links documents."""

        def __call__(self, file: Path, folder: Path | None, asked: Asked, /) -> Iterable[LinkedDocument | Failure]:
            """The documents of a file."""

        def link_all(self, documents: Iterable[Document], asked: Asked, /) -> Iterable[LinkedDocument | Failure]:
            """Documents that were read."""


Settings = TypeVar("Settings", bound=BaseModel)

OF_FOLDERS = ("include", "exclude")
"""Settings that say which files are read, not how."""


@dataclass(frozen=True, slots=True, eq=False)
class Models:
    """How files become what a library stores.

    Attributes:
        link: Reads and links a document: its file, the folder that was named (None where the file itself was), and
            the settings of reading and linking that were asked for.
        asked: Those settings, by the path that they were asked for; they hold for what lies below, too. When they
            change, documents are read again.
        relation_model: None stores no relations.
        pooled: The default image backbone, which the relation model knows; needed where the encoder has another one.
        reader: Reads the words in pictures that lie in folders, where that was asked for; None where it was not.
    """

    encoder: Encoder
    link: Link
    asked: Mapping[str, Asked] = field(default_factory=dict)
    relation_model: RelationModel | None = None
    pooled: ImageBackbone | None = None
    reader: LineReader | None = None

    @property
    def relation_name(self) -> str:
        """Name of the relation model, empty without one."""
        return "" if self.relation_model is None else self.relation_model.name

    def asked_of(self, document: Path) -> Asked:
        """The settings of reading and linking that were asked for a document."""
        return asked_of(self.asked, document)

    def looked_at(self, file: Found) -> str:
        """Names how a file is looked at: what was looked at in another way must be looked at again."""
        asked = {name: value for name, value in self.asked_of(file.path).items() if name not in OF_FOLDERS}
        own = [asked] if file.kind != "picture" else ["text"] if reads_words(asked) else []
        return json.dumps([FORMAT, self.relation_name, *own], sort_keys=True)

    def written(self, picture: Path) -> str | None:
        """The words in a picture of a folder; None where there are none, or nobody asked for them."""
        if self.reader is None or not reads_words(self.asked_of(picture)):
            return None
        (lines,) = self.reader.read([picture])
        return None if isinstance(lines, str) else clean(text_in(Image("", lines=lines)))

    def encode_ahead(self, documents: Iterable[Found]) -> None:
        """Encode what documents need, many at a time, where what links them can."""
        if isinstance(self.link, DocumentLinker):
            self.link.encode_ahead((file.path, file.folder, self.asked_of(file.path)) for file in documents)

    def made(self, item: Item) -> bool:
        """Whether what is stored of a picture comes from these models."""
        return item.relation_model == self.relation_name

    def encode(self, arrivals: Sequence[Arrival]) -> tuple[dict[str, Item], dict[str, str]]:
        """Encode pictures: items without places by digest, and the problems of those that cannot be read."""
        if not arrivals:
            return {}, {}
        pictures = [arrival.picture for arrival in arrivals]
        found = self.encoder.encode_images(pictures)
        features = found.features if self.pooled is None else self.pooled.encode(pictures)
        offsets = None if self.relation_model is None else self.relation_model.image_offsets(features.pooled)
        items: dict[str, Item] = {}
        problems: dict[str, str] = {}
        for n, arrival in enumerate(arrivals):
            vector, problem = found.vectors[n], found.problems[n] or features.problems[n]
            if problem is not None or not np.isfinite(vector).all() or not vector.any():
                where = f"{arrival.picture}: " if isinstance(arrival.picture, Path) else ""
                problems[arrival.digest] = encodable((problem or "it has no features").removeprefix(where))
                continue
            of_image = None if offsets is None else offsets[n]
            items[arrival.digest] = Item(arrival.digest, (), arrival.date, vector, of_image, self.relation_name)
        return items, problems


def asked_of(asked: Mapping[str, Asked], path: Path) -> Asked:
    """The settings that were asked for a path, else for the nearest folder around it."""
    return next((asked[str(each)] for each in (path, *path.parents) if str(each) in asked), {})


def reads_words(asked: Asked) -> bool:
    """Whether the words in pictures were asked for."""
    return "text" in asked.get("evidence", ())


def chosen(kind: type[Settings], asked: Asked) -> Settings:
    """Settings of one kind, out of all that were asked for."""
    return make_settings(kind, {name: value for name, value in asked.items() if name in kind.model_fields})


def default_pooled(encoder: Encoder, cache: FeatureCache | None = None) -> ImageBackbone | None:
    """What ``Models.pooled`` must be: nothing where the encoder itself looks with the default backbone."""
    from iconotext.features import cached_image, load_image_backbone

    backbone = load_image_backbone()
    if encoder.image_source.name == backbone.name:
        return None
    return backbone if cache is None else cached_image(backbone, cache)


def library_encoder(model: str, *, cache: bool = True) -> Encoder:
    """The encoder that a library is made with, or searched with.

    Raises:
        FeatureError: There is no such model, or it looks its images up in a table instead of looking at them.
    """
    from iconotext.encoder import load_encoder

    if Path(model).is_absolute() and not Path(model).exists():
        raise FeatureError(
            f"{model}: the model's folder is gone; where it was moved, tell the library that was made with it:"
            " `iconotext library add LIB --model FOLDER`"
        )
    encoder = load_encoder(model, cache=cache)
    if encoder.image_source.looks_up:
        raise FeatureError(f"{model}: looks pictures up in a table of features; a library needs one that sees them")
    return encoder


def relation_model_of(name: str, cache: FeatureCache | None = None) -> RelationModel | None:
    """The relation model that a library uses; None for ``none``."""
    from iconotext.embed.relation_model import load_relation_model, relations_folder

    return None if name == "none" else load_relation_model(relations_folder(name), cache=cache)


class DocumentLinker:
    """Reads and links documents with given settings; the models are loaded when the first one comes."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._loaded: dict[LinkSettings, Linker] = {}

    def __call__(self, file: Path, folder: Path | None, asked: Asked) -> Iterator[LinkedDocument | Failure]:
        """The documents of one file, linked."""
        try:
            documents = _read(file, folder, asked)
            linker = self._linker(asked)
        except IconotextError as error:
            yield Failure(file, error)
            return
        yield from linker.link_all(documents)

    def link_all(self, documents: Iterable[Document], asked: Asked) -> Iterator[LinkedDocument | Failure]:
        """Documents that were read, linked."""
        yield from self._linker(asked).link_all(documents)

    def encode_ahead(self, files: Iterable[tuple[Path, Path | None, Asked]]) -> None:
        """Encode what several files need at once, into the cache; each is then read and linked for itself.

        What cannot be read is told when it is linked. Files whose pictures come from the web are left out: they would
        be fetched twice.
        """
        several: dict[Linker, list[Document]] = {}
        for file, folder, asked in files:
            with suppress(IconotextError):
                if asked.get("cache", True) and not asked.get("fetch"):
                    documents = _read(file, folder, asked)
                    several.setdefault(self._linker(asked), []).extend(documents)
        for linker, documents in several.items():
            linker.encode_ahead(documents)

    def _linker(self, asked: Asked) -> Linker:
        # The library asks for relations itself, once for what a document says of a picture, not for each link.
        linking = chosen(LinkSettings, {**asked, "relations": "none"})
        if linking not in self._loaded:
            self._loaded[linking] = Linker.load(self._model, linking)
        return self._loaded[linking]


def _read(file: Path, folder: Path | None, asked: Asked) -> list[Document]:
    return list(read_documents(file, chosen(ReadSettings, asked), within=folder, identifier=file.stem))
