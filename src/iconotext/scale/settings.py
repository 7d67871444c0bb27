"""Settings of runs over shards: how documents are read and written (``ShardSettings``), and by which processes."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

To = Literal["parquet", "jsonl"]


class ShardSettings(BaseModel):
    """How documents of shards are read and written. All of it shapes the result: a folder has shards of one setting."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    to: To = "parquet"
    """What shards are written as: ``parquet``, a row for each link; ``jsonl``, a line for each document with all that
    is known of it."""

    unlinked: Literal["keep", "drop"] = "keep"
    """What becomes of documents without a link that is sure enough (see --min-confidence)."""

    sample: float = Field(1.0, gt=0, le=1)
    """Take this share of the documents, by a digest of their ids: always the same ones, and a smaller share takes some
    of those of a larger one."""

    images: Path | None = None
    """Folder of pictures that lie neither in the shards nor beside them, by name or by a digest of their address."""

    without: Path | None = None
    """Leave pictures out that a table of ``iconotext scale duplicates`` names."""

    allow_outside: bool = False
    """Let documents name pictures anywhere on this machine."""


class EngineSettings(BaseModel):
    """Which processes do the work. None of it shapes the result."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    engine: Literal["local", "ray"] = "local"
    """``local``, processes of this machine; ``ray``, tasks of Ray, on a cluster or on this machine. The result is the
    same."""

    address: str | None = None
    """Address of a cluster of Ray (default: RAY_ADDRESS, else one is started on this machine for the time of the run).
    Shards and results must then be in a store, or in folders that all its machines have at the same paths."""

    workers: int | None = Field(None, ge=1)
    """Processes, each with a shard at a time (default: one a core, also of a cluster that grows); the result is the
    same for any number."""

    memory: float = Field(4.0, gt=0)
    """Gigabytes of address space that a process may take besides its models; a shard that needs more is left out."""

    tries: int = Field(3, ge=1)
    """How often a shard is begun whose process dies, before it is left out."""
