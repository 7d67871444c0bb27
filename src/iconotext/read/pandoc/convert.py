"""The call of pandoc, within bounds of time, memory and files, and the corrections of its HTML."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote

from lxml import etree

from iconotext.errors import DocumentError, HostileDocumentError, MissingPackageError
from iconotext.extras import require
from iconotext.read.cross_references import fill_references
from iconotext.read.format import all_formats
from iconotext.read.formulas import shown
from iconotext.read.html import Element
from iconotext.system.worker import CLOCK

KINDS = {"figure": "Figure", "table": "Table", **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), "")}
"""The elements to which references lead, and the names in these references; a heading is named by its text."""
DROPPED = "dropped"  # tag of elements that are removed together in the end, so that the text after each moves only once
CLOSING = tuple(".,;:!?)")
MAX_TARGETS = 50  # maximum number of labels in one reference


def mend(tree: Element, format_: str) -> str | None:
    """Correct pandoc's page in place; return the title of the document, None without one."""
    title = _title(tree)
    for link in list(tree.iter("a")):
        if {"footnote-ref", "footnote-back"} & set((link.get("class") or "").split()):
            link.tag = DROPPED
    _close_gaps(tree)
    for span in tree.iterfind(".//span[@class]"):
        if "math" in span.get("class").split() and (formula := shown(span.text or "")):
            span.text = formula  # pandoc has converted the simple ones
    for image in tree.iter("img", "embed"):
        image.tag = "img"  # pandoc embeds the graphics of LaTeX that are PDF files
        _own_alt(image)
    if format_ == "org":
        for span in list(tree.iter("span")):
            if span.get("class") == "spurious-link":
                span.tag = "a"
                span.set("href", f"#{span.get('target') or ''}")
    elif format_ == "typst":
        for span in list(tree.iter("span")):
            _label_to_figure(span)
    etree.strip_elements(tree, DROPPED, with_tail=False)
    kinds = {element.get("id"): str(element.tag) for element in tree.iter() if element.get("id")}
    captions = {caption.getparent().get("id"): _text_of(caption) for caption in tree.iterfind(".//figure/figcaption")}
    for link in list(tree.iter("a")):
        _to_labels(link, kinds, captions, number_only=format_ == "org")
    fill_references(tree)
    return title


def _close_gaps(tree: Element) -> None:
    """Remove citations, which have no words here, with the space before each."""
    for span in list(tree.iter("span")):
        if span.get("class") != "citation" or span.text or len(span):
            continue
        before, parent = span.getprevious(), span.getparent()
        if before is not None:
            before.tail = _without_gap(before.tail, span.tail)
        elif parent is not None:
            parent.text = _without_gap(parent.text, span.tail)
        span.tag = DROPPED


def _without_gap(text: str | None, after: str | None) -> str | None:
    return text.rstrip() if text and (after or "").startswith(CLOSING) else text


def _title(tree: Element) -> str | None:
    """Return the title; remove authors and dates, which stand below it and are not part of the text."""
    header = tree.find(".//header[@id='title-block-header']")
    if header is None:
        return None
    title = None
    for element in header.iter():
        match element.get("class"):
            case "title":
                title = " ".join(element.text_content().split()) or None
            case "author" | "date" | "abstract-title":
                element.tag = DROPPED
    return title


def _own_alt(image: Element) -> None:
    """Correct the alternative text: Org has it at the figure, and pandoc writes "image" for a picture without any."""
    if image.get("alt") == "image":
        del image.attrib["alt"]
    figure = image.getparent()
    if figure is not None and figure.tag == "figure" and figure.get("alt") and not image.get("alt"):
        image.set("alt", figure.get("alt"))


def _label_to_figure(span: Element) -> None:
    """Give a label of Typst, which pandoc puts into a paragraph of its own, to the figure before it."""
    paragraph = span.getparent()
    # A paragraph may hold thousands of labels, so its elements are not counted for each of them.
    only = paragraph is not None and paragraph.tag == "p" and span.getprevious() is None and span.getnext() is None
    alone = only and not paragraph.text_content().strip()
    figure = paragraph.getprevious() if alone else None
    if figure is not None and figure.tag == "figure" and not figure.get("id") and span.get("id"):
        figure.set("id", span.get("id"))
        paragraph.tag = DROPPED


