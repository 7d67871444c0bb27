"""``iconotext cache``: show the place, size and contents of the cache of features, and make it smaller."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from iconotext.cli.common import known_errors
from iconotext.cli.options import Json
from iconotext.cli.output import say, say_json
from iconotext.cli.output import show as show_report
from iconotext.errors import SettingError
from iconotext.report.tables import Grid

if TYPE_CHECKING:
    from iconotext.features.cache import Usage

_SECONDS = {"h": 3600, "d": 86_400, "w": 7 * 86_400}


def show(context: typer.Context, json: Json = False) -> None:
    """Show the place, size and contents of the cache.

    It holds what encoders made of pictures and sentences, so that no picture and no sentence is encoded twice. It grows
    to 2 GB, then what was used longest ago makes room; `ICONOTEXT_CACHE_SIZE=10GB` says another size, and
    `ICONOTEXT_CACHE` another folder.

    **Examples**

    - `iconotext cache`
    - `iconotext cache prune --older-than 30d`
    """
    if context.invoked_subcommand is not None:
        return
    with known_errors():
        from iconotext.features.cache import cache_usage

        usage = cache_usage()
        if json:
            say_json(asdict(usage) | {"path": str(usage.path)})
        else:
            _show(usage)


def prune(
    older_than: Annotated[
        str | None,
        typer.Option(metavar="AGE", help="Remove what was not used for so long: 2d, 8w.", show_default=False),
    ] = None,
    to_size: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Remove what was used longest ago, until the rest fits: 500MB, 2GB, 0.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Make the cache smaller; what is removed is encoded again when it is needed.

    Other programs may use the cache meanwhile; files that iconotext did not write are never touched.

    **Examples**

    - `iconotext cache prune --older-than 30d`
    - `iconotext cache prune --to-size 2GB`
    """
    with known_errors():
        from iconotext.features.cache import prune_cache, size_in_bytes

        if older_than is None and to_size is None:
            raise SettingError("cache prune needs --older-than AGE or --to-size SIZE: 30d, 2GB")
        pruned = prune_cache(
            older_than=None if older_than is None else _seconds(older_than),
            to_bytes=None if to_size is None else size_in_bytes(to_size, "--to-size"),
        )
        if json:
            say_json({"removed": pruned.entries, "bytes_before": pruned.bytes_before, "bytes": pruned.bytes_after})
        else:
            before, after = _size(pruned.bytes_before), _size(pruned.bytes_after)
            say(f"{pruned.entries:,} entries removed: {before} before, {after} now")


def _show(usage: Usage) -> None:
    say(f"{usage.path}: {_size(usage.bytes)} of {_size(usage.limit)}")
    rows = [[kind.kind, kind.backbone, f"{kind.entries:,}", _size(kind.bytes)] for kind in usage.kinds]
    if rows:
        show_report([Grid("", ["features", "encoder", "entries", "size"], rows)])


def _seconds(text: str) -> float:
    age = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([hdw])", text.strip().lower())
    if age is None:
        raise SettingError(f"--older-than {text}: give an age such as 12h, 30d or 8w")
    return float(age[1]) * _SECONDS[age[2]]


def _size(number: int) -> str:
    """Return a size in decimal units, as ``ICONOTEXT_CACHE_SIZE`` is given."""
    return f"{number / 10**9:,.2f} GB" if number >= 10**9 else f"{number / 10**6:,.1f} MB"
