"""``iconotext scale``: link the documents of shards, find near-duplicate pictures."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Annotated, Any

from iconotext.cli.common import known_errors, progress
from iconotext.cli.options import (
    LINKING,
    Download,
    Fields,
    Json,
    Model,
    Runtime,
    Threads,
    argument,
    option,
    settings_options,
)
from iconotext.cli.output import as_typed, complain, say, say_json
from iconotext.corpus.shards import MANIFESTS, ShardSettings
from iconotext.linker import LinkSettings
from iconotext.plain_text import counted, readable
from iconotext.scale.engine import EngineSettings

SHOWN = 10
"""Number of reasons, and of lost or damaged shards, that are named on the terminal; ``--json`` names all."""

Shards = Annotated[
    list[str],
    argument(
        metavar="SHARDS...",
        help="Shards, or folders of them, on this machine or in a store (s3://bucket/folder): .parquet or .jsonl "
        "of a corpus, mmc4 or OBELICS (also .jsonl.gz, .zst, .zip), WebDataset .tar.",
    ),
]


@settings_options
def link(
    shards: Shards,
    output: Annotated[str, option("--output", "-o", help="Folder of the results, here or in a store.")],
    settings: ShardSettings = ShardSettings(),
    work: EngineSettings = EngineSettings(),
    linking: Annotated[LinkSettings, replace(LINKING, without=("explain",))] = LinkSettings(),
    model: Model = "default",
    threads: Threads = None,
    runtime: Runtime = None,
    download: Download = False,
    json: Json = False,
) -> None:
    """Link the documents of shards: each shard gives a shard of results, with a manifest of what became of everything.

    The same command again does only what is missing: stop it, or let the machine fall over, when you like. A folder
    holds results of the same settings and model, never others beside them. The exit status is 1 where a shard was not
    made, or nothing of it could be read; one that is damaged is read as far as that goes, and counted.

    **Examples**

    - `iconotext scale link shards/ --output linked/`
    - `iconotext scale link mmc4/ -o linked/ --min-confidence 0.5 --unlinked drop`
    - `iconotext scale link s3://bucket/obelics -o s3://bucket/linked --workers 32 --sample 0.01`
    - `iconotext scale link s3://bucket/obelics -o s3://bucket/linked --engine ray --address 10.0.0.1:6379`
    """
    with known_errors(download=download, goes_on=True, elsewhere=True):
        from iconotext.scale.run import link_shards

        result = link_shards(
            shards, output, model=model, linking=linking, settings=settings, engine=work, watch=progress
        )
        _report(output, result, json, without=settings.without is not None)


@settings_options
def duplicates(
    shards: Shards,
    output: Annotated[
        str, option("--output", "-o", help="Folder of the hashes, and of _duplicates.parquet, here or in a store.")
    ],
    settings: Annotated[ShardSettings, Fields(only=("images", "sample", "allow_outside"))] = ShardSettings(),
    work: EngineSettings = EngineSettings(),
    distance: Annotated[
        int, option("--distance", min=0, max=15, help="Bits of 64 in which the hashes of two may differ.")
    ] = 3,
    json: Json = False,
) -> None:
    """Find the pictures of all shards that look like an earlier one: copies in other sizes, formats and qualities.

    Writes a table of them, the earlier one left out, which `iconotext scale link --without` takes. The same command
    again looks only at shards that are new or have changed.

    **Examples**

    - `iconotext scale duplicates shards/ -o hashes/`
    - `iconotext scale link shards/ -o linked/ --without hashes/_duplicates.parquet`
    """
    with known_errors(goes_on=True, elsewhere=True):
        from iconotext.scale.duplicates import find_duplicates

        result = find_duplicates(shards, output, distance=distance, settings=settings, engine=work, watch=progress)
        _report(output, result, json)


def _report(output: str, result: dict[str, Any], json: bool, *, without: bool = False) -> None:
    if json:
        say_json({"output": output, **result})
    else:
        _show(output, result)
    others = result["others"]
    for name, number in list(result["pictureless"].items())[:SHOWN]:
        complain(f"{readable(name)}: {counted(number, 'picture')}, none found")
    if pictureless := result["pictureless"]:
        shards = counted(len(pictureless), "shard")
        complain(f"{shards} without any picture: is a tar or folder missing beside it? A tar has the")
        complain("name of its shard. Put it back, or name a folder of pictures (--images) or let documents name files")
        complain("anywhere (--allow-outside), and write to a new output folder")
    if without and not result["images"].get("left out"):
        complain("--without names none of these pictures: is it a table of these shards?")
    if others:
        names = f"{readable(others[0])} and {len(others) - 1:,} more" if len(others) > 1 else readable(others[0])
        complain(f"{output} has results of shards that were not named ({names}), which are not in these figures")
    if result["lost"] or result["unread"]:
        sys.exit(1)


def _show(output: str, result: dict[str, Any]) -> None:
    from iconotext.scale.duplicates import DUPLICATES
    from iconotext.system.object_store import joined

    before, unread = result["shards"] - result["made"], len(result["unread"])
    say(
        f"{output}: {counted(result['shards'], 'shard')}, {result['made']:,} made now, {before:,} there before"
        + f"; {unread:,} of them empty, since nothing could be read" * bool(unread)
    )
    for name in ("documents", "images"):
        numbers = dict(result[name])
        read = numbers.pop("read", 0)
        outcomes = ", ".join(f"{number:,} {outcome}" for outcome, number in numbers.items())
        say(f"{counted(read, name[:-1])}{': ' * bool(outcomes)}{outcomes}")
    if "duplicates" in result:
        say(f"{counted(result['duplicates'], 'picture')} like an earlier one: {joined(output, DUPLICATES)}")
    else:
        say(counted(result["links"], "link"))
    reasons = sorted(result["reasons"].items(), key=lambda pair: (-pair[1], pair[0]))
    for reason, number in reasons[:SHOWN]:
        say(as_typed(f"  {number:,} × {readable(reason)}"))
    if reasons:
        say(f"  where: {joined(output, MANIFESTS)}")
    for kind, fate in (("damaged", "damaged"), ("unread", "nothing could be read"), ("lost", "not made")):
        for name, reason in list(result[kind].items())[:SHOWN]:
            complain(f"{readable(name)}: {fate}: {readable(reason)}")
        if len(result[kind]) > SHOWN:
            complain(f"and {len(result[kind]) - SHOWN} more; --json names all")
