"""Products with matrices in which a row comes out the same, to the last bit, whatever rows are multiplied with it.

Sums of whole numbers do not depend on an order, so those of 8 bits are exact, and several times as fast as others.
Products in floating point differ in their last bits with the number of rows, so there is only one number of them.
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
"""Of whole numbers, (n, features) from 0 to 255 and (features, outputs), the (n, outputs) sums of products; written by
``benchmarks/encoder_graphs.py``."""

WEIGHT, INPUT = 63, 255
"""The largest whole numbers: without VNNI, processors add two products in 16 bits."""

WIDEST = 16
"""Standard deviations from the smallest to the largest number of a row that is rounded. In steps of a wider one, which
a few large numbers make, the others would be lost. Rows of the models that ship are 5 to 15 wide."""

BLOCK = 64
"""Rows that are multiplied at a time in floating point."""


@dataclass(frozen=True, slots=True, eq=False)
class Affine:
    """Rows times a matrix, plus a bias; both rounded, the weights of each output and each row in steps of their own.

    Attributes:
        weight: (outputs, features), for rows that are too wide to be rounded.
        numbers: (features, outputs) int8, the weights in whole numbers from -63 to 63.
        steps: (outputs,) what one of them is.
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
        """That of (outputs, features) weights, as PyTorch has them."""
        steps = _positive(np.abs(weight).max(axis=1) / np.float32(WEIGHT))
        numbers = np.ascontiguousarray(np.rint(weight / steps[:, None]).T.astype(np.int8))
        return cls(weight, numbers, steps, numbers.sum(axis=0, dtype=np.int64).astype(np.float32) * steps, bias)

    def __call__(self, rows: FloatMatrix) -> FloatMatrix:
        """(n, features) to (n, outputs); a row in which something is not finite becomes one of which nothing is."""
        with np.errstate(invalid="ignore", over="ignore"):  # where it is not finite, its row's step is none either
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
    """The product in floating point, ``BLOCK`` rows at a time, the last block filled up with zeros."""
    found = np.empty((len(rows), matrix.shape[1]), np.float32)
    for start in range(0, len(rows), BLOCK):
        some = rows[start : start + BLOCK]
        block = np.zeros((BLOCK, rows.shape[1]), np.float32)
        block[: len(some)] = some
        found[start : start + BLOCK] = (block @ matrix)[: len(some)]
    return found


def _positive(steps: FloatMatrix) -> FloatMatrix:
    """The steps, 1 where all numbers are alike, or so nearly that one divided by a step is too large a number."""
    steps[steps < np.finfo(np.float32).tiny] = 1
    return steps


@cache
def _whole_product() -> Callable[..., NDArray[Any]]:
    return open_graph(GRAPH)
