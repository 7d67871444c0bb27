"""Run pandoc: a document of one of its formats → HTML and what is not in it, within bounds of time, memory, files."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

from iconotext.errors import DocumentError, HostileDocumentError, MissingPackageError
from iconotext.extras import require

NAMES = {
    "latex": "LaTeX",
    "org": "Org",
    "rtf": "RTF",
    "docbook": "DocBook",
    "jats": "JATS",
    "mediawiki": "MediaWiki",
    "typst": "Typst",
}
"""The formats that pandoc reads for us, as pandoc calls them and as people do."""

MAX_SECONDS = 50
"""Of the clock and of the processor. Less than the reader itself gets, so that pandoc never outlives it."""
LEAST_SECONDS, BYTES_A_SECOND = 8, 15_000
"""Of the processor: ``LEAST_SECONDS`` + bytes of the document / ``BYTES_A_SECOND``, at most ``MAX_SECONDS``."""
MAX_HEAP = 2**30
"""Bytes of pandoc's own memory."""
MAX_HTML = 128 * 2**20
"""Bytes of HTML that pandoc may make of a document."""
MAX_TOLD = 5
"""Things left out of a document that are told; of the others, their number."""

REFUSED = re.compile(r"^Error at .{0,400}?line (\d+),? column (\d+)")
UNEXPECTED = re.compile(r"(?:unexpected|expecting) [^\n]{1,80}")
MESSAGE = re.compile(r"^\[(?:WARNING|INFO)\] ", re.MULTILINE)
INCLUDE = re.compile(r"Could not load include file (.+?)(?: at (.+))?$")
SKIPPED = re.compile(r"Skipped '(\\begin\{[^{}']{1,60}\})")
PACKAGE = re.compile(r"\.(?:sty|cls)$")
PR_SET_PDEATHSIG = 1  # of Linux
HEAP_FULL, TOO_DEEP = 251, 2  # what the run-time system of Haskell ends with


class RefusedError(DocumentError):
    """pandoc cannot read a document.

    Attributes:
        line: Where it stopped, from 1; 0 if it does not say.
        column: The same in that line.
        reason: Its words, in one line.
    """

    def __init__(self, message: str, *, line: int = 0, column: int = 0, reason: str = "") -> None:
        super().__init__(message)
        self.line, self.column, self.reason = line, column, reason


