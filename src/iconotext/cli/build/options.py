"""Options that several builders have, the same in each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Source = Annotated[
    Path, typer.Option("--source", "-s", help="Folder with the original files, as downloaded.", show_default=False)
]
Sources = Annotated[
    list[Path], typer.Option("--source", "-s", help="A file or folder; may be given several times.", show_default=False)
]
Images = Annotated[
    Path | None,
    typer.Option(help="Folder with the pictures, where they are not in the source.", show_default=False),
]
Workers = Annotated[
    int | None, typer.Option(min=1, help="Processes; the result is the same for any number.", show_default="all cores")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Any other setting; see the guide.", show_default=False),
]
