"""The models of a library: encoding pictures, reading and linking documents, and the user's settings for each file.

``Models`` bundles them for a run; ``library_encoder`` and ``relation_model_of`` load them, and ``DocumentLinker`` reads
and links documents.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from pydantic import BaseModel

from iconotext.decide.settings import LinkSettings
from iconotext.errors import FeatureError, IconotextError
from iconotext.evidence.picture import text_in
from iconotext.library.items import Arrival, Item, clean
from iconotext.library.settings import FORMAT
from iconotext.linker import Linker
from iconotext.plain_text import encodable
from iconotext.read import Failure, ReadSettings, read_documents
from iconotext.recipe.toml import make_settings
from iconotext.types import Document, Image, LinkedDocument

if TYPE_CHECKING:
    from iconotext.encoders.encoder import Encoder
    from iconotext.encoders.relation_model import RelationModel
    from iconotext.features import FeatureCache
    from iconotext.features.backbone import ImageBackbone
    from iconotext.features.ocr import LineReader
    from iconotext.library.files import SourceFile

    Options = Mapping[str, Any]

    class Link(Protocol):
        """Reads and links documents."""

        def __call__(self, file: Path, folder: Path | None, options: Options, /) -> Iterable[LinkedDocument | Failure]:
            """The linked documents in a file."""

        def link_all(self, documents: Iterable[Document], options: Options, /) -> Iterable[LinkedDocument | Failure]:
            """Link documents that were already read."""


Settings = TypeVar("Settings", bound=BaseModel)

OF_FOLDERS = ("include", "exclude")
"""Settings that choose files; they do not change how a file is read."""

OF_PICTURES = ("min_side", "max_pixels")
"""Settings of reading that also decide which single pictures are left out."""


@dataclass(frozen=True, slots=True, eq=False)
class Models:
    """The models and settings that turn files into pictures of a library.

    Attributes:
        link: Reads and links a document. Takes its file, the named folder (None if the file itself was named), and the
            settings of reading and linking.
        settings: Path to the user's settings for it and all below. If they change, documents are read again.
        relation_model: None to store no relations.
        pooled: The default image backbone, for the relation model; needed if the encoder has another one.
        reader: Reads the words in single pictures, if the user wanted that; else None.
    """

    encoder: Encoder
    link: Link
    settings: Mapping[str, Options] = field(default_factory=dict)
    relation_model: RelationModel | None = None
    pooled: ImageBackbone | None = None
    reader: LineReader | None = None

    @property
    def relation_name(self) -> str:
        """Name of the relation model, empty without one."""
        return "" if self.relation_model is None else self.relation_model.name

    def settings_of(self, document: Path) -> Options:
        """Return the user's settings of reading and linking for a document."""
        return file_settings(self.settings, document)

    def reading(self, path: Path) -> ReadSettings:
        """Return the user's settings of reading for a file."""
        return chosen(ReadSettings, {name: v for name, v in self.settings_of(path).items() if name in OF_PICTURES})

    def settings_key(self, file: SourceFile) -> str:
        """Return a text that names the models and settings for a file; if it changes, the file must be read again."""
        settings = {name: value for name, value in self.settings_of(file.path).items() if name not in OF_FOLDERS}
        parts: list[Any] = [settings]
        if file.kind == "picture":
            sizes = {name: settings[name] for name in OF_PICTURES if name in settings}
            parts = [*(["text"] if reads_words(settings) else []), *([sizes] if sizes else [])]
        return json.dumps([FORMAT, self.relation_name, *parts], sort_keys=True)

    def written(self, picture: Path) -> str | None:
        """Return the words in a single picture; None if there are none, or if they are not to be read."""
        if self.reader is None or not reads_words(self.settings_of(picture)):
            return None
        (lines,) = self.reader.read([picture])
        return None if isinstance(lines, str) else clean(text_in(Image("", lines=lines)))

    def encode_ahead(self, documents: Iterable[SourceFile]) -> None:
        """Encode many documents in batches into the cache, if ``link`` can."""
        if isinstance(self.link, DocumentLinker):
            self.link.encode_ahead((file.path, file.folder, self.settings_of(file.path)) for file in documents)

    def encode(self, arrivals: Sequence[Arrival]) -> tuple[dict[str, Item], dict[str, str]]:
        """Encode pictures: digest to item without places, and digest to problem for those that cannot be read."""
        if not arrivals:
            return {}, {}
        pictures = [arrival.picture for arrival in arrivals]
        encoded = self.encoder.encode_images(pictures)
        features = encoded.features if self.pooled is None else self.pooled.encode(pictures)
        offsets = None if self.relation_model is None else self.relation_model.image_offsets(features.pooled)
        items: dict[str, Item] = {}
        problems: dict[str, str] = {}
        for n, arrival in enumerate(arrivals):
            vector, problem = encoded.vectors[n], encoded.problems[n] or features.problems[n]
            if problem is not None or not np.isfinite(vector).all() or not vector.any():
                where = f"{arrival.picture}: " if isinstance(arrival.picture, Path) else ""
                problems[arrival.digest] = encodable((problem or "it has no features").removeprefix(where))
                continue
            of_image = None if offsets is None else offsets[n]
            items[arrival.digest] = Item(arrival.digest, (), arrival.date, vector, of_image, self.relation_name)
        return items, problems


