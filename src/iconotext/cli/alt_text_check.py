"""``iconotext alt-text check``: which pictures have no alternative text, or one that serves nobody."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from iconotext.alt_text.settings import AltTextSettings
from iconotext.cli.common import known_errors
from iconotext.cli.options import READING, Json, SettingsPanel, settings_options
from iconotext.cli.output import complain, say, say_json
from iconotext.plain_text import counted
from iconotext.read import ReadSettings


@settings_options
def check(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH", help="Markdown, HTML, DOCX or EPUB files, or folders of them.", show_default=False
        ),
    ],
    checking: Annotated[
        AltTextSettings,
        SettingsPanel("Checking", more={"rules": {"metavar": "RULE,..."}, "skip": {"metavar": "RULE,..."}}),
    ],
    reading: Annotated[
        ReadSettings,
        SettingsPanel("Reading", only=("root", "include", "exclude", "max_bytes"), more=READING.more),
    ],
    json: Json = False,
) -> None:
    """Find pictures without alternative text, or with one that serves nobody: a file name, the caption again.

    Ends with status 1 if there is something to mend, and with 2 if a document cannot be read.

    **Examples**

    - `iconotext alt-text check docs/`
    - `iconotext alt-text check docs/ --skip long,image-of`
    """
    with known_errors():
        from iconotext.alt_text.as_lines import finding_lines
        from iconotext.alt_text.check import check as check_alt_text

        checked = check_alt_text(paths, checking, reading)
        if json:
            say_json([asdict(finding) for finding in checked.findings])
        else:
            for line in finding_lines(checked.findings):
                say(line)
        for failure in checked.failures:
            complain(str(failure.error))
        found, pictures = counted(len(checked.findings), "finding"), counted(checked.pictures, "picture")
        say(f"{found} in {pictures} of {counted(checked.documents, 'document')}", err=True)
    sys.exit(2 if checked.failures else bool(checked.findings))
