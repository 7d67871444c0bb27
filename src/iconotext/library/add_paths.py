"""Bring a library up to date with paths, by settings of reading and linking: what ``library add`` does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from iconotext.errors import IconotextError
from iconotext.features import FeatureCache, check_backbones, find_model
from iconotext.features.model_folder import MODELS
from iconotext.library.settings import is_library
from iconotext.library.store import open_library
from iconotext.library.update import update_library
from iconotext.links.settings import LinkSettings
from iconotext.pipeline import Linker
from iconotext.read import Failure, ReadSettings, read_documents
from iconotext.recipe.wrong_value import make_settings

if TYPE_CHECKING:
    from iconotext.embed.relation_model import RelationModel
    from iconotext.library.encode import Link
    from iconotext.library.report import Report
    from iconotext.library.update import Watch
    from iconotext.types import LinkedDocument

Settings = TypeVar("Settings", bound=BaseModel)


def add_paths(
    path: Path,
    paths: Sequence[Path] = (),
    *,
    model: str | None = None,
    reading: ReadSettings | None = None,
    linking: LinkSettings | None = None,
    watch: Watch | None = None,
    say: Callable[[str], None] | None = None,
) -> Report:
    """Bring a library up to date with paths, by default with those that were added before; make it if there is none.

    Args:
        path: Its folder.
        paths: Pictures, documents, folders of both.
        model: Of a new library; None takes ``default``, or that of the library which is there.
        reading: How documents are read. What was set is remembered for these paths.
        linking: How they are linked. What was set is remembered, too.
        watch: Passes the files on as they are done, of so many; for a progress bar.
        say: Is told what takes long and is no file.

    Raises:
        FeatureError: There is no such model.
        LibraryError: As ``update_library``.
    """
    reading, linking = reading or ReadSettings(), linking or LinkSettings()
    if model is not None:  # before a new library is begun
        find_model(model, MODELS)
    check_backbones(linking.text, linking.image)
    cache = FeatureCache()
    there = open_library(path).settings if is_library(path) else None
    given = "relations" in linking.model_fields_set
    relations = linking.relations if given or there is None else there.relations_from
    return update_library(
        path,
        paths,
        document_linker(model or (there.model if there else "default")),
        model=model,
        asked=_asked(reading, linking),
        relation_model=relation_model_of(relations, cache),
        relations_from=relations,
        cache=cache,
        watch=watch,
        say=say,
    )


def relation_model_of(name: str, cache: FeatureCache) -> RelationModel | None:
    """The relation model that a library uses; None for ``none``."""
    from iconotext.embed.relation_model import load_relation_model, relations_folder

    return None if name == "none" else load_relation_model(relations_folder(name), cache=cache)


def _asked(reading: ReadSettings, linking: LinkSettings) -> dict[str, Any]:
    """What was set, in words that mean the same from another folder; relations are the library's, not a document's."""
    given = reading.model_dump(mode="json", exclude_unset=True)
    given |= linking.model_dump(mode="json", exclude_unset=True, exclude={"relations"})
    folders = {name: given[name] for name in ("root", "text", "image") if given.get(name)}
    return given | {name: str(Path(value).resolve()) for name, value in folders.items() if Path(value).exists()}


def document_linker(model: str) -> Link:
    """What reads and links a document with given settings; the models are loaded when the first one comes."""
    loaded: dict[LinkSettings, Linker] = {}

    def link(file: Path, folder: Path | None, asked: Mapping[str, Any]) -> Iterator[LinkedDocument | Failure]:
        try:
            reading = _chosen(ReadSettings, asked)
            # The library asks for relations itself, once for what a document says of a picture, not for each link.
            linking = _chosen(LinkSettings, {**asked, "relations": "none"})
            documents = list(read_documents(file, reading, within=folder, identifier=file.stem))
        except IconotextError as error:
            yield Failure(file, error)
            return
        if linking not in loaded:
            loaded[linking] = Linker.load(model, linking)
        yield from loaded[linking].link_all(documents)

    return link


def _chosen(kind: type[Settings], asked: Mapping[str, Any]) -> Settings:
    return make_settings(kind, {name: value for name, value in asked.items() if name in kind.model_fields})