def _text_of(element: Element) -> str:
    return " ".join(element.text_content().split())


def _to_labels(link: Element, kinds: dict[str, str], captions: dict[str, str], *, number_only: bool) -> None:
    """Let each reference show the text that ``fill_references`` finds; one to several labels becomes a link to each."""
    href = unquote(link.get("href") or "")
    name = href.removeprefix("#")
    if not name or (not href.startswith("#") and name not in kinds):
        return
    names = [name] if name in kinds else [part for part in re.split(r"[,\s]+", name)[:MAX_TARGETS] if part] or [name]
    text = _text_of(link)
    bare = text in ("", name, f"[{name}]", captions.get(name)) or link.get("data-reference") is not None
    number_only = number_only or link.get("data-reference-type") == "ref"
    link.set("href", f"#{names[-1]}")
    for target in names[:-1]:
        other = link.makeelement("a", href=f"#{target}")
        if bare:
            other.tail = ", "
            link.addprevious(other)
            _show(other, target, kinds, number_only=number_only)
        else:  # the author's own words, which become a link to each label
            other.text, link.text = link.text, None
            other.extend(list(link))
            link.append(other)
    if bare:
        _show(link, names[-1], kinds, number_only=number_only)


def _show(link: Element, label: str, kinds: dict[str, str], *, number_only: bool) -> None:
    link.text = link.text or label
    kind = KINDS.get(kinds.get(label, ""))
    link.set("data-shown", ("%s" if number_only else f"{kind} %s") if kind else "")  # a heading is shown by its text


MAX_SECONDS = 50
"""Limit on pandoc's processor time, in seconds, below that of the reader, which pandoc must not outlive."""
LEAST_SECONDS, BYTES_A_SECOND = 8, 15_000
"""The limit for a document: ``LEAST_SECONDS`` + its bytes / ``BYTES_A_SECOND``, at most ``MAX_SECONDS``."""
MAX_HEAP = 2**30  # maximum number of bytes of pandoc's memory
MAX_HTML = 128 * 2**20  # maximum number of bytes of HTML that pandoc may make of a document
MAX_LISTED = 5  # maximum number of omissions that are listed; only the number of the others is given

REFUSED = re.compile(r"^Error at .{0,400}?line (\d+),? column (\d+)")
UNEXPECTED = re.compile(r"(?:unexpected|expecting) [^\n]{1,80}")
MESSAGE = re.compile(r"^\[(?:WARNING|INFO)\] ", re.MULTILINE)
INCLUDE = re.compile(r"Could not load include file (.+?)(?: at (.+))?$")
SKIPPED = re.compile(r"Skipped '(\\begin\{[^{}']{1,60}\})")
PACKAGE = re.compile(r"\.(?:sty|cls)$")
PR_SET_PDEATHSIG = 1  # a constant of Linux
HEAP_FULL, TOO_DEEP = 251, 2  # exit statuses of Haskell's run-time system


