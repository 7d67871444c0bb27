"""Computes the output of ``projection.Projection`` without PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.embed.rounded import Affine
from iconotext.embed.space import unit_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.recipe.encoders import ProjectionSettings
    from iconotext.types import FloatMatrix

    Arrays = Mapping[str, NDArray[Any]]

_SLOPE = (2 / np.pi) ** 0.5
_EPSILON = 1e-5  # of PyTorch's batch norm

AT_ONCE = 64
"""Rows that are projected at a time: intermediate results then fit a core's cache."""


def projection_shapes(features: int, dim: int, settings: ProjectionSettings) -> dict[str, tuple[int, ...]]:
    """The shapes of a projection's weights, by their names in PyTorch."""
    last = settings.hidden or features
    shapes: dict[str, tuple[int, ...]] = {"out.weight": (dim, last), "out.bias": (dim,)}
    if settings.hidden:
        shapes |= {"hidden.weight": (settings.hidden, features), "hidden.bias": (settings.hidden,)}
    if settings.batch_norm:
        shapes |= {f"norm.{name}": (features,) for name in ("weight", "bias", "running_mean", "running_var")}
        shapes["norm.num_batches_tracked"] = ()
    return shapes


def load_projection(weights: Arrays, settings: ProjectionSettings) -> Callable[[FloatMatrix], FloatMatrix]:
    """A function from (n, features) to (n, dim) unit vectors; each row is computed exactly as if it were alone.

    Products are of integers (see ``embed.rounded``), so vectors differ slightly from PyTorch's: for the models in the
    package the cosine of both is 0.9998 to 0.9999.
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
        found = np.empty((len(vectors), len(weights["out.bias"])), np.float32)
        for start in range(0, len(vectors), AT_ONCE):
            found[start : start + AT_ONCE] = block(vectors[start : start + AT_ONCE])
        return found

    return projected


def _gelu(x: FloatMatrix) -> FloatMatrix:
    """X times the share of the normal distribution below x, with the tanh approximation: its error is at most 0.0005.

    That is a tenth of the rounding that follows.
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
