"""How quickly the set similarities of a batch are had: the assignments against scipy, and growth with the batch.

    python benchmarks/similarity.py [--turns 15]

Prints Markdown tables. Things that are compared take turns in one process, and every figure is the median over the
turns; CPU time is that of all threads of the process. Vectors are random unit vectors; documents are 10 sentences by
10 images unless a table says else.

1. All B × B assignments of a batch, from the matrix of cosines to the chosen cells, against Python loops over
   ``scipy.optimize.linear_sum_assignment``: ``bare``, on cost matrices that lie ready, results dropped; ``same job``,
   from the matrix to the chosen cells. With a bound below 10 bare scipy solves the enlarged problems that we
   solve, or Volgenant's squares, whichever is faster, and ``same job`` makes these squares, too.
2. ``set_similarities``, forward and backward, for growing batches, cosines computed before; one thread.
3. The same with the product of 1024-d vectors before and the hinge with hard negatives after, one thread: what
   plain PyTorch was measured on before this program was begun (dense: 2.0 and 131 ms for 11 and 128 documents, on
   another machine of this kind).
4. The solver alone, ``lapjvh_batch`` of lapx, on ready cost matrices, one thread, against scipy's.
"""

from __future__ import annotations

import argparse
import itertools
import os
from collections.abc import Callable, Mapping
from typing import Any

import lap
import numpy as np
import torch
from costs import Row, in_turns, print_rows
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from torch import Tensor
from torch.nn.functional import normalize

from iconotext.objectives.contrastive import directions, hinge, sample_negatives
from iconotext.similarity.assignment import Links, assignment_cells
from iconotext.similarity.cells import LinkBound, axis_of, number_of_links
from iconotext.similarity.sets import set_similarities

BATCHES = (11, 128)
WAYS: Mapping[str, Mapping[str, Any]] = {
    "dense": {"kind": "dense"},
    "top-k, k half": {"kind": "top-k", "k": "half"},
    "assignment": {"kind": "assignment"},
    "assignment, k half": {"kind": "assignment", "k": "half"},
}

Matrices = NDArray[np.float64]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=15)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    tables = {
        "1. All assignments of a batch, µs a problem": assignments(arguments.turns),
        "2. Similarities from cosines, forward and backward": growth(arguments.turns, whole=False),
        "3. Product of 1024-d vectors, similarities, hinge and backward": growth(arguments.turns, whole=True),
        "4. Solvers, CPU µs a problem, 1024 of 10×10": solvers(arguments.turns),
    }
    for title, rows in tables.items():
        print_rows(title, rows)


def vectors(count: int, width: int = 64) -> Tensor:
    return normalize(torch.randn(count, width), dim=1)


def assignments(turns: int) -> list[Row]:
    rows: list[Row] = []
    for k, links in itertools.product(("min", "half"), ("exactly", "at-most")):
        rows += against_scipy(vectors(320) @ vectors(320).t(), 32, 10, k, links, turns)  # type: ignore[arg-type]
    return rows


