"""The settings of a server (``ServeSettings``): every choice a user has, with its default."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from iconotext.read.web.fetch import is_loopback


class ServeSettings(BaseModel):
    """How documents are served; the command has an option for each."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, validate_default=True)

    root: Path | None = None
    """Folder whose documents may be opened (default: none). The page opens them by their path; without it, only what is
    dropped."""

    data: Path = Path("iconotext-serve")
    """Folder of its data. Dropped files, links and corrections are stored there."""

    host: str = "127.0.0.1"
    """Address to listen at. Any but a loopback one lets other machines in; ``allow`` then says by which names."""

    allow: tuple[str, ...] = ()
    """Name by which other machines reach this one. Such as ``docs.example.org``; may be repeated."""

    port: int = Field(8017, ge=0, le=65535)
    """Port to listen at. 0 takes a free one."""

    library: Path | None = None
    """Library of pictures to search (default: none). A folder that ``iconotext library add`` made."""

    write: bool = False
    """Write accepted alternative texts into the files. These are the files below the root; without it, the texts are a
    download."""

    workers: int = Field(1, ge=1, le=64)
    """Processes that read and link. As many search the library."""

    max_upload: int = Field(256 * 2**20, ge=1)
    """Largest upload, in bytes. Also the largest sum of what a zip unpacks to."""

    max_files: int = Field(2_000, ge=1)
    """Most files at a time. They come in an upload, a zip or an opened folder."""

    max_seconds: float = Field(600.0, ge=1)
    """Most seconds for one document. It is read and linked in them."""

    @field_validator("write")
    @classmethod
    def _below_a_root(cls, write: bool, info: ValidationInfo) -> bool:
        if write and info.data.get("root") is None:
            raise ValueError("only files below a root folder are written into: name it")
        return write

    @field_validator("allow")
    @classmethod
    def _reachable(cls, allow: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        host = info.data.get("host", "127.0.0.1")
        if not is_loopback(host) and not allow:
            raise ValueError(f"{host} lets other machines in: say by which names they reach this one")
        return tuple(name.lower() for name in allow)
