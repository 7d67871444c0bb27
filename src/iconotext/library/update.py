"""Bring a library up to date, or take something out: the whole walks of ``library add`` and ``library remove``."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iconotext.errors import LibraryError
from iconotext.images import inspect
from iconotext.library.add import add_files, remove_gone, restore_ledger, take_out
from iconotext.library.background import measure_background
from iconotext.library.encode import Intake, asked_of, default_pooled, library_encoder
from iconotext.library.files import Found, file_kind, find_files
from iconotext.library.index import ABOVE, build_index, index_queries, needs_index
from iconotext.library.ledger import held_ledger
from iconotext.library.report import Report
from iconotext.library.settings import LibrarySettings, is_library
from iconotext.library.store import Library, check_new, create_library, open_library
from iconotext.read.web.page import is_address
from iconotext.types import Image

if TYPE_CHECKING:
    from iconotext.encoder import Encoder
    from iconotext.features import FeatureCache
    from iconotext.library.encode import Asked, Link
    from iconotext.library.relations import RelationModel

    Watch = Callable[[Iterator[Found], int], Iterable[Found]]


def update_library(
    path: Path,
    paths: Sequence[Path],
    link: Link,
    *,
    model: str | None = None,
    asked: Asked | None = None,
    relation_model: RelationModel | None = None,
    relations_from: str = "default",
    cache: FeatureCache | None = None,
    load: Callable[[str], Encoder] | None = None,
    watch: Watch | None = None,
    say: Callable[[str], None] | None = None,
) -> Report:
    """Bring a library up to date with paths; make it if there is none.

    Args:
        path: Folder of the library.
        paths: Pictures, documents, folders of both; without any, those that were added before.
        link: Reads and links a document; see ``Intake``.
        model: The model of a new library, by default ``default``. A library that is there keeps its own; this
            is then where that lies now.
        asked: Settings of reading and linking for these paths, which JSON can say; remembered, and given to ``link``
            in this run and in later ones.
        relation_model: Tells the relations; None stores none.
        relations_from: Where that model is, for those who search: ``default``, a folder, ``none``.
        cache: Where features are kept.
        load: Loads the encoder of a model, by default ``library_encoder``.
        watch: Passes the files on as they are done, of so many; for a progress bar.
        say: Is told what takes long and is no file.

    Returns:
        What came of the files.

    Raises:
        LibraryError: A path is not there, or neither picture nor document; the library was made with another model,
            another process is adding to it, or it cannot be written.
    """
    unread: list[tuple[Path, str]] = []
    if not is_library(path):
        check_new(path)
        if not paths:
            raise LibraryError(f"{path}: no library yet; name the pictures, documents or folders to put into one")
    _check(paths)
    roots = list(paths) or [Path(root) for root in open_library(path).settings.roots]
    there = {root: None for root in roots if os.path.exists(root)}
    files = list(find_files(there, leave_out=path, unread=unread))
    with held_ledger(path) as ledger:
        library, encoder = _opened(path, model, relation_model, relations_from, load or library_encoder)
        library.upgrade()
        restore_ledger(library, ledger)
        _remember(library, [root.resolve() for root in roots], asked or {})
        pooled = default_pooled(encoder, cache) if relation_model is not None else None
        intake = Intake(encoder, link, library.settings.asked, relation_model, pooled)
        report = Report(failures=[(str(folder), f"cannot be listed: {why}") for folder, why in unread])
        report.failures += [
            (str(root), f"no such file or folder; if it is gone for good: iconotext library remove {path} {root}")
            for root in roots
            if root not in there
        ]
        done = add_files(library, ledger, files, intake, report)
        for _ in done if watch is None else watch(done, len(files)):
            pass
        remove_gone(library, ledger, [root.resolve() for root in there], report)
        if report.added or report.removed or report.encoded:
            library.tidy()
        if library.count() and (report.added or report.encoded or library.settings.background is None):
            library.save(background=measure_background(library, encoder))
        _drop_index(library)
        if needs_index(library):
            if say is not None:
                say(f"making the index of {library.count():,} pictures, and trying it out")
            build_index(library, index_queries(library, encoder))
    return report


def remove_from_library(path: Path, paths: Sequence[Path]) -> Report:
    """Take out what was added from paths, and do not look there any more.

    Args:
        path: Folder of the library.
        paths: Files and folders that were added, whether they still exist or not.

    Returns:
        What came of it.

    Raises:
        LibraryError: Nothing was added from a path, or it lies in a folder that was added and would come back with
            it; another process is adding to the library, or it cannot be written.
    """
    open_library(path)
    report = Report()
    with held_ledger(path) as ledger:
        library = open_library(path)
        library.upgrade()
        restore_ledger(library, ledger)
        settings = library.settings
        known: set[str] = set()
        for given in paths:
            place = given.resolve()
            around = [root for root in settings.roots if Path(root) in place.parents]
            if around:
                raise LibraryError(
                    f"{given}: was added with {around[0]}, and would come back with it: move it away from there, or"
                    f" remove {around[0]}"
                )
            below = ledger.below(str(place))
            if not below and not any(_is_in(root, [place]) for root in settings.roots):
                raise LibraryError(
                    f"{given}: nothing was added from there; this lists what was: iconotext library list {path}"
                )
            known.update(below)
        gone = [given.resolve() for given in paths]
        take_out(library, ledger, sorted(known), report)
        library.save(
            roots=tuple(root for root in settings.roots if not _is_in(root, gone)),
            asked={name: asked for name, asked in settings.asked.items() if not _is_in(name, gone)},
        )
        library.tidy()
        _drop_index(library)
    return report


def _check(paths: Sequence[Path]) -> None:
    """See that paths may be added."""
    for path in paths:
        if not os.path.exists(path):
            address = re.sub(r"^(https?:/)(?=[^/])", r"\1/", str(path))  # a path has no double slash
            if is_address(address):
                raise LibraryError(
                    f"{address}: a page on the web, of which a library takes none; iconotext link reads it, and saved"
                    " as a file, the library takes it"
                )
            raise LibraryError(f"{path}: no such file or folder")
        if not os.path.isfile(path) or file_kind(path) is not None:
            continue
        (image,) = inspect([Image(str(path), path)])  # a picture may be called anything
        if image.problem is not None:
            raise LibraryError(f"{path}: neither a document nor a picture that can be added: {image.problem}")


def _is_in(path: str, folders: Sequence[Path]) -> bool:
    """Whether a path is one of some others, or lies in one."""
    return any(folder == Path(path) or folder in Path(path).parents for folder in folders)


def _drop_index(library: Library) -> None:
    """Search a library exactly again that has become small."""
    if library.settings.index is not None and library.count() <= ABOVE:
        library.save(index=None)


def _opened(
    path: Path,
    model: str | None,
    relation_model: RelationModel | None,
    relations_from: str,
    load: Callable[[str], Encoder],
) -> tuple[Library, Encoder]:
    """The library, made if need be, and its encoder."""
    named = None if model is None else _lasting(model)
    if not is_library(path):
        encoder = load(named or "default")
        settings = LibrarySettings(named or "default", encoder.fingerprint, encoder.dim)
        library = create_library(path, settings)
    else:
        library = open_library(path)
        encoder = load(named or library.settings.model)
        if encoder.fingerprint != library.settings.space:
            raise LibraryError(
                f"{path}: made with the model {library.settings.model} ({library.settings.space}), and"
                f" {named or library.settings.model} is now {encoder.fingerprint}; vectors of two models do not"
                " compare: make a new library"
            )
        if named is not None and named != library.settings.model:
            library.save(model=named)  # the same model in another place
    name = None if relation_model is None else relation_model.name
    relations = () if relation_model is None else relation_model.relations
    source = _lasting(relations_from)
    settings = library.settings
    if (settings.relation_model, settings.relations, settings.relations_from) != (name, relations, source):
        library.save(relation_model=name, relations=relations, relations_from=source)
    return library, encoder


def _lasting(model: str) -> str:
    """The name of a model that means the same from another folder."""
    return str(Path(model).resolve()) if Path(model).is_dir() else model


def _remember(library: Library, roots: Sequence[Path], asked: Asked) -> None:
    """Remember what was added, and how; what lies in a folder that was added, too, needs no mention."""
    known = {Path(root) for root in library.settings.roots} | set(roots)
    outer = tuple(sorted(str(root) for root in known if not known & set(root.parents)))
    settings: dict[str, Mapping[str, Any]] = dict(library.settings.asked)
    if asked:
        named = {str(root): asked_of(library.settings.asked, root) for root in roots}
        below = {path: before for path, before in settings.items() if _is_in(path, roots)}
        settings |= {path: {**before, **asked} for path, before in (named | below).items()}
    if (outer, settings) != (library.settings.roots, library.settings.asked):
        library.save(roots=outer, asked=settings)
