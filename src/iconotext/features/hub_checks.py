"""Checks of models made by others, before a library follows their files: a hostile file could exhaust the machine.

``pretrained``, ``pretrained_model`` and ``loading`` are the steps that all loaders of transformers' models share.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from iconotext.errors import FeatureError, IconotextError
from iconotext.extras import require
from iconotext.features.runtime import best_device
from iconotext.system.strict_json import parse_json

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray


Foreign = Any
"""An object of a library without useful types."""

SIDE = 512
"""Shorter side in pixels to which a picture may be reduced when it is decoded, before the model's own processing."""

MAX_COUNT = 1000
"""Layers that a model's settings may ask for, since each takes time to make; also labels or classes, unless its files
have more weights than that."""

SPARE = 2**24
"""Numbers that a model may have in addition to four times those in its files, for buffers and parts that were never
trained."""

MAX_SETTINGS = 256 * 2**20
"""Largest size in bytes of a file of settings or of a tokenizer; the largest in use have some 40 MiB."""

MAX_GROWTH, MAX_AROUND = 4096, 64
"""How many times longer a tokenizer may make a text, and how many tokens it may put around it."""

_AROUND = ("single", "pair", "ids")

_COUNTED = re.compile(r"(?:^|_)(?:layers?|depths?|blocks?|stages?|groups?|labels|classes|experts)$|^n_layer|_layers_")
"""Names of settings that are numbers of layers or classes."""

_WIDTH = re.compile(r"^(?:in_features|out_features|hidden_dim|out_channels|dimension|\w*word_embedding_dimension)$")
"""Names of settings with the widths of matrices that sentence-transformers allocates before it reads the weights."""

_REPEATED = re.compile(r"\\.|\[(?:\\.|[^\]\\])*+\]|[*+]|\{\d*,\d*\}|[(|)]", re.DOTALL)
"""The parts of a regular expression that decide whether it may try every way to divide a text."""


def pretrained(kind: Literal["AutoConfig", "AutoImageProcessor", "AutoTokenizer"], folder: Path) -> Foreign:
    """Load a part of a model with transformers; nothing is downloaded, and no code in the folder is run."""
    check_settings(folder)
    part_class: Foreign = getattr(import_module("transformers"), kind)
    return part_class.from_pretrained(folder, local_files_only=True, trust_remote_code=False)


def pretrained_model(kind: str, folder: Path) -> tuple[Foreign, list[str]]:
    """Load a model of transformers, ready for inference, and the names of weights that its folder lacks."""
    auto_class: Foreign = getattr(import_module("transformers"), kind)
    check_size(auto_class, folder)
    model, info = auto_class.from_pretrained(
        folder,
        local_files_only=True,
        trust_remote_code=False,
        use_safetensors=True,
        output_loading_info=True,
        dtype="float32",
    )
    check_finite(str(folder), model.state_dict())
    return model.to(best_device()).eval(), sorted(info["missing_keys"])


def check_weights(name: str, missing: list[str]) -> None:
    """Raise ``FeatureError`` if weights are missing."""
    if missing:
        raise FeatureError(f"{name}: weights are missing ({', '.join(missing[:3])}): fetch the model again")


def check_settings(folder: Path) -> None:
    """Raise ``FeatureError`` if the settings of a folder would make a library exhaust memory or time.

    The settings must be JSON, and must not ask for an endless number of layers, classes or characters, nor for files
    elsewhere.
    """
    for file in folder.glob("*.json"):
        if file.stat().st_size > MAX_SETTINGS:
            raise FeatureError(f"{file}: larger than any file of settings ({MAX_SETTINGS:,} bytes): use another model")
    for pattern, check in (
        ("config.json", _check_counts),
        ("*.index.json", _check_shards),
        ("tokenizer.json", _check_tokenizer),
    ):
        for file in folder.glob(pattern):
            try:
                check(parse_json(file.read_bytes()), file)
            except ValueError as error:
                raise FeatureError(f"{file}: {error}: fetch the model again") from error


def is_of_transformers(folder: Path) -> bool:
    """Tell whether a folder has settings of a model of transformers; ``check_settings`` must have checked them."""
    path = folder / "config.json"
    settings = parse_json(path.read_bytes()) if path.is_file() else None
    return isinstance(settings, dict) and "model_type" in settings


def check_size(auto_class: Foreign, folder: Path) -> None:
    """Raise ``FeatureError`` if a model has far more numbers than its files; no memory is allocated for them."""
    import torch

    stored = _stored_numbers(folder)
    if not stored:
        return  # without weights it is refused when it is loaded
    with torch.device("meta"):
        model = auto_class.from_config(pretrained("AutoConfig", folder), trust_remote_code=False)
    _check_fits(sum(tensor.numel() for tensor in (*model.parameters(), *model.buffers())), stored, folder)


def check_finite(name: str, arrays: Mapping[str, torch.Tensor | NDArray[Any]]) -> None:
    """Raise ``FeatureError`` if a number of a model is not finite."""
    for part, array in arrays.items():
        finite = np.isfinite(array) if isinstance(array, np.ndarray) else array.isfinite()
        if not finite.all():
            raise FeatureError(f"{name}: has numbers that are not finite ({part}): fetch or train the model again")


