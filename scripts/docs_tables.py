"""Write the tables of the guides from the tables of the program.

A guide marks a table with the module and name of the program's table, and the fields that become columns::

    <!-- table iconotext.read.format:FORMATS name suffixes extra summary -->
    <!-- end of table -->

A field may be an attribute or a property; a tuple becomes a list of literals. Likewise, ``<!-- names iconotext -->``
and ``<!-- end of names -->`` enclose the list of a package's public names, and ``<!-- record NAME -->`` and
``<!-- end of record -->`` a table of results (see ``records.py``). ``--check`` writes nothing, and fails where a guide
says something else than the program and the records.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path

import records

ROOT = Path(__file__).parents[1]
GUIDES = sorted([*(ROOT / "docs").rglob("*.md"), *(ROOT / "packages").rglob("docs/**/*.md")])
MARKED = re.compile(
    r"<!-- table (?P<module>[\w.]+):(?P<name>\w+) (?P<fields>[\w ]+?) -->\n(?P<table>.*?)<!-- end of table -->",
    re.DOTALL,
)
NAMES = re.compile(r"<!-- names (?P<package>[\w.]+) -->\n.*?<!-- end of names -->", re.DOTALL)
RECORD = re.compile(r"<!-- record (?P<name>[\w.-]+)(?P<columns>[^>]*?) -->\n.*?<!-- end of record -->", re.DOTALL)


def table(module: str, name: str, fields: Iterable[str]) -> str:
    """Return a Markdown table with a row for each entry of the program's table and a column for each field."""
    entries = getattr(import_module(module), name)
    rows = [[cell(field, getattr(entry, field)) for field in fields] for entry in values(entries)]
    heads = [field.replace("_", " ") for field in fields]
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def values(entries: object) -> Iterable[object]:
    """Return the entries of a table that is a mapping, a sequence or an enumeration."""
    return entries.values() if isinstance(entries, Mapping) else entries  # type: ignore[return-value]


def cell(field: str, value: object) -> str:
    """Return one cell; names and tuples are literals."""
    if isinstance(value, (tuple, list, frozenset, set)):
        return ", ".join(f"`{each}`" for each in value)
    text = "" if value is None else str(value).replace("|", "\\|")
    return f"`{text}`" if field == "name" and text else text


def names(package: str) -> str:
    """Return a Markdown list of the public names of a package, each with the first sentence of its docstring."""
    room = import_module(package)
    lines = []
    for name in room.__all__:
        value = getattr(room, name)
        about = inspect.getdoc(value) if callable(value) else None
        lines.append(f"- `{name}`" + (f": {about.splitlines()[0]}" if about else "") + "\n")
    return "".join(lines)


def filled(text: str, *, with_records: bool = True) -> str:
    """Return a guide with its marked tables and lists made anew, and the tables of results if ``with_records``."""

    def new_table(match: re.Match[str]) -> str:
        head = match[0][: match.start("table") - match.start()]
        return f"{head}{table(match['module'], match['name'], match['fields'].split())}<!-- end of table -->"

    def new_names(match: re.Match[str]) -> str:
        return f"<!-- names {match['package']} -->\n{names(match['package'])}<!-- end of names -->"

    def new_record(match: re.Match[str]) -> str:
        columns = [column.strip() for column in match["columns"].split("|") if column.strip()]
        shown = records.shown(match["name"], columns)
        return f"<!-- record {match['name']}{match['columns']} -->\n{shown}<!-- end of record -->"

    text = NAMES.sub(new_names, MARKED.sub(new_table, text))
    return RECORD.sub(new_record, text) if with_records else text


def main(arguments: list[str]) -> int:
    """Write or check all guides; return the exit status."""
    stale, check = [], "--check" in arguments
    for guide in GUIDES:
        text = guide.read_text(encoding="utf-8")
        if (new := filled(text)) != text:
            stale.append(guide)
            if not check:
                guide.write_text(new, encoding="utf-8")
    for guide in stale:
        print(f"{guide.relative_to(ROOT)}: {'differs from the program' if check else 'written'}")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
