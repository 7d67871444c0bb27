"""Computes the output of ``projection.Projection`` without PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from torch import Tensor, nn
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import NDArray
    from torch import Tensor

    Arrays = Mapping[str, NDArray[Any]]


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
