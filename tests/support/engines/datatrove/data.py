from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


class MediaType:
    IMAGE = 0


@dataclass(slots=True)
class Media:
    id: str
    type: int
    url: str
    alt: str | None = None
    path: str | None = None
    media_bytes: bytes | None = None


@dataclass(slots=True)
class Document:
    text: str
    id: str
    media: list[Media] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
