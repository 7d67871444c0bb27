"""What became of every row of a source: used, used with a note, or left out for a reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from iconotext.papers.datasets.labelled.annotation_table import Table

UNSOUGHT = "not looked for"
"""Why a picture is missing where nobody named a folder; such pictures are not listed."""


@dataclass(slots=True)
class SourceReport:
    """What became of the rows of one file.

    Attributes:
        table: The file and how it is written.
        used: Rows that became documents.
        left_out: Number of the line, and why, of every other row.
        notes: Number of the line, and what to know, of rows that were used.
    """

    table: Table
    used: int = 0
    left_out: list[tuple[int, str]] = field(default_factory=list)
    notes: list[tuple[int, str]] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """All of them."""
        return self.used + len(self.left_out)

    def reasons(self) -> Counter[str]:
        """How many rows were left out for each reason; what differs from row to row stands apart from it."""
        return Counter(reason.partition(":")[0] for _, reason in self.left_out)

    def as_json(self) -> dict[str, Any]:
        """The same as an object of JSON."""
        table = self.table
        return {
            "file": table.path.name,
            "encoding": table.encoding,
            **({"lines_in_other_encoding": {table.fallback: table.odd_lines}} if table.fallback else {}),
            "separator": table.separator,
            "rows": self.rows,
            "used": self.used,
            "left_out": dict(self.reasons().most_common()),
            "rows_left_out": [{"line": line, "reason": reason} for line, reason in self.left_out],
            "rows_with_notes": [{"line": line, "note": note} for line, note in self.notes],
        }


@dataclass(slots=True)
class Answers:
    """How a relation was judged.

    Attributes:
        yes: Pairs that have it.
        no: Pairs that do not.
        none: Pairs of which nobody said.
    """

    yes: int = 0
    no: int = 0
    none: int = 0

    def add(self, answer: bool | None) -> None:
        """Count one more."""
        if answer is None:
            self.none += 1
        elif answer:
            self.yes += 1
        else:
            self.no += 1

    @property
    def rate(self) -> float | None:
        """Share of the pairs that have it among those that were judged, 0 to 1; None where there are none."""
        return self.yes / (self.yes + self.no) if self.yes + self.no else None

    def as_json(self) -> dict[str, Any]:
        """The same as an object of JSON."""
        return {"yes": self.yes, "no": self.no, "unanswered": self.none, "positive_rate": self.rate}


@dataclass(slots=True)
class LabelledReport:
    """All that is to be known of a build; the same for the same sources, pictures and settings.

    Attributes:
        builder: Name of the builder.
        settings: What it was asked for.
        published: What the paper says the data set has, to be compared.
        sources: By file, in their order.
        splits: Documents of each.
        answers: By relation.
        repeats: Documents whose text and picture an earlier document has too.
        pictures: Different pictures that documents name.
        missing: Those without a file, and why.
        shared: Pairs of validation and test that share a picture, a text, or either with a pair of training.
    """

    builder: str
    settings: dict[str, Any]
    published: Mapping[str, Any]
    sources: list[SourceReport] = field(default_factory=list)
    splits: Counter[str] = field(default_factory=Counter)
    answers: dict[str, Answers] = field(default_factory=dict)
    repeats: int = 0
    pictures: int = 0
    missing: dict[str, str] = field(default_factory=dict)
    shared: dict[str, int] = field(default_factory=dict)

    @property
    def documents(self) -> int:
        """Number of documents."""
        return self.splits.total()

    def as_json(self) -> dict[str, Any]:
        """The same as an object of JSON."""
        return {
            "builder": self.builder,
            "settings": self.settings,
            "rows": sum(source.rows for source in self.sources),
            "used": sum(source.used for source in self.sources),
            "left_out": sum(len(source.left_out) for source in self.sources),
            "documents": self.documents,
            "splits": {name: self.splits[name] for name in ("train", "validation", "test")},
            "published": dict(self.published),
            "repeated_pairs": self.repeats,
            "shared_with_training": self.shared,
            "relations": {name: answers.as_json() for name, answers in self.answers.items()},
            "pictures": {
                "named": self.pictures,
                "there": self.pictures - len(self.missing),
                "missing": len(self.missing),
            },
            "sources": [source.as_json() for source in self.sources],
            "missing_pictures": {name: why for name, why in self.missing.items() if why != UNSOUGHT},
        }


def report_path(output: Path) -> Path:
    """Where the report of a corpus lies: ``cite.report.json`` beside ``cite.jsonl``."""
    return output.with_suffix(".report.json")
