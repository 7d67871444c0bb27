"""The set similarities written another way: a loop over pairs, Python lists, every matching tried."""

from __future__ import annotations

import math
from itertools import combinations, permutations
from typing import Any

import torch

from iconotext.objectives.contrastive import directions


def contrasted(objective: Any, similarities: Any, *masks: Any, own: Any = None, **settings: Any) -> Any:
    """An objective of the first documents, compared with all of them; ``own`` replaces the diagonal."""
    own = similarities.diagonal()[: len(masks[0])] if own is None else own
    return objective(own, directions(similarities, *masks), **settings)


def blocks(matrix: Any, sentence_counts: Any, image_counts: Any) -> list[list[Any]]:
    rows = torch.split(matrix, list(sentence_counts))
    return [list(torch.split(row, list(image_counts), dim=1)) for row in rows]


def bound(k: Any, n: int, m: int) -> int:
    return {"min": min(n, m), "half": math.ceil(min(n, m) / 2)}.get(k) or min(k, n, m)


def dense(block: Any, k: Any = None) -> float:
    block = block.tolist()
    return top(block, len(block)) + top(list(zip(*block, strict=True)), len(block[0]))


def top_k(block: Any, k: Any) -> float:
    number = bound(k, *block.shape)
    block = block.tolist()
    return top(block, number) + top(list(zip(*block, strict=True)), number)


def top(rows: Any, k: int) -> float:
    return sum(sorted((max(row) for row in rows), reverse=True)[:k]) / k


def matchings(n: int, m: int, k: int) -> Any:
    """Every set of exactly k links."""
    for rows in combinations(range(n), k):
        for columns in permutations(range(m), k):
            yield list(zip(rows, columns, strict=True))


def best_matching(block: Any, k: int, links: str) -> tuple[float, list[tuple[int, int]]]:
    """Largest sum, and its links; ``at-most`` tries every number of links from none."""
    sizes = [k] if links == "exactly" else range(k + 1)
    values = block.tolist()
    tried = (cells for size in sizes for cells in matchings(len(values), len(values[0]), size))
    best = max(tried, key=lambda cells: sum(values[i][j] for i, j in cells))
    return sum(values[i][j] for i, j in best), best


def assignment(block: Any, k: Any, links: str) -> float:
    total, cells = best_matching(block, bound(k, *block.shape), links)
    return total / len(cells) if cells else 0.0
