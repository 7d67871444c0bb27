"""The projections from features to the joint space, as PyTorch modules; ``networks.int8`` does without PyTorch."""

from __future__ import annotations

from typing import Literal

from torch import Tensor, nn
from torch.nn import functional


class Projection(nn.Module):
    """Turns features into unit vectors, by one affine layer (Hessel 2019 §3.1) or with one hidden layer.

    Arguments that are not listed are those of ``recipe.encoders.ProjectionSettings``.

    Args:
        features: Length of a feature vector.
        dim: Dimensions of the joint space; with ``residual``, ``features``.
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
        if residual:  # it starts as the identity
            nn.init.zeros_(self.out.weight)
            nn.init.zeros_(self.out.bias)

    def forward(self, features: Tensor) -> Tensor:
        """Turn (N, features) into (N, dim) unit vectors."""
        drop = self.dropout if self.training else 0.0
        x = functional.normalize(features, dim=-1) * features.shape[-1] ** 0.5 if self.rescale else features
        x = x if self.norm is None else self.norm(x)
        x = functional.dropout(x, drop) if drop and self.dropout_at == "input" else x
        if self.hidden is not None:
            x = functional.gelu(self.hidden(x))
            x = functional.dropout(x, drop) if drop and self.dropout_at == "output" else x
        x = self.out(x)
        if drop and self.dropout_at == "output" and self.hidden is None:  # otherwise the hidden layer was dropped above
            x = functional.dropout(x, drop)
        x = x.float() + functional.normalize(features.float(), dim=-1) if self.residual else x.float()
        return functional.normalize(x, dim=-1)
