"""The formats in which linked documents are written: one table, to which other packages may add.

``save`` writes one document in the format that the suffix of the file names; the command ``link`` writes many with
``Output.write_file`` or ``Output.text_parts``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from iconotext.errors import OutputError, SettingError
from iconotext.system.files import write_text
from iconotext.system.plugins import plugins
from iconotext.types import LinkedDocument

if TYPE_CHECKING:
    from iconotext.read import Failure

Function = str | Callable[..., Any]
"""A function, or its name ``package.module:function``, so that its module is imported only when it is used."""


@dataclass(frozen=True, slots=True)
class Output:
    """A format in which linked documents are written: as text (``text``), or as a file (``write``).

    Attributes:
        name: Its name for ``--to``.
        suffixes: Suffixes by which ``save`` recognises it; () if only ``--to`` does.
        summary: What is written, in a sentence.
        extra: The extra of iconotext that it needs; None for none.
        text: ``text(documents, folder)`` yields parts of the text. Addresses in them are relative to the folder of the
            file.
        write: ``write(documents, path, force=..., explained=...)`` writes a file. ``force`` replaces an existing one;
            ``explained`` says that links have explanations.
        failures: Whether a ``Failure`` is passed for each document that could not be linked.
        several: Whether a file can hold several documents.
    """

    name: str
    suffixes: tuple[str, ...]
    summary: str
    extra: str | None = None
    text: Function | None = None
    write: Function | None = None
    failures: bool = False
    several: bool = True

    def text_parts(self, results: Iterable[LinkedDocument | Failure], folder: Path) -> Iterable[str]:
        """Make the text of documents, piece by piece, for a file in ``folder``; ``OutputError`` if it is no text."""
        if self.text is None:
            raise OutputError(f"{self.name} is no text for a terminal: name a file with output=...")
        text_parts: Iterable[str] = _resolved(self.text)(self._accepted(results), folder)
        return text_parts

    def write_file(
        self, results: Iterable[LinkedDocument | Failure], path: Path, *, force: bool = False, explained: bool = False
    ) -> None:
        """Write documents to a file."""
        if self.write is not None:
            _resolved(self.write)(self._accepted(results), path, force=force, explained=explained)
        else:
            write_text(path, self.text_parts(results, path.parent), force=force)

    def _accepted(self, results: Iterable[LinkedDocument | Failure]) -> Iterable[LinkedDocument | Failure]:
        return results if self.failures else (result for result in results if isinstance(result, LinkedDocument))


HTML = Output(
    "html",
    (".html", ".htm"),
    "The reading view: a page for each document in a folder with an index, or one page.",
    write="iconotext.report.reading_page:write_pages",
    several=False,
)

OUTPUTS = (
    HTML,
    Output(
        "json",
        (".json",),
        "A list with an object for each document.",
        text="iconotext.report.as_json:json_array",
        failures=True,
    ),
    Output(
        "jsonl",
        (".jsonl",),
        "An object for each document, one a line.",
        text="iconotext.report.as_json:json_lines",
        failures=True,
    ),
    Output(
        "markdown",
        (".md", ".markdown"),
        "The text, with each picture after the paragraph of its best sentence.",
        text="iconotext.report.as_markdown:markdown_pages",
    ),
    Output(
        "parquet",
        (".parquet",),
        "A table with a row for each link.",
        extra="parquet",
        write="iconotext.report.as_parquet:write_parquet",
    ),
)
"""The formats that ship."""


def outputs() -> tuple[Output, ...]:
    """Return all formats: those that ship, then those of other packages (entry points ``iconotext.outputs``)."""
    return OUTPUTS + plugins("iconotext.outputs", Output, tuple(output.name for output in OUTPUTS))


def output_named(name: str) -> Output:
    """Return the format of a name; ``SettingError`` lists all names."""
    for output in outputs():
        if output.name == name:
            return output
    raise SettingError(f"{name}: not a format of links; there are {', '.join(output.name for output in outputs())}")


def save(linked: LinkedDocument, path: Path | str, *, force: bool = False) -> None:
    """Write a linked document to a file, in the format that the file's suffix names.

    A page is written over a page that iconotext made and that nobody changed since; any other file stays.

    Args:
        path: A file that ends in ``.html`` (reading view), ``.json``, ``.jsonl``, ``.md``, ``.parquet``, or a suffix
            that another package adds.

    Raises:
        OutputError: Another suffix, another file exists and ``force`` is not set, or it cannot be written.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    output = next((output for output in outputs() if suffix in output.suffixes), None)
    if output is None:
        suffixes = ", ".join(suffix for output in outputs() for suffix in output.suffixes)
        raise OutputError(f"cannot tell from {path} what to write: name a file that ends in {suffixes}")
    output.write_file([linked], path, force=force, explained=any(link.explanation for link in linked.links))


def _resolved(function: Function) -> Callable[..., Any]:
    return resolve_name(function) if isinstance(function, str) else function
