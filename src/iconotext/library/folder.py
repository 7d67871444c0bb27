"""Checks the folder of a library: whether it may become one, and whether a file in it was cut short."""

from __future__ import annotations

from pathlib import Path

from iconotext.errors import LibraryError
from iconotext.extras import require
from iconotext.library.damage import SUMS, TABLE
from iconotext.library.store import LEDGER

_END = b"LANC"
"""The last bytes of every LanceDB file."""


def check_new(path: Path) -> None:
    """Check that a folder may become a library: it does not exist, or has only files that a killed program left.

    Raises:
        LibraryError: It has other files.
        MissingPackageError: What keeps a library is not installed.
    """
    require("library", purpose="a library of pictures")
    ours = (f"{TABLE}.lance", LEDGER, SUMS, ".iconotext-")
    try:
        others = [entry.name for entry in path.iterdir() if not entry.name.startswith(ours)] if path.exists() else []
    except OSError as error:
        raise LibraryError(f"{path}: cannot be a library: {error.strerror or error}") from error
    if others:
        raise LibraryError(
            f"{path}: a folder with other things in it ({min(others)}); name a new folder for the library,"
            " then the pictures: iconotext library add LIB PATH..."
        )


def torn_versions(path: Path) -> list[Path]:
    """Versions of the table with a file that was cut short, for example because the disk was full.

    LanceDB does not always notice when it writes one, and then cannot read the table; the version before is whole.
    """
    table, torn = path / f"{TABLE}.lance", []
    for file in [*table.glob("data/*.lance"), *table.glob("_indices/*/*")]:
        if not _is_whole(file):
            index = file.parent.name.replace("-", "")
            torn.append(bytes.fromhex(index) if file.parent.parent.name == "_indices" else file.name.encode())
    versions = [(file, file.read_bytes()) for file in table.glob("_versions/*.manifest")]
    return [file for file, text in versions if text[-4:] != _END or any(name in text for name in torn)]


def _is_whole(file: Path) -> bool:
    with file.open("rb") as stream:
        stream.seek(max(0, file.stat().st_size - 4))
        return stream.read() == _END
