"""The settings of reading: every choice that a user has, with its default."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from iconotext.plain_text import did_you_mean
from iconotext.read.web.page import Origin

LANGUAGES = frozenset(
    "aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el "
    "en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it "
    "iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt "
    "my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk "
    "sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi "
    "yo za zh zu ".split()
)
"""The codes of ISO 639-1."""


class ReadSettings(BaseModel):
    """How documents are read; the commands that read documents have an option for each."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    language: str | None = Field(None, pattern="^[a-z]{2,3}$")
    """ISO 639 code of the text, such as ``de`` (default: as the document declares, else detected)."""

    @field_validator("language")
    @classmethod
    def _check_language(cls, language: str | None) -> str | None:
        if language is not None and len(language) == 2 and language not in LANGUAGES:
            near = did_you_mean(language, sorted(LANGUAGES)) or "; such are de, en, fr"
            raise ValueError(f"{language!r} is no ISO 639-1 code{near}")
        return language

    root: Path | None = None
    """Folder that addresses like ``/img/a.png`` start from, and that pictures may come from (default: the folder
    that was named or the document's, and for such addresses the site that it lies in)."""

    allow_outside: bool = False
    """Let documents name pictures anywhere on this machine."""

    fetch: bool = False
    """Fetch pictures, and pages named by their address, from the web."""

    origins: Mapping[Path, Origin] = Field({}, repr=False, exclude=True)
    """Where files were fetched from, by ``web.page.fetch_page``: relative addresses in them start there."""

    min_side: int = Field(64, ge=1)
    """Pictures with a side of fewer pixels count as icons and are left out; up to eight times as large, so do pictures
    that are named as icons or logos, and thumbnails of pictures that are there (1 keeps all)."""

    include: tuple[str, ...] = ()
    """Of folders, read only such files (patterns of a .gitignore); may be repeated."""

    exclude: tuple[str, ...] = ()
    """Of folders, leave out such files and folders (patterns of a .gitignore; ``!PATTERN`` reads what is left out
    without being asked); may be repeated."""

    epub: Literal["book", "chapters"] = "book"
    """Read an EPUB as one document, or each chapter as one."""

    captions: bool = False
    """Take captions and alternative texts as sentences, too."""

    max_bytes: int = Field(256 * 2**20, ge=1)
    """Largest document file, and largest sum of what a DOCX or EPUB unpacks to, in bytes."""

    max_pixels: int = Field(100_000_000, ge=1)
    """Largest picture, in pixels."""
