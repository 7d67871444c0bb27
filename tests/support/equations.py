"""The equations of Li 2021 and Vaswani 2017 in numpy, one token after the other: oracles of the networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import erf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

Vector = NDArray[np.float64]
Weights = Mapping[str, Vector]


def weights_of(model: nn.Module) -> dict[str, Vector]:
    """The weights of a network as numbers, without its code."""
    return {name: value.detach().double().numpy() for name, value in model.state_dict().items()}


def norm(x: Vector, weights: Weights, name: str) -> Vector:
    """Layer norm (Ba 2016): mean 0 and variance 1, then scaled and moved."""
    scaled = (x - x.mean()) / sqrt(x.var() + 1e-5)
    return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def affine(x: Vector, weights: Weights, name: str) -> Vector:
    """W x + b."""
    return weights[f"{name}.weight"] @ x + weights[f"{name}.bias"]


def shares(scores: Sequence[float]) -> Vector:
    """Softmax."""
    exponents = np.exp(np.array(scores) - max(scores))
    return exponents / exponents.sum()


def layer(tokens: Sequence[Vector], weights: Weights, heads: int) -> list[Vector]:
    """A layer of Vaswani 2017: attention of every head and token, feed-forward with GELU, a norm behind each part."""
    dim = len(tokens[0])
    width = dim // heads
    read = [affine(token, weights, "inward") for token in tokens]
    seen = []
    for own in read:
        of_heads = []
        for head in range(heads):
            here = slice(head * width, (head + 1) * width)
            query = own[:dim][here]
            keys, values = [each[dim : 2 * dim][here] for each in read], [each[2 * dim :][here] for each in read]
            weight = shares([float(query @ key) / sqrt(width) for key in keys])
            of_heads.append(sum(w * value for w, value in zip(weight, values, strict=True)))
        seen.append(affine(np.concatenate(of_heads), weights, "outward"))
    attended = [norm(token + each, weights, "attended") for token, each in zip(tokens, seen, strict=True)]
    fed = []
    for token in attended:
        wide = affine(token, weights, "wide")
        gelu = np.array([x * (1 + erf(x / sqrt(2))) / 2 for x in wide])
        fed.append(norm(token + affine(gelu, weights, "narrow"), weights, "fed"))
    return fed


def pooled(tokens: Sequence[Vector], weights: Weights, layers: int, heads: int) -> Vector:
    """Unit vector of the mean behind all layers; without layers of the sum weighted by a linear layer's softmax."""
    for number in range(layers):
        start = f"transformer.layers.{number}."
        own = {name.removeprefix(start): value for name, value in weights.items() if name.startswith(start)}
        tokens = layer(tokens, own, heads)
    share = shares([float(affine(token, weights, "weight")[0]) for token in tokens]) if not layers else None
    total: Any = np.mean(tokens, axis=0) if share is None else sum(s * t for s, t in zip(share, tokens, strict=True))
    return np.asarray(total / np.linalg.norm(total))
