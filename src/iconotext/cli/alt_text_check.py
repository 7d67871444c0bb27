"""``iconotext alt-text check``: which pictures have no alternative text, or one that serves nobody."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from iconotext.alt_text.outcome import FAILED, outcome
from iconotext.alt_text.settings import AltTextSettings
from iconotext.cli.common import known_errors
from iconotext.cli.options import READING, Json, SettingsPanel, option, settings_options
from iconotext.cli.output import complain, say
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
    sarif: Annotated[
        Path | None, option("--sarif", metavar="FILE", help="Write the findings as SARIF 2.1.0, too.")
    ] = None,
    baseline: Annotated[
        Path | None, option("--baseline", metavar="FILE", help="Findings that are known: only others count.")
    ] = None,
    write_baseline: Annotated[
        bool, typer.Option("--write-baseline", help="Write all findings into the baseline.")
    ] = False,
) -> None:
    """Find pictures without alternative text, or with one that serves nobody: a file name, the caption again.

    Ends with status 1 if there is something new to mend, and with 2 if a document cannot be read. No model is asked,
    and no picture is looked at but for its size.

    **Examples**

    - `iconotext alt-text check docs/`
    - `iconotext alt-text check docs/ --skip long,image-of --sarif found.sarif`
    - `iconotext alt-text check docs/ --baseline known.json --write-baseline`
    """
    with known_errors(status=FAILED):
        found = outcome(
            paths, checking, reading, as_json=json, sarif=sarif, baseline=baseline, make_baseline=write_baseline
        )
        if found.printed:
            say(found.printed)
        for line in found.told:
            complain(line)
    sys.exit(found.status)
