"""``iconotext scale``: link the documents of shards."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Annotated, Any

from iconotext.cli.common import known_errors, progress
from iconotext.cli.options import LINKING, Download, Json, Model, Runtime, Threads, argument, option, settings_options
from iconotext.cli.output import as_typed, complain, say, say_json
from iconotext.corpus.shards import ShardSettings
from iconotext.linker import LinkSettings
from iconotext.plain_text import counted, readable
from iconotext.scale import LOGS, ScaleSettings

SHOWN = 10
"""Number of reasons, and of damaged shards, that are named on the terminal; ``--json`` names all."""

Shards = Annotated[
    list[str],
    argument(
        metavar="SHARDS...",
        help="Shards, or folders of them, here or in a store. .parquet or .jsonl of a corpus, mmc4 or OBELICS (also "
        ".jsonl.gz, .zst, .zip), WebDataset .tar; s3://bucket/folder names a store.",
    ),
]


@settings_options
def link(
    shards: Shards,
    output: Annotated[str, option("--output", "-o", help="Folder of the results, here or in a store.")],
    settings: ShardSettings = ShardSettings(),
    work: ScaleSettings = ScaleSettings(),
    linking: Annotated[LinkSettings, replace(LINKING, without=("explain",))] = LinkSettings(),
    model: Model = "default",
    threads: Threads = None,
    runtime: Runtime = None,
    download: Download = False,
    json: Json = False,
) -> None:
    """Link the documents of shards, with a pipeline of datatrove: each task writes a file of links.

    The same command again does only the tasks that are missing: stop it, or let the machine fall over, when you like. A
    folder holds results of the same settings and model, never others beside them. The exit status is 1 where nothing
    of a shard could be read; one that is damaged is read as far as that goes, and counted.

    **Examples**

    - `iconotext scale link shards/ --output linked/`
    - `iconotext scale link mmc4/ -o linked/ --min-confidence 0.5`
    - `iconotext scale link s3://bucket/in -o s3://bucket/out --sample 0.01`
    - `iconotext scale link obelics/ -o linked/ --executor slurm --tasks 200`
    - `iconotext scale link s3://bucket/in -o s3://bucket/out --executor ray`
    """
    with known_errors(download=download, goes_on=True):
        from iconotext.scale import link_shards

        result = link_shards(shards, output, model=model, linking=linking, settings=settings, work=work, watch=progress)
        if json:
            say_json({"output": output, **result})
        else:
            _show(output, result)
        if pictureless := result["pictureless"]:
            complain(
                f"{counted(len(pictureless), 'shard')} without any picture, {next(iter(pictureless))} first: is a tar"
            )
            complain("or folder missing beside it? A tar has the name of its shard. Put it back, or name a folder of")
            complain("pictures (--images) or let documents name files anywhere (--allow-outside), and write to a new")
            complain("output folder")
        if result["unread"]:
            sys.exit(1)


def _show(output: str, result: dict[str, Any]) -> None:
    before = result["tasks"] - result["made"] - result["waiting"]
    waiting = f", {result['waiting']:,} in the queue of Slurm" if result["waiting"] else ""
    shards, tasks = counted(result["shards"], "shard"), counted(result["tasks"], "task")
    say(f"{output}: {shards}, {tasks}: {result['made']:,} done now, {before:,} done before{waiting}")
    for name in ("documents", "images"):
        numbers = dict(result[name])
        read = numbers.pop("read", 0)
        outcomes = ", ".join(f"{number:,} {outcome}" for outcome, number in numbers.items())
        say(f"{counted(read, name[:-1])}{': ' * bool(outcomes)}{outcomes}")
    say(counted(result["links"], "link"))
    reasons = sorted(result["reasons"].items(), key=lambda pair: (-pair[1], pair[0]))
    for reason, number in reasons[:SHOWN]:
        say(as_typed(f"  {number:,} × {readable(reason)}"))
    if reasons:
        say(f"  where: {output.rstrip('/')}/{LOGS}/logs")
    for kind, fate in (("damaged", "damaged"), ("unread", "nothing could be read")):
        for name, reason in list(result[kind].items())[:SHOWN]:
            complain(f"{readable(name)}: {fate}: {readable(reason)}")
        if len(result[kind]) > SHOWN:
            complain(f"and {len(result[kind]) - SHOWN} more; --json names all")
