"""Runs pictures through a network while the next pictures are decoded on threads.

``run_network`` yields the results of pictures; ``network_backbone`` makes an image backbone of a network.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from iconotext.errors import FeatureError, ImageError
from iconotext.features.backbone import ImageBackbone, ImageFeatures, Picture, Row, blank_features, filled
from iconotext.features.runtime import best_device
from iconotext.images import decode
from iconotext.system.threads import in_threads, on_cores

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PIL import Image as Pillow


P = TypeVar("P")  # one picture, as the network needs it

R = TypeVar("R")  # the network's result for one picture

SIDE = 512
"""Shorter side in pixels to which a picture may be reduced when it is decoded, before a model's own processing."""

AHEAD = 2
"""Batches that are decoded or waiting while one is computed; bounds memory."""

CPU_BATCH, GPU_BATCH = 16, 256
"""Pictures in a batch: enough to keep the processor busy, few enough to keep memory small."""

CORE_BATCH = 8
"""Pictures in a batch on one core, which fits its caches: in a batch of 32 each picture takes 1.6 times as long."""


def run_network(
    files: Sequence[Picture],
    prepare: Callable[[Pillow.Image], P],
    network: Callable[[list[P]], Sequence[R]],
    *,
    at_least: int,
    batch_size: int,
    cores: bool = False,
    threads: int | None = None,
) -> Generator[R | str, None, None]:
    """Yield the network's result for each picture, in order, or the reason why the picture cannot be read.

    Args:
        prepare: Turns an RGB picture into the network's input; runs on several threads.
        at_least: Shorter side in pixels that ``prepare`` needs; see ``decode``.
        cores: Whether each batch is decoded and computed on one core, several at once. Else the network runs on this
            thread, at most ``AHEAD`` batches behind decoding: for a GPU, and for networks that use several cores
            themselves.
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
    results = iter(network(good) if good else ())
    return [str(picture) if isinstance(picture, ImageError) else next(results) for picture in pictures]


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
    on_cpu: Callable[[], bool] = lambda: best_device().type == "cpu",
) -> ImageBackbone:
    """Make an image backbone out of a network, whichever library runs it.

    Args:
        network: Turns b inputs into arrays of b rows, named as in ``ImageFeatures``; its second argument tells whether
            regions are requested.
        cores: Whether on a CPU each batch is computed on one core; see ``run_network``.
        on_cpu: Tells whether the network runs on the CPU; called when the first picture has to be encoded.
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
            arrays = network(pixels, regions)
            return [{name: array[row] for name, array in arrays.items()} for row in range(len(pixels))]

        return filled(blank, run_network(files, prepare, rows, at_least=at_least, batch_size=size, cores=alone))

    return ImageBackbone(name, dim, encode, classes)