def against_scipy(cosines: Tensor, batch: int, n: int, k: LinkBound, links: Links, turns: int) -> list[Row]:
    """One row for one thread, one for as many as there are cores."""
    sentences, images = axis_of([n] * batch, "sentences"), axis_of([n] * batch, "images")
    kept = number_of_links(k, sentences.counts, images.counts)
    bound, problems = int(kept[0, 0]), batch * batch
    matrix = cosines.double().numpy()
    blocks = matrix.reshape(batch, n, batch, n).transpose(0, 2, 1, 3).reshape(-1, n, n)
    gain = np.maximum(blocks, 0) if links == "at-most" else blocks
    ready = [wide(gain, bound), squares(gain, bound)] if bound < n else [np.ascontiguousarray(-gain)]

    def with_threads(threads: int) -> Callable[[], object]:
        def ours() -> None:
            torch.set_num_threads(threads)
            assignment_cells(cosines, sentences, images, k=k, links=links)

        return ours

    def bare(costs: Matrices) -> Callable[[], object]:
        return lambda: [linear_sum_assignment(cost) for cost in costs]

    def same_job() -> None:
        rows, columns = [], []
        for i in range(0, len(matrix), n):
            for j in range(0, matrix.shape[1], n):
                block = matrix[i : i + n, j : j + n]
                if links == "at-most":
                    block = np.maximum(block, 0)
                if bound < n:
                    row, column = linear_sum_assignment(squares(block[None], bound)[0])
                    real = (row < n) & (column < n)
                    row, column = row[real], column[real]
                else:
                    row, column = linear_sum_assignment(block, maximize=True)
                if links == "at-most":
                    positive = block[row, column] > 0
                    row, column = row[positive], column[positive]
                rows.append(row + i)
                columns.append(column + j)
        np.concatenate(rows) * matrix.shape[1] + np.concatenate(columns)

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    works = {f"ours {threads}": with_threads(threads) for threads in sorted({1, cores})}
    works |= {f"bare {number}": bare(costs) for number, costs in enumerate(ready)}
    works["same job"] = same_job
    taken = {name: (w / problems * 1e6, c / problems * 1e6) for name, (w, c) in in_turns(works, turns).items()}
    torch.set_num_threads(1)
    best = min((value for name, value in taken.items() if name.startswith("bare")), key=lambda value: value[1])
    job = taken["same job"]
    return [
        {
            "k": str(k),
            "links": links,
            "threads": str(threads),
            "ours, wall": taken[f"ours {threads}"][0],
            "ours, CPU": taken[f"ours {threads}"][1],
            "scipy bare, wall": best[0],
            "scipy bare, CPU": best[1],
            "scipy same job, wall": job[0],
            "scipy same job, CPU": job[1],
            "bare : ours, wall": best[0] / taken[f"ours {threads}"][0],
            "bare : ours, CPU": best[1] / taken[f"ours {threads}"][1],
            "same job : ours, wall": job[0] / taken[f"ours {threads}"][0],
            "same job : ours, CPU": job[1] / taken[f"ours {threads}"][1],
        }
        for threads in sorted({1, cores})
    ]


def wide(gain: Matrices, k: int) -> Matrices:
    """Costs with dummy columns, as ``iconotext.similarity.assignment`` makes them."""
    problems, rows, columns = gain.shape
    cost = np.zeros((problems, rows, rows - k + columns))
    cost[:, :, rows - k :] = 3 - gain
    return cost


def squares(gain: Matrices, k: int) -> Matrices:
    """Costs by Volgenant's transformation."""
    problems, n, m = gain.shape
    cost = np.zeros((problems, n + m - k, n + m - k))
    cost[:, :n, :m] = -gain
    cost[:, n:, m:] = np.inf
    return cost


def growth(turns: int, *, whole: bool) -> list[Row]:
    torch.set_num_threads(1)
    rows: list[Row] = []
    for batch in BATCHES:
        works = {name: (whole_step if whole else similarities_alone)(batch, how) for name, how in WAYS.items()}
        row: Row = {"documents": str(batch), "pairs": str(batch * batch)}
        for name, (wall, cpu) in in_turns(works, turns).items():
            row[f"{name}, wall ms"] = wall * 1e3
            row[f"{name}, CPU µs a pair"] = cpu / batch**2 * 1e6
        rows.append(row)
    return rows


def similarities_alone(batch: int, how: Mapping[str, Any]) -> Callable[[], object]:
    cosines = (vectors(batch * 10) @ vectors(batch * 10).t()).requires_grad_()
    counts = [10] * batch

    def work() -> None:
        cosines.grad = None
        set_similarities(cosines, counts, counts, **how).sum().backward()  # type: ignore[no-untyped-call]

    return work


def whole_step(batch: int, how: Mapping[str, Any]) -> Callable[[], object]:
    sentences, images = vectors(batch * 10, 1024).requires_grad_(), vectors(batch * 10, 1024).requires_grad_()
    counts = [10] * batch
    masks = sample_negatives(batch, batch, None, torch.Generator())

    def work() -> None:
        sentences.grad = images.grad = None
        similarities = set_similarities(sentences @ images.t(), counts, counts, **how)
        losses = hinge(similarities.diagonal(), directions(similarities, *masks), negatives="hardest")
        losses.mean().backward()  # type: ignore[no-untyped-call]

    return work


def solvers(turns: int) -> list[Row]:
    costs = np.random.default_rng(0).uniform(-1, 1, (1024, 10, 10))
    works: dict[str, Callable[[], object]] = {
        "lapjvh_batch": lambda: lap.lapjvh_batch(costs, True, return_cost=False, n_threads=1, output="pairs"),
        "loop over scipy": lambda: [linear_sum_assignment(cost) for cost in costs],
    }
    taken = in_turns(works, max(3, turns // 3))
    return [{name: cpu / len(costs) * 1e6 for name, (_, cpu) in taken.items()}]


if __name__ == "__main__":
    main()
