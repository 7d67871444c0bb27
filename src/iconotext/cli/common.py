"""What all commands share: errors become one line and a status, progress goes to stderr."""

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
"""Seconds between two lines that say how far a command is."""

Item = TypeVar("Item")


@contextmanager
def known_errors(*, download: bool = False, goes_on: bool = False, status: int = 1) -> Iterator[None]:
    """End the program with a status and one line on stderr for every error that we raise on purpose.

    Args:
        download: Whether models that are named in the body may be fetched.
        goes_on: Whether the same command goes on where it was stopped.
        status: Another one where 1 says something else.
    """
    try:
        with ExitStack() as stack:
            stack.enter_context(_ends_when_terminated())
            stack.enter_context(reporting_full_disk("a temporary file, or what is printed"))
            if download:
                from iconotext.features.model_folder import downloads

                stack.enter_context(downloads())
            yield
            sys.stdout.flush()  # on a full disk it fails here, with a line, not when Python ends
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
    """The signal that machines send where a person presses Ctrl-C: all is put away in the same manner."""


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
    """Raise ``SettingError``, which says why, where an option was given that has no place here."""
    for name, value in given.items():
        if value:
            raise SettingError(f"{name} {why}")


def _give_up_stdout() -> None:
    """Where it cannot be written to, drop what is left of it: Python would try again at its end, and say so."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def show_log() -> None:
    """Let stderr have what the library says of its work, each a line."""
    handler = logging.StreamHandler()
    handler.setFormatter(_OneLine())
    logger = logging.getLogger("iconotext")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)


class _OneLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        # Names of files may have control sequences.
        return f"iconotext: {' '.join(readable(record.getMessage()).split())}"


def progress(items: Iterable[Item], *, total: int, label: str) -> Iterator[Item]:
    """Pass items on, showing on stderr for how long and how many of ``total`` are done; 0 where nobody knows.

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
