"""What the tests of reproduced tables share: small settings, a watch, and training in this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from iconotext_papers.published import published_tables
from iconotext_papers.tables import runner as module
from iconotext_papers.tables.rows import find_table
from iconotext_papers.tables.rows import table_rows as rows_of

SMALL = [
    "features.image=features.npy",
    "dim=8",
    "text.word_dim=4",
    "training.epochs=2",
    "training.batch=12",
    "training.learning_rate=0.01",
]


TABLES = {name: table for name, table in published_tables().items() if table.kind == "links"}


def table_rows(name, overrides=(), **more):
    return rows_of(find_table(name), overrides, **more)


class Seen:
    """Keeps what it is told."""

    def __init__(self, stop_after: int | None = None):
        self.told: list[tuple[str, object]] = []
        self.stop_after = stop_after

    def started(self, key):
        self.told.append((key, "started"))

    def step(self, key, epoch, step, steps, loss):
        pass

    def epoch(self, key, row):
        self.told.append((key, row["epoch"]))
        if row["epoch"] == self.stop_after:
            raise KeyboardInterrupt

    def ended(self, key, problem):
        self.told.append((key, problem))


@pytest.fixture
def in_process(monkeypatch):
    """Training happens here, not in processes of its own; keys in the set fail."""
    failing: set[str] = set()

    def run(jobs, work, *, processes, logs, watch):
        failed = {}
        for key, job in jobs:
            watch.started(key)

            def send(message, key=key):
                kind, arguments = message
                if kind == "epoch":
                    watch.epoch(key, *arguments)

            if key in failing:
                failed[key] = "out of luck"
            else:
                module.work(job, send)
            watch.ended(key, failed.get(key))
        return failed

    monkeypatch.setattr(module, "run_jobs", run)
    return failing


def contents(folder: Path) -> dict[str, float]:
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
