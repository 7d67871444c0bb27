"""Training in one process, which needs only PyTorch, or in several by Lightning Fabric, whose import takes a second."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from iconotext import errors
from iconotext.errors import IconotextError, SettingError, TrainingError
from iconotext.extras import require
from iconotext.system.processes import end_with_parent
from iconotext.system.threads import environment, in_background

if TYPE_CHECKING:
    from lightning_fabric import Fabric
    from torch import Tensor

    from iconotext.encoders.joint_model import JointModel
    from iconotext.recipe import TrainingSettings


ATTEMPTS = 5
"""Number of attempts to start several processes if their port is taken: Fabric chooses a free port and releases it, and
on a busy machine the first process opens it many seconds later, when another program may have it."""

LOGGERS = ("lightning_fabric", "lightning.fabric", "torch.multiprocessing.spawn")
"""Loggers of Lightning Fabric, under either name of its package, and of PyTorch's process starter."""


class Watcher(Protocol):
    """Shows the progress of a run to the user."""

    def step(self, epoch: int, step: int, steps: int, loss: float) -> None:
        """Called after each step."""

    def epoch(self, row: dict[str, float | None]) -> None:
        """Called after each epoch, with its row of the log."""


class OneProcess:
    """Stands in for ``Fabric`` in a run with only this process, on the GPU if there is one."""

    global_rank, world_size = 0, 1

    def __init__(self, settings: TrainingSettings) -> None:
        import torch

        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self._half = settings.precision == "bf16"

    def setup_module(self, model: JointModel) -> Callable[..., Any]:
        """Move the model to the device, and return a function that calls it in the recipe's precision."""
        import torch

        model.to(self.device)
        if not self._half:
            return model

        def forward(*inputs: Any, **kwargs: Any) -> Any:
            with torch.autocast(self.device.type, torch.bfloat16):
                return model(*inputs, **kwargs)

        return forward

    def backward(self, loss: Tensor) -> None:
        """Compute gradients; several processes average theirs."""
        loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped

    def broadcast(self, number: float) -> float:
        """Return the number of the first process, which is this one."""
        return number


Processes: TypeAlias = "OneProcess | Fabric"
"""A process of a run, with its access to the others."""


def launch(work: Callable[..., None], settings: TrainingSettings, watcher: Watcher | None, *arguments: Any) -> None:
    """Run ``work(processes, watcher, *arguments)`` in each of the recipe's processes.

    PyTorch starts them, not ``system.processes``: they are peers that average gradients, each with a GPU.

    Args:
        work: A function of a module, since other processes import it by name.
        settings: Number of processes: on GPUs if there are any, else on the CPU.
        watcher: Called in this process with the reports of the first of the other processes.
        arguments: Further arguments of ``work``; they must be picklable if there are several processes.
    """
    import torch

    if settings.devices == 1:
        work(OneProcess(settings), watcher, *arguments)
        return
    gpus = torch.cuda.device_count()
    if gpus and settings.devices > gpus:
        raise SettingError(f"training.devices is {settings.devices}; there are {gpus} GPUs")
    require("train", "lightning_fabric", purpose="training in several processes")
    with _quiet():
        from lightning_fabric import Fabric
        from torch.multiprocessing.spawn import ProcessExitedException, ProcessRaisedException

        threads = max(1, torch.get_num_threads() // settings.devices) if not gpus else torch.get_num_threads()
        with _relay(watcher) as queue:
            for attempt in range(1, ATTEMPTS + 1):
                fabric = Fabric(
                    accelerator="cuda" if gpus else "cpu",
                    devices=settings.devices,
                    strategy="ddp_spawn",
                    precision="bf16-mixed" if settings.precision == "bf16" else "32-true",
                )
                try:
                    with environment({}, "MASTER_PORT"):  # else later runs in this process would use the same port
                        fabric.launch(_in_process, _Silence(), work, queue, threads, arguments)  # type: ignore[arg-type]  # Fabric passes on more than it declares
                    break
                except ProcessRaisedException as error:
                    if attempt == ATTEMPTS or "EADDRINUSE" not in str(error):
                        raise _original(error) from error
                except ProcessExitedException as error:
                    raise TrainingError(f"one of the {settings.devices} processes ended: {error}") from error


def _in_process(
    fabric: Fabric, silence: _Silence, work: Callable[..., None], queue: Any, threads: int, arguments: tuple[Any, ...]
) -> None:
    import torch

    end_with_parent()
    torch.set_num_threads(threads)
    with _quiet():
        reports = queue is not None and fabric.global_rank == 0
        work(fabric, Forwarded(queue.put) if reports else None, *arguments)


class _Silence:
    """Silences Lightning in a process as soon as it is unpickled there, before Fabric prints anything."""

    def __reduce__(self) -> tuple[Callable[[], _Silence], tuple[()]]:
        return _silenced, ()


def _silenced() -> _Silence:
    warnings.simplefilter("ignore")
    import lightning_fabric  # noqa: F401 - it sets the level when it is imported

    for name in LOGGERS:
        logging.getLogger(name).setLevel(logging.ERROR)
    return _Silence()


class Forwarded:
    """A watcher in another process: it sends each call as the name of its method, and its arguments.

    Args:
        send: Called with this pair.
        every: Least number of seconds between two steps that are sent.
    """

    def __init__(self, send: Callable[[tuple[str, tuple[Any, ...]]], object], every: float = 0.0) -> None:
        self._send, self._every, self._next = send, every, 0.0

    def step(self, epoch: int, step: int, steps: int, loss: float) -> None:
        """See ``Watcher``."""
        if (now := time.monotonic()) >= self._next:
            self._next = now + self._every
            self._send(("step", (epoch, step, steps, loss)))

    def epoch(self, row: dict[str, float | None]) -> None:
        """See ``Watcher``."""
        self._send(("epoch", (dict(row),)))


@contextmanager
def _relay(watcher: Watcher | None) -> Iterator[Any]:
    """Make a queue from which a thread passes messages to the watcher; None without a watcher."""
    if watcher is None:
        yield None
        return
    import torch.multiprocessing

    queue = torch.multiprocessing.get_context("spawn").Queue()

    def listen() -> None:
        while (message := queue.get()) is not None:
            getattr(watcher, message[0])(*message[1])

    listener = in_background(listen)
    patience: float | None = 10  # a process that was killed while writing leaves a queue without an end
    try:
        yield queue
        patience = None  # no process was killed: wait for all messages
    finally:
        queue.put(None)
        listener.join(patience)
        queue.close()


def _original(error: Exception) -> Exception:
    """Make the error with which a process ended, of which only the text is available."""
    last = str(error).strip().splitlines()[-1]
    name, _, message = last.removeprefix("iconotext.errors.").partition(": ")
    kind = getattr(errors, name, None)
    if isinstance(kind, type) and issubclass(kind, IconotextError):
        return kind(message)
    return TrainingError(f"one of the processes failed: {last}")


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence Lightning and PyTorch, here and in processes that are started."""
    loggers = [logging.getLogger(name) for name in LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with environment({"PYTHONWARNINGS": "ignore"}), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
