"""Computes the output of ``projection.Projection`` without PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from iconotext.recipe.encoders import ProjectionSettings

if TYPE_CHECKING:
    from torch import Tensor

    from iconotext.types import FloatMatrix

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from torch import Tensor, nn
from torch.nn import functional

from iconotext.encoders.rounded import Affine

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


class Projection(nn.Module):
    """From features to unit vectors: affine (Hessel 2019 §3.1), or with one hidden layer.

    Args:
        features: Length of a feature vector.
        dim: Dimensions of the joint space.
        hidden: Width of the hidden layer, 0 for none.
        rescale: Whether feature vectors are first scaled to the length √features.
        residual: Whether the result, which begins at 0, is added to the features, scaled to length 1.
        batch_norm: Whether features are first normalised to mean 0 and variance 1 in a batch (Alikhani 2021).
        dropout: Dropout in training.
        dropout_at: ``output``: dropout of the joint vector, or of the hidden layer if there is one; ``input``: of the
            features.
    """

    def __init__(
        self,
        features: int,
        *,
        dim: int,
        hidden: int,
        dropout: float,
        dropout_at: Literal["output", "input"],
        rescale: bool = False,
        batch_norm: bool = False,
        residual: bool = False,
    ) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(features) if batch_norm else None
        self.hidden = nn.Linear(features, hidden) if hidden else None
        self.out = nn.Linear(hidden or features, dim)
        self.dropout = dropout
        self.dropout_at = dropout_at
        self.rescale = rescale
        self.residual = residual
        if residual:
            nn.init.zeros_(self.out.weight)
            nn.init.zeros_(self.out.bias)

    def forward(self, features: Tensor) -> Tensor:
        """(N, features) to (N, dim) unit vectors."""
        drop = self.dropout if self.training else 0.0
        x = functional.normalize(features, dim=-1) * features.shape[-1] ** 0.5 if self.rescale else features
        x = x if self.norm is None else self.norm(x)
        x = functional.dropout(x, drop) if drop and self.dropout_at == "input" else x
        if self.hidden is not None:
            x = functional.gelu(self.hidden(x))
            x = functional.dropout(x, drop) if drop and self.dropout_at == "output" else x
        x = self.out(x)
        if drop and self.dropout_at == "output" and self.hidden is None:
            x = functional.dropout(x, drop)
        x = x.float() + functional.normalize(features.float(), dim=-1) if self.residual else x.float()
        return functional.normalize(x, dim=-1)


class Identity(nn.Module):
    """Scales features to length 1: for the sides of a dual encoder that are not trained."""

    def forward(self, features: Tensor) -> Tensor:
        """(N, dim) to (N, dim) unit vectors."""
        return functional.normalize(features.float(), dim=-1)


def unit_rows(vectors: FloatMatrix) -> FloatMatrix:
    """(n, dim) rows scaled to length 1; rows of zeros stay."""
    lengths = np.sqrt(np.square(vectors).sum(axis=1, keepdims=True))
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)
