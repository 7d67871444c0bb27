"""``iconotext corpus build``: a command for each data set and each kind of source."""

from __future__ import annotations

import typer

from iconotext.cli.build.captions import captions
from iconotext.cli.build.cite import cite
from iconotext.cli.build.clue import clue
from iconotext.cli.build.dii_stress import dii_stress
from iconotext.cli.build.diy import diy
from iconotext.cli.build.folder import folder
from iconotext.cli.build.mmc4 import mmc4
from iconotext.cli.build.mscoco import mscoco
from iconotext.cli.build.multi_retrieval import multi_retrieval
from iconotext.cli.build.obelics import obelics
from iconotext.cli.build.pairs import pairs
from iconotext.cli.build.rqa import rqa
from iconotext.cli.build.story_dii import story_dii
from iconotext.cli.build.story_sis import story_sis
from iconotext.cli.build.wiki import wiki

OWN = "Out of what you have"
HESSEL_2019 = "Data sets of Hessel 2019 (Li 2021 uses the first three)"
ALIKHANI_2021 = "Data sets of Alikhani 2021"
SHARDS = "Shards as published"

build = typer.Typer(
    name="build",
    help="Make a corpus out of files, out of photographs with captions, or out of a published data set.",
    no_args_is_help=True,
)
for panel, commands in {
    OWN: (folder, captions, pairs),
    HESSEL_2019: (mscoco, story_dii, story_sis, dii_stress, rqa, diy, wiki),
    ALIKHANI_2021: (cite, clue),
    SHARDS: (mmc4, obelics, multi_retrieval),
}.items():
    for command in commands:
        build.command(rich_help_panel=panel)(command)
