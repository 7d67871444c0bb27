"""Decode pictures on threads, a little ahead of the network that looks at them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from iconotext.errors import ImageError
from iconotext.features.backbone import ImageFeatures, Picture
from iconotext.features.cores import in_threads, on_cores
from iconotext.images import decode

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
) -> Generator[PixelBatch[P], None, None]:
    """Decode and prepare files in order, at most ``AHEAD`` batches beyond the one in use.

    Args:
        files: Encoded pictures or where they are.
        prepare: From an RGB picture to what the network wants; runs on the threads.
        at_least: Shorter side in pixels that ``prepare`` needs; see ``decode``.
        batch_size: Files in a batch; one with broken pictures holds fewer.
        threads: Threads that decode, by default one a core.
    """
    ready = partial(_prepared, prepare=prepare, at_least=at_least)
    results = in_threads(ready, files, threads=threads, ahead=batch_size * AHEAD + 1)
    try:
        for start in range(0, len(files), batch_size):
            yield _batch(start, islice(results, batch_size))
    finally:
        results.close()


def _prepared(file: Picture, *, prepare: Callable[[Pillow.Image], P], at_least: int) -> P | ImageError:
    try:
        return prepare(decode(file, at_least=at_least))
    except ImageError as error:
        return error


def _batch(start: int, results: Iterable[P | ImageError]) -> PixelBatch[P]:
    """What became of some files, by the position of the first."""
    batch: PixelBatch[P] = PixelBatch([], [], {})
    for row, result in enumerate(results, start):
        if isinstance(result, ImageError):
            batch.problems[row] = str(result)
        else:
            batch.rows.append(row)
            batch.pixels.append(result)
    return batch


Forward = Callable[[list[P]], Mapping[str, "NDArray[Any]"]]
"""From what ``prepare`` made of b pictures to arrays of b rows, named as in ``ImageFeatures``."""


def encode_ahead(blank: ImageFeatures, batches: Iterator[PixelBatch[P]], forward: Forward[P]) -> ImageFeatures:
    """Run a network over batches, on this thread: for a GPU, and for networks of which we do not know better.

    Args:
        blank: Features of all files, zero so far; its arrays are filled in place.
        batches: From ``pixel_batches``.
        forward: The network.
    """
    return _filled(blank, ((batch, forward(batch.pixels) if batch.rows else {}) for batch in batches))


def encode_on_cores(
    blank: ImageFeatures,
    files: Sequence[Picture],
    prepare: Callable[[Pillow.Image], P],
    forward: Forward[P],
    *,
    at_least: int,
    batch_size: int,
) -> ImageFeatures:
    """Decode, prepare and run a network, each batch on one core.

    Args:
        blank: Features of all files, zero so far; its arrays are filled in place.
        files: Encoded pictures or where they are.
        prepare: From an RGB picture to what the network wants.
        forward: The network; called on several threads at once.
        at_least: Shorter side in pixels that ``prepare`` needs; see ``decode``.
        batch_size: Files in a batch.
    """
    ready = partial(_prepared, prepare=prepare, at_least=at_least)

    def work(start: int) -> tuple[PixelBatch[P], Mapping[str, NDArray[Any]]]:
        batch = _batch(start, map(ready, files[start : start + batch_size]))
        return batch, forward(batch.pixels) if batch.rows else {}

    return _filled(blank, on_cores(work, range(0, len(files), batch_size)))


def _filled(blank: ImageFeatures, results: Iterable[tuple[PixelBatch[P], Mapping[str, NDArray[Any]]]]) -> ImageFeatures:
    problems = list(blank.problems)
    for batch, found in results:
        for row, problem in batch.problems.items():
            problems[row] = problem
        for name, array in blank.arrays().items():
            if batch.rows:
                array[batch.rows] = found[name]
    return replace(blank, problems=tuple(problems))
