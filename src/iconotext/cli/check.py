"""``iconotext check``: what is wrong with the pictures of documents."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from iconotext.check.audit import FAILED, audit
from iconotext.check.rules import CheckSettings
from iconotext.cli.common import known_errors
from iconotext.cli.options import READING, Fields, Json, option, settings_options
from iconotext.cli.output import complain, say
from iconotext.read import ReadSettings
from iconotext.read.format import EXAMPLES


@settings_options
def check(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="PATH...", help=f"Documents, or folders of them. {EXAMPLES}, ...", show_default=False),
    ],
    checking: Annotated[
        CheckSettings,
        Fields(more={"rules": {"metavar": "RULE,..."}, "skip": {"metavar": "RULE,..."}}),
    ],
    reading: Annotated[
        ReadSettings,
        Fields(only=("root", "include", "exclude", "max_bytes"), more=READING.more),
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
    force: Annotated[bool, typer.Option("--force", help="Replace a file that no check wrote.")] = False,
    chunks: Annotated[
        list[Path] | None,
        option("--chunks", metavar="FILE", help="Chunks of the documents, by any program. May be repeated."),
    ] = None,
) -> None:
    """Find what is wrong with the pictures of documents: alternative texts, numbers, references, captions, files.

    Ends with status 1 if there is something new to mend, and with 2 if a document cannot be read. No model is asked,
    and no picture is looked at but for its size; only for `--chunks` the documents are linked.

    **Examples**

    - `iconotext check docs/`
    - `iconotext check docs/ --rules figure,reference`
    - `iconotext check docs/ --skip alt-long,alt-image-of --sarif found.sarif`
    - `iconotext check docs/ --baseline known.json --write-baseline`
    - `iconotext check docs/ --rules chunk --chunks ours.jsonl --chunks docling.jsonl`
    """
    with known_errors(status=FAILED):
        result = audit(
            paths,
            checking,
            reading,
            as_json=json,
            sarif=sarif,
            baseline=baseline,
            make_baseline=write_baseline,
            force=force,
            chunks=chunks or (),
        )
        if result.output:
            say(result.output)
        for line in result.messages:
            complain(line)
    sys.exit(result.status)
