"""Pictures through a network: decoded on threads, a little ahead of the network that looks at them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from iconotext.errors import FeatureError, ImageError
from iconotext.features.backbone import ImageBackbone, ImageFeatures, Picture, Row, blank_features, filled
from iconotext.features.cores import in_threads, on_cores
from iconotext.features.device import on_gpu
from iconotext.images import decode

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PIL import Image as Pillow

P = TypeVar("P")  # one picture, ready for its network
R = TypeVar("R")  # what the network makes of it

AHEAD = 2
"""Batches that are decoded or waiting while one is computed; what bounds memory, however many pictures there are."""

CPU_BATCH, GPU_BATCH = 16, 256
"""Pictures in a batch: as many as keep the processor busy and memory small."""

CORE_BATCH = 8
"""Pictures in a batch on one core, which still fits its caches: in one of 32 each takes 1.6 times as long."""


def look_at(
    files: Sequence[Picture],
    prepare: Callable[[Pillow.Image], P],
    network: Callable[[list[P]], Sequence[R]],
    *,
    at_least: int,
    batch_size: int,
    cores: bool = False,
    threads: int | None = None,
) -> Generator[R | str, None, None]:
    """What a network makes of each picture, in order; of one that cannot be read, why.

    Args:
        files: Encoded pictures or where they are.
        prepare: From an RGB picture to what the network wants; runs on several threads.
        network: From some of these to as many results.
        at_least: Shorter side in pixels that ``prepare`` needs; see ``decode``.
        cores: Whether each batch is decoded and computed on one core, several at once. Else the network runs on this
            thread, at most ``AHEAD`` batches behind those that decode: for a GPU, and for networks of which we do not
            know better.
        threads: Threads, by default one a core.
    """
    ready = partial(_prepared, prepare=prepare, at_least=at_least)
    starts = range(0, len(files), batch_size)
    if cores:

        def work(start: int) -> list[R | str]:
            return _results(list(map(ready, files[start : start + batch_size])), network)

        with closing(on_cores(work, starts, cores=threads)) as batches:
            for batch in batches:
                yield from batch
        return
    with closing(in_threads(ready, files, threads=threads, ahead=batch_size * AHEAD + 1)) as pictures:
        for _ in starts:
            yield from _results(list(islice(pictures, batch_size)), network)


def _prepared(file: Picture, *, prepare: Callable[[Pillow.Image], P], at_least: int) -> P | ImageError:
    try:
        return prepare(decode(file, at_least=at_least))
    except ImageError as error:
        return error


def _results(pictures: list[P | ImageError], network: Callable[[list[P]], Sequence[R]]) -> list[R | str]:
    good = [picture for picture in pictures if not isinstance(picture, ImageError)]
    found = iter(network(good) if good else ())
    return [str(picture) if isinstance(picture, ImageError) else next(found) for picture in pictures]


def network_backbone(
    name: str,
    dim: int,
    prepare: Callable[[Pillow.Image], P],
    network: Callable[[list[P], bool], Mapping[str, NDArray[Any]]],
    *,
    at_least: int,
    classes: tuple[str, ...] | None = None,
    has_regions: bool = False,
    cores: bool = False,
    on_cpu: Callable[[], bool] = lambda: not on_gpu(),
) -> ImageBackbone:
    """An image backbone made of a network, whichever library runs it.

    Args:
        name: Identifies weights and processing.
        prepare: From a picture to what the network wants.
        network: From b of these, and whether regions are wanted, to arrays of b rows, named as in ``ImageFeatures``.
        at_least: Shorter side in pixels that ``prepare`` needs; see ``decode``.
        classes: Names of its classes; None without a classifier.
        has_regions: Whether it can tell regions apart.
        cores: Whether on a CPU each batch has a core of its own; see ``look_at``.
        on_cpu: Whether the network is on the CPU; asked when the first picture has to be encoded.
    """

    def encode(files: Sequence[Picture], *, regions: bool = False) -> ImageFeatures:
        if regions and not has_regions:
            raise FeatureError(f"{name}: this model knows no regions: use another backbone")
        blank = blank_features(len(files), dim, classes=len(classes or ()), regions=regions)
        if not files:
            return blank
        cpu = on_cpu()
        alone = cores and cpu
        size = CORE_BATCH if alone else CPU_BATCH if cpu else GPU_BATCH

        def rows(pixels: list[P]) -> list[Row]:
            found = network(pixels, regions)
            return [{name: array[row] for name, array in found.items()} for row in range(len(pixels))]

        return filled(blank, look_at(files, prepare, rows, at_least=at_least, batch_size=size, cores=alone))

    return ImageBackbone(name, dim, encode, classes)
