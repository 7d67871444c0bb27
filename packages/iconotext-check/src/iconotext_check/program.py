"""Options, output and status of ``iconotext-check``: those of ``iconotext check``, from the same settings classes.

By argparse instead of Typer and rich, which would be a third of what is installed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError

from iconotext import __version__
from iconotext.check.audit import FAILED, audit
from iconotext.check.rules import CheckSettings
from iconotext.errors import IconotextError
from iconotext.plain_text import listed, readable
from iconotext.read import ReadSettings
from iconotext.read.format import FORMATS

READS = ("markdown", "html", "docx", "epub", "odt", "pptx", "notebook", "rst", "asciidoc")
"""Names of the formats that it reads; the others need packages with much inside."""

TITLES = listed((row.title for row in FORMATS if row.name in READS), "or")

READING = ("root", "include", "exclude", "max_bytes")
"""Settings of reading that the check uses."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program."""
    parser = _parser()
    options = vars(parser.parse_args(arguments))
    if "chunks" in options:
        parser.error("--chunks has to link the documents: pip install iconotext, and iconotext check --chunks")
    try:
        settings = CheckSettings.model_validate(_settings_of(CheckSettings, options))
        reading = ReadSettings.model_validate(_settings_of(ReadSettings, options))
    except ValidationError as error:
        wrong = error.errors()[0]
        name = str(wrong["loc"][0]).replace("_", "-")
        parser.error(f"argument --{name}: {wrong['input']!r}: {wrong['msg']}")
    try:
        result = audit(
            options["paths"],
            settings,
            reading,
            as_json=options["json"],
            sarif=options.get("sarif"),
            baseline=options.get("baseline"),
            make_baseline=options["write_baseline"],
            formats=READS,
            force=options["force"],
        )
    except IconotextError as error:
        _complain(str(error))
        sys.exit(FAILED)
    except KeyboardInterrupt:
        _complain("stopped")
        sys.exit(130)
    if result.output:
        print(readable(result.output))
    for line in result.messages:
        _complain(line)
    sys.exit(result.status)


def _settings_of(kind: type[BaseModel], options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name in kind.model_fields}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="iconotext-check",
        description="Find what is wrong with the pictures of documents: alternative texts, numbers, references, "
        "captions, files. Ends with status 1 if there is something new to mend, and with 2 if a document cannot be "
        "read.",
        argument_default=argparse.SUPPRESS,
    )
    parser.add_argument("--version", action="version", version=f"iconotext-check {__version__}")
    parser.add_argument("paths", metavar="PATH", nargs="+", help=f"Documents ({TITLES}), or folders.")
    for name in CheckSettings.model_fields:
        _add(parser, CheckSettings, name)
    for name in READING:
        _add(parser, ReadSettings, name)
    parser.add_argument("--json", action="store_true", default=False, help="Print JSON, for programs.")
    parser.add_argument("--sarif", type=Path, metavar="FILE", help="Write the findings as SARIF 2.1.0, too.")
    parser.add_argument("--baseline", type=Path, metavar="FILE", help="Findings that are known: only others count.")
    parser.add_argument(
        "--write-baseline", action="store_true", default=False, help="Write all findings into the baseline."
    )
    parser.add_argument("--chunks", metavar="FILE", action="append", help="Only in iconotext check: install iconotext.")
    parser.add_argument("--force", action="store_true", default=False, help="Replace a file that no check wrote.")
    return parser


def _add(parser: argparse.ArgumentParser, kind: Any, name: str) -> None:
    info = kind.model_fields[name]
    about = " ".join((info.description or "").replace("``", "`").replace("%", "%%").split())
    flag = f"--{name.replace('_', '-')}"
    more: dict[str, Any] = {}
    if get_origin(info.annotation) is tuple:
        rules = get_origin(get_args(info.annotation)[0]) is Annotated
        more = {"type": lambda text: tuple(text.split(",")), "metavar": "RULE,..."} if rules else {"action": "append"}
    elif get_origin(info.annotation) is Literal:
        more = {"choices": get_args(info.annotation)}
    elif info.annotation is int:
        more = {"type": int, "metavar": "N"}
    parser.add_argument(flag, dest=name, help=about, **more)


def _complain(line: str) -> None:
    print(f"iconotext: {readable(' '.join(line.splitlines()))}", file=sys.stderr)
