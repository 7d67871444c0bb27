"""The local cache of the Hugging Face hub: fetches models into it, pins their revisions, and checks their files.

``fetch`` is the only function that uses the network. It notes the commit and the SHA-256 of each file in ``LOCK``,
beside the snapshots of the model; ``cached_folder`` takes that commit from then on and refuses files that have changed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from iconotext.errors import FeatureError, one_line
from iconotext.extras import has, require
from iconotext.features.graph_files import (
    FULL,
    SETTINGS,
    chosen_graphs,
    files_in,
    graphs_by_precision,
    is_resnet,
    with_data,
)
from iconotext.system.files import content_digest, write_text
from iconotext.system.strict_json import parse_json

PATIENCE = 10.0
"""Seconds to wait for each answer of the hub."""

WEIGHTS = "model.safetensors"
RESNET = ("config.json", "preprocessor_config.json", WEIGHTS)
"""Files of a ResNet for PyTorch: settings and weights; no code, and no formats that can contain code."""

LOCK = "iconotext.json"
"""Name of the file that pins a model: its commit, and the size and SHA-256 of each file."""


@dataclass(frozen=True, slots=True)
class Lock:
    """The files of a model that were fetched.

    Attributes:
        revision: The commit on the hub.
        files: Path inside the model to SHA-256.
    """

    revision: str
    files: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CachedModel:
    """A model in the hub's cache.

    Attributes:
        name: Its name on the hub.
        revision: Its commit.
        size: Bytes of its files.
        precisions: Precisions of its ONNX graphs; empty for a ResNet.
        pinned: Whether its files are checked with what was noted when they were fetched.
    """

    name: str
    revision: str
    size: int
    precisions: tuple[str, ...]
    pinned: bool


def place_of(name: str) -> Path:
    """Return the folder of a model in the hub's cache, whether there is one or not."""
    from huggingface_hub import constants  # a tenth of a second; the modules that use the network take far longer

    return Path(constants.HF_HUB_CACHE) / f"models--{name.replace('/', '--')}"


def cached_folder(name: str) -> Path | None:
    """Return the snapshot of a model in the hub's cache: the pinned one, else the latest; None if there is none.

    Raises:
        FeatureError: A file is not the one that was fetched.
    """
    if not has("hub"):
        return None
    place = place_of(name)
    lock = read_lock(place)
    snapshot = _snapshot(place, lock)
    if lock and snapshot:
        _check_files(snapshot, tuple(lock.files.items()))
    return snapshot


def _snapshot(place: Path, lock: Lock | None) -> Path | None:
    """Return the folder with a model's files: of the pinned commit, else of the latest; None if there is none."""
    try:
        revision = lock.revision if lock else (place / "refs" / "main").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    folder = place / "snapshots" / revision
    return folder if revision and folder.is_dir() else None


def fetch(name: str, precision: str = "", revision: str | None = None) -> Path | None:
    """Fetch a model, unless the cache has it, and return its folder; None if the hub has no such model.

    Args:
        precision: Precision of its ONNX graphs, see ``chosen_graphs``.
        revision: A commit, branch or tag to pin instead of the pinned one; "main" for the newest.

    Raises:
        FeatureError: It cannot be fetched, or has no files that are safe to read, or a file is not what the hub states.
    """
    require("hub", purpose=f"{name}: a model of the Hugging Face hub")
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    place = place_of(name)
    lock = read_lock(place)
    if lock and revision is None and (folder := cached_folder(name)) and _is_whole(folder, precision):
        return folder
    try:
        folder, commit, stated = _downloaded(name, precision, revision or (lock.revision if lock else None))
    except GatedRepoError as error:  # a kind of the next one: it includes restricted models that are listed
        raise FeatureError(f"{name}: its makers give it only to those who ask them on its page") from error
    except RepositoryNotFoundError:
        return None
    except FeatureError:
        raise
    except Exception as error:  # the libraries have no common base class for network errors
        if revision is None and (cached := cached_folder(name)) and _is_whole(cached, precision):
            return cached
        raise FeatureError(
            f"{name}: cannot be fetched from the Hugging Face hub ({one_line(error)[:200]}); with a network the same "
            "command goes on"
        ) from error
    files = dict(lock.files) if lock and lock.revision == commit else {}
    for file, digest in stated.items():
        actual = content_digest(folder / file).hex()
        if actual != (digest or actual) or actual != files.get(file, actual):
            raise FeatureError(f"{folder / file}: is not what the hub states: remove {place} and fetch the model again")
        files[file] = actual
    text = json.dumps({"revision": commit, "files": files}, indent=1, sort_keys=True)
    write_text(place / LOCK, text + "\n", force=True)
    return folder


