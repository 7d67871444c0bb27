"""How documents are read: every choice a user has, with its default."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from iconotext.read.web_page import Origin


class ReadSettings(BaseModel):
    """Settings of reading; each can be given as ``--set name=value`` on the command line."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    language: str | None = Field(None, pattern="^[a-z]{2,3}$")
    """ISO 639 code of the text; None takes what the document declares, else detects it."""

    root: Path | None = None
    """Folder that picture addresses beginning with ``/`` start from and that no picture may leave; None looks for the
    former in the parent folders of the document, and keeps the latter to the folder of the document."""

    allow_outside: bool = False
    """Whether a document may name pictures anywhere on this machine."""

    fetch: bool = False
    """Whether pictures, and documents that are named by their address, are fetched from the web."""

    origins: Mapping[Path, Origin] = Field({}, repr=False, exclude=True)
    """Where files were fetched from, as ``web_page.fetch_page`` says it: addresses in them start there."""

    min_side: int = Field(64, ge=1)
    """Pictures with a side below this many pixels count as icons and are not linked."""

    include: tuple[str, ...] = ()
    """Which files of a folder are read, as patterns of a ``.gitignore``; () for all."""

    exclude: tuple[str, ...] = ()
    """Which files and folders of a folder are not read, as patterns of a ``.gitignore``: the last one that fits counts,
    and ``!`` before a pattern takes back what is left out without being asked (``iconotext.read.find.LEFT_OUT``)."""

    epub: Literal["book", "chapters"] = "book"
    """Whether an EPUB is one document or one document per chapter."""

    captions: bool = False
    """Whether captions and alt texts are sentences too."""

    max_bytes: int = Field(256 * 2**20, ge=1)
    """Largest document file, and largest sum of what a DOCX or EPUB unpacks to, in bytes."""

    max_pixels: int = Field(100_000_000, ge=1)
    """Largest picture, in pixels."""
