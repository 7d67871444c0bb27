"""Chooses the runtime of the encoders in the package: onnxruntime, or PyTorch if it can use a GPU.

``chosen_runtime`` makes the choice, ``open_graph`` opens an ONNX graph, ``best_device`` is the device of PyTorch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from iconotext.errors import FeatureError, one_line

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray


def best_device() -> torch.device:
    """Return the first GPU that CUDA offers, else the CPU."""
    import torch

    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@contextmanager
def full_precision(device: torch.device) -> Iterator[None]:
    """Run without gradients and in full float32.

    A GPU's convolutions would otherwise round to 10 bits (TF32), and results in a shared cache would differ between
    machines.
    """
    import torch

    exact = torch.backends.cudnn.flags(enabled=True, benchmark=False, allow_tf32=False)
    with torch.inference_mode(), exact if device.type == "cuda" else nullcontext():
        yield


RUNTIMES = ("auto", "onnx", "torch")
VARIABLE = "ICONOTEXT_RUNTIME"
WEIGHTS = "weights.safetensors"


def chosen_runtime() -> Literal["onnx", "torch"]:
    """Return the runtime that ``ICONOTEXT_RUNTIME`` names; by default ``torch`` if it can use a GPU, else ``onnx``."""
    name = os.environ.get(VARIABLE) or "auto"
    if name not in RUNTIMES:
        raise FeatureError(f"{VARIABLE} is {name!r}: it must be one of {', '.join(RUNTIMES)}")
    if name == "torch":
        if find_spec("torch") is None:
            raise FeatureError("the runtime torch is not installed: pip install 'iconotext[train]'")
        return "torch"
    return "torch" if name == "auto" and _has_gpu() else "onnx"


@cache
def _has_gpu() -> bool:
    """Tell whether PyTorch finds a GPU; without a GPU driver PyTorch is not imported, since that takes long."""
    if not any(map(os.path.exists, ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd"))) or find_spec("torch") is None:
        return False
    import torch

    return torch.cuda.is_available()


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """An open ONNX graph; it may be called from any number of threads, each of which computes alone.

    Attributes:
        inputs: Each input's name, with the name of its type ("tensor(int64)") and its sides; a side that may have any
            length is a text or None.
        outputs: Names of the outputs.
        run: Computes outputs, by their names, from arrays by the names of the inputs.
    """

    inputs: Mapping[str, tuple[str, tuple[int | str | None, ...]]]
    outputs: tuple[str, ...]
    run: Callable[[list[str], dict[str, NDArray[Any]]], list[NDArray[Any]]]

    def __call__(self, **inputs: NDArray[Any]) -> NDArray[Any]:
        """Compute the first output."""
        return self.run([self.outputs[0]], inputs)[0]


def open_graph(path: Path, advice: str = "install iconotext again") -> Graph:
    """Open an ONNX graph.

    Args:
        advice: What to do if it cannot be opened; the end of the error message.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read when onnxruntime is imported; without it, it sends telemetry
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.enable_cpu_mem_arena = False  # it would keep the memory of the largest batch, for each thread
    options.log_severity_level = 3  # errors only
    try:
        session = onnxruntime.InferenceSession(os.fspath(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors have no common base class
        raise FeatureError(f"{path}: cannot be opened ({one_line(error)}): {advice}") from error
    inputs = {entry.name: (entry.type, tuple(entry.shape)) for entry in session.get_inputs()}
    return Graph(inputs, tuple(entry.name for entry in session.get_outputs()), session.run)
