"""Run pandoc: a document of one of its formats → HTML and what is not in it, within bounds of time, memory, files."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Iterable, Sequence
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
MAX_HEAP = 2**30
"""Bytes of pandoc's own memory."""
MAX_HTML = 128 * 2**20
"""Bytes of HTML that pandoc may make of a document."""
MAX_TOLD = 5
"""Things left out of a document that are told; of the others, their number."""

MESSAGE = re.compile(r"^\[(?:WARNING|INFO)\] ", re.MULTILINE)
INCLUDE = re.compile(r"Could not load include file (.+?)(?: at (.+))?$")
SKIPPED = re.compile(r"Skipped '(\\begin\{[^{}']{1,60}\})")
PACKAGE = re.compile(r"\.(?:sty|cls)$")
HEAP_FULL, TOO_DEEP = 251, 2  # what the run-time system of Haskell ends with


def to_html(
    source: bytes, format_: str, *, folder: Path, includes: Iterable[str] = (), media: Path | None = None
) -> tuple[str, tuple[str, ...]]:
    """Let pandoc make an HTML page of a document.

    Nothing is fetched, and no file is read but ``includes``: pandoc runs in its sandbox.

    Args:
        format_: One of ``NAMES``.
        folder: Where relative names in it start.
        includes: Files below the folder that it may take in, relative to it.
        media: Folder for the pictures inside the document; None leaves them where they are.

    Returns:
        The page, and what is not in it, a line each.

    Raises:
        MissingPackageError: pandoc is not installed.
        HostileDocumentError: It takes more than its time or memory, or makes too much of the document.
        DocumentError: pandoc cannot read it.
    """
    command: list[str] = [
        *(str(_program(format_)), "--sandbox", f"--from={format_}", "--to=html", "--standalone", "--wrap=none"),
        *("--verbose", "--syntax-highlighting=none", "--metadata=pagetitle:-", f"--data-dir={os.devnull}"),
        *(f"--epub-embed-font={name}" for name in includes),  # what is named so is all that the sandbox lets it read
        *([f"--extract-media={media}"] if media else []),
        *("+RTS", f"-M{MAX_HEAP}", "-RTS"),
    ]
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={"LC_ALL": "C.UTF-8"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=_end_with_time if os.name == "posix" else None,
        )
    except OSError as error:
        raise DocumentError(f"pandoc cannot be started: {error.strerror or error}") from error
    with process:
        try:
            html, said = process.communicate(source, timeout=MAX_SECONDS)
        except subprocess.TimeoutExpired as error:
            process.kill()
            raise _too_much() from error
        except BaseException:
            process.kill()
            raise
    messages = MESSAGE.split(said.decode("utf-8", errors="replace"))
    if process.returncode != 0:
        if process.returncode < 0 or process.returncode in (HEAP_FULL, TOO_DEEP):
            raise _too_much()
        raise DocumentError(f"pandoc cannot read it as {NAMES[format_]}: {_reason(messages[-1])}")
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


def _end_with_time() -> None:
    """Let the system end pandoc after ``MAX_SECONDS`` of work, in case this program is gone by then."""
    with contextlib.suppress(ValueError, OSError):  # a lower limit is set already
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (MAX_SECONDS, MAX_SECONDS))


def _too_much() -> HostileDocumentError:
    limits = f"{MAX_HEAP / 2**30:g} GiB of memory or {MAX_SECONDS} seconds"
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
