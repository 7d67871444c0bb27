"""``iconotext corpus build``: a command for each data set and each kind of source."""

from __future__ import annotations

import typer

from iconotext.cli.build.captions import captions
from iconotext.cli.build.cite import cite
from iconotext.cli.build.clue import clue
from iconotext.cli.build.folder import folder
from iconotext.cli.build.pairs import pairs

build = typer.Typer(
    name="build",
    help="Make a corpus out of files, out of photographs with captions, or out of a published data set.",
    no_args_is_help=True,
)
build.command()(captions)
build.command()(cite)
build.command()(clue)
build.command()(folder)
build.command()(pairs)
