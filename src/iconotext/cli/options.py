"""Options that several commands have, the same in each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from iconotext.cli import complete

CorpusOutput = Annotated[Path, typer.Option("--output", "-o", help="The corpus to write.", show_default=False)]
Force = Annotated[bool, typer.Option("--force", help="Replace files that are there.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Evidence = Annotated[
    str,
    typer.Option(
        help="What to look at, separated by commas: picture, caption, layout, reference.",
        autocompletion=complete.evidence,
    ),
]
Seed = Annotated[int, typer.Option(help="Seed of the random choices.")]
Root = Annotated[
    Path | None,
    typer.Option(
        help="Folder that addresses like /img/a.png start from, and that pictures may come from.",
        exists=True,
        file_okay=False,
        show_default=False,
    ),
]
AllowOutside = Annotated[
    bool, typer.Option("--allow-outside", help="Let documents name pictures anywhere on this machine.")
]
Fetch = Annotated[bool, typer.Option("--fetch", help="Fetch pictures, and pages named by their address, from the web.")]
Download = Annotated[
    bool, typer.Option("--download", help="Fetch a model that is named and not here from the Hugging Face hub.")
]
