"""Encoders of others as ONNX graphs, which onnxruntime computes on the CPU: no PyTorch is needed.

``load_graphs`` loads both sides of a dual encoder, ``load_text_graph`` a sentence encoder or a text side,
``load_image_graph`` an image encoder or an image side. The graphs are those of ``graph_files``. Each text and each
picture is computed alone: graphs in 8 bits scale a batch by its largest number, so that vectors would depend on others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image as Pillow

from iconotext.errors import FeatureError, one_line
from iconotext.features.backbone import DualEncoder, ImageBackbone, TextBackbone
from iconotext.features.catalogue import catalogue_entry
from iconotext.features.decoding import SIDE, network_backbone
from iconotext.features.graph_files import (
    MODULES,
    POOLING,
    checked_path,
    chosen_graphs,
    files_in,
    settings_of,
    with_data,
)
from iconotext.features.graph_inputs import Pixels, Tokens
from iconotext.features.model_folder import name_and_precision, revised_name
from iconotext.features.runtime import Graph, open_graph
from iconotext.similarity import unit_rows
from iconotext.system.threads import on_cores

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.types import FloatMatrix

    Arrays = dict[str, NDArray[Any]]

CHUNK = 16
"""Texts that a thread computes before it takes others."""

MAX_PREFIX = 1000
"""Most characters that a model's settings may put before each text."""

_TEXT_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})
_LAYERS = frozenset({"Transformer", "Pooling", "Normalize"})
"""Layers of sentence-transformers that are computed here."""

_SWITCHES = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_lasttoken": "lasttoken",
}
"""Older settings of sentence-transformers, to the names in ``_POOLINGS``."""

_HIDDEN = ("last_hidden_state", "token_embeddings")
_TYPES: dict[str, np.dtype[Any]] = {"tensor(float)": np.dtype(np.float32), "tensor(float16)": np.dtype(np.float16)}


class GraphModel:
    """The graphs and settings of a model; the graphs are opened when they are needed."""

    def __init__(self, name: str, folder: Path) -> None:
        base, precision = name_and_precision(name)
        self.name, self.folder = name, folder
        self.config = settings_of(folder, "config.json") or {}
        self.entry = catalogue_entry(base, self.config)
        names = files_in(folder)
        precision, self._files = chosen_graphs(base, names, precision)
        files = [checked_path(folder, file) for graph in self._files.values() for file in with_data(graph, names)]
        self.revised = f"{revised_name(name, folder, files)}/onnx-{precision}"
        self._open: dict[str, Graph] = {}

    @property
    def is_dual(self) -> bool:
        """Whether there is a text and an image side."""
        return "text" in self._files or {"input_ids", "pixel_values"} <= self.graph("all").inputs.keys()

    def graph(self, side: str) -> Graph:
        """Open the graph of a side, ``text`` or ``image``, or the one that computes everything."""
        file = self._files[side if side in self._files else "all"]
        if file not in self._open:
            self._open[file] = open_graph(self.folder / file, "fetch the model again")
        return self._open[file]

    def output(self, side: str, graph: Graph) -> str:
        """Return the name of the output that has the vectors of a side of a dual encoder."""
        if (projected := {"text": "text_embeds", "image": "image_embeds"}[side]) in graph.outputs:
            return projected
        # Those of SigLIP are vectors of the joint space; those of CLIP lack its projection.
        if str(self.config.get("model_type")).startswith("siglip") and "pooler_output" in graph.outputs:
            return "pooler_output"
        raise self.error(f"its {side} graph has no {projected}, but {', '.join(graph.outputs)}; use another export")

    def error(self, reason: str) -> FeatureError:
        """Make an error of this model."""
        return FeatureError(f"{self.name}: {reason}")

    def checked(self, vector: NDArray[np.float32], dim: int | None = None) -> NDArray[np.float32]:
        """Return what a graph gives for one text or picture, if it is a vector, of the length ``dim``."""
        if vector.ndim != 1 or len(vector) != (dim or len(vector)):
            raise self.error(f"its graph gives an array of the shape {vector.shape}, not a vector: use another export")
        return vector

    def computed(self, graph: Graph, output: str, inputs: Arrays) -> NDArray[np.float32]:
        """Compute an output for one text or picture: its array without the side of the batch."""
        try:
            array = np.asarray(graph.run([output], inputs)[0], np.float32)
        except Exception as error:  # onnxruntime's errors have no common base class
            raise self.error(f"its graph fails ({one_line(error)[:200]}); use another export") from error
        if array.shape[:1] != (1,) or not array.size:
            raise self.error(f"its graph gives an array of the shape {array.shape} for one input; use another export")
        if not np.isfinite(array).all():
            raise self.error("its graph gives numbers that are not finite; take another precision")
        first: NDArray[np.float32] = array[0]
        return first


