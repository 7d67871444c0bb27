"""PDF → blocks, in a process of its own.

A PDF of a few hundred bytes can make pdfium fill all memory (forms that draw each other twice, forty levels deep), and
nothing within a process can stop it; a broken one can end the process. pdfium is not thread-safe either. So one other
process, started with the first PDF and kept for the next ones, reads them one at a time, with a limit on its memory and
time. It runs this module and ends when its input does, that is with us.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import BinaryIO

from iconotext.errors import DocumentError, HostileDocumentError
from iconotext.read.blocks import Flow
from iconotext.read.settings import ReadSettings

MAX_MEMORY = 4 * 2**30
"""Address space of the other process, in bytes, where the system can limit it (not on Windows)."""
MAX_SECONDS = 600.0
"""A thousand dense pages take about a minute and a half."""

_lock = threading.Lock()
_reader: subprocess.Popen[bytes] | None = None
_owner = 0  # a process forked from ours must not use our reader


def read_pdf(path: Path, settings: ReadSettings) -> list[Flow]:
    """A PDF, as one flow. Running headers and footers, page numbers and text along the edges are left out.

    Raises:
        HostileDocumentError: It has too many pages, or takes too much memory or time.
        DocumentError: It is damaged, empty or has a password.
    """
    with _lock:
        answer = _ask((path.absolute(), settings))
    if answer is None:
        limits = f"{MAX_MEMORY / 2**30:.0f} GiB or {MAX_SECONDS / 60:.0f} minutes"
        raise HostileDocumentError(
            f"{path}: reading it takes more than {limits}, or ends pdfium: print it to a new PDF, or split it"
        )
    if isinstance(answer, BaseException):
        raise answer
    return answer


def _ask(question: tuple[Path, ReadSettings]) -> list[Flow] | Exception | None:
    """What the other process answers; None where it came to its end over the question."""
    reader = _running()
    assert reader.stdin is not None
    assert reader.stdout is not None
    timer = threading.Timer(MAX_SECONDS, reader.kill)
    timer.start()
    try:
        pickle.dump(question, reader.stdin)
        reader.stdin.flush()
        answer: list[Flow] | Exception = pickle.load(reader.stdout)
        return answer
    except (EOFError, OSError, pickle.UnpicklingError):
        _stop()
        return None
    except BaseException:  # an interruption from the keyboard leaves half an answer behind
        _stop()
        raise
    finally:
        timer.cancel()


def _running() -> subprocess.Popen[bytes]:
    global _reader, _owner
    if _reader is None or _owner != os.getpid() or _reader.poll() is not None:
        places = os.pathsep.join(place for place in sys.path if place)
        environment = {**os.environ, "PYTHONPATH": places, "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-P", "-m", "iconotext.read.pdf"]
        try:
            _reader = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
            )
        except OSError as error:
            raise DocumentError(f"the process that reads PDFs cannot be started: {error}") from error
        _owner = os.getpid()
    return _reader


@atexit.register
def close_reader() -> None:
    """End the other process once it has nothing left to do; the next PDF starts a new one."""
    if _reader is not None and _reader.stdin is not None and _owner == os.getpid():
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            _reader.stdin.close()
            _reader.wait(timeout=5)
    _stop()


def _stop() -> None:
    global _reader
    if _reader is not None and _owner == os.getpid():
        _reader.kill()
        for stream in (_reader.stdin, _reader.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        _reader.wait()
    _reader = None


def serve(questions: BinaryIO, answers: BinaryIO) -> None:
    """Read PDFs until there are no more questions: what the other process does."""
    from iconotext.read.pdf_document import read_document

    while True:
        try:
            path, settings = pickle.load(questions)
        except EOFError:
            return
        answer: list[Flow] | Exception
        try:
            answer = read_document(path, settings)
        except Exception as error:  # goes to whoever asked, bugs included
            answer = error
        pickle.dump(answer, answers, protocol=pickle.HIGHEST_PROTOCOL)
        answers.flush()


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = MAX_MEMORY if hard == resource.RLIM_INFINITY else min(MAX_MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    _limit_memory()
    with os.fdopen(os.dup(1), "wb") as output:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # whatever a library prints must not come between the answers
        serve(sys.stdin.buffer, output)
