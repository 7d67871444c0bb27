"""Update a library, or remove files from it, as the commands ``library add`` and ``library remove`` do.

Begin with ``add_paths`` and ``remove_from_library``. ``add_files`` reads and commits files in batches, and ``take_out``
removes the pictures of files that are gone.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iconotext.corpus.store import RUN
from iconotext.decide.settings import LinkSettings
from iconotext.errors import LibraryError
from iconotext.features import FeatureCache, check_backbones, find_model
from iconotext.features.cached_backbones import cached_lines
from iconotext.features.model_folder import MODELS, name_and_precision
from iconotext.features.ocr import load_line_reader
from iconotext.images import inspect
from iconotext.library.changes import (
    document_change,
    image_change,
    is_unchanged,
    parts_of,
    shard_changes,
    smaller_copies,
)
from iconotext.library.commit import Change, Ledger, Report, commit, held_ledger
from iconotext.library.files import SourceFile, file_kind, find_files
from iconotext.library.index import ABOVE, build_index, index_queries, measure_background, needs_index
from iconotext.library.items import file_of
from iconotext.library.models import (
    DocumentLinker,
    Models,
    chosen,
    default_pooled,
    file_settings,
    library_encoder,
    reads_words,
    relation_model_of,
)
from iconotext.library.settings import LibrarySettings, is_library
from iconotext.library.store import Library, check_new, create_library, open_library
from iconotext.plain_text import encodable
from iconotext.read import ReadSettings
from iconotext.read.find import is_excluded, no_documents
from iconotext.read.web.page import is_address
from iconotext.system.object_store import address_of, entry, is_remote, lasting
from iconotext.system.threads import in_threads
from iconotext.types import Image

if TYPE_CHECKING:
    from iconotext.encoders.encoder import Encoder
    from iconotext.encoders.relation_model import RelationModel
    from iconotext.library.models import Link, Options

    Watch = Callable[[Iterator[SourceFile], int], Iterable[SourceFile]]


BATCH = 256
"""Pictures between two commits; about as many are lost when a run is killed."""

AHEAD = 32
"""Documents that are encoded together."""

SECONDS = 10.0
"""Seconds between two commits while documents are read, which takes longer than reading single pictures."""

TIDY_AFTER = 100
"""After this many commits their fragments are joined; next after twice as many, and so on, since joining rewrites the
whole table."""


def add_files(
    library: Library, ledger: Ledger, sources: Sequence[SourceFile], owners: Set[str], models: Models, report: Report
) -> Iterator[SourceFile]:
    """Add files; yields each file once it is in the library, or has turned out to bring no pictures."""
    files, commits, tidy_after, parts = iter(sources), 0, TIDY_AFTER, parts_of(owners)
    copied = smaller_copies(sources, ledger, models)
    while batch := list(islice(files, BATCH)):
        readable = [file for file in batch if _has_text_name(file, report)]
        shards = [file for file in readable if file.kind == "shard"]
        of_shards = ([change] for file in shards for change in shard_changes(file, ledger, parts, models, report))
        for changes in chain(_changes(readable, ledger, owners, models, report, copied), of_shards):
            commit(library, ledger, changes, report, owners=owners, models=models)
            commits += bool(changes)
            if commits == tidy_after:
                library.tidy()
                tidy_after *= 2
        yield from batch


def _changes(
    files: Sequence[SourceFile],
    ledger: Ledger,
    owners: Set[str],
    models: Models,
    report: Report,
    copied: Mapping[Path, Path],
) -> Iterator[list[Change]]:
    """Yield the changes of pictures and documents in lists; each is to be committed before the next is asked for."""
    old = {file: ledger.get(str(file.path)) for file in files}
    pictures = [file for file in files if file.kind == "picture"]
    image_changes = in_threads(lambda file: image_change(file, old[file], owners, models, report, copied), pictures)
    waiting = [change for change in image_changes if change is not None]
    due = time.monotonic() + SECONDS
    documents = [file for file in files if file.kind == "document"]
    for start in range(0, len(documents), AHEAD):
        ahead = documents[start : start + AHEAD]
        models.encode_ahead(file for file in ahead if not is_unchanged(file, old[file], models))
        for file in ahead:
            change = document_change(file, old[file], owners, models, report)
            waiting += [change] if change is not None else []
            if sum(len(change.arrivals) for change in waiting) >= BATCH or time.monotonic() > due:
                yield waiting
                waiting, due = [], time.monotonic() + SECONDS
    yield waiting


def take_out(library: Library, ledger: Ledger, files: Sequence[str], owners: Set[str], report: Report) -> None:
    """Remove the pictures that files brought in, and forget the files."""
    for start in range(0, len(files), BATCH):
        batch = files[start : start + BATCH]
        ledger.forget({file_of(owner) for owner in batch})  # parts of a shard are removed: read it again
        commit(library, ledger, [Change(owner) for owner in batch], report, owners=owners)


def all_owners(library: Library) -> set[str]:
    """Return the owners of the library's pictures: files, and parts of shards."""
    return {file for batch in library.column("owners") for file in batch}


