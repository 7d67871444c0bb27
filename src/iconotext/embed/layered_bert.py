"""BERT, looked at layer by layer."""

from __future__ import annotations

import torch
from torch import Tensor

from iconotext.features.bert import Bert


class LayeredBert(Bert):
    """A BERT encoder that gives what each of its layers made of a text."""

    __slots__ = ()

    def layer_means(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Mean over each text's tokens of the embeddings and of every layer.

        Args:
            ids: (n, t) int64 tokens, padded on the right with any token.
            mask: (n, t) bool, True for a real token; at least one in each row.

        Returns:
            (n, (layers + 1) * dim), the embeddings first.
        """
        real = mask[:, :, None].to(torch.float32)
        count = real.sum(1)
        x = self._tokens(ids)
        means = [(x * real).sum(1) / count]
        for layer in range(self.layers):
            x = self._layer(x, mask[:, None, None, :], f"encoder.layer.{layer}")
            means.append((x * real).sum(1) / count)
        return torch.cat(means, dim=1)
