"""What became of everything that a builder read: counts beside the paper's, and every item dropped and why."""

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
"""Rules that are counted one by one; what others drop counts together, so that no source makes the report endless."""

OTHER = "other reasons"


@dataclass(frozen=True, slots=True)
class Count:
    """How many of something there are.

    Attributes:
        published: In the paper; None where it says nothing.
        rounding: To what the paper rounds it: 1000 where it says 13K.
    """

    what: str
    found: int
    published: int | None = None
    rounding: int = 1

    @property
    def fits(self) -> bool | None:
        """Whether the two are the same, as far as the paper's figure goes; None where it says nothing."""
        if self.published is None:
            return None
        return self.found == self.published or abs(self.found - self.published) * 2 < self.rounding

    def as_json(self) -> dict[str, Any]:
        """The same as an object of JSON."""
        value: dict[str, Any] = {"what": self.what, "found": self.found}
        if self.published is not None:
            value |= {"published": self.published, "rounded_to": self.rounding, "fits": self.fits}
        return value


@dataclass(slots=True)
class BuildReport:
    """All that is to be known of a build; the same for the same sources and settings.

    Attributes:
        listener: Gets every item that is dropped: rule, item, reason.
        counts: In the order of the rules.
        dropped: Number of items by rule, in the order in which rules first dropped one.
        first: By rule, the first item that it dropped, and why.
        stats: Of the corpus that was written; None before.
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

    def count(self, what: str, found: int, published: int | None = None, *, rounding: int = 1) -> None:
        """Add a count."""
        self.counts.append(Count(what, found, published, rounding))

    def drop(self, rule: str, item: str, reason: str = "") -> None:
        """One item is left out.

        Args:
            rule: Why, in words that are the same for many: ``picture missing``.
            item: Which: an id, or file and line.
            reason: What is particular about this one.
        """
        if rule not in self.dropped and len(self.dropped) >= RULES:
            rule, reason = OTHER, f"{rule}: {reason}" if reason else rule
        self.dropped[rule] += 1
        self.first.setdefault(rule, f"{item}: {reason}" if reason else item)
        self.listener(rule, item, reason)

    def note(self, text: str) -> None:
        """Something a user should know of the sources, or of how the rules were read."""
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
        """The same as an object of JSON; what was dropped stands in a file of its own."""
        return {
            "builder": self.builder,
            "settings": json.loads(json.dumps(self.settings, default=str)),
            "sources": self.sources,
            "counts": [count.as_json() for count in self.counts],
            "dropped": dict(self.dropped),
            "notes": self.notes,
            **({} if self.stats is None else self.stats.as_json()),
        }


def report_path(output: Path) -> Path:
    """Where the report of a corpus lies: ``rqa.report.json`` beside ``rqa.jsonl``."""
    return output.with_suffix(".report.json")


def dropped_path(output: Path) -> Path:
    """Where the table of dropped items lies, with the columns rule, item, reason: ``rqa.dropped.tsv``."""
    return output.with_suffix(".dropped.tsv")
