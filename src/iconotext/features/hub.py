"""Loads models made by others, and checks their files first, since a damaged or hostile file could exhaust the machine.

``load_sentence_transformer`` and ``load_clip_like`` load models for sentence-transformers. ``pretrained``,
``pretrained_model`` and ``loading`` are the steps that all loaders of transformers' models share.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from PIL import Image as Pillow

from iconotext.errors import FeatureError, IconotextError
from iconotext.extras import require
from iconotext.features.backbone import DualEncoder, TextBackbone
from iconotext.features.decoding import network_backbone
from iconotext.features.model_folder import revised_name
from iconotext.features.runtime import best_device
from iconotext.system.strict_json import parse_json

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray
    from sentence_transformers import SentenceTransformer

    from iconotext.types import FloatMatrix

Foreign = Any
"""An object of a library without useful types."""

SIDE = 512
"""Shorter side in pixels to which a picture may be reduced when it is decoded, before the model's own processing."""

MAX_COUNT = 1000
"""Layers or classes that a model's settings may ask for, if its files have fewer weights; each takes time to make."""

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

_SIDE = re.compile(r"^(?:in_features|out_features|hidden_dim|out_channels|dimension|\w*word_embedding_dimension)$")
"""Names of settings with the sides of matrices that sentence-transformers allocates before it reads the weights."""

_REPEATED = re.compile(r"\\.|\[(?:\\.|[^\]\\])*+\]|[*+]|\{\d*,\d*\}|[(|)]", re.DOTALL)
"""The parts of a regular expression that decide whether it may try every way to divide a text."""


def pretrained(kind: Literal["AutoConfig", "AutoImageProcessor", "AutoTokenizer"], folder: Path) -> Foreign:
    """Load a part of a model with transformers; nothing is downloaded, and no code in the folder is run.

    Raises:
        FeatureError: The folder's settings are beyond the limits of ``check_settings``.
    """
    check_settings(folder)
    companion: Foreign = getattr(import_module("transformers"), kind)
    return companion.from_pretrained(folder, local_files_only=True, trust_remote_code=False)


