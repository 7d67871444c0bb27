"""The writing of a linked document in the format that the file's suffix names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from iconotext.errors import OutputError
from iconotext.report.as_json import json_array, json_lines
from iconotext.report.as_markdown import markdown
from iconotext.report.as_parquet import write_parquet
from iconotext.report.reading_page import write_page
from iconotext.system.files import write_text
from iconotext.types import LinkedDocument


def save(linked: LinkedDocument, path: Path | str, *, force: bool = False) -> None:
    """Write a linked document to a file, in the format named by its suffix.

    A page is written over a page that iconotext made and that nobody changed since; any other file stays.

    Args:
        path: A file that ends in ``.html`` (reading view), ``.json``, ``.jsonl``, ``.md`` or ``.parquet``.

    Raises:
        OutputError: Another suffix, another file exists and ``force`` is not set, or it cannot be written.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in WRITERS:
        raise OutputError(f"cannot tell from {path} what to write: name a file that ends in {', '.join(WRITERS)}")
    WRITERS[suffix](linked, path, force)


WRITERS: dict[str, Callable[[LinkedDocument, Path, bool], None]] = {
    ".html": lambda linked, path, force: write_page(linked, path, force=force),
    ".json": lambda linked, path, force: write_text(path, json_array([linked]), force=force),
    ".jsonl": lambda linked, path, force: write_text(path, json_lines([linked]), force=force),
    ".md": lambda linked, path, force: write_text(path, markdown(linked, path.parent), force=force),
    ".parquet": lambda linked, path, force: write_parquet(
        [linked], path, force=force, explained=any(link.explanation for link in linked.links)
    ),
}
"""Suffix in lower case to the function that writes such a file."""