def _stored_numbers(folder: Path) -> int:
    """Count the numbers in the weights' files of a folder; only the headers of the files are read."""
    from safetensors import safe_open

    total = 0
    for path in folder.glob("*.safetensors"):
        with safe_open(os.fspath(path), framework="numpy") as file:
            total += sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118 - no mapping
    return total


def _check_fits(needed: int, stored: int, where: Path) -> None:
    if needed > 4 * stored + SPARE:
        raise FeatureError(
            f"{where}: its settings ask for {needed:,} numbers, and its files hold {stored:,}: fetch the model again"
        )


def _check_counts(settings: Any, file: Path) -> None:
    stored, widths = _stored_numbers(file.parent), []
    for name, value in _integers(settings):
        most = max(MAX_COUNT, stored) if name.endswith(("labels", "classes")) else MAX_COUNT
        if _COUNTED.search(name) and value > most:
            raise FeatureError(f"{file}: {name} is {value:,}, more than a model can have: fetch the model again")
        if _WIDTH.search(name):
            widths.append(value)
    _check_fits(math.prod(sorted(widths)[-2:]), stored, file)  # the largest matrix that they allow


def _integers(settings: Any) -> Iterator[tuple[str, int]]:
    """Yield the integers in settings, each with its name; those of a list, such as layers by stage, are added up."""
    left = [("", settings)]
    while left:
        name, value = left.pop()
        if isinstance(value, dict):
            left += [(str(key), item) for key, item in value.items()]
        elif isinstance(value, list) and value and all(type(item) is int for item in value):
            yield name, sum(map(abs, value))
        elif isinstance(value, list):
            left += [(name, item) for item in value]
        elif type(value) is int:
            yield name, value


def _check_shards(settings: Any, file: Path) -> None:
    files = settings.get("weight_map") if isinstance(settings, dict) else None
    for name in set(map(str, files.values())) if isinstance(files, dict) else ():
        if Path(name).name != name:
            raise FeatureError(f"{file}: names weights that lie elsewhere ({name}): fetch the model again")


def _check_tokenizer(settings: Any, file: Path) -> None:
    """Refuse a tokenizer that makes short texts endless, or that may take endless time for a text."""
    parts = list(_objects(settings))
    growth = math.prod(map(_growth, parts))
    around = max((len(part[name]) for part in parts for name in _AROUND if isinstance(part.get(name), list)), default=0)
    if growth > MAX_GROWTH or around > MAX_AROUND:
        raise FeatureError(f"{file}: makes short texts endless: use another model")
    for part in parts:
        if isinstance(expression := part.get("Regex"), str) and may_try_every_way(expression):
            raise FeatureError(f"{file}: {expression[:80]!r} may take endless time for a text: use another model")


def _growth(part: dict[str, Any]) -> int:
    """Return the factor by which a part of a tokenizer may make a text of one character or more longer."""
    pattern = part.get("pattern")
    if "prepend" in part:
        inserted = str(part["prepend"])
    else:
        inserted = str(part.get("content", "")) if part.get("type") == "Replace" else ""
    replaced = str(pattern.get("String", "")) if isinstance(pattern, dict) else ""
    return max(1, len(inserted) // max(1, len(replaced)) + ("prepend" in part))


def _objects(settings: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects in a tokenizer's file except its vocabulary."""
    left = [settings]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            yield value
            left += [item for name, item in value.items() if name not in ("vocab", "merges", "added_tokens")]
        elif isinstance(value, list):
            left += value


def may_try_every_way(expression: str) -> bool:
    """Tell whether a regular expression repeats a group that contains a repetition or alternatives.

    Matching such an expression may take exponential time.
    """
    open_groups: list[bool] = []  # whether each contains a repetition or alternatives
    end = -1  # of the last group, if it contained one
    for match in _REPEATED.finditer(expression):
        sign = match[0]
        if sign == "(":
            open_groups.append(False)
            continue
        if sign == ")":
            varies = bool(open_groups) and open_groups.pop()
            end = match.end() if varies else -1
        else:
            repeats = sign[0] in "*+{"
            if repeats and match.start() == end:
                return True
            varies = repeats or sign == "|"
        if varies and open_groups:
            open_groups[-1] = True
    return False


@contextmanager
def loading(name: str) -> Iterator[None]:
    """Turn any error while loading a model into a ``FeatureError``, and silence the libraries' bars and questions."""
    require("models", purpose=f"{name}: a model of other makers")
    logging: Foreign = import_module("transformers.utils.logging")
    code: Foreign = import_module("transformers.dynamic_module_utils")

    bars, verbosity, patience = (logging.is_progress_bar_enabled(), logging.get_verbosity(), code.TIME_OUT_REMOTE_CODE)
    logging.disable_progress_bar()
    logging.set_verbosity_error()  # else every load warns that torchvision, which is not needed, is missing
    # Some parts ask on the terminal whether to run a model's code; with no time to answer they refuse.
    code.TIME_OUT_REMOTE_CODE = 0
    try:
        yield
    except IconotextError:
        raise
    except Exception as error:  # the libraries have no common base class for these errors
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise FeatureError(
            f"{name}: the model cannot be loaded ({lines[0].rstrip('.: ')}); it must be whole, with its weights as "
            "safetensors, and without code of its own"
        ) from error
    finally:
        code.TIME_OUT_REMOTE_CODE = patience
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
