"""The settings of reading: every choice that a user has, with its default."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from iconotext.plain_text import did_you_mean
from iconotext.read.sentences import language_code
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

    language: str | None = None
    """Language, such as de (default: detected). ISO 639 code; by default as the document declares, else detected."""

    @field_validator("language")
    @classmethod
    def _check_language(cls, language: str | None) -> str | None:
        code = language_code(language or "")
        if language is not None and (code is None or (len(code) == 2 and code not in LANGUAGES)):
            near = did_you_mean(language, sorted(LANGUAGES)) or "; such are de, en, fr"
            raise ValueError(f"{language!r} is no ISO 639-1 code{near}")
        return code

    root: Path | None = None
    """Folder that pictures and /img/a.png come from. Addresses like ``/img/a.png`` start there, and pictures may lie in
    it (default: the folder that was named or the document's, and for such addresses the site that it lies in)."""

    allow_outside: bool = False
    """Let documents name pictures anywhere on this machine."""

    fetch: bool = False
    """Fetch pictures and named pages from the web. A page is named by its address."""

    origins: Mapping[Path, Origin] = Field({}, repr=False, exclude=True)
    """Where files were fetched from, by ``web.page.fetch_page``: relative addresses in them start there."""

    min_side: int = Field(64, ge=1)
    """Smallest side of a picture, in pixels. Smaller ones count as icons and are left out; up to eight times as large,
    so do pictures that are named as icons or logos, and thumbnails of pictures that are there (1 keeps all)."""

    include: tuple[str, ...] = ()
    """Read only files of this pattern. As in a .gitignore, where folders are read. May be repeated."""

    exclude: tuple[str, ...] = ()
    """Leave out files and folders of this pattern. As in a .gitignore, where folders are read; ``!PATTERN`` reads what
    is left out without being asked. May be repeated."""

    epub: Literal["book", "chapters"] = "book"
    """What of an EPUB is a document. It is the book, or each chapter."""

    captions: bool = False
    """Captions and alternative texts are sentences, too."""

    max_bytes: int = Field(256 * 2**20, ge=1)
    """Largest document file, in bytes. Also the largest sum of what a DOCX or EPUB unpacks to."""

    max_pixels: int = Field(100_000_000, ge=1)
    """Largest picture, in pixels."""
