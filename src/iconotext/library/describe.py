"""Describes what is in a library."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from iconotext.library.conditions import quoted
from iconotext.library.files import file_kind
from iconotext.library.items import file_of
from iconotext.library.store import Library


def describe(library: Library) -> dict[str, Any]:
    """Describe a library, for people and programs.

    Returns:
        ``library`` (its folder), ``pictures``, ``documents`` (files with at least one picture, without those in
        shards), ``shards``, ``folders`` (added folders and documents: objects with ``path`` and ``pictures``),
        ``single_pictures`` (number of pictures that were added as single files), ``model``, ``space``, ``dim``,
        ``relation_model``, ``relations``, ``bytes`` (on disk), ``index`` (None if search is exact; else ``pictures``
        when it was made, ``partitions``, ``probes``, ``refine``, ``recall``, ``queries``).

    Raises:
        LibraryError: The library cannot be read.
    """
    settings = library.settings
    singles = {root for root in settings.roots if file_kind(Path(root)) == "picture" and not Path(root).is_dir()}
    several = [root for root in settings.roots if root not in singles]
    owners = {owner for some in library.column("owners") for owner in some}
    kinds = Counter(file_kind(Path(file)) for file in {file_of(owner) for owner in owners})
    return {
        "library": str(library.path),
        "pictures": library.count(),
        "documents": kinds["document"],
        "shards": kinds["shard"],
        "folders": [{"path": root, "pictures": _count(library, root)} for root in several],
        "single_pictures": len(singles),
        "model": settings.model,
        "space": settings.space,
        "dim": settings.dim,
        "relation_model": settings.relation_model,
        "relations": list(settings.relations),
        "bytes": sum(_size(file) for file in library.path.rglob("*") if file.is_file()),
        "index": None if settings.index is None else asdict(settings.index),
    }


def _count(library: Library, root: str) -> int:
    return library.count(f"array_has(folders, {quoted(Path(root).as_posix())}) OR array_has(owners, {quoted(root)})")


def _size(file: Path) -> int:
    try:
        return int(file.stat().st_size)
    except OSError:  # a writer has just replaced it
        return 0