def load_graphs(name: str, folder: Path) -> DualEncoder:
    """Load both sides of a dual encoder by name and folder."""
    model = GraphModel(name, folder)
    if not model.is_dual:
        raise model.error("has no text side and image side in one space: use a CLIP or SigLIP model")
    text, image = _text_side(model), _image_side(model)
    if text.dim != image.dim:
        raise model.error(f"{image.dim} numbers for a picture, {text.dim} for a text: not one space")
    return DualEncoder(text, image)


def load_text_graph(name: str, folder: Path) -> TextBackbone:
    """Load a sentence encoder, or the text side of a dual encoder, by name and folder."""
    model = GraphModel(name, folder)
    return _text_side(model) if model.is_dual else _sentence_encoder(model)


def load_image_graph(name: str, folder: Path) -> ImageBackbone:
    """Load an image encoder, or the image side of a dual encoder, by name and folder."""
    model = GraphModel(name, folder)
    return _image_side(model)


def _text_side(model: GraphModel) -> TextBackbone:
    graph = model.graph("text")
    output = model.output("text", graph)
    _check_inputs(model, graph, _TEXT_INPUTS | {"pixel_values"}, "input_ids")
    tokens = Tokens(model.folder, graph.inputs)
    other = {"pixel_values": _blank(model, graph)} if "pixel_values" in graph.inputs else {}
    return _text_backbone(model, tokens, lambda inputs: model.computed(graph, output, inputs | other))


def _sentence_encoder(model: GraphModel) -> TextBackbone:
    graph = model.graph("all")
    _check_inputs(model, graph, _TEXT_INPUTS, "input_ids", "attention_mask")
    prefix = _prefix(model)
    tokens = Tokens(model.folder, graph.inputs, prefix)
    if "sentence_embedding" in graph.outputs:
        return _text_backbone(model, tokens, lambda inputs: model.computed(graph, "sentence_embedding", inputs), prefix)
    hidden = next((output for output in _HIDDEN if output in graph.outputs), None)
    if hidden is None:
        raise model.error(f"its graph gives no vectors of tokens, but {', '.join(graph.outputs)}; use another export")
    pool = _POOLINGS[pooling := _pooling(model, prefix)]

    def vector(inputs: Arrays) -> NDArray[np.float32]:
        states, mask = model.computed(graph, hidden, inputs), inputs["attention_mask"][0].astype(bool)
        if states.ndim != 2 or len(states) != len(mask):
            raise model.error(f"its graph gives an array of the shape {states.shape} for {len(mask)} tokens")
        return pool(states[mask])

    return _text_backbone(model, tokens, vector, prefix, pooling)


def _text_backbone(
    model: GraphModel, tokens: Tokens, vector: Callable[[Arrays], NDArray[np.float32]], *processing: str
) -> TextBackbone:
    def encode(texts: Sequence[str]) -> FloatMatrix:
        vectors = np.zeros((len(texts), dim), np.float32)

        def work(start: int) -> None:
            rows = range(start, min(start + CHUNK, len(texts)))
            for row, inputs in zip(rows, tokens([texts[row] for row in rows]), strict=True):
                vectors[row] = model.checked(vector(inputs), dim)

        deque(on_cores(work, range(0, len(texts), CHUNK)), maxlen=0)  # runs it to the end; ``work`` fills ``vectors``
        return unit_rows(vectors)

    dim = len(model.checked(vector(tokens(["a"])[0])))
    name = "/".join([model.revised, *(part.strip(": ") for part in processing if part)])
    return TextBackbone(
        name, dim, encode, frozenset((model.entry.language,)) if model.entry and model.entry.language else None
    )