def pretrained_model(kind: str, folder: Path) -> tuple[Foreign, list[str]]:
    """Load a model of transformers, ready for inference, and the names of weights that its folder lacks.

    Raises:
        FeatureError: Its settings need far more numbers than its files have, or a weight is not finite.
    """
    made: Foreign = getattr(import_module("transformers"), kind)
    check_size(made, folder)
    model, info = made.from_pretrained(
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
    """Check that no weights are missing.

    Raises:
        FeatureError: Weights are missing.
    """
    if missing:
        raise FeatureError(f"{name}: weights are missing ({', '.join(missing[:3])}): fetch the model again")


def check_settings(folder: Path) -> None:
    """Check the cost of the settings in a folder before a library follows them.

    Raises:
        FeatureError: The settings ask for an endless number of layers, classes or characters, or for files elsewhere,
            or they are not JSON.
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


def check_size(made: Foreign, folder: Path) -> None:
    """Check that a model of transformers has about as many numbers as its files, without allocating memory for them.

    Raises:
        FeatureError: The model has far more numbers.
    """
    import torch

    held = _held(folder)
    if not held:
        return  # without weights it is refused when it is loaded
    with torch.device("meta"):
        model = made.from_config(pretrained("AutoConfig", folder), trust_remote_code=False)
    _check_fits(sum(each.numel() for each in (*model.parameters(), *model.buffers())), held, folder)


def check_finite(name: str, arrays: Mapping[str, torch.Tensor | NDArray[Any]]) -> None:
    """Check that all numbers of a model are finite.

    Raises:
        FeatureError: A number is not finite.
    """
    for part, array in arrays.items():
        finite = np.isfinite(array) if isinstance(array, np.ndarray) else array.isfinite()
        if not finite.all():
            raise FeatureError(f"{name}: has numbers that are not finite ({part}): fetch or train the model again")


def _held(folder: Path) -> int:
    """Count the numbers in the weights' files of a folder; only the headers of the files are read."""
    from safetensors import safe_open

    total = 0
    for path in folder.glob("*.safetensors"):
        with safe_open(os.fspath(path), framework="numpy") as file:
            total += sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118
    return total


def _check_fits(wanted: int, held: int, where: Path) -> None:
    if wanted > 4 * held + SPARE:
        raise FeatureError(
            f"{where}: its settings ask for {wanted:,} numbers, and its files hold {held:,}: fetch the model again"
        )


def _check_counts(settings: Any, file: Path) -> None:
    held, sides = _held(file.parent), []
    for name, value in _integers(settings):
        most = max(MAX_COUNT, held) if name.endswith(("labels", "classes")) else MAX_COUNT
        if _COUNTED.search(name) and value > most:
            raise FeatureError(f"{file}: {name} is {value:,}, more than a model can have: fetch the model again")
        if _SIDE.search(name):
            sides.append(value)
    _check_fits(math.prod(sorted(sides)[-2:]), held, file)


def _integers(settings: Any) -> Iterator[tuple[str, int]]:
    """Yield the integers in settings, each with its name; the integers of a list are added up."""
    left = [("", settings)]
    while left:
        name, value = left.pop()
        if isinstance(value, dict):
            left += [(str(key), each) for key, each in value.items()]
        elif isinstance(value, list) and value and all(type(each) is int for each in value):
            yield name, sum(map(abs, value))
        elif isinstance(value, list):
            left += [(name, each) for each in value]
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
    said = str(part.get("prepend", part.get("content", "") if part.get("type") == "Replace" else ""))
    replaced = str(pattern.get("String", "")) if isinstance(pattern, dict) else ""
    return max(1, len(said) // max(1, len(replaced)) + ("prepend" in part))


def _objects(settings: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects in a tokenizer's file except its vocabulary."""
    left = [settings]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            yield value
            left += [each for name, each in value.items() if name not in ("vocab", "merges", "added_tokens")]
        elif isinstance(value, list):
            left += value


def may_try_every_way(expression: str) -> bool:
    """Tell whether a regular expression repeats a group that contains a repetition or alternatives.

    Matching such an expression may take exponential time.
    """
    groups: list[bool] = []
    closed = False  # whether a group with a repetition or alternatives has just ended
    end = -1
    for found in _REPEATED.finditer(expression):
        sign = found[0]
        if sign == "(":
            groups.append(False)
        elif sign == ")":
            closed, end = (groups.pop() if groups else False), found.end()
            if groups and closed:
                groups[-1] = True
        elif sign == "|" or sign[0] in "*+{":
            if sign != "|" and closed and found.start() == end:
                return True
            if groups:
                groups[-1] = True
    return False


@contextmanager
def loading(name: str) -> Iterator[None]:
    """Turn errors while loading a model into one line, and silence the libraries' progress bars and questions.

    Args:
        name: The model's name, for the message.

    Raises:
        FeatureError: Any error in the block that is not one of iconotext.
        MissingPackageError: A library is not installed.
    """
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


def load_sentence_transformer(name: str, folder: Path) -> TextBackbone:
    """Load a text encoder by name and folder.

    Raises:
        FeatureError: The model cannot be loaded.
    """
    model, revised, dim = _load(name, folder)
    return TextBackbone(revised, dim, partial(_vectors, model, dim))


def load_clip_like(name: str, folder: Path) -> DualEncoder:
    """Load both sides of a dual encoder by name and folder.

    Raises:
        FeatureError: The model cannot be loaded, or does not accept pictures.
    """
    model, revised, dim = _load(name, folder)
    try:
        probe = _vectors(model, dim, [Pillow.new("RGB", (SIDE, SIDE))])
    except Exception as error:  # text models fail on a picture in different ways
        raise FeatureError(f"{name}: takes texts but no pictures: load it as a text backbone") from error
    if probe.shape != (1, dim):
        raise FeatureError(f"{name}: {probe.shape[1]} numbers for a picture, {dim} for a text: not one space")

    def forward(images: list[Pillow.Image], regions: bool) -> dict[str, NDArray[Any]]:
        return {"pooled": _vectors(model, dim, images)}

    vectors = partial(_vectors, model, dim)
    image = network_backbone(revised, dim, _reduced, forward, at_least=SIDE)
    return DualEncoder(TextBackbone(revised, dim, vectors), image)


def _load(name: str, folder: Path) -> tuple[SentenceTransformer, str, int]:
    with loading(name):
        from sentence_transformers import SentenceTransformer
        from transformers import AutoModel

        for place in (folder, *(each for each in folder.iterdir() if each.is_dir())):
            check_settings(place)
            if is_of_transformers(place):  # other folders are layers of sentence-transformers itself
                check_size(AutoModel, place)
        model = SentenceTransformer(
            str(folder),
            device=str(best_device()),
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"use_safetensors": True},
        ).eval()
        check_finite(name, model.state_dict())
        probe = model.encode(["probe"], show_progress_bar=False)  # not every model knows its dimension
        check_finite(name, {"the vector of a word": probe})
        return model, revised_name(name, folder), int(probe.shape[1])


def _vectors(model: SentenceTransformer, dim: int, inputs: Sequence[Any]) -> FloatMatrix:
    """Compute (n, dim) float32 unit vectors of texts or pictures."""
    if not inputs:
        return np.zeros((0, dim), np.float32)
    vectors = model.encode(
        list(inputs), batch_size=64, show_progress_bar=False, convert_to_numpy=True, normalize_embeddings=True
    )
    return np.asarray(vectors, np.float32)


def _reduced(image: Pillow.Image) -> Pillow.Image:
    """Reduce a large picture, since the usual models need no more pixels."""
    shorter = min(image.size)
    if shorter <= SIDE:
        return image
    width, height = (max(1, round(side * SIDE / shorter)) for side in image.size)
    return image.resize((width, height), Pillow.Resampling.BICUBIC, reducing_gap=2.0)