def to_html(
    source: bytes,
    format_: str,
    *,
    folder: Path,
    includes: Iterable[str] = (),
    media: Path | None = None,
    seconds: float | None = None,
) -> tuple[str, tuple[str, ...]]:
    """Let pandoc make an HTML page of a document.

    Nothing is fetched, and no file is read but ``includes``: pandoc runs in its sandbox.

    Args:
        format_: One of ``NAMES``.
        folder: Where relative names in it start.
        includes: Files below the folder that it may take in, relative to it.
        media: Folder for the pictures inside the document; None leaves them where they are.
        seconds: Time limit; ``MAX_SECONDS`` if None.

    Returns:
        The page, and what is not in it, a line each.

    Raises:
        MissingPackageError: pandoc is not installed.
        HostileDocumentError: It takes more than its time or memory, or makes too much of the document.
        RefusedError: pandoc cannot read it.
        DocumentError: pandoc cannot be started.
    """
    command: list[str] = [
        *(str(_program(format_)), "--sandbox", f"--from={format_}", "--to=html", "--standalone", "--wrap=none"),
        *("--verbose", "--syntax-highlighting=none", "--metadata=pagetitle:-", f"--data-dir={os.devnull}"),
        *(f"--epub-embed-font={name}" for name in includes),  # what is named so is all that the sandbox lets it read
        *([f"--extract-media={media}"] if media else []),
        *("+RTS", f"-M{MAX_HEAP}", "-RTS"),
    ]
    most = min(LEAST_SECONDS + len(source) // BYTES_A_SECOND, MAX_SECONDS)
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={"LC_ALL": "C.UTF-8"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=_bounded(most) if os.name == "posix" else None,
        )
    except OSError as error:
        raise DocumentError(f"pandoc cannot be started: {error.strerror or error}") from error
    with process:
        try:
            html, said = process.communicate(source, timeout=MAX_SECONDS if seconds is None else seconds)
        except subprocess.TimeoutExpired as error:
            process.kill()
            raise _too_much(MAX_SECONDS) from error
        except BaseException:
            process.kill()
            raise
    messages = MESSAGE.split(said.decode("utf-8", errors="replace"))
    if process.returncode != 0:
        if process.returncode < 0 or process.returncode in (HEAP_FULL, TOO_DEEP):
            raise _too_much(most)
        place, reason = REFUSED.match(messages[-1].replace("\n", " ")), _reason(messages[-1])
        line, column = map(int, place.groups()) if place else (0, 0)
        stopped = UNEXPECTED.search(messages[-1])
        raise RefusedError(
            f"pandoc cannot read it as {NAMES[format_]}: {reason}",
            line=line,
            column=column,
            reason=" ".join(stopped[0].split()) if stopped else "unexpected end of the line",
        )
    if len(html) > MAX_HTML:
        raise HostileDocumentError(f"pandoc makes more than {MAX_HTML // 2**20} MiB of text of it: split it")
    return html.decode("utf-8", errors="replace"), _left_out(messages[1:])


def _program(format_: str) -> Path:
    purpose = f"reading {NAMES[format_]}"
    require("formats", purpose=purpose)
    found = find_spec("pypandoc")
    folders = (found and found.submodule_search_locations) or ()
    programs = [Path(folder) / "files" / name for folder in folders for name in ("pandoc", "pandoc.exe")]
    program = next((path for path in programs if path.is_file()), None)
    if program is None:  # pypandoc alone, without the program
        raise MissingPackageError(f'{purpose} needs pandoc, which is not installed: pip install "iconotext[formats]"')
    return program


def _bounded(seconds: int) -> Callable[[], None]:
    """What lets the system end pandoc after so much work, and, on Linux, together with this thread that waits for it.

    This program may be killed, and then it can end nothing.
    """
    import ctypes
    import resource

    prctl = getattr(ctypes.CDLL(None), "prctl", None)  # before the fork, after which little is safe
    parent = os.getpid()

    def bounded() -> None:
        with contextlib.suppress(ValueError, OSError):  # a lower limit is set already
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        if prctl is not None:
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(1)

    return bounded


def _too_much(seconds: int) -> HostileDocumentError:
    limits = f"{MAX_HEAP / 2**30:g} GiB of memory or {seconds} seconds"
    return HostileDocumentError(f"pandoc takes more than {limits} for it: split it")


def _reason(message: str) -> str:
    """What pandoc says in the end, in one line of at most 200 characters."""
    lines = [line.strip() for line in message.splitlines() if line.strip(" ^") and "CallStack" not in line]
    return " ".join(lines)[:200] or "it gives no reason"


def _left_out(messages: Sequence[str]) -> tuple[str, ...]:
    """What a user should know of pandoc's messages, each once, the first ones of many."""
    found: dict[str, None] = {}
    for message in messages:
        line = " ".join(message.split())
        if (include := INCLUDE.search(line)) and not PACKAGE.search(include[1]):
            where = f" ({include[2]})" if include[2] else ""
            found[f"{include[1]} is not read{where}: not a text file in or below the document's folder"] = None
        elif skipped := SKIPPED.search(line):
            found[f"{skipped[1]} is not read{line[line.rfind(' at line ') :] if ' at line ' in line else ''}"] = None
    told = tuple(found)[:MAX_TOLD]
    return told + ((f"{len(found) - MAX_TOLD} more parts are not read",) if len(found) > MAX_TOLD else ())
