"""Decode pictures on threads, a little ahead of the network that looks at them."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from iconotext.errors import PictureError
from iconotext.features.backbone import ImageFeatures, Picture
from iconotext.read.images import decode

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PIL import Image as Pillow

P = TypeVar("P")  # one picture, ready for its network

AHEAD = 2
"""Batches that are decoded or waiting while one is computed; what bounds memory, however many pictures there are."""


@dataclass(frozen=True, slots=True, eq=False)
class PixelBatch(Generic[P]):
    """Some pictures that are ready for the network.

    Attributes:
        rows: Their positions among all files.
        pixels: What ``prepare`` made of each.
        problems: Position and problem of those that could not be read.
    """

    rows: list[int]
    pixels: list[P]
    problems: dict[int, str]


def pixel_batches(
    files: Sequence[Picture],
    prepare: Callable[[Pillow.Image], P],
    *,
    at_least: int,
    batch_size: int,
    threads: int | None = None,
) -> Iterator[PixelBatch[P]]:
    """Decode and prepare files in order, at most ``AHEAD`` batches beyond the one in use.

    Args:
        files: Encoded pictures or where they are.
        prepare: From an RGB picture to what the network wants; runs on the threads.
        at_least: Shorter side in pixels that ``prepare`` needs; see ``decode``.
        batch_size: Files in a batch; one with broken pictures holds fewer.
        threads: Threads that decode, by default one a core.
    """

    def ready(file: Picture) -> P | PictureError:
        try:
            return prepare(decode(file, at_least=at_least))
        except PictureError as error:
            return error

    pool = ThreadPoolExecutor(threads or os.cpu_count() or 1, thread_name_prefix="iconotext-decode")
    waiting: deque[tuple[int, Future[P | PictureError]]] = deque()
    to_do = iter(enumerate(files))
    try:
        while True:
            for row, file in islice(to_do, batch_size * (1 + AHEAD) - len(waiting)):
                waiting.append((row, pool.submit(ready, file)))
            if not waiting:
                return
            yield _gather([waiting.popleft() for _ in range(min(batch_size, len(waiting)))])
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _gather(futures: Sequence[tuple[int, Future[P | PictureError]]]) -> PixelBatch[P]:
    batch: PixelBatch[P] = PixelBatch([], [], {})
    for row, future in futures:
        result = future.result()
        if isinstance(result, PictureError):
            batch.problems[row] = str(result)
        else:
            batch.rows.append(row)
            batch.pixels.append(result)
    return batch


def encode_pictures(
    blank: ImageFeatures,
    batches: Iterator[PixelBatch[P]],
    forward: Callable[[list[P]], Mapping[str, NDArray[Any]]],
) -> ImageFeatures:
    """Run a network over batches.

    Args:
        blank: Features of all files, zero so far; its arrays are filled in place.
        batches: From ``pixel_batches``.
        forward: From what ``prepare`` made of b pictures to arrays of b rows, named as in ``ImageFeatures``.
    """
    problems = list(blank.problems)
    arrays: Mapping[str, NDArray[Any]] = blank.arrays()
    for batch in batches:
        for row, problem in batch.problems.items():
            problems[row] = problem
        if batch.rows:
            found = forward(batch.pixels)
            for name, array in arrays.items():
                array[batch.rows] = found[name]
    return replace(blank, problems=tuple(problems))
