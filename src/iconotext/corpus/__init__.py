"""Corpora: many documents on disk, in the formats of iconotext and of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iconotext.system.lazy import lazy

if TYPE_CHECKING:
    from iconotext.corpus.builders import Builder
    from iconotext.corpus.builders.build import BuilderSettings
    from iconotext.corpus.builders.report import BuildReport
    from iconotext.corpus.builders.run import build_corpus
    from iconotext.corpus.check import CheckedCorpus, check_corpus
    from iconotext.corpus.convert import Converted, WrittenShards, convert_corpus, write_shards
    from iconotext.corpus.split import Shares, assign_splits
    from iconotext.corpus.stats import CorpusStats, row_stats
    from iconotext.corpus.store import count_documents, read_corpus, read_rows, write_corpus

__all__ = [
    "BuildReport",
    "Builder",
    "BuilderSettings",
    "CheckedCorpus",
    "Converted",
    "CorpusStats",
    "Shares",
    "WrittenShards",
    "assign_splits",
    "build_corpus",
    "check_corpus",
    "convert_corpus",
    "count_documents",
    "read_corpus",
    "read_rows",
    "row_stats",
    "write_corpus",
    "write_shards",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "BuildReport": "iconotext.corpus.builders.report",
        "Builder": "iconotext.corpus.builders",
        "BuilderSettings": "iconotext.corpus.builders.build",
        "CheckedCorpus": "iconotext.corpus.check",
        "Converted": "iconotext.corpus.convert",
        "CorpusStats": "iconotext.corpus.stats",
        "Shares": "iconotext.corpus.split",
        "WrittenShards": "iconotext.corpus.convert",
        "assign_splits": "iconotext.corpus.split",
        "build_corpus": "iconotext.corpus.builders.run",
        "check_corpus": "iconotext.corpus.check",
        "convert_corpus": "iconotext.corpus.convert",
        "count_documents": "iconotext.corpus.store",
        "read_corpus": "iconotext.corpus.store",
        "read_rows": "iconotext.corpus.store",
        "row_stats": "iconotext.corpus.stats",
        "write_corpus": "iconotext.corpus.store",
        "write_shards": "iconotext.corpus.convert",
    },
)
