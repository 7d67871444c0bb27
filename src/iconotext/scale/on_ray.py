"""The engine for many machines: a Ray task for each shard (``OnRay``).

Ray starts processes, counts cores, and notices when a process dies; ``scale.engine`` decides which items to try again.
"""

from __future__ import annotations

import logging
import os
import pickle
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache, partial
from importlib import import_module
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any, Generic

from iconotext import __version__
from iconotext.errors import IconotextError
from iconotext.extras import require
from iconotext.scale.engine import Item, Outcome, Work, answer, prepared
from iconotext.system.threads import environment, thread_shares, usable_cores

STORE = 80 * 2**20
"""Bytes of Ray's object store on this machine. It is not used here; this is the smallest size that Ray allows."""

VARIABLES = {
    "RAY_USAGE_STATS_ENABLED": "0",  # no statistics to Ray's makers
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # a task may use its machine's GPU, as a local process may
}

PASSED_ON = ("ICONOTEXT_RUNTIME",)
"""Environment variables that change the behaviour of a worker, passed to the tasks."""


class OnRay(Generic[Item]):
    """An engine of Ray tasks, on a cluster or on this machine. See ``Engine``.

    Args:
        work: The work on each item. On a cluster, it must find the same files on every machine.
        address: Address of a cluster; default: ``RAY_ADDRESS``, else a new cluster on this machine.
        workers: Tasks at a time; None for all cores of the cluster, whose number may change.
        memory: Bytes of address space that a process may take in addition to the needs of the prepared work.

    Raises:
        IconotextError: The cluster cannot be reached, or its machines lack a package or file.
    """

    def __init__(self, work: Work[Item, Any], *, address: str | None, workers: int | None, memory: int) -> None:
        require("scale", purpose="the engine ray")
        if (module := sys.modules.get("ray")) is not None and module.is_initialized():
            raise IconotextError("this program is connected to Ray already: call ray.shutdown() first")
        address = address or os.environ.get("RAY_ADDRESS") or "local"
        self._scratch: TemporaryDirectory[str] | None = None
        settings: dict[str, Any] = {}
        if address == "local":
            workers = workers or usable_cores()
            variables = VARIABLES | thread_shares(workers)
            self._scratch = TemporaryDirectory(prefix="iconotext-", ignore_cleanup_errors=True)
            variables["TMPDIR"] = self._scratch.name  # deleted at the end, with the files of killed processes
            settings |= {"num_cpus": workers, "object_store_memory": STORE, "include_dashboard": False}
            settings["_temp_dir"] = self._scratch.name
        else:
            _reach(address)
            variables = VARIABLES | dict.fromkeys(thread_shares(1), "1")
        variables |= {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        with environment(VARIABLES | (_private() if address == "local" else {})):
            import ray

            _read_anew()
            _let_speak(False)
            settings |= {"address": address, "runtime_env": {"env_vars": variables}}
            try:
                ray.init(**settings, log_to_driver=False, logging_level=logging.ERROR)
            except Exception as error:  # Ray raises errors of many types, bare ``Exception`` if a machine is too busy
                self.close()
                raise IconotextError(f"Ray ({address}): {' '.join(str(error).split())}") from error
            except BaseException:  # an interruption from the keyboard
                self.close()
                raise
        self._ray, self._workers = ray, workers
        self._tasks: dict[Any, Item] = {}
        self._any_finished = False
        # Tasks, not actors: Ray keeps processes by itself, and waiting tasks are what an autoscaler looks at. Ray must
        # not retry, since it would not count a shard that kills its process; ``worked`` does.
        task = ray.remote(num_cpus=1, max_retries=0)(_answered)
        self._begin = partial(task.remote, pickle.dumps(work), memory, __version__, os.getcwd())

    def room(self) -> int:
        """See ``Engine``."""
        # Twice the cores: from waiting tasks Ray sees that more machines would help.
        resources = self._ray.cluster_resources()  # type: ignore[no-untyped-call]  # Ray leaves it so
        return self._workers or max(2, 2 * int(resources.get("CPU", 1)))

    def give(self, item: Item, /) -> None:
        """See ``Engine``."""
        self._tasks[self._begin(item)] = item

    def answers(self) -> Iterator[tuple[Item, Outcome, Any]]:
        """See ``Engine``."""
        errors = self._ray.exceptions
        for task in self._ray.wait(list(self._tasks))[0]:
            item = self._tasks.pop(task)
            try:
                outcome, value = self._ray.get(task)
                self._any_finished = True
            except errors.RayTaskError as error:  # the work could not be prepared
                outcome, value = "error", IconotextError(f"a machine of the cluster cannot do the work: {error.cause}")
            except errors.RayError as error:  # of its long message, the first line names the cause
                value = f"its process was lost ({str(error).strip().splitlines()[0].rstrip('.')})"
                outcome = "failed" if self._any_finished or self._can_begin() else "unready"
            yield item, outcome, value

    def _can_begin(self) -> bool:
        """Whether a process survives the preparation of the work."""
        try:
            self._ray.get(self._begin(None))
        except self._ray.exceptions.RayTaskError:  # the items will report the same error
            return True
        except self._ray.exceptions.RayError:
            return False
        return True

    def close(self) -> None:
        """See ``Engine``."""
        import ray

        ray.shutdown()  # also stops running tasks
        _let_speak(True)
        if self._scratch:
            self._scratch.cleanup()


def _private() -> dict[str, str]:
    """Environment variables for a new cluster: only clients with its secret token, stored in no file, can connect.

    Its ports are open to other machines, whatever its address.
    """
    return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token_hex(32)}


def _read_anew() -> None:
    """Make Ray read its variables again: it caches mode and token of the first cluster that a process connected to.

    Another cluster would get the old token and refuse with ``InvalidAuthToken``.
    """
    inner: Any = import_module("ray._raylet")  # as Ray does after it made a token
    inner.Config.initialize("")
    inner.AuthenticationTokenLoader.instance().reset_cache()


def _let_speak(may: bool) -> None:
    """Allow or forbid Ray to print events to standard output, from which programs read our JSON."""
    inner: Any = import_module("ray._private.worker")
    inner._worker_logs_enabled = may


def _reach(address: str) -> None:
    """Test the connection first: Ray would wait a minute for a missing cluster, and then end the program."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdigit():  # Ray finds such an address itself
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except OSError as error:
        raise IconotextError(f"{address}: no cluster of Ray answers there: {error.strerror or error}") from error


def _answered(work: bytes, memory: int, version: str, folder: str, item: Any) -> tuple[Outcome, Any]:
    """Body of a task; without an item it only prepares the work."""
    try:
        prepared = _prepared(work, memory, version, folder)
    except IconotextError as error:
        return "error", error
    return ("done", None) if item is None else answer(prepared, item, memory)


@lru_cache(maxsize=1)
def _prepared(pickled: bytes, memory: int, version: str, folder: str) -> Work[Any, Any]:
    if version != __version__:
        raise IconotextError(f"a machine of the cluster has iconotext {__version__}, and this one {version}")
    with suppress(OSError):  # relative paths mean the same as on the first machine; with a store it does not matter
        os.chdir(folder)
    work: Work[Any, Any] = pickle.loads(pickled)
    prepared(work, memory)
    return work
