"""Whether a picture file can be used."""

from __future__ import annotations

from pathlib import Path

from iconotext.errors import ImageError
from iconotext.images import decode


def image_problem(path: str) -> str | None:
    """Why a picture cannot be used: it is missing, is none, or cannot be decoded to its last line.

    Args:
        path: Of the file; a text, since it may go to another process.

    Returns:
        None for a good one; else what is wrong, without the path.
    """
    try:
        decode(Path(path), at_least=1)
    except ImageError as error:
        return str(error).removeprefix(f"{path}: ")
    return None
