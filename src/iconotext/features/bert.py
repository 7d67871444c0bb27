"""BERT's forward pass in plain PyTorch; weights and inputs of its matrix products are rounded to 8 bits.

Reference: Devlin et al., NAACL 2019; names of the weights as in transformers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from iconotext.features.eight_bits import rounded


@dataclass(frozen=True, slots=True, eq=False)
class Bert:
    """A BERT encoder.

    Attributes:
        weights: Name in transformers to (outputs, inputs); ``embeddings.position`` has the vectors added to tokens by
            position. If ``NAME.step`` and ``NAME.zero`` exist, the input of layer NAME is first multiplied by
            ``NAME.evening`` and then rounded to 8 bits.
    """

    weights: Mapping[str, Tensor]
    layers: int
    heads: int
    epsilon: float

    def layer_means(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Mean over each text's tokens of the embeddings and of every layer.

        Args:
            ids: (n, t) int64 tokens, padded on the right with any token.
            mask: (n, t) bool, True for a real token; at least one in each row.

        Returns:
            (n, (layers + 1) * dim), the embeddings first.
        """
        share = mask.to(torch.float32)[:, None]
        share = share / share.sum(2, keepdim=True)  # (n, 1, t)
        x = functional.embedding(ids, self.weights["embeddings.word.weight"])
        x = self._norm(x + self.weights["embeddings.position"][: ids.shape[1]], "embeddings.LayerNorm")
        means = [share @ x]
        for layer in range(self.layers):
            x = self._layer(x, mask[:, None, None, :], f"encoder.layer.{layer}")
            means.append(share @ x)
        return torch.cat(means, dim=2)[:, 0]

    def _layer(self, x: Tensor, mask: Tensor, name: str) -> Tensor:
        given = self._rounded(x, f"{name}.attention.self")
        query, key, value = (
            self._linear(given, f"{name}.attention.self.{part}").view(*x.shape[:2], self.heads, -1).transpose(1, 2)
            for part in ("query", "key", "value")
        )  # (n, heads, t, dim / heads)
        seen = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        seen = seen.transpose(1, 2).flatten(2)  # (n, t, dim)
        x = self._added(x, seen, f"{name}.attention.output")
        hidden = self._linear(self._rounded(x, f"{name}.intermediate.dense"), f"{name}.intermediate.dense")
        return self._added(x, functional.gelu(hidden), f"{name}.output")

    def _added(self, x: Tensor, more: Tensor, name: str) -> Tensor:
        more = self._linear(self._rounded(more, f"{name}.dense"), f"{name}.dense")
        return self._norm(x + more, f"{name}.LayerNorm")

    def _rounded(self, x: Tensor, name: str) -> Tensor:
        step = self.weights.get(f"{name}.step")
        if step is None:
            return x
        return rounded(x * self.weights[f"{name}.evening"], step, self.weights[f"{name}.zero"])

    def _linear(self, x: Tensor, name: str) -> Tensor:
        return functional.linear(x, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def _norm(self, x: Tensor, name: str) -> Tensor:
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return functional.layer_norm(x, weight.shape, weight, bias, self.epsilon)
