"""The tables of data that help texts and guides are made from name functions that are there."""

from __future__ import annotations

from importlib import import_module

import pytest

from iconotext.evaluate.metrics import METRICS
from iconotext_papers.analyses import ANALYSES
from iconotext_papers.published import TABLES, published_tables


def leads_to(dotted: str) -> object:
    module, _, name = dotted.partition(":")
    return getattr(import_module(module), name)


@pytest.mark.parametrize("analysis", ANALYSES, ids=lambda analysis: analysis.name)
def test_analyses_name_their_functions(analysis):
    assert callable(leads_to(f"iconotext_papers.{analysis.function}"))


@pytest.mark.parametrize("metric", METRICS.values(), ids=lambda metric: metric.name)
def test_metrics_name_their_functions(metric):
    assert callable(leads_to(metric.function))


def test_every_table_that_can_be_reproduced_has_a_sentence():
    assert {name for name, table in published_tables().items() if table.summary} == set(TABLES)
    assert all(table.summary.endswith(".") for table in TABLES.values())
