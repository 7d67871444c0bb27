"""The report of a build: what was counted, what was left out, and why."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iconotext.corpus.row import SPLITS

if TYPE_CHECKING:
    from iconotext.corpus.stats import CorpusStats, PublishedSizes

RULES = 100
"""Number of rules that are counted separately; items of further rules are counted together, to bound the report."""

OTHER = "other reasons"


@dataclass(frozen=True, slots=True)
class Count:
    """A number of items.

    Attributes:
        published: The paper's number; None if the paper gives none.
        rounding: Unit to which the paper rounds it: 1000 for 13K.
    """

    name: str
    number: int
    published: int | None = None
    rounding: int = 1

    @property
    def fits(self) -> bool | None:
        """Whether the two numbers are equal, up to the paper's rounding; None if the paper gives none."""
        if self.published is None:
            return None
        return self.number == self.published or abs(self.number - self.published) * 2 < self.rounding

    def as_json(self) -> dict[str, Any]:
        """Return the count as a JSON object."""
        value: dict[str, Any] = {"what": self.name, "found": self.number}
        if self.published is not None:
            value |= {"published": self.published, "rounded_to": self.rounding, "fits": self.fits}
        return value


@dataclass(slots=True)
class BuildReport:
    """The report of a build; the same for the same sources and settings.

    Attributes:
        listener: Called for every item that is dropped: rule, item, reason.
        counts: In the order of the rules.
        dropped: Number of items by rule, in the order in which rules first dropped one.
        first: The first item that each rule dropped, and the reason.
        stats: Statistics of the written corpus; None before it is written.
    """

    builder: str
    settings: dict[str, Any]
    sources: list[str]
    listener: Callable[[str, str, str], None] = lambda rule, item, reason: None
    counts: list[Count] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    stats: CorpusStats | None = None

    def count(self, name: str, number: int, published: int | None = None, *, rounding: int = 1) -> None:
        """Add a count."""
        self.counts.append(Count(name, number, published, rounding))

    def drop(self, rule: str, item: str, reason: str = "") -> None:
        """Record that an item is left out, and why.

        Args:
            rule: The reason, in words that are the same for many items: ``picture missing``.
            item: An id, or file and line.
            reason: The details of this item.
        """
        if rule not in self.dropped and len(self.dropped) >= RULES:
            rule, reason = OTHER, f"{rule}: {reason}" if reason else rule
        self.dropped[rule] += 1
        self.first.setdefault(rule, f"{item}: {reason}" if reason else item)
        self.listener(rule, item, reason)

    def note(self, text: str) -> None:
        """Add a note for the user, about the sources or the interpretation of the rules."""
        self.notes.append(text)

    def count_sizes(self, stats: CorpusStats, published: PublishedSizes) -> None:
        """Add the sizes of a corpus beside the published ones; means and medians to the nearest number."""
        for split, number in zip(SPLITS, published.documents, strict=True):
            self.count(f"documents: {split}", stats.splits.get(split, 0), number, rounding=published.rounding)
        self.count("different images", stats.unique_images, published.images, rounding=1000)
        for i, (name, sizes) in enumerate((("sentences", stats.sentences), ("images", stats.images))):
            self.count(f"{name} per document: median", round(sizes.median), published.median[i])
            if published.mean is not None:
                self.count(f"{name} per document: mean", round(sizes.mean), round(published.mean[i]))
            if published.max is not None:
                self.count(f"{name} per document: most", sizes.max, published.max[i])
        if published.density is not None:
            self.count("links per 100 possible links", round(100 * (stats.density or 0)), published.density)

    def as_json(self) -> dict[str, Any]:
        """Return the report as a JSON object; the dropped items are in a separate file."""
        return {
            "builder": self.builder,
            # Not pydantic's JSON, which has 0.0 where a setting is 0.
            "settings": json.loads(json.dumps(self.settings, default=str)),
            "sources": self.sources,
            "counts": [count.as_json() for count in self.counts],
            "dropped": dict(self.dropped),
            "notes": self.notes,
            **({} if self.stats is None else self.stats.as_json()),
        }


def report_path(output: Path) -> Path:
    """Return the path of a corpus's report: ``rqa.report.json`` beside ``rqa.jsonl``."""
    return output.with_suffix(".report.json")


def dropped_path(output: Path) -> Path:
    """Return the path of the table of dropped items, with the columns rule, item, reason: ``rqa.dropped.tsv``."""
    return output.with_suffix(".dropped.tsv")