def read_lock(place: Path) -> Lock | None:
    """Read the record of a model in a folder of the hub's cache; None if there is none."""
    path = place / LOCK
    if not path.is_file():
        return None
    try:
        noted: dict[str, Any] = parse_json(path.read_bytes())
        lock = Lock(str(noted["revision"]), {str(file): str(digest) for file, digest in noted["files"].items()})
        if Path(lock.revision).name != lock.revision or any(".." in Path(file).parts for file in lock.files):
            raise ValueError("a name that leads elsewhere")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise FeatureError(f"{path}: damaged ({error}): remove {place} and fetch the model again") from error
    return lock


def cached_models() -> list[CachedModel]:
    """List the models in the hub's cache that could be loaded, by name; their files are not checked."""
    if not has("hub"):
        return []
    listed = []
    for place in sorted(place_of("x").parent.glob("models--*")):
        name = place.name.removeprefix("models--").replace("--", "/", 1)
        lock = read_lock(place)
        folder = _snapshot(place, lock)
        if folder is None:
            continue
        paths = [path for path in folder.rglob("*") if path.is_file()]
        precisions = tuple(graphs_by_precision([path.relative_to(folder).as_posix() for path in paths]))
        if precisions or _has_resnet(folder):
            size = sum(path.stat().st_size for path in paths)
            listed.append(CachedModel(name, folder.name, size, precisions, lock is not None))
    return listed


def files_to_fetch(name: str, names: Collection[str], precision: str) -> list[str]:
    """Return which files of a model to fetch: the graphs of a precision, their weights and settings.

    Args:
        names: All files of the model.
    """
    _, graphs = chosen_graphs(name, names, precision)
    weights = [file for graph in graphs.values() for file in with_data(graph, names)]
    return [*weights, *(file for file in SETTINGS if file in names)]


def _downloaded(name: str, precision: str, revision: str | None) -> tuple[Path, str, dict[str, str | None]]:
    """Download a model: its folder, its commit, and the SHA-256 of each file, None where the hub states none."""
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.utils.tqdm import disable_progress_bars

    if not sys.stderr.isatty():
        disable_progress_bars()
    # Fails fast without a network, or without such a model.
    info = HfApi().model_info(name, revision=revision, files_metadata=True, timeout=PATIENCE)
    stated = {file.rfilename: file.lfs.sha256 if file.lfs else None for file in info.siblings or ()}
    commit = str(info.sha)
    download = partial(snapshot_download, name, revision=commit, etag_timeout=PATIENCE)
    files = [file for file in RESNET if file in stated]
    if precision or WEIGHTS not in files or not is_resnet(Path(download(allow_patterns=RESNET[:1]))):
        files = files_to_fetch(name, stated, precision)
    folder = Path(download(allow_patterns=files))
    return folder, commit, {file: stated[file] for file in files}


def _is_whole(folder: Path, precision: str) -> bool:
    """Tell whether a folder has what a name asks for: graphs of the precision, or all weights if it names none."""
    present = graphs_by_precision(files_in(folder))
    return (precision or FULL) in present or (not precision and (len(present) == 1 or _has_resnet(folder)))


def _has_resnet(folder: Path) -> bool:
    return (folder / WEIGHTS).is_file() and is_resnet(folder)


@cache  # once, though a model is loaded by parts
def _check_files(folder: Path, files: tuple[tuple[str, str], ...]) -> None:
    for file, noted in files:
        if not (folder / file).is_file() or content_digest(folder / file).hex() != noted:
            raise FeatureError(
                f"{folder / file}: is missing or has changed since it was fetched: remove {folder.parents[1]} and "
                "fetch the model again"
            )