def _has_text_name(file: SourceFile, report: Report) -> bool:
    name = str(file.path)
    if encodable(name) == name:
        return True
    report.left_out.append((encodable(name), "its name is not UTF-8: rename it"))
    return False


def add_paths(
    path: Path,
    paths: Sequence[Path] = (),
    *,
    model: str | None = None,
    reading: ReadSettings | None = None,
    linking: LinkSettings | None = None,
    watch: Watch | None = None,
    say: Callable[[str], None] | None = None,
    load: Callable[[str], Encoder] = library_encoder,
    load_relations: Callable[[str, FeatureCache], RelationModel | None] = relation_model_of,
    link: Link | None = None,
) -> Report:
    """Add paths to a library, or create it; without paths, update those added before. Returns counts and problems.

    Args:
        model: For a new library; None for ``default``. An existing library keeps its model; the argument is then the
            new place of the same model.
        reading: How documents are read, and which files of folders count. Settings that were set are remembered for
            these paths.
        linking: How documents are linked. Settings that were set are remembered for these paths.
        watch: Passes files on as they are finished, for a progress bar.
        say: Called with messages about other long steps.
        link: Reads and links a document, see ``Models``; default: with the library's model.

    Raises:
        FeatureError: There is no such model.
        DocumentError: Nothing at the paths can be added.
        MissingPackageError: The words in pictures were asked for, and the package that reads them is not installed.
        LibraryError: A path does not exist, or is neither picture nor document nor shard; the library has another
            model, another process is adding to it, or it cannot be written.
    """
    reading, linking = reading or ReadSettings(), linking or LinkSettings()
    if model is not None:  # before a new library is begun
        find_model(model, MODELS)
    check_backbones(linking.text, linking.image)
    stored = _existing_settings(path, paths)
    _check_paths(paths)
    _check_something_there(paths, reading, stored)
    cache = FeatureCache()
    relations_from = linking.relations if "relations" in linking.model_fields_set else stored.relations_from
    relation_model = load_relations(relations_from, cache)
    link = link or DocumentLinker(model or stored.model)
    roots = [Path(root) for root in paths or stored.roots]
    report = Report()
    with held_ledger(path) as ledger:
        library, encoder = _opened(path, ledger, model, load)
        _save_relations(library, relation_model, relations_from)
        settings = _remember(library, [lasting(root) for root in roots], _given_settings(reading, linking))
        places = [lasting(root) for root in roots if _may_be_there(root)]
        readings = {place: chosen(ReadSettings, file_settings(settings, place)) for place in places}
        owners = all_owners(library)
        files = list(find_files(readings, unread=report.failures))
        report.failures += [
            (str(root), f"no such file or folder; if it is gone for good: iconotext library remove {path} {root}")
            for root in roots
            if lasting(root) not in readings
        ]
        pooled = default_pooled(encoder, cache) if relation_model is not None else None
        reader = cached_lines(load_line_reader(), cache) if any(map(reads_words, settings.values())) else None
        models = Models(encoder, link, settings, relation_model, pooled, reader)
        progress = add_files(library, ledger, files, owners, models, report)
        for _ in progress if watch is None else watch(progress, len(files)):
            pass
        gone = (owner for owner in owners if _is_gone(Path(file_of(owner)), readings))
        take_out(library, ledger, sorted(gone), owners, report)
        _finish(library, encoder, report, say)
    return report


