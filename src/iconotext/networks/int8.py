"""Projections without PyTorch, in 8-bit integers: ``load_projection``, and ``Affine`` for one layer.

The result of a row is the same, to the last bit, whatever other rows are computed with it. Sums of integers do not
depend on their order, so products of 8-bit numbers are exact, and they are several times faster. Floating-point
products of BLAS, in contrast, differ in their last bits with the number of rows and, on some processors, with the
position of a row. ``product`` uses ``numpy.einsum``, which adds up each cell alone, in the order of the features.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from iconotext.features.runtime import open_graph
from iconotext.recipe.encoders import ProjectionSettings
from iconotext.similarity import unit_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from iconotext.types import FloatMatrix

    Arrays = Mapping[str, NDArray[Any]]


_SLOPE = (2 / np.pi) ** 0.5  # of the tanh approximation of GELU

_EPSILON = 1e-5  # of PyTorch's batch norm

BATCH = 64
"""Rows that are projected at a time: intermediate results then fit a core's cache."""


def projection_shapes(features: int, dim: int, settings: ProjectionSettings) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a projection's weights, by their names in PyTorch."""
    last = settings.hidden or features
    shapes: dict[str, tuple[int, ...]] = {"out.weight": (dim, last), "out.bias": (dim,)}
    if settings.hidden:
        shapes |= {"hidden.weight": (settings.hidden, features), "hidden.bias": (settings.hidden,)}
    if settings.batch_norm:
        shapes |= {f"norm.{name}": (features,) for name in ("weight", "bias", "running_mean", "running_var")}
        shapes["norm.num_batches_tracked"] = ()
    return shapes


def load_projection(weights: Arrays, settings: ProjectionSettings) -> Callable[[FloatMatrix], FloatMatrix]:
    """Make a function from (n, features) to (n, dim) unit vectors; each row is computed exactly as if it were alone.

    Matrix products are computed in integers, so the vectors differ slightly from those of PyTorch: for the models in
    the package the cosine of both is 0.9998 to 0.9999.
    """
    hidden = Affine.of(weights["hidden.weight"], weights["hidden.bias"]) if settings.hidden else None
    out = Affine.of(weights["out.weight"], weights["out.bias"])

    def block(vectors: FloatMatrix) -> FloatMatrix:
        x = vectors
        if settings.rescale:
            x = unit_rows(x) * np.float32(x.shape[1] ** 0.5)
        if settings.batch_norm:
            deviation = np.sqrt(weights["norm.running_var"] + np.float32(_EPSILON))
            scaled = (x - weights["norm.running_mean"]) / deviation
            x = np.asarray(scaled * weights["norm.weight"] + weights["norm.bias"], np.float32)
        if hidden is not None:
            x = _gelu(hidden(x))
        x = out(x)
        return unit_rows(x + unit_rows(vectors) if settings.residual else x)

    def projected(vectors: FloatMatrix) -> FloatMatrix:
        joint = np.empty((len(vectors), len(weights["out.bias"])), np.float32)
        for start in range(0, len(vectors), BATCH):
            joint[start : start + BATCH] = block(vectors[start : start + BATCH])
        return joint

    return projected


def _gelu(x: FloatMatrix) -> FloatMatrix:
    """X times the share of the normal distribution below x, in the tanh approximation.

    Its error is at most 0.0005, a tenth of the rounding that follows.
    """
    inner = np.square(x)
    inner *= np.float32(0.044715 * _SLOPE)
    inner += np.float32(_SLOPE)
    inner *= x
    np.tanh(inner, out=inner)
    inner += 1
    inner *= x
    inner *= np.float32(0.5)
    return inner


GRAPH = Path(__file__).with_name("product.onnx")
"""ONNX graph that multiplies integers (n, features), 0 to 255, with integers (features, outputs); written by
``fitting/encoder_graphs.py``."""

WEIGHT, INPUT = 63, 255
"""Largest integers of weights and inputs: processors without VNNI add two products in 16 bits, which must not
overflow."""

WIDEST = 16
"""Largest range of a row, in standard deviations, that is rounded: in a wider row a few large numbers would make the
steps too large for the others. Rows of the models in the package have a range of 5 to 15."""


@dataclass(frozen=True, slots=True, eq=False)
class Affine:
    """An affine layer in 8 bits: weights are rounded with a step for each output, rows with a step for each row.

    Attributes:
        weight: (outputs, features), for rows that are too wide to be rounded.
        numbers: (features, outputs) int8, the rounded weights, integers from -63 to 63.
        steps: (outputs,) value of one unit of ``numbers``.
        sums: (outputs,) sums of the rounded weights, for the part of a row below its minimum.
        bias: (outputs,).
    """

    weight: NDArray[np.float32]
    numbers: NDArray[np.int8]
    steps: NDArray[np.float32]
    sums: NDArray[np.float32]
    bias: NDArray[np.float32]

    @classmethod
    def of(cls, weight: NDArray[np.float32], bias: NDArray[np.float32]) -> Self:
        """Round (outputs, features) weights, as stored by PyTorch."""
        steps = _positive(np.abs(weight).max(axis=1) / np.float32(WEIGHT))
        numbers = np.ascontiguousarray(np.rint(weight / steps[:, None]).T.astype(np.int8))
        return cls(weight, numbers, steps, numbers.sum(axis=0, dtype=np.int64).astype(np.float32) * steps, bias)

    def __call__(self, rows: FloatMatrix) -> FloatMatrix:
        """Turn (n, features) into (n, outputs); a row with a number that is not finite has no finite results."""
        with np.errstate(invalid="ignore", over="ignore"):  # rows that are not finite have no valid step
            low = rows.min(axis=1, keepdims=True)
            width = rows.max(axis=1, keepdims=True) - low
            wide = (width > WIDEST * rows.std(axis=1, keepdims=True))[:, 0]
            step = _positive(width / np.float32(INPUT))
            inputs = rows - low
            inputs *= np.float32(1) / step
            inputs += np.float32(0.5)  # the cast cuts off, so this rounds to the nearest
            whole = inputs.astype(np.uint8)
            outputs: FloatMatrix = np.multiply(
                _whole_product()(rows=whole, matrix=self.numbers), self.steps, dtype=np.float32, casting="unsafe"
            )
            # A row is low + step * whole: its product is that of ``whole``, scaled, plus low times the sum of weights.
            outputs *= step
            outputs += low * self.sums
            if wide.any():
                outputs[wide] = product(rows[wide], self.weight.T)
            outputs += self.bias
        return outputs


def product(rows: FloatMatrix, matrix: NDArray[np.float32]) -> FloatMatrix:
    """Multiply in floating point; for a few rows or columns, since it is slower than BLAS."""
    rows, columns = np.ascontiguousarray(rows, np.float32), np.ascontiguousarray(matrix.T, np.float32)
    return np.asarray(np.einsum("nf,kf->nk", rows, columns, optimize=False), np.float32)


def _positive(steps: FloatMatrix) -> FloatMatrix:
    """Return the steps, with 1 where all numbers are so nearly equal that dividing by the step would overflow."""
    steps[steps < np.finfo(np.float32).tiny] = 1
    return steps


@cache
def _whole_product() -> Callable[..., NDArray[Any]]:
    return open_graph(GRAPH)
