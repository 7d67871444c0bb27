"""A worker process that reads untrusted files with a limit on memory and time.

It is not a process of ``system.processes``: those import our modules before their work, and this one must start fast
and get bytes of pictures through pipes of its own size.

A few hundred bytes can make a reader fill all memory (a PDF whose forms draw each other twice, aliases in YAML, an
image that says it is small), which nothing inside the process can stop, and native code can crash it. So one worker
process, started with the first file and kept for later ones, reads one file at a time. It ends when its input ends, and
so with the main process, even if that is killed.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import IO, Any, BinaryIO, ParamSpec, TypeVar

from iconotext.errors import IconotextError

P = ParamSpec("P")
Result = TypeVar("Result")

_START = "import gc; gc.set_threshold(50_000); from iconotext.system.worker import work; work()"
"""Program of the worker; rare garbage collection during imports saves a fifth of their time."""

CLOCK = 10 if hasattr(signal, "setitimer") else 1
"""The clock may show this many times a call's seconds: on a busy machine, most of them are other programs' work."""

_lock = threading.Lock()


@dataclass(slots=True, eq=False)
class _Worker:
    """The worker process, with the pipes for questions and answers, and whether it has answered yet."""

    process: subprocess.Popen[bytes]
    questions: IO[bytes]
    answers: IO[bytes]
    ready: bool = False


_worker: _Worker | None = None
_workers_of_parent: list[_Worker | None] = []  # kept, but not used, by a process forked from ours


class LimitError(Exception):
    """The work exceeded its memory or time, or ended the worker."""


def run_isolated(
    function: Callable[P, Result], memory: int, seconds: float, /, *arguments: P.args, **options: P.kwargs
) -> Result:
    """Call a function in the worker process.

    Args:
        function: Of a module, so that the worker can import it.
        memory: Further bytes that the worker may take, if the system can limit it (Linux).
        seconds: Time limit, after which the worker is killed: seconds of the processor, and ``CLOCK`` times as many of
            the clock.
        arguments: They, the result and errors of the function must be picklable.
        options: Keyword arguments of the function.

    Raises:
        LimitError: The call exceeded its memory or time, or ended the worker.
        IconotextError: The worker cannot be started.
    """
    with _lock:
        answer = _ask((function, arguments, options, memory, seconds, _folder()), seconds)
    if answer is None:
        raise LimitError
    good, value = answer
    if not good:
        raise value
    result: Result = value
    return result


def _folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # deleted
        return None


def _ask(question: object, seconds: float) -> tuple[bool, Any] | None:
    """Return the worker's answer; None if it ended instead of answering."""
    # Pickled as a whole first: an argument without a pickle must not leave half a question in the pipe.
    message = pickle.dumps(question, protocol=pickle.HIGHEST_PROTOCOL)
    worker = _running_worker()
    timer = threading.Timer(CLOCK * seconds, worker.process.kill)
    timer.daemon = True
    timer.start()
    try:
        worker.questions.write(message)
        worker.questions.flush()
        answer: tuple[bool, Any] = pickle.load(worker.answers)
        return answer
    except (EOFError, OSError, pickle.UnpicklingError):
        close_worker()
        return None
    except BaseException:  # Ctrl-C leaves half an answer behind
        close_worker()
        raise
    finally:
        timer.cancel()


def start_worker(*modules: str) -> None:
    """Start the worker in the background before a file is read, since starting takes a fifth of a second.

    It imports ``modules`` at once, since the first question will probably need them.
    """
    with _lock:
        _started_worker(modules)


def _running_worker() -> _Worker:
    worker = _started_worker()
    try:
        if not worker.ready and worker.answers.read(1) != b"\n":
            raise OSError("it ended at once")
    except OSError as error:
        raise IconotextError(f"the process that reads files cannot be started: {error}") from error
    except BaseException:
        close_worker()
        raise
    worker.ready = True
    return worker


def _started_worker(modules: Sequence[str] = ()) -> _Worker:
    global _worker
    if _worker is not None and _worker.process.poll() is None:
        return _worker
    close_worker()
    places = os.pathsep.join(place for place in sys.path if place)
    environment = {**os.environ, "PYTHONPATH": places, "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
    try:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _START, *modules],  # -P: no module is taken from the current folder
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pipesize=2**20,  # so that an image of some megabytes needs few reads
            env=environment,
        )
        if process.stdin is None or process.stdout is None:
            raise OSError("it has no pipes")
        _worker = _Worker(process, process.stdin, process.stdout)
    except OSError as error:
        raise IconotextError(f"the process that reads files cannot be started: {error}") from error
    return _worker


@atexit.register
def close_worker() -> None:
    """End the worker at once, even in the middle of its work; the next file starts a new one."""
    global _worker
    worker, _worker = _worker, None
    if worker is not None:
        worker.process.kill()
        for stream in (worker.questions, worker.answers):
            with contextlib.suppress(OSError):
                stream.close()
        worker.process.wait()


def _reset_after_fork() -> None:
    """Forget the worker and the lock in a forked process.

    The worker belongs to the parent process, and one of the parent's threads may hold the lock.
    """
    global _lock, _worker
    _workers_of_parent.append(_worker)
    _lock, _worker = threading.Lock(), None


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_reset_after_fork)


def serve(questions: BinaryIO, answers: BinaryIO, modules: Sequence[str] = ()) -> None:
    """Main loop of the worker: answer until there are no more questions; ``modules`` are imported first."""
    answers.write(b"\n")
    answers.flush()
    for name in modules:
        import_module(name)
    while True:
        try:
            function, arguments, options, memory, seconds, folder = pickle.load(questions)
        except EOFError:
            return
        if folder is not None:
            with contextlib.suppress(OSError):
                os.chdir(folder)
        limit_memory(memory)
        _end_after(seconds)
        answer: tuple[bool, Any]
        try:
            answer = True, function(*arguments, **options)
        except MemoryError:
            os._exit(1)  # the memory limit was hit; do not go on
        except Exception as error:  # sent back to the caller, bugs included
            if not isinstance(error, IconotextError):
                error.add_note(traceback.format_exc())
            answer = False, error
        _end_after(0)
        limit_memory(None)
        pickle.dump(answer, answers, protocol=pickle.HIGHEST_PROTOCOL)
        answers.flush()
        del answer


def limit_memory(memory: int | None) -> None:
    """Limit this process to ``memory`` bytes more than it has now; None for no limit."""
    try:
        import resource
    except ImportError:  # Windows
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = hard
    if memory is not None:
        with contextlib.suppress(OSError), open("/proc/self/statm", encoding="ascii") as file:
            # The first number is the size of the address space, in pages.
            memory += int(file.read().split()[0]) * resource.getpagesize()
        limit = memory if hard == resource.RLIM_INFINITY else min(memory, hard)
    with contextlib.suppress(ValueError, OSError):  # macOS refuses
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


def _end_after(seconds: float) -> None:
    """Let the system end this process after some seconds of work, also if the caller is gone; 0 cancels that."""
    if hasattr(signal, "setitimer"):  # not on Windows
        signal.setitimer(signal.ITIMER_PROF, seconds)  # counts the time of the processor


def end_with(parent: int) -> None:
    """End this process if its parent was killed and it has a new one; its input closes only later."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def work() -> None:
    """Entry point of the worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches both processes; the main process decides
    with contextlib.suppress(ImportError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Not in_background, whose imports would delay the first file.
    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    with os.fdopen(os.dup(1), "wb") as output:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # output of libraries must not mix with answers
        serve(sys.stdin.buffer, output, sys.argv[1:])
