"""``iconotext cache``: show the place, size and contents of the cache of features."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from iconotext.cli.common import known_errors
from iconotext.cli.options import Json
from iconotext.cli.output import say, say_json
from iconotext.cli.output import show as show_report
from iconotext.report.tables import Grid

if TYPE_CHECKING:
    from iconotext.features.cache import Usage


def show(json: Json = False) -> None:
    """Show the place, size and contents of the cache.

    It holds what encoders made of pictures and sentences, so that no picture and no sentence is encoded twice. It grows
    to 2 GB, then what was used longest ago makes room; `ICONOTEXT_CACHE_SIZE=10GB` says another size, and
    `ICONOTEXT_CACHE` another folder. To begin anew, delete the file.

    **Examples**

    - `iconotext cache`
    """
    with known_errors():
        from iconotext.features.cache import cache_usage

        usage = cache_usage()
        if json:
            say_json(asdict(usage) | {"path": str(usage.path)})
        else:
            _show(usage)


def _show(usage: Usage) -> None:
    say(f"{usage.path}: {_size(usage.bytes)} of {_size(usage.limit)}")
    rows = [[kind.kind, kind.backbone, f"{kind.entries:,}", _size(kind.bytes)] for kind in usage.kinds]
    if rows:
        show_report([Grid("", ["features", "encoder", "entries", "size"], rows)])


def _size(number: int) -> str:
    """Return a size in decimal units, as ``ICONOTEXT_CACHE_SIZE`` is given."""
    return f"{number / 10**9:,.2f} GB" if number >= 10**9 else f"{number / 10**6:,.1f} MB"