def file_settings(settings: Mapping[str, Options], path: Path) -> Options:
    """Return the settings of a path, else those of the nearest parent folder that has any."""
    return next((settings[str(folder)] for folder in (path, *path.parents) if str(folder) in settings), {})


def reads_words(settings: Options) -> bool:
    """Return whether the settings include reading the words in pictures."""
    return "ocr" in settings.get("evidence", ())


def chosen(kind: type[Settings], settings: Options) -> Settings:
    """Return the settings of one class, out of all settings that the user gave."""
    return make_settings(kind, {name: value for name, value in settings.items() if name in kind.model_fields})


def default_pooled(encoder: Encoder, cache: FeatureCache | None = None) -> ImageBackbone | None:
    """Return the value of ``Models.pooled``: None if the encoder itself uses the default backbone."""
    from iconotext.features import cached_image, load_image_backbone

    backbone = load_image_backbone()
    if encoder.image_source.name == backbone.name:
        return None
    return backbone if cache is None else cached_image(backbone, cache)


def library_encoder(model: str, *, cache: bool = True) -> Encoder:
    """Load the encoder for building or searching a library; ``FeatureError`` if it cannot encode new images."""
    from iconotext.encoders.load import load_encoder
    from iconotext.features.model_folder import name_and_precision

    folder = Path(name_and_precision(model)[0])
    if folder.is_absolute() and not folder.exists():
        raise FeatureError(
            f"{model}: the model's folder is gone; if it was moved, say where it is now:"
            " `iconotext library add LIB --model FOLDER`"
        )
    encoder = load_encoder(model, cache=cache)
    if encoder.image_source.from_file:
        raise FeatureError(f"{model}: looks pictures up in a table of features; a library needs one that sees them")
    return encoder


def relation_model_of(name: str, cache: FeatureCache | None = None) -> RelationModel | None:
    """Load the relation model of a library; None for ``none``."""
    from iconotext.encoders.relation_model import load_relation_model, relations_folder

    return None if name == "none" else load_relation_model(relations_folder(name), cache=cache)


class DocumentLinker:
    """Reads and links documents with the given settings; models are loaded at the first document."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._loaded: dict[LinkSettings, Linker] = {}

    def __call__(self, file: Path, folder: Path | None, settings: Options) -> Iterator[LinkedDocument | Failure]:
        """The documents of one file, linked."""
        try:
            documents = _read(file, folder, settings)
            linker = self._linker(settings)
        except IconotextError as error:
            yield Failure(file, error)
            return
        yield from linker.link_all(documents)

    def link_all(self, documents: Iterable[Document], settings: Options) -> Iterator[LinkedDocument | Failure]:
        """Link documents that were already read."""
        yield from self._linker(settings).link_all(documents)

    def encode_ahead(self, files: Iterable[tuple[Path, Path | None, Options]]) -> None:
        """Encode the documents of several files together into the cache; each file is linked separately afterwards.

        Files that cannot be read are reported when they are linked. Files with pictures from the web are left out,
        since they would be fetched twice.
        """
        by_linker: dict[Linker, list[Document]] = {}
        for file, folder, settings in files:
            with suppress(IconotextError):
                if settings.get("cache", True) and not settings.get("fetch"):
                    documents = _read(file, folder, settings)
                    by_linker.setdefault(self._linker(settings), []).extend(documents)
        for linker, documents in by_linker.items():
            linker.encode_ahead(documents)

    def _linker(self, settings: Options) -> Linker:
        # The library computes relations itself, once for each text about a picture and not for each link.
        linking = chosen(LinkSettings, {**settings, "relations": "none"})
        if linking not in self._loaded:
            self._loaded[linking] = Linker.load(self._model, linking)
        return self._loaded[linking]


def _read(file: Path, folder: Path | None, settings: Options) -> list[Document]:
    return list(read_documents(file, chosen(ReadSettings, settings), within=folder, identifier=file.stem))
