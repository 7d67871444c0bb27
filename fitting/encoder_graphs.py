"""The graphs of the two encoders for onnxruntime: small files whose weights lie in the safetensors file beside them.

A tensor of a safetensors file is a run of bytes, and ONNX may take a tensor from a run of bytes of another file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from iconotext.features.eight_bits import CLASSES, DIM, PIXELS, EfficientNetLite0, SameConv

KINDS = {
    "F32": TensorProto.FLOAT,
    "F16": TensorProto.FLOAT16,
    "I8": TensorProto.INT8,
    "U8": TensorProto.UINT8,
    "I32": TensorProto.INT32,
}
SIDE = 224
FLOAT = TensorProto.FLOAT
OURS = "com.microsoft"  # operators that onnxruntime has beside those of ONNX


class Graph:
    """Nodes one after the other; a tensor of the weights' file is named as in that file."""

    def __init__(self, *weights: Path) -> None:
        self._tensors: dict[str, dict[str, Any]] = {}
        for path in weights:
            with path.open("rb") as file:
                start = int.from_bytes(file.read(8), "little") + 8
                for name, about in json.loads(file.read(start - 8)).items():
                    self._tensors[name] = about | {"file": path.name, "start": start}
        self._nodes: list[onnx.NodeProto] = []
        self._initial: dict[str, onnx.TensorProto] = {}

    def add(self, kind: str, *inputs: str, domain: str = "", out: str = "", **attributes: Any) -> str:
        """A node with one output; returns its name."""
        out = out or f"{kind}_{len(self._nodes)}"
        for name in inputs:
            if name in self._tensors:
                self._initial.setdefault(name, self._external(name))
        self._nodes.append(helper.make_node(kind, inputs, [out], domain=domain, **attributes))
        return out

    def constant(self, value: Any, dtype: Any) -> str:
        array = np.asarray(value, dtype)
        name = f"constant_{array.dtype}_{array.tolist()}"
        self._initial[name] = numpy_helper.from_array(array, name)
        return name

    def rounded(self, x: str, name: str) -> str:
        x = self.add("Mul", x, f"{name}.evening") if f"{name}.evening" in self._tensors else x
        return self.add("QuantizeLinear", x, f"{name}.step", f"{name}.zero")

    def product(self, x: str, given: str, name: str) -> str:
        """The product of rounded numbers, the step and zero of which are those of ``given``, with a matrix."""
        weight = f"{name}.weight"
        no_zero = ""  # weights are symmetric
        inputs = (x, weight, f"{given}.step", f"{weight}.step", f"{given}.zero", no_zero, f"{name}.bias")
        return self.add("MatMulIntegerToFloat", *inputs, domain=OURS)

    def write(self, path: Path, inputs: dict[str, tuple[int, list[Any]]], outputs: dict[str, list[Any]]) -> None:
        given = [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in inputs.items()]
        found = [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in outputs.items()]
        write_graph(path, helper.make_graph(self._nodes, path.parent.name, given, found, list(self._initial.values())))

    def _external(self, name: str) -> onnx.TensorProto:
        about = self._tensors[name]
        start, end = about["data_offsets"]
        tensor = onnx.TensorProto(name=name, data_type=KINDS[about["dtype"]], dims=about["shape"])
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in (("location", about["file"]), ("offset", about["start"] + start), ("length", end - start)):
            tensor.external_data.add(key=key, value=str(value))
        return tensor


def product_graph(path: Path) -> None:
    """Of whole numbers: ``rows`` (n, features), 0 to 255, times ``matrix`` (features, outputs), -128 to 127."""
    rows = helper.make_tensor_value_info("rows", TensorProto.UINT8, ["n", "features"])
    matrix = helper.make_tensor_value_info("matrix", TensorProto.INT8, ["features", "outputs"])
    sums = helper.make_tensor_value_info("sums", TensorProto.INT32, ["n", "outputs"])
    node = helper.make_node("MatMulInteger", ["rows", "matrix"], ["sums"])
    write_graph(path, helper.make_graph([node], path.stem, [rows, matrix], [sums]))


def write_graph(path: Path, graph: onnx.GraphProto) -> None:
    versions = [helper.make_opsetid("", 17), helper.make_opsetid(OURS, 1)]
    path.write_bytes(helper.make_model(graph, opset_imports=versions, ir_version=8).SerializeToString())