def _existing_settings(path: Path, paths: Sequence[Path]) -> LibrarySettings:
    if is_library(path):
        return open_library(path).settings
    check_new(path)
    if not paths:
        raise LibraryError(f"{path}: no library yet; name the pictures, documents or folders to put into one")
    return LibrarySettings("default", space="", dim=0)


def _finish(library: Library, encoder: Encoder, report: Report, say: Callable[[str], None] | None) -> None:
    """Prepare a changed library for search: join fragments, measure the background, build or drop the index."""
    if report.added or report.removed or report.encoded:
        library.tidy()
    if library.count() and (report.added or report.encoded or library.settings.background is None):
        library.save(background=measure_background(library, encoder))
    _drop_index(library)
    if needs_index(library):
        if say is not None:
            say(f"making the index of {library.count():,} pictures, and trying it out")
        build_index(library, index_queries(library, encoder))


def _given_settings(reading: ReadSettings, linking: LinkSettings) -> dict[str, Any]:
    """Return the settings that the user set, with absolute paths; relations are set for the whole library."""
    values = reading.model_dump(mode="json", exclude_unset=True)
    values |= linking.model_dump(mode="json", exclude_unset=True, exclude={"relations"})
    folders = {name: values[name] for name in ("root", "text", "image") if values.get(name)}
    return values | {name: str(Path(value).resolve()) for name, value in folders.items() if Path(value).exists()}


def remove_from_library(path: Path, paths: Sequence[Path]) -> Report:
    """Remove the pictures that paths brought in, and forget the paths; returns counts and problems.

    Args:
        paths: Files and folders that were added, whether they still exist or not.

    Raises:
        LibraryError: Nothing was added from a path, or it lies in an added folder, with which it would be added again;
            another process is adding to the library, or it cannot be written.
    """
    open_library(path)
    report = Report()
    with held_ledger(path) as ledger:
        library = open_library(path)
        settings, owners = library.settings, all_owners(library)
        places = [lasting(name) for name in paths]
        for root_name, place in zip(paths, places, strict=True):
            around = [root for root in settings.roots if Path(root) in place.parents]
            if around:
                raise LibraryError(
                    f"{root_name}: was added with {around[0]}, and would come back with it: move it away from there, or"
                    f" remove {around[0]}"
                )
            if not any(_is_in(file, [place]) for file in (*settings.roots, *owners)):
                raise LibraryError(
                    f"{root_name}: nothing was added from there; this lists what was: iconotext library list {path}"
                )
        take_out(library, ledger, sorted(file for file in owners if _is_in(file, places)), owners, report)
        library.save(
            roots=tuple(root for root in settings.roots if not _is_in(root, places)),
            asked={name: values for name, values in settings.asked.items() if not _is_in(name, places)},
        )
        library.tidy()
        _drop_index(library)
    return report


def _is_gone(file: Path, readings: Mapping[Path, ReadSettings]) -> bool:
    root = next((place for place in (file, *file.parents) if place in readings), None)
    if root is None:
        return False
    try:
        if entry(address_of(file)) is None:
            return True
    except OSError:  # the file cannot be read at present: keep its pictures
        return False
    return is_excluded(file, root, readings[root])


def _may_be_there(root: Path) -> bool:
    """Return whether a path exists; True for an object store, which is asked later."""
    return is_remote(address_of(root)) or root.exists()


