"""Finds the folder of a model by name: a folder of the user's, or one in the local cache of the Hugging Face hub.

Models are downloaded only here, by ``hub_files``, and only if allowed. The code that loads a model gets a folder.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from iconotext.errors import FeatureError
from iconotext.features.graph_files import files_in
from iconotext.features.hub_files import cached_folder, fetch
from iconotext.system.files import content_digest

WEIGHTS_AND_SETTINGS = (
    "*.json",
    "*.safetensors",
    "*.bin",
    "*.model",
    "*.txt",
    "*/*.json",
    "*/*.safetensors",
    "*/*.bin",
)


def shipped_folder(name: str = "default") -> Path:
    """Return the folder of a model or an encoder in the package."""
    return Path(__file__).parents[1] / "models" / name


def digest_of(*files: Path) -> bytes:
    """Compute a digest of the contents of files, in about a second per GB."""
    return hashlib.sha256(b"".join(map(content_digest, files))).digest()


def folder_name(folder: Path, files: Iterable[Path] = ()) -> str:
    """Return the folder's name and a digest of the files that decide what the model computes.

    All these files are read: after further training in the same folder, the cache of the old model must not be used.

    Args:
        files: More files in the folder than settings and weights in the usual formats.
    """
    digest = hashlib.sha256()
    for file in sorted({*files, *(file for pattern in WEIGHTS_AND_SETTINGS for file in folder.glob(pattern))}):
        try:
            digest.update(file.relative_to(folder).as_posix().encode() + content_digest(file))
        except OSError as error:
            raise FeatureError(f"{file}: cannot be read ({error.strerror}): fetch the model again") from error
    return f"{folder.resolve().name}@{digest.hexdigest()[:16]}"


def content_name(name: str) -> str:
    """Return a name that changes with the contents: with a digest for a folder or file, else the name itself."""
    base, _ = name_and_precision(name)
    path = Path(base)
    if not path.exists():
        return name
    # A model of ours has a recipe in its folder; a table of features has the names of its rows beside it.
    files = sorted(path.glob("*.toml")) if path.is_dir() else [path, *sorted(path.parent.glob("*.json"))]
    graphs = [path / name for name in files_in(path)] if path.is_dir() else []
    contents = f"{folder_name(path, graphs) if path.is_dir() else path.name}@{digest_of(*files).hex()[:16]}"
    return contents + name.removeprefix(base)


@dataclass(frozen=True, slots=True)
class ShippedBackbone:
    """A backbone in the package, which needs no download; others are named by folder, or by name on the hub."""

    name: str
    side: Literal["text", "image"]
    summary: str


BACKBONES = (
    ShippedBackbone(
        "minilm",
        "text",
        "all-MiniLM-L6-v2 in 8 bits: English texts as vectors of 384 numbers; beside it Google's universal sentence "
        "encoder, multilingual v3, and multilingual-e5-small, which give texts in fourteen and in some seventy other "
        "languages vectors of the same space",
    ),
    ShippedBackbone(
        "efficientnet-lite0", "image", "EfficientNet-Lite0 in 8 bits: 1,280 features, 1,000 classes, regions"
    ),
)
TEXT_BACKBONES, IMAGE_BACKBONES = (
    tuple(backbone.name for backbone in BACKBONES if backbone.side == side) for side in ("text", "image")
)
SHIPPED = ("default", "photographs")
"""Trained models in the package."""

MODELS = (*SHIPPED, "no-training")
"""All models that need no download."""

SHOWN = 5
"""Largest number of models that an error lists in addition to a mistyped folder."""

_SIGNS = ("recipe.toml", "config.json", "modules.json", "weights.safetensors")  # every model's folder has one of them
_HUB_NAME = re.compile(r"\w[\w.-]*(/[\w.-]+)?", re.ASCII)
_PRECISION = re.compile(r"(.+):([a-z]\w*)", re.ASCII)
_allowed = ContextVar("models may be fetched", default=False)


@contextmanager
def downloads() -> Iterator[None]:
    """In the block, models that are named but missing are downloaded from the Hugging Face hub."""
    before = _allowed.set(True)
    try:
        yield
    finally:
        _allowed.reset(before)


def find_model(name: str, other_names: Sequence[str] = ()) -> Path | None:
    """Return ``folder_of_model``; None for a name in ``other_names``, which needs no folder."""
    return None if name in other_names else folder_of_model(name, other_names)


def name_and_precision(name: str) -> tuple[str, str]:
    """Split the name of a model that is read from ONNX graphs, ``NAME:fp16``; the precision may be missing."""
    match = None if Path(name).exists() else _PRECISION.fullmatch(name)
    if match and (Path(match[1]).is_dir() or _HUB_NAME.fullmatch(match[1])):
        return match[1], match[2]
    return name, ""


def folder_of_model(name: str, other_names: Sequence[str] = (), *, revision: str | None = None) -> Path:
    """Return the folder of a model by name; fast, since the model is not loaded.

    Args:
        name: A folder, or a name on the Hugging Face hub, which is looked up in the hub's local cache; in a
            ``downloads()`` block it is downloaded if missing. Either may end with the precision of ONNX graphs.
        revision: What to download instead of what is there; see ``fetch``.
    """
    whole, (name, precision) = name, name_and_precision(name)
    path = Path(name)
    if name and path.is_dir():
        return path
    if name and path.exists():
        raise FeatureError(f"{name}: is a file, and a model is a folder")
    on_hub = _HUB_NAME.fullmatch(name) is not None
    folder = None
    if on_hub:
        folder = fetch(name, precision, revision) if _allowed.get() else cached_folder(name)
    if folder is None:
        nor = ", nor is it on the Hugging Face hub" if on_hub and _allowed.get() else ""
        raise no_such_model(whole, other_names, hub=on_hub and not nor, nor=nor)
    return folder


def revised_name(name: str, folder: Path, files: Iterable[Path] = ()) -> str:
    """Return a name that changes with the weights: it has a digest of the files, or the revision on the hub."""
    name, _ = name_and_precision(name)
    return folder_name(folder, files) if Path(name).is_dir() else f"{name}@{folder.name}"


def no_such_model(name: str, other_names: Sequence[str], *, hub: bool = False, nor: str = "") -> FeatureError:
    """Make the error for a name without a model.

    Args:
        nor: End of the first clause, naming another place where the model was not found.
    """
    beside = models_in(Path(name).parent)
    near = difflib.get_close_matches(name, [*other_names, *beside])
    others = [folder for folder in beside if folder not in near][:SHOWN]
    advice = f"; did you mean {' or '.join(near)}?" if near else "."
    advice += f" There are {', '.join([*other_names, *others])} and other folders of models"
    advice += "; download=True looks on the Hugging Face hub" if hub else ""
    return FeatureError(f"{name}: no such model{nor}{advice}")


def models_in(folder: Path) -> list[str]:
    """List the models in a folder, as a user would write their names."""
    try:
        folders = sorted(path for path in folder.iterdir() if path.is_dir())
    except OSError:
        return []
    return [str(path) for path in folders if any((path / sign).is_file() for sign in _SIGNS)]
