"""BERT's forward pass with mean pooling, in plain PyTorch.

Importing transformers for its ``BertModel`` takes longer than most runs need for the sentences themselves.

Reference: Devlin et al., NAACL 2019; names of the weights as in transformers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor
from torch.nn import functional

from iconotext.errors import FeatureError


@dataclass(frozen=True, slots=True, eq=False)
class Bert:
    """A BERT encoder.

    Attributes:
        weights: By the names that transformers gives them, without a ``bert.`` in front.
        layers: Number of layers.
        heads: Number of attention heads.
        epsilon: Of the layer norms.
    """

    weights: Mapping[str, Tensor]
    layers: int
    heads: int
    epsilon: float

    def embed(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        """Mean of the last layer over each text's tokens, length 1.

        Args:
            ids: (n, t) int64 tokens, padded on the right with any token.
            mask: (n, t) bool, True for a real token; None where no text is padded.

        Returns:
            (n, dim).
        """
        x = self._tokens(ids)
        attended = None if mask is None else mask[:, None, None, :]  # (n, 1, 1, t): for each head and query
        for layer in range(self.layers):
            x = self._layer(x, attended, f"encoder.layer.{layer}")
        if mask is None:
            mean = x.mean(1)
        else:
            real = mask[:, :, None].to(x.dtype)
            mean = (x * real).sum(1) / real.sum(1)
        return functional.normalize(mean, dim=1)

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

    def _tokens(self, ids: Tensor) -> Tensor:
        w = self.weights
        x = functional.embedding(ids, w["embeddings.word_embeddings.weight"])
        x = x + w["embeddings.position_embeddings.weight"][: ids.shape[1]]
        x = x + w["embeddings.token_type_embeddings.weight"][0]  # every text is a first sentence
        return self._norm(x, "embeddings.LayerNorm")

    def _layer(self, x: Tensor, mask: Tensor | None, name: str) -> Tensor:
        query, key, value = (
            self._linear(x, f"{name}.attention.self.{part}").view(*x.shape[:2], self.heads, -1).transpose(1, 2)
            for part in ("query", "key", "value")
        )  # (n, heads, t, dim / heads)
        seen = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        seen = seen.transpose(1, 2).flatten(2)  # (n, t, dim)
        x = self._norm(x + self._linear(seen, f"{name}.attention.output.dense"), f"{name}.attention.output.LayerNorm")
        hidden = functional.gelu(self._linear(x, f"{name}.intermediate.dense"))
        return self._norm(x + self._linear(hidden, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def _linear(self, x: Tensor, name: str) -> Tensor:
        return functional.linear(x, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def _norm(self, x: Tensor, name: str) -> Tensor:
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return functional.layer_norm(x, weight.shape, weight, bias, self.epsilon)


def load_bert(weights: Path, config: Mapping[str, Any], device: str) -> Bert:
    """A BERT encoder from its safetensors file.

    Args:
        weights: The file.
        config: What ``config.json`` says.
        device: Where to put it.

    Raises:
        FeatureError: The file is no safetensors file, or its weights are not those that the config promises.
    """
    try:
        found = {name.removeprefix("bert."): tensor.float() for name, tensor in load_file(weights, device).items()}
    except (SafetensorError, OSError) as error:
        raise FeatureError(f"{weights}: not a readable safetensors file ({error}): fetch the model again") from error
    layers = int(config["num_hidden_layers"])
    heads = int(config["num_attention_heads"])
    epsilon = float(config["layer_norm_eps"])
    if f"encoder.layer.{layers - 1}.output.LayerNorm.bias" not in found:
        raise FeatureError(f"{weights}: fewer layers than the {layers} of its config.json: fetch the model again")
    bert = Bert(found, layers, heads, epsilon)
    try:
        bert.embed(torch.zeros((1, 1), dtype=torch.int64, device=device), None)
    except (RuntimeError, KeyError, IndexError) as error:
        said = " ".join(str(error).split())
        raise FeatureError(
            f"{weights}: not the weights that config.json says ({said}): fetch the model again"
        ) from error
    return bert
