"""Common parts of all commands: errors as one line with an exit status, interruption, progress and logs on stderr.

``known_errors`` wraps the body of every command; ``progress`` shows progress.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from time import monotonic, sleep
from typing import TypeVar

from iconotext.cli.output import complain, output_console
from iconotext.errors import IconotextError, SettingError
from iconotext.extras import missing_package
from iconotext.plain_text import readable
from iconotext.system.files import reporting_full_disk
from iconotext.system.threads import in_background

EVERY = 15.0
"""Seconds between two lines of progress."""

Item = TypeVar("Item")

GRACE = 2.0
"""Seconds after Ctrl-C in which the program ends by itself."""

_reporting = threading.Lock()


@contextmanager
def known_errors(*, download: bool = False, goes_on: bool = False, status: int = 1) -> Iterator[None]:
    """End the program with a status and one line on stderr for every error that iconotext raises on purpose.

    Args:
        download: Whether missing models may be downloaded in the block.
        goes_on: Whether the same command continues where it was stopped.
        status: Exit status, if 1 has another meaning.
    """
    _stop_messages.append(f"{STOPPED}, and the same command goes on from there" if goes_on else STOPPED)
    try:
        with ExitStack() as stack:
            stack.enter_context(_ends_when_terminated())
            stack.enter_context(reporting_full_disk("a temporary file, or what is printed"))
            if download:
                from iconotext.features.model_folder import downloads

                stack.enter_context(downloads())
            yield
            sys.stdout.flush()  # a full disk is reported here, not when Python exits
    except (IconotextError, ModuleNotFoundError) as error:
        message = missing_package(error) if isinstance(error, ModuleNotFoundError) else str(error)
        if message is None:
            raise
        complain(message)
        _give_up_stdout()
        sys.exit(status)
    except KeyboardInterrupt as error:
        _report_interruption()
        sys.exit(143 if isinstance(error, _Terminated) else 130)
    finally:
        if _stop_messages:  # else an interruption was reported
            _stop_messages.pop()


STOPPED = "stopped; whatever was written is complete"

_stop_messages = [STOPPED]
"""What an interruption reports in each open block of ``known_errors``, the innermost last; empty once it was reported.

Blocks may be nested: an option's callback has one while the context of its command is made."""


def end_soon_when_interrupted() -> None:
    """From now on, end the program ``GRACE`` seconds after Ctrl-C, even amid native code or while threads work.

    Python's own handler waits for both. The files are whole whenever the program ends: they are written atomically.
    """
    if os.name != "posix":  # on Windows the wake-up handle must be a socket
        return
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    in_background(_end_soon, read_end)


def _end_soon(read_end: int) -> None:
    while (number := os.read(read_end, 1)[0]) not in (signal.SIGINT, signal.SIGTERM):
        pass
    sleep(GRACE)
    _report_interruption()
    os._exit(128 + number)


def _report_interruption() -> None:
    with _reporting:  # the main thread and that of ``_end_soon`` may come at the same moment
        if _stop_messages:
            complain(_stop_messages[-1])
        _stop_messages.clear()


class _Terminated(KeyboardInterrupt):
    """The signal that systems send instead of Ctrl-C; the program cleans up in the same way."""


@contextmanager
def _ends_when_terminated() -> Iterator[None]:
    def end(*_: object) -> None:
        raise _Terminated

    if threading.current_thread() is not threading.main_thread():  # where Python sets no handler
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


PRINT_OR_WRITE = "prints, and --output writes a file: take one of them"
"""Why ``--json`` does not go with ``--output``."""


def check_unused(options: Mapping[str, object], why: str) -> None:
    """Raise ``SettingError`` with a reason if an option was given that does not apply."""
    for name, value in options.items():
        if value:
            raise SettingError(f"{name} {why}")


def _give_up_stdout() -> None:
    """If stdout cannot be written to, discard the rest: Python would try again at exit, and print an error."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def show_log() -> None:
    """Show the library's log on stderr, a line each."""
    handler = logging.StreamHandler()
    handler.setFormatter(_OneLine())
    logger = logging.getLogger("iconotext")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)


class _OneLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        # File names may have control sequences.
        return f"iconotext: {' '.join(readable(record.getMessage()).split())}"


def progress(items: Iterable[Item], *, total: int, label: str) -> Iterator[Item]:
    """Pass items on, showing on stderr the time and how many of ``total`` are done; ``total`` is 0 if unknown.

    A terminal gets a bar, anything else a line every ``EVERY`` seconds.
    """
    if not sys.stderr.isatty():
        yield from _with_lines(items, total, label)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=output_console(err=True), transient=True) as bar:
        yield from bar.track(items, total=total or None, description=label)


def _with_lines(items: Iterable[Item], total: int, label: str) -> Iterator[Item]:
    begin = last_line = monotonic()
    for count, item in enumerate(items, 1):
        yield item
        now = monotonic()
        if now - last_line >= EVERY:
            of = f" of {total:,}" if total else ""
            complain(f"{label}: {count:,}{of}, after {timedelta(seconds=round(now - begin))}")
            last_line = now
