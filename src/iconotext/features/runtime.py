"""Chooses what runs the encoders in the package: onnxruntime, or PyTorch if there is a GPU for it."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from functools import cache, partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from iconotext.errors import FeatureError, ImageError
from iconotext.features.backbone import ImageBackbone, ImageFeatures, Picture, Row, blank_features, filled
from iconotext.images import decode
from iconotext.system.threads import in_threads, on_cores

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray
    from PIL import Image as Pillow


def best_device() -> torch.device:
    """The first GPU that CUDA offers, else the CPU."""
    import torch

    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@contextmanager
def looking(device: torch.device) -> Iterator[None]:
    """Run without gradients and in full float32.

    A GPU's convolutions would otherwise round to 10 bits (TF32), and results in a shared cache would differ between
    machines.
    """
    import torch

    exact = torch.backends.cudnn.flags(enabled=True, benchmark=False, allow_tf32=False)
    with torch.inference_mode(), exact if device.type == "cuda" else nullcontext():
        yield


def on_gpu() -> bool:
    """Whether ``best_device`` is a GPU."""
    return best_device().type == "cuda"


RUNTIMES = ("auto", "onnx", "torch")
VARIABLE = "ICONOTEXT_RUNTIME"
WEIGHTS = "weights.safetensors"


def chosen_runtime() -> Literal["onnx", "torch"]:
    """The runtime that ``ICONOTEXT_RUNTIME`` names; by default ``torch`` if there is a GPU for it, else ``onnx``.

    Raises:
        FeatureError: The variable names no runtime, or one that is not installed.
    """
    wanted = os.environ.get(VARIABLE) or "auto"
    if wanted not in RUNTIMES:
        raise FeatureError(f"{VARIABLE} is {wanted!r}: it must be one of {', '.join(RUNTIMES)}")
    if wanted == "torch":
        if find_spec("torch") is None:
            raise FeatureError("the runtime torch is not installed: pip install 'iconotext[train]'")
        return "torch"
    return "torch" if wanted == "auto" and _has_gpu() else "onnx"


@cache
def _has_gpu() -> bool:
    """Whether PyTorch finds a GPU; without a GPU driver PyTorch is not imported."""
    if not any(map(os.path.exists, ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd"))) or find_spec("torch") is None:
        return False
    import torch

    return torch.cuda.is_available()


def encoder_folder(name: str) -> Path:
    """The folder of an encoder in the package."""
    return Path(__file__).parents[1] / "models" / name


def open_graph(path: Path) -> Callable[..., NDArray[Any]]:
    """Open an ONNX graph; it may be called from any number of threads, each of which computes alone.

    Args:
        path: The file, with its weights beside it.

    Returns:
        A function from the graph's inputs, by name, to its single output.

    Raises:
        FeatureError: The file is damaged.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read when onnxruntime is imported; without it, it sends telemetry
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.enable_cpu_mem_arena = False  # it would keep the memory of the largest batch, for each thread
    options.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(os.fspath(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors have no common base class
        said = " ".join(str(error).split())
        raise FeatureError(f"{path}: cannot be opened ({said}): install iconotext again") from error

    def run(**given: NDArray[Any]) -> NDArray[Any]:
        found: NDArray[Any] = session.run(None, given)[0]
        return found

    return run


P = TypeVar("P")  # one picture, as the network needs it
R = TypeVar("R")  # the network's result for one picture

AHEAD = 2
"""Batches that are decoded or waiting while one is computed; bounds memory."""

CPU_BATCH, GPU_BATCH = 16, 256
"""Pictures in a batch: enough to keep the processor busy, few enough to keep memory small."""

CORE_BATCH = 8
"""Pictures in a batch on one core, which fits its caches: in a batch of 32 each picture takes 1.6 times as long."""


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
    """Yield the network's result for each picture, in order, or why the picture cannot be read.

    Args:
        files: Encoded pictures or their files.
        prepare: From an RGB picture to the network's input; runs on several threads.
        network: From a batch of inputs to as many results.
        at_least: Shorter side in pixels that ``prepare`` needs; see ``decode``.
        cores: Whether each batch is decoded and computed on one core, several at once. Else the network runs on this
            thread, at most ``AHEAD`` batches behind decoding: for a GPU, and for networks of which nothing better is
            known.
        threads: Default: one per core.
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
    """Make an image backbone out of a network, whichever library runs it.

    Args:
        name: Identifies weights and processing.
        prepare: From a picture to the network's input.
        network: From b inputs, and whether regions are wanted, to arrays of b rows, named as in ``ImageFeatures``.
        at_least: Shorter side in pixels that ``prepare`` needs; see ``decode``.
        classes: Names of its classes; None without a classifier.
        has_regions: Whether it can return regions.
        cores: Whether on a CPU each batch is computed on one core; see ``look_at``.
        on_cpu: Whether the network runs on the CPU; called when the first picture has to be encoded.
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
