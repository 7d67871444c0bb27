"""Names of pictures that leave their ending open, as Sphinx and MyST allow it: ``plan.*``."""

from __future__ import annotations

from urllib.parse import quote

ENDINGS = ("svg", "png", "gif", "jpeg", "jpg", "webp", "avif")
"""In the order in which Sphinx prefers them for a page."""


def candidates(address: str) -> str | None:
    """The names that ``plan.*`` may stand for, as a ``srcset``, the preferred one first; None for any other name."""
    if not address.endswith(".*"):
        return None
    stem = quote(address[:-2], safe="/:.%")
    return ", ".join(f"{stem}.{ending} {len(ENDINGS) - n}w" for n, ending in enumerate(ENDINGS))
