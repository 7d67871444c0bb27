"""The files of an encoder that was exported to ONNX, in the layout of transformers.js on the Hugging Face hub.

A folder has ``onnx/model.onnx``, or ``onnx/text_model.onnx`` and ``onnx/vision_model.onnx`` for the two sides of a dual
encoder, each in several precisions (``model_fp16.onnx``, ``model_quantized.onnx``), and settings as JSON. Begin with
``chosen_graphs``; ``settings_of`` reads a file of settings.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any, overload

from iconotext.errors import FeatureError
from iconotext.system.strict_json import parse_json

MAX_SETTINGS = 256 * 2**20
"""Largest size in bytes of a file of settings or of a tokenizer; the largest in use have some 40 MiB."""

FULL = "fp32"
"""The precision of a graph whose name states none."""

MODULES, POOLING = "modules.json", "1_Pooling/config.json"
"""Settings of sentence-transformers: the layers of a sentence encoder, and how vectors of tokens become one."""

SETTINGS = (
    "config.json",
    "preprocessor_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    MODULES,
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    POOLING,
)
"""All files that are read beside the graphs."""

_GRAPH = re.compile(r"(?:onnx/)?(text_model|vision_model|model)(?:_(\w+))?\.onnx", re.ASCII)
_DATA = re.compile(r"[._]data(?:_\d+)?", re.ASCII)


def graphs_by_precision(names: Collection[str]) -> dict[str, dict[str, str]]:
    """Return the graphs among files: precision, then what a graph computes (``text``, ``image``, ``all``), to its file.

    Args:
        names: Paths inside a folder, with ``/``.
    """
    present: dict[str, dict[str, str]] = {}
    for name in sorted(names):
        if match := _GRAPH.fullmatch(name):
            present.setdefault(match[2] or FULL, {})[match[1]] = name
    by_precision = {}
    for precision, files in present.items():
        if {"text_model", "vision_model"} <= files.keys():
            by_precision[precision] = {"text": files["text_model"], "image": files["vision_model"]}
        elif "model" in files:
            by_precision[precision] = {"all": files["model"]}
    return by_precision


def chosen_graphs(name: str, names: Collection[str], precision: str) -> tuple[str, dict[str, str]]:
    """Return the precision to use and its graphs, see ``graphs_by_precision``.

    Args:
        name: The model's name, for the error message.
        precision: Empty for the only precision that there is or, among several, for ``FULL``.
    """
    present = graphs_by_precision(names)
    chosen = precision or (FULL if len(present) != 1 else next(iter(present)))
    if chosen in present:
        return chosen, present[chosen]
    if not present:
        raise FeatureError(
            f"{name}: has no ONNX graph of an encoder (onnx/model.onnx, or text_model and vision_model): export it "
            "with optimum, or name an export"
        )
    choices = " or ".join(f"{name}:{other}" for other in present)
    raise FeatureError(f"{name}: has no graph with the precision {chosen}; name one that is there: {choices}")


def with_data(graph: str, names: Collection[str]) -> list[str]:
    """Return a graph's file and those of its weights that lie beside it: ``model.onnx_data``, ``model.onnx.data``."""
    return [graph, *sorted(name for name in names if name.startswith(graph) and _DATA.fullmatch(name[len(graph) :]))]


def files_in(folder: Path) -> list[str]:
    """Return the names of graphs and their weights in a folder."""
    return [path.relative_to(folder).as_posix() for part in ("", "onnx/") for path in folder.glob(f"{part}*.onnx*")]


def is_resnet(folder: Path) -> bool:
    """Tell whether a folder has the settings of a ResNet of transformers, the only network that is no graph."""
    return (settings_of(folder, "config.json") or {}).get("model_type") == "resnet"


def checked_path(folder: Path, name: str) -> Path:
    """Return the path of a file of a model; ``FeatureError`` if it is a link to a file elsewhere.

    In the hub's cache the files of a model are links to files of the same model beside its snapshots.
    """
    path, whole = folder / name, folder.resolve()
    if whole.parent.name == "snapshots" and whole.parents[1].name.startswith("models--"):
        whole = whole.parents[1]
    try:
        inside = path.resolve(strict=True).is_relative_to(whole)
    except (OSError, RuntimeError) as error:  # RuntimeError: links that lead round in a circle
        raise FeatureError(f"{path}: is missing or cannot be read: fetch the model again") from error
    if not inside:
        raise FeatureError(f"{path}: is a link to a file outside of the model's folder: use another model")
    return path


@overload
def settings_of(folder: Path, name: str) -> dict[str, Any] | None: ...
@overload
def settings_of(folder: Path, name: str, kind: type[list[Any]]) -> list[Any] | None: ...
def settings_of(folder: Path, name: str, kind: type[Any] = dict) -> Any:
    """Read a file of settings, an object or a list; None if there is none."""
    if not (folder / name).exists() and not (folder / name).is_symlink():
        return None
    path = checked_path(folder, name)
    if path.stat().st_size > MAX_SETTINGS:
        raise FeatureError(f"{path}: larger than any file of settings ({MAX_SETTINGS:,} bytes): use another model")
    try:
        settings = parse_json(path.read_bytes())
    except (OSError, ValueError) as error:
        raise FeatureError(f"{path}: cannot be read ({error}): fetch the model again") from error
    if not isinstance(settings, kind):
        raise FeatureError(
            f"{path}: holds a {type(settings).__name__}, expected a {kind.__name__}: fetch the model again"
        )
    return settings
