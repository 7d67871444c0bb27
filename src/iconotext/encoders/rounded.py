"""Matrix products in which each row's result is the same, to the last bit, whatever other rows are multiplied with it.

Sums of integers do not depend on their order, so products of 8-bit numbers are exact, and several times faster.
Floating-point products of BLAS differ in their last bits with the number of rows and, on some processors, with the
place of a row among them; those of ``numpy.einsum`` add up each cell for itself, in the order of the features.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from iconotext.features.runtime import open_graph

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from iconotext.types import FloatMatrix

GRAPH = Path(__file__).with_name("product.onnx")
"""ONNX graph: from integers (n, features), 0 to 255, and (features, outputs) to the (n, outputs) product; written by
``benchmarks/encoder_graphs.py``."""

WEIGHT, INPUT = 63, 255
"""Largest integers of weights and inputs: without VNNI, processors add two products in 16 bits."""

WIDEST = 16
"""Rows with a wider range, in standard deviations, are not rounded: a few large numbers would make the steps too large
for the others. Rows of the models in the package have a range of 5 to 15."""


@dataclass(frozen=True, slots=True, eq=False)
class Affine:
    """Rows times a matrix, plus a bias; weights are rounded with a step for each output, rows with a step for each row.

    Attributes:
        weight: (outputs, features), for rows that are too wide to be rounded.
        numbers: (features, outputs) int8, rounded weights, integers from -63 to 63.
        steps: (outputs,) value of one unit.
        sums: (outputs,) of the rounded weights.
        bias: (outputs,).
    """

    weight: NDArray[np.float32]
    numbers: NDArray[np.int8]
    steps: NDArray[np.float32]
    sums: NDArray[np.float32]
    bias: NDArray[np.float32]

    @classmethod
    def of(cls, weight: NDArray[np.float32], bias: NDArray[np.float32]) -> Self:
        """Make it of (outputs, features) weights, as in PyTorch."""
        steps = _positive(np.abs(weight).max(axis=1) / np.float32(WEIGHT))
        numbers = np.ascontiguousarray(np.rint(weight / steps[:, None]).T.astype(np.int8))
        return cls(weight, numbers, steps, numbers.sum(axis=0, dtype=np.int64).astype(np.float32) * steps, bias)

    def __call__(self, rows: FloatMatrix) -> FloatMatrix:
        """(n, features) to (n, outputs); a row with a number that is not finite has no finite results."""
        with np.errstate(invalid="ignore", over="ignore"):  # steps of rows that are not finite
            low = rows.min(axis=1, keepdims=True)
            width = rows.max(axis=1, keepdims=True) - low
            wide = (width > WIDEST * rows.std(axis=1, keepdims=True))[:, 0]
            step = _positive(width / np.float32(INPUT))
            inputs = rows - low
            inputs *= np.float32(1) / step
            inputs += np.float32(0.5)
            whole = inputs.astype(np.uint8)
            found: FloatMatrix = np.multiply(
                _whole_product()(rows=whole, matrix=self.numbers), self.steps, dtype=np.float32, casting="unsafe"
            )
            found *= step
            found += low * self.sums
            if wide.any():
                found[wide] = product(rows[wide], self.weight.T)
            found += self.bias
        return found


def product(rows: FloatMatrix, matrix: NDArray[np.float32]) -> FloatMatrix:
    """The floating-point product; for a few rows or a few columns, since it is slower than BLAS."""
    rows, columns = np.ascontiguousarray(rows, np.float32), np.ascontiguousarray(matrix.T, np.float32)
    return np.asarray(np.einsum("nf,kf->nk", rows, columns, optimize=False), np.float32)


def _positive(steps: FloatMatrix) -> FloatMatrix:
    """The steps; 1 if all numbers are equal, or so nearly that dividing by the step would overflow."""
    steps[steps < np.finfo(np.float32).tiny] = 1
    return steps


@cache
def _whole_product() -> Callable[..., NDArray[Any]]:
    return open_graph(GRAPH)
