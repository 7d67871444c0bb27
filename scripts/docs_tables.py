"""Write the tables of the guides from the tables of the program.

A guide marks a table with the module and name of the program's table, and the fields that become columns::

    <!-- table iconotext.read.format:FORMATS name suffixes extra summary -->
    <!-- end of table -->

A field may be an attribute or a property; a tuple becomes a list of literals. Likewise, ``<!-- names iconotext -->``
and ``<!-- end of names -->`` enclose the list of a package's public names, ``<!-- options COMMANDS -->`` and
``<!-- end of options -->`` the options of all commands of a group in full, and ``<!-- record NAME -->`` and
``<!-- end of record -->`` a table of results (see ``records.py``). ``--check`` writes nothing, and fails where a guide
says something else than the program and the records.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import records
from typer import Context
from typer.main import get_command

from iconotext.cli.app import app
from iconotext.cli.help import MORE, Row
from iconotext.cli.help import panels as rows_of

ROOT = Path(__file__).parents[1]
GUIDES = sorted([*(ROOT / "docs").rglob("*.md"), *(ROOT / "packages").rglob("docs/**/*.md")])
MARKED = re.compile(
    r"<!-- table (?P<module>[\w.]+):(?P<name>\w+) (?P<fields>[\w ]+?) -->\n(?P<table>.*?)<!-- end of table -->",
    re.DOTALL,
)
NAMES = re.compile(r"<!-- names (?P<package>[\w.]+) -->\n.*?<!-- end of names -->", re.DOTALL)
OPTIONS = re.compile(r"<!-- options(?P<group>[ \w]*) -->\n.*?<!-- end of options -->", re.DOTALL)
ANALYSIS = re.compile(r"<!-- analysis (?P<kind>\w+)(?P<names>[^>]*?) -->\n.*?<!-- end of analysis -->", re.DOTALL)
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


def options(group: str) -> str:
    """Return the options of every command of a group, first those that several commands share."""
    command: Any = get_command(app)
    for word in group.split():
        command = command.commands[word]
    rows = dict(options_of(command, f"iconotext {group}".strip()))
    commands_of = Counter(row for options in rows.values() for row in options)
    shared = {row: None for row, commands in commands_of.items() if commands > 1}
    parts = ["## Options of several commands", "".join(map(option_line, sorted(shared, key=flag_of)))]
    for name, options in rows.items():
        own, also = [[row for row in options if (row in shared) == is_shared] for is_shared in (False, True)]
        parts += [f"## {name}", "".join(map(option_line, own))] if own else [f"## {name}"]
        parts += [f"Also {', '.join(f'`{flag_of(row)}`' for row in also)}.\n"] if also else []
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def options_of(command: Any, name: str) -> Iterator[tuple[str, list[Row]]]:
    """Yield the name of each command in a group, and its arguments and options except ``--help``."""
    for inner, each in getattr(command, "commands", {}).items():
        yield from options_of(each, f"{name} {inner}")
    panels = rows_of(command, Context(command)).items()
    found = [row for heading, rows in panels if heading in ("Arguments", "Options", MORE) for row in rows]
    if not hasattr(command, "commands") or command.invoke_without_command:
        yield name, [row for row in found if row.text != "Show this message and exit."]


def flag_of(row: Row) -> str:
    """Return the long flag of an option, or the name of an argument."""
    return re.sub(r"^-\w, ", "", row.name).split(" ")[0].replace("--[no-]", "--")


def option_line(row: Row) -> str:
    """Return the name, the whole help and the facts of an option as a line of a list."""
    choices = f"one of {', '.join(f'`{choice}`' for choice in row.choices)}" if row.choices else ""
    facts = "; ".join(filter(None, [choices, row.default, row.limits]))
    return f"- `{row.name}`: {row.text} {facts[:1].upper()}{facts[1:]}".rstrip() + ("." if facts else "") + "\n"


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

    def new_analysis(match: re.Match[str]) -> str:
        table = records.analysis(match["kind"], match["names"].split())
        return f"<!-- analysis {match['kind']}{match['names']} -->\n{table}<!-- end of analysis -->"

    def new_options(match: re.Match[str]) -> str:
        return f"<!-- options{match['group']} -->\n\n{options(match['group'])}\n<!-- end of options -->"

    text = OPTIONS.sub(new_options, NAMES.sub(new_names, MARKED.sub(new_table, text)))
    return ANALYSIS.sub(new_analysis, RECORD.sub(new_record, text)) if with_records else text


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