def efficientnet_graph(weights: Path, network: EfficientNetLite0, path: Path) -> None:
    """From ``pixels`` (b, 224, 224, 3) to ``grid`` (b, 7, 7, 1280), all in whole numbers but the last step."""
    graph = Graph(weights)

    def conv(x: tuple[str, str, str], name: str, module: SameConv) -> tuple[str, str, str]:
        to = (f"{name}.rounding.step", f"{name}.rounding.zero")
        weight, conv = f"{name}.conv.weight", module.conv
        inputs = (*x, weight, f"{weight}.step", graph.constant(0, np.int8), *to, f"{name}.conv.bias")
        kernel, stride = list(conv.kernel_size), list(conv.stride)
        pads = [module.before, module.before, module.after, module.after]
        attributes: dict[str, Any] = {"kernel_shape": kernel, "strides": stride, "pads": pads, "group": conv.groups}
        return (graph.add("QLinearConv", *inputs, domain=OURS, channels_last=1, **attributes), *to)

    x = ("pixels", graph.constant(1 / PIXELS[1], np.float32), graph.constant(PIXELS[0], np.uint8))
    x = conv(x, "stem", network.stem)
    for i, block in enumerate(network.blocks):
        y = x
        for part in ("expand", "filter", "project"):
            if isinstance(module := getattr(block, part), SameConv):
                y = conv(y, f"blocks.{i}.{part}", module)
        if block.residual:
            to = (f"blocks.{i}.rounding.step", f"blocks.{i}.rounding.zero")
            y = (graph.add("QLinearAdd", *y, *x, *to, domain=OURS), *to)
        x = y
    graph.add("DequantizeLinear", *conv(x, "head", network.head), out="grid")
    graph.write(path, {"pixels": (TensorProto.UINT8, ["b", SIDE, SIDE, 3])}, {"grid": ["b", 7, 7, DIM]})


def classifier_graph(weights: Path, path: Path) -> None:
    """From ``features`` (n, 1280), pooled or those of regions, to ``probabilities`` (n, 1000)."""
    graph = Graph(weights)
    logits = graph.product(graph.rounded("features", "rounding"), "rounding", "classifier")
    graph.add("Softmax", logits, out="probabilities", axis=-1)
    graph.write(path, {"features": (FLOAT, ["n", DIM])}, {"probabilities": ["n", CLASSES]})


def bert_graph(weights: Path, path: Path, *, layers: int, heads: int, epsilon: float) -> None:
    """From ``ids`` and ``mask``, (n, t) int32, to ``layers`` (n, (layers + 1) * width), the means of every layer."""
    graph = Graph(weights)
    add = graph.add
    rows = add("Cast", add("Gather", "embeddings.word.weight", "ids"), to=FLOAT)
    words = add("Mul", rows, add("Gather", "embeddings.word.weight.step", "ids"))
    length = add("Slice", add("Shape", "ids"), *(graph.constant([n], np.int64) for n in (1, 2, 0)))
    first = graph.constant([0], np.int64)
    places = add("Slice", "embeddings.position", first, length, first)
    norm = ("embeddings.LayerNorm.weight", "embeddings.LayerNorm.bias")
    x = add("LayerNormalization", add("Add", words, places), *norm, axis=-1, epsilon=epsilon)
    real = add("Cast", "mask", to=FLOAT)
    share = add("Div", real, add("ReduceSum", real, graph.constant([1], np.int64), keepdims=1))
    share = add("Unsqueeze", share, graph.constant([1], np.int64))  # (n, 1, t)
    means = [add("MatMul", share, x)]

    def added(x: str, more: str, name: str) -> str:
        product = graph.product(graph.rounded(more, f"{name}.dense"), f"{name}.dense", f"{name}.dense")
        norm = (f"{name}.LayerNorm.weight", f"{name}.LayerNorm.bias")
        # Not SkipLayerNormalization, which does both at once: onnxruntime's takes a fifth of all the time.
        return add("LayerNormalization", add("Add", x, product), *norm, axis=-1, epsilon=epsilon)

    for layer in range(layers):
        name = f"encoder.layer.{layer}"
        attention, dense = f"{name}.attention.self", f"{name}.intermediate.dense"
        given = graph.rounded(x, attention)
        parts = [graph.product(given, attention, f"{attention}.{part}") for part in ("query", "key", "value")]
        seen = add("MultiHeadAttention", *parts, "", "mask", domain=OURS, num_heads=heads)
        x = added(x, seen, f"{name}.attention.output")
        hidden = graph.product(graph.rounded(x, dense), dense, dense)
        x = added(x, add("Gelu", hidden, domain=OURS), f"{name}.output")
        means.append(add("MatMul", share, x))
    together = add("Concat", *means, axis=2)
    add("Squeeze", together, graph.constant([1], np.int64), out="layers")
    tokens = (TensorProto.INT32, ["n", "t"])
    graph.write(path, {"ids": tokens, "mask": tokens}, {"layers": ["n", (layers + 1) * 384]})
