"""Which folder the name of a model means: one of the user's, or one in the local cache of the Hugging Face hub.

Only here a model is ever fetched, and only where that is allowed. What loads a model gets a folder, and no network.
"""

from __future__ import annotations

import difflib
import json
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from iconotext.errors import FeatureError

TEXT_BACKBONES = ("minilm",)
IMAGE_BACKBONES = ("efficientnet-lite0",)
SHIPPED = ("default", "photographs")
"""Trained models that come with the program."""

MODELS = (*SHIPPED, "no-training")
"""What comes with the program."""

PATIENCE = 10.0
"""Seconds that the hub has for each answer."""

FILES = ["*.json", "*.txt", "*.model", "*.safetensors", "*.jinja"]
"""What is fetched of a model: settings, words and weights; no code, and no weights in formats that can hold code."""

OTHER_RUNTIMES = ["onnx/*", "openvino/*"]

SHOWN = 5
"""Models beside a mistyped folder that a message names."""

_SIGNS = ("recipe.toml", "config.json", "modules.json", "weights.safetensors")  # one of them is in every model's folder
_HUB_NAME = re.compile(r"\w[\w.-]*(/[\w.-]+)?", re.ASCII)
_allowed = ContextVar("models may be fetched", default=False)


@contextmanager
def downloads() -> Iterator[None]:
    """Let models that are named in the body be fetched from the Hugging Face hub, where they are not here."""
    before = _allowed.set(True)
    try:
        yield
    finally:
        _allowed.reset(before)


def find_model(name: str, ours: Sequence[str] = ()) -> Path | None:
    """The folder of a model; None for one of ``ours``, which come with the program. See ``folder_of_model``."""
    return None if name in ours else folder_of_model(name, ours)


def folder_of_model(name: str, ours: Sequence[str] = ()) -> Path:
    """The folder of a model by its name; quick, as nothing is loaded.

    Args:
        name: A folder, or a name on the Hugging Face hub. The latter is looked for in the hub's local cache; within
            ``downloads()`` it is fetched.
        ours: Names of models that come with the program, for the message.

    Raises:
        FeatureError: There is no such model here (the message has the nearest names), or it cannot be fetched.
    """
    path = Path(name)
    if name and path.is_dir():
        return path
    if name and path.exists():
        raise FeatureError(f"{name}: is a file, and a model is a folder")
    on_hub = _HUB_NAME.fullmatch(name) is not None
    if on_hub and _allowed.get():
        return _fetched(name, ours)
    cached = _cached(name) if on_hub else None
    if cached is None:
        raise no_such_model(name, ours, hub=on_hub)
    return cached


def revised_name(name: str, folder: Path) -> str:
    """A name that other weights do not share: with a digest of the files, or with the revision on the hub."""
    from iconotext.features.fingerprint import folder_name

    return folder_name(folder) if Path(name).is_dir() else f"{name}@{folder.name}"


def no_such_model(name: str, ours: Sequence[str], *, hub: bool = False, nor: str = "") -> FeatureError:
    """What to raise where there is no model of a name.

    Args:
        ours: Names that stand for models of the program.
        hub: Whether it may be the name of a model on the Hugging Face hub.
        nor: Where else it is not.
    """
    beside = _models_in(Path(name).parent)
    near = difflib.get_close_matches(name, [*ours, *beside])
    others = [folder for folder in beside if folder not in near][:SHOWN]
    said = f"; did you mean {' or '.join(near)}?" if near else "."
    said += f" There are {', '.join([*ours, *others])} and other folders of models"
    said += "; download=True looks on the Hugging Face hub" if hub else ""
    return FeatureError(f"{name}: no such model{nor}{said}")


def _models_in(folder: Path) -> list[str]:
    """The models in a folder, as a user would name them."""
    try:
        found = sorted(path for path in folder.iterdir() if path.is_dir())
    except OSError:
        return []
    return [str(path) for path in found if any((path / sign).is_file() for sign in _SIGNS)]


def _cached(name: str) -> Path | None:
    """The folder of a model in the hub's cache: its latest revision that was fetched."""
    from huggingface_hub import constants  # a tenth of a second; what talks to the hub takes far longer to import

    folder = Path(constants.HF_HUB_CACHE) / f"models--{name.replace('/', '--')}"
    try:
        revision = (folder / "refs" / "main").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    snapshot = folder / "snapshots" / revision
    return snapshot if revision and snapshot.is_dir() else None


def _fetched(name: str, ours: Sequence[str]) -> Path:
    """The folder of a model of the hub, fetched now or before."""
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError
    from huggingface_hub.utils.tqdm import disable_progress_bars

    if not sys.stderr.isatty():
        disable_progress_bars()
    try:
        HfApi().model_info(name, timeout=PATIENCE)  # says at once whether there is a hub, and such a model
        return Path(
            snapshot_download(name, allow_patterns=FILES, ignore_patterns=OTHER_RUNTIMES, etag_timeout=PATIENCE)
        )
    except RepositoryNotFoundError as error:  # a gated one that shows itself is one of these, too
        if isinstance(error, GatedRepoError):
            raise FeatureError(f"{name}: its makers give it only to those who ask them on its page") from error
        raise no_such_model(name, ours, nor=", nor is it on the Hugging Face hub") from error
    except Exception as error:  # the libraries beneath have no common base for "no network"
        if cached := _cached(name):
            return cached
        said = " ".join(str(error).split())[:200] or type(error).__name__
        raise FeatureError(
            f"{name}: cannot be fetched from the Hugging Face hub ({said}); with a network the same command goes on"
        ) from error


def is_dual_encoder(folder: Path) -> bool:
    """Whether a folder holds a model of transformers with a text and an image side; nothing is loaded."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return not (folder / "modules.json").is_file() and {"text_config", "vision_config"} <= config.keys()
