"""Sizes of a corpus beside those that the paper gives for it, in the report of a build."""

from __future__ import annotations

from iconotext.corpus.builders.frame.report import BuildReport
from iconotext.corpus.published_sizes import PublishedSizes
from iconotext.corpus.row import SPLITS
from iconotext.corpus.stats import CorpusStats


def count_sizes(report: BuildReport, stats: CorpusStats, published: PublishedSizes) -> None:
    """Add the sizes of a corpus to a report, beside the published ones; means and medians to the nearest number."""
    for split, number in zip(SPLITS, published.documents, strict=True):
        report.count(f"documents: {split}", stats.splits.get(split, 0), number, rounding=published.rounding)
    report.count("different images", stats.unique_images, published.images, rounding=1000)
    for i, (name, sizes) in enumerate((("sentences", stats.sentences), ("images", stats.images))):
        report.count(f"{name} per document: median", round(sizes.median), published.median[i])
        if published.mean is not None:
            report.count(f"{name} per document: mean", round(sizes.mean), round(published.mean[i]))
        if published.max is not None:
            report.count(f"{name} per document: most", sizes.max, published.max[i])
    if published.density is not None:
        report.count("links per 100 possible links", round(100 * (stats.density or 0)), published.density)
