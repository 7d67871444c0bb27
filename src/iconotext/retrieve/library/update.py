"""Bring a library up to date: the whole walk of ``library add``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.errors import LibraryError
from iconotext.retrieve.library.add import Report, add_files, remove_gone
from iconotext.retrieve.library.encode import Encoder, default_pooled
from iconotext.retrieve.library.files import Found, find_files
from iconotext.retrieve.library.index import build_index, index_queries, needs_index
from iconotext.retrieve.library.ledger import held_ledger
from iconotext.retrieve.library.store import (
    Library,
    LibrarySettings,
    check_new,
    create_library,
    is_library,
    open_library,
)

if TYPE_CHECKING:
    from iconotext.features import FeatureCache
    from iconotext.retrieve.library.encode import Link
    from iconotext.retrieve.relations import RelationModel
    from iconotext.retrieve.space import SearchSpace

    Watch = Callable[[Iterator[Found], int], Iterable[Found]]


def update_library(
    path: Path,
    paths: Sequence[Path],
    link: Link,
    *,
    model: str | None = None,
    link_settings: str = "",
    relation_model: RelationModel | None = None,
    relations_from: str = "default",
    cache: FeatureCache | None = None,
    load: Callable[[str], SearchSpace] | None = None,
    watch: Watch | None = None,
    say: Callable[[str], None] | None = None,
) -> Report:
    """Bring a library up to date with paths; make it if there is none.

    Args:
        path: Folder of the library.
        paths: Pictures, documents, folders of both; without any, those that were added before.
        link: Reads and links a document; see ``Encoder``.
        model: As for ``load_space``: of a new library, by default ``default``. One that is there keeps its own.
        link_settings: Names the settings of ``link``.
        relation_model: Tells the relations; None stores none.
        relations_from: Where that model is, for those who search: ``default``, a folder, ``none``.
        cache: Where features are kept.
        load: Loads the space of a model, by default ``load_space`` with the cache.
        watch: Passes the files on as they are done, of so many; for a progress bar.
        say: Is told what takes long and is no file.

    Returns:
        What came of the files.

    Raises:
        LibraryError: A path is not there, the library was made with another model, another process is adding to it,
            or it cannot be written.
    """
    unread: list[tuple[Path, str]] = []
    if not is_library(path):
        check_new(path)
        if not paths:
            raise LibraryError(f"{path}: no library yet; name the pictures, documents or folders to put into one")
    roots = list(paths) or [Path(root) for root in open_library(path).settings.roots]
    files = list(find_files(roots, leave_out=path, unread=unread))
    with held_ledger(path) as ledger:
        library, space = _opened(
            path, model, relation_model, relations_from, load or (lambda name: _load_space(name, cache))
        )
        if library.count() == 0:
            ledger.clear()  # the table was made anew, or nothing is lost by looking again
        _remember(library, roots)
        pooled = default_pooled(space, cache) if relation_model is not None else None
        encoder = Encoder(space, link, link_settings, relation_model, pooled)
        report = Report(failures=[(str(folder), f"cannot be listed: {why}") for folder, why in unread])
        done = add_files(library, ledger, files, encoder, report)
        for _ in done if watch is None else watch(done, len(files)):
            pass
        remove_gone(library, ledger, [root.resolve() for root in roots], encoder, report)
        if report.added or report.removed or report.encoded:
            library.tidy()
        if needs_index(library):
            if say is not None:
                say(f"making the index of {library.count():,} pictures, and trying it out")
            build_index(library, index_queries(library, space))
    return report


def _opened(
    path: Path,
    model: str | None,
    relation_model: RelationModel | None,
    relations_from: str,
    load: Callable[[str], SearchSpace],
) -> tuple[Library, SearchSpace]:
    """The library, made if need be, and its space."""
    named = None if model is None else _lasting(model)
    if not is_library(path):
        space = load(named or "default")
        settings = LibrarySettings(named or "default", space.name, space.dim)
        library = create_library(path, settings)
    else:
        library = open_library(path)
        space = load(named or library.settings.model)
        if space.name != library.settings.space:
            raise LibraryError(
                f"{path}: made with the model {library.settings.space}, and {named or library.settings.model} is now"
                f" {space.name}; vectors of two models do not compare: make a new library"
            )
    name = None if relation_model is None else relation_model.name
    relations = () if relation_model is None else relation_model.relations
    source = _lasting(relations_from)
    settings = library.settings
    if (settings.relation_model, settings.relations, settings.relations_from) != (name, relations, source):
        library.save(relation_model=name, relations=relations, relations_from=source)
    return library, space


def _lasting(model: str) -> str:
    """The name of a model that means the same from another folder."""
    return str(Path(model).resolve()) if Path(model).is_dir() else model


def _load_space(model: str, cache: FeatureCache | None) -> SearchSpace:
    from iconotext.retrieve.space import load_space

    return load_space(model, cache=cache)


def _remember(library: Library, roots: Sequence[Path]) -> None:
    """Remember what was added; what lies in a folder that was added, too, needs no mention."""
    known = {Path(root) for root in library.settings.roots} | {root.resolve() for root in roots}
    outer = tuple(sorted(str(root) for root in known if not known & set(root.parents)))
    if outer != library.settings.roots:
        library.save(roots=outer)