def _check_paths(paths: Sequence[Path]) -> None:
    """Raise ``LibraryError`` for the first path that cannot be added."""
    for path in paths:
        if is_address(address_of(path)):
            raise LibraryError(
                f"{address_of(path)}: a page on the web, of which a library takes none; iconotext link reads it, and"
                " saved as a file, the library takes it"
            )
        if not _may_be_there(path):
            raise LibraryError(f"{path}: no such file or folder")
        if (path / RUN).is_file():
            raise LibraryError(f"{path}: links of `iconotext scale`; add the shards that they were made of")
        if is_remote(address_of(path)) or not os.path.isfile(path) or file_kind(path) is not None:
            continue
        (image,) = inspect([Image(str(path), path)])  # a named file may have any suffix
        if image.problem is not None:
            raise LibraryError(f"{path}: neither a document nor a picture that can be added: {image.problem}")


def _check_something_there(paths: Sequence[Path], reading: ReadSettings, stored: LibrarySettings) -> None:
    """Raise ``DocumentError`` if nothing at the paths can be added, and nothing was added from there before."""
    places = [lasting(path) for path in paths]
    if not places or any(
        _is_in(str(root), places) or _is_in(str(place), [Path(root)]) for root in stored.roots for place in places
    ):
        return
    unread: list[tuple[str, str]] = []
    skipped: Counter[str] = Counter()
    if next(find_files(dict.fromkeys(places, reading), unread=unread, skipped=skipped), None) is None and not unread:
        raise no_documents(paths, reading, skipped, formats="pictures, documents (Markdown, PDF, ...) and shards")


def _is_in(path: str, folders: Sequence[Path]) -> bool:
    file = Path(file_of(path))
    return any(folder == file or folder in file.parents for folder in folders)


def _drop_index(library: Library) -> None:
    if library.count() <= ABOVE:
        library.save(index=None)


def _opened(path: Path, ledger: Ledger, model: str | None, load: Callable[[str], Encoder]) -> tuple[Library, Encoder]:
    model_path = None if model is None else _absolute_model(model)
    if not is_library(path):
        encoder = load(model_path or "default")
        ledger.clear()
        return create_library(path, LibrarySettings(model_path or "default", encoder.fingerprint, encoder.dim)), encoder
    library = open_library(path)
    encoder = load(model_path or library.settings.model)
    if encoder.fingerprint != library.settings.space:
        raise LibraryError(
            f"{path}: made with the model {library.settings.model} ({library.settings.space}), and"
            f" {model_path or library.settings.model} is now {encoder.fingerprint}; vectors of two models do not"
            " compare: make a new library"
        )
    library.save(model=model_path or library.settings.model)  # the same model, perhaps in another place
    return library, encoder


def _save_relations(library: Library, relation_model: RelationModel | None, relations_from: str) -> None:
    name, relations = (None, ()) if relation_model is None else (relation_model.name, relation_model.relations)
    library.save(relation_model=name, relations=relations, relations_from=_absolute_model(relations_from))


def _absolute_model(model: str) -> str:
    """The name of a model, in which a folder is absolute."""
    folder, _ = name_and_precision(model)
    return str(Path(folder).resolve()) + model.removeprefix(folder) if Path(folder).is_dir() else model


def _remember(library: Library, roots: Sequence[Path], changes: Options) -> Mapping[str, Options]:
    """Store the added paths and their settings; a path below an added folder is not listed separately."""
    all_roots = {Path(root) for root in library.settings.roots} | set(roots)
    outer = tuple(sorted(address_of(root) for root in all_roots if not all_roots & set(root.parents)))
    settings: dict[str, Mapping[str, Any]] = dict(library.settings.asked)
    if changes:
        of_roots = {str(root): file_settings(library.settings.asked, root) for root in roots}
        below = {path: before for path, before in settings.items() if _is_in(path, roots)}
        settings |= {path: {**before, **changes} for path, before in (of_roots | below).items()}
    library.save(roots=outer, asked=settings)
    return settings
