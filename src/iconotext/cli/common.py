"""Common parts of all commands: errors become one line and an exit status, progress goes to stderr."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from time import monotonic
from typing import TypeVar

from iconotext.cli.output import complain, output_console
from iconotext.errors import IconotextError, SettingError
from iconotext.extras import missing_package
from iconotext.plain_text import readable
from iconotext.write import reporting_full_disk

EVERY = 15.0
"""Seconds between two lines of progress."""

Item = TypeVar("Item")


@contextmanager
def known_errors(*, download: bool = False, goes_on: bool = False, status: int = 1) -> Iterator[None]:
    """For every error that iconotext raises on purpose, end the program with a status and one line on stderr.

    Args:
        download: Whether missing models may be downloaded in the block.
        goes_on: Whether the same command continues where it was stopped.
        status: Exit status, if 1 has another meaning.
    """
    try:
        with ExitStack() as stack:
            stack.enter_context(_ends_when_terminated())
            stack.enter_context(reporting_full_disk("a temporary file, or what is printed"))
            if download:
                from iconotext.features.model_folder import downloads

                stack.enter_context(downloads())
            yield
            sys.stdout.flush()  # a full disk is reported here, not when Python exits
    except IconotextError as error:
        complain(str(error))
        _give_up_stdout()
        sys.exit(status)
    except ModuleNotFoundError as error:
        missing = missing_package(error)
        if missing is None:
            raise
        complain(missing)
        _give_up_stdout()
        sys.exit(status)
    except KeyboardInterrupt as error:
        complain(f"stopped; what was written is complete{', and the same command goes on from there' * goes_on}")
        sys.exit(143 if isinstance(error, _Terminated) else 130)


class _Terminated(KeyboardInterrupt):
    """The signal that systems send instead of Ctrl-C; the program cleans up in the same way."""


@contextmanager
def _ends_when_terminated() -> Iterator[None]:
    def end(*_: object) -> None:
        raise _Terminated

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def check_unused(given: Mapping[str, object], why: str) -> None:
    """Raise ``SettingError`` with a reason if an option was given that does not apply."""
    for name, value in given.items():
        if value:
            raise SettingError(f"{name} {why}")


def _give_up_stdout() -> None:
    """If stdout cannot be written to, drop the rest: Python would try again at exit, and complain."""
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
    begin = said = monotonic()
    for done, item in enumerate(items, 1):
        yield item
        now = monotonic()
        if now - said >= EVERY:
            of = f" of {total:,}" if total else ""
            complain(f"{label}: {done:,}{of}, after {timedelta(seconds=round(now - begin))}")
            said = now
