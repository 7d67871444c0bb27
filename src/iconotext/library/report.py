"""What came of files that were to go into a library."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Report:
    """What came of the files that were named.

    Attributes:
        added: Pictures that the library did not have.
        encoded: Pictures that the encoder looked at.
        unchanged: Files, pictures and documents, that are as they were.
        documents: Documents that were read.
        removed: Pictures that have no place any more.
        left_out: Pictures that cannot be read or are too small: place and reason.
        failures: Documents and folders that cannot be read: place and reason.
    """

    added: int = 0
    encoded: int = 0
    unchanged: int = 0
    documents: int = 0
    removed: int = 0
    left_out: list[tuple[str, str]] = field(default_factory=list)
    failures: list[tuple[str, str]] = field(default_factory=list)