def _image_side(model: GraphModel) -> ImageBackbone:
    graph = model.graph("image")
    _check_inputs(model, graph, _TEXT_INPUTS | {"pixel_values"}, "pixel_values")
    prepare = Pixels.of(model.folder, graph.inputs["pixel_values"][1])
    dtype = _pixel_type(model, graph)
    other: Arrays = {}
    if "input_ids" in graph.inputs:
        other = Tokens(model.folder, graph.inputs)(["a"])[0]
    output = model.output("image", graph) if model.is_dual else _image_output(model, graph)

    def vector(pixels: NDArray[np.float32]) -> NDArray[np.float32]:
        array = model.computed(graph, output, {"pixel_values": pixels[None].astype(dtype)} | other)
        return array[0] if output == "last_hidden_state" and array.ndim == 2 else array  # the class token

    def forward(pictures: list[NDArray[np.float32]], regions: bool) -> Arrays:
        return {"pooled": unit_rows(np.stack([model.checked(vector(pixels), dim) for pixels in pictures]))}

    dim = len(model.checked(vector(prepare(Pillow.new("RGB", (SIDE, SIDE), "grey")))))
    at_least = max(SIDE, prepare.shorter)
    return network_backbone(model.revised, dim, prepare, forward, at_least=at_least, cores=True, on_cpu=lambda: True)


def _image_output(model: GraphModel, graph: Graph) -> str:
    for output in ("image_embeds", "pooler_output", "last_hidden_state"):
        if output in graph.outputs:
            return output
    raise model.error(f"its graph gives no features of pictures, but {', '.join(graph.outputs)}; use another export")


def _blank(model: GraphModel, graph: Graph) -> NDArray[Any]:
    """Return a picture for a graph that computes both sides, where a text is encoded."""
    pixels = Pixels.of(model.folder, graph.inputs["pixel_values"][1])
    return np.zeros((1, 3, *pixels.shape), _pixel_type(model, graph))


def _pixel_type(model: GraphModel, graph: Graph) -> np.dtype[Any]:
    kind = graph.inputs["pixel_values"][0]
    if kind not in _TYPES:
        raise model.error(f"its graph takes pixels as {kind}; use another export")
    return _TYPES[kind]


def _check_inputs(model: GraphModel, graph: Graph, possible: frozenset[str], *needed: str) -> None:
    if unknown := sorted(graph.inputs.keys() - possible):
        raise model.error(f"its graph takes {', '.join(unknown)}, which is not known here: use another export")
    if missing := [name for name in needed if not graph.inputs.get(name, ("", ()))[1]]:
        raise model.error(f"its graph takes no {' and no '.join(missing)}: use another model or export")


def _prefix(model: GraphModel) -> str:
    """Return what is put before every text: by the makers' own settings, or by the table of known models."""
    settings = settings_of(model.folder, "config_sentence_transformers.json") or {}
    prompts, chosen = settings.get("prompts"), settings.get("default_prompt_name")
    if isinstance(chosen, str) and isinstance(prompts, dict) and isinstance(prompt := prompts.get(chosen), str):
        if len(prompt) > MAX_PREFIX:
            raise model.error(f"puts {len(prompt):,} characters before each text: use another model")
        return prompt
    return model.entry.prefix if model.entry else ""


def _pooling(model: GraphModel, prefix: str) -> str:
    """Return how the vectors of a text's tokens become one, a key of ``_POOLINGS``."""
    if (model.folder / MODULES).is_file():
        layers = settings_of(model.folder, MODULES, list)
        kinds = [str(layer.get("type")).rpartition(".")[2] for layer in layers or () if isinstance(layer, dict)]
        if other := [kind for kind in kinds if kind not in _LAYERS]:
            raise model.error(f"has a layer {other[0]} outside of its graph, which only PyTorch computes")
    settings = settings_of(model.folder, POOLING)
    if settings is None:
        if model.entry and model.entry.pooling:
            return model.entry.pooling
        raise model.error(
            f"does not say how the vectors of a text's tokens become one: put its {POOLING} into the folder "
            '({"pooling_mode": "mean"}, or "cls", if its makers say so)'
        )
    modes = [mode for mode in _POOLINGS if settings.get("pooling_mode") == mode]
    modes += [_SWITCHES.get(key, key) for key, on in settings.items() if on is True and key.startswith("pooling_mode_")]
    if len(modes) != 1 or modes[0] not in _POOLINGS or (prefix and settings.get("include_prompt") is False):
        raise model.error(f"{POOLING} asks for an unknown pooling ({', '.join(modes)}): use another model")
    return modes[0]


_POOLINGS: dict[str, Callable[[NDArray[np.float32]], NDArray[np.float32]]] = {
    "mean": lambda tokens: np.asarray(tokens.mean(axis=0), np.float32),
    "cls": lambda tokens: tokens[0],
    "max": lambda tokens: np.asarray(tokens.max(axis=0), np.float32),
    "lasttoken": lambda tokens: tokens[-1],
}
"""A vector from the (tokens, dim) of a text, without padding, by its name in 1_Pooling/config.json."""
