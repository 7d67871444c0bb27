"""Builds of data sets, and what they leave out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from iconotext import Document, read_corpus
from iconotext.corpus.builders.report import BuildReport, dropped_path, report_path
from iconotext.corpus.builders.run import build_corpus


def rows_of_build(
    data_set: Any, settings: Any, output: Path, **options: Any
) -> tuple[list[dict[str, Any]], BuildReport, list[tuple[str, ...]]]:
    """Build with a module of ``papers.datasets``: rows, report, and what was left out, as (rule, item)."""
    _, report, dropped = documents_of_build(data_set.documents, settings, output, force=True, **options)
    rows = [json.loads(line) for line in output.read_text("utf-8").splitlines()]
    return rows, report, [line[:2] for line in dropped]


def documents_of_build(
    documents: Callable[..., Iterator[Any]], settings: Any, output: Path, **options: Any
) -> tuple[list[Document], BuildReport, list[tuple[str, ...]]]:
    """Build: documents, report, and what was left out, as (rule, item, reason)."""
    report = build_corpus("x", documents, settings, output, **options)
    lines = dropped_path(output).read_text("utf-8").splitlines()[1:]
    return list(read_corpus(output)), report, [tuple(line.split("\t")) for line in lines]


def counts(report: BuildReport) -> dict[str, int]:
    return {count.name: count.number for count in report.counts}


def same_for_workers(build: Callable[..., object], folder: Path) -> None:
    """Fail unless one and two processes write the same files."""
    files = []
    for workers in (1, 2):
        output = folder / f"w{workers}" / "corpus.jsonl"
        build(output, workers=workers, validation=0.1, test=0.1)
        files.append([path.read_bytes() for path in (output, report_path(output), dropped_path(output))])
    assert files[0] == files[1]