class RefusedError(DocumentError):
    """pandoc cannot read a document.

    Attributes:
        line: The line at which it stopped, from 1; 0 if it does not say.
        column: The column in that line.
        reason: Its message, in one line.
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
    seconds: int = MAX_SECONDS,
) -> tuple[str, tuple[str, ...]]:
    """Let pandoc make an HTML page of a document.

    Nothing is fetched, and pandoc can read no files but ``includes``: it runs in its sandbox.

    Args:
        format_: Name of one of our formats, which is pandoc's name for it, too.
        folder: Where relative names in it start.
        includes: Files below the folder that it may take in, relative to it.
        media: Folder for the pictures inside the document; None leaves them where they are.
        seconds: Maximum of the processor time.

    Returns:
        The page, and a line for each part of the document that is not in it.
    """
    # Not pandoc's syntax tree: it has raw HTML as text only, and would need a second walk with a second set of rules.
    command: list[str] = [
        *(str(_program(format_)), "--sandbox", f"--from={format_}", "--to=html", "--standalone", "--wrap=none"),
        *("--verbose", "--syntax-highlighting=none", "--metadata=pagetitle:-", f"--data-dir={os.devnull}"),
        *(f"--epub-embed-font={name}" for name in includes),  # its sandbox reads no other files
        *([f"--extract-media={media}"] if media else []),
        *("+RTS", f"-M{MAX_HEAP}", "-RTS"),
    ]
    limit = min(LEAST_SECONDS + len(source) // BYTES_A_SECOND, seconds)
    try:
        process = subprocess.run(
            command,
            cwd=folder,
            env={"LC_ALL": "C.UTF-8"},
            input=source,
            capture_output=True,
            timeout=CLOCK * MAX_SECONDS,
            preexec_fn=_bounded(limit) if os.name == "posix" else None,
        )
    except subprocess.TimeoutExpired as error:
        raise _too_much(limit) from error
    except OSError as error:
        raise DocumentError(f"pandoc cannot be started: {error.strerror or error}") from error
    messages = MESSAGE.split(process.stderr.decode("utf-8", errors="replace"))
    if process.returncode != 0:
        if process.returncode < 0 or process.returncode in (HEAP_FULL, TOO_DEEP):
            raise _too_much(limit)
        place, reason = REFUSED.match(messages[-1].replace("\n", " ")), _reason(messages[-1])
        line, column = map(int, place.groups()) if place else (0, 0)
        stopped = UNEXPECTED.search(messages[-1])
        raise RefusedError(
            f"pandoc cannot read it as {all_formats()[format_].title}: {reason}",
            line=line,
            column=column,
            reason=" ".join(stopped[0].split()) if stopped else "unexpected end of the line",
        )
    if len(process.stdout) > MAX_HTML:
        raise HostileDocumentError(f"pandoc makes more than {MAX_HTML // 2**20} MiB of text of it: split it")
    return process.stdout.decode("utf-8", errors="replace"), _left_out(messages[1:])


def _program(format_: str) -> Path:
    purpose = f"reading {all_formats()[format_].title}"
    require("formats", purpose=purpose)
    package = find_spec("pypandoc")
    folders = (package and package.submodule_search_locations) or ()
    programs = [Path(folder) / "files" / name for folder in folders for name in ("pandoc", "pandoc.exe")]
    # The system's pandoc is not used: the result depends on the version, and older ones cannot read every format in the
    # sandbox.
    program = next((path for path in programs if path.is_file()), None)
    if program is None:  # pypandoc alone, without the program
        raise MissingPackageError(f'{purpose} needs pandoc, which is not installed: pip install "iconotext[formats]"')
    return program


def _bounded(seconds: int) -> Callable[[], None]:
    """Return a function that limits pandoc's processor time, and on Linux ends it with the thread that waits for it.

    Linux must do that, since this process may be killed.
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
    """Return the last message of pandoc, in one line of at most 200 characters."""
    lines = [line.strip() for line in message.splitlines() if line.strip(" ^") and "CallStack" not in line]
    return " ".join(lines)[:200] or "it gives no reason"


def _left_out(messages: Sequence[str]) -> tuple[str, ...]:
    """Return the messages of pandoc that matter to a user, each once, the first ones of many."""
    parts: dict[str, None] = {}
    for message in messages:
        line = " ".join(message.split())
        if (include := INCLUDE.search(line)) and not PACKAGE.search(include[1]):
            where = f" ({include[2]})" if include[2] else ""
            parts[f"{include[1]} is not read{where}: not a text file in or below the document's folder"] = None
        elif skipped := SKIPPED.search(line):
            parts[f"{skipped[1]} is not read{line[line.rfind(' at line ') :] if ' at line ' in line else ''}"] = None
    listed = tuple(parts)[:MAX_LISTED]
    return listed + ((f"{len(parts) - MAX_LISTED} more parts are not read",) if len(parts) > MAX_LISTED else ())
