"""The description of the whole server: everything that it allows is asked, and every answer is one that it declares."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from iconotext.serve import work
from iconotext.serve.access import Access
from iconotext.serve.app import make_app, open_data
from iconotext.serve.events import Events
from iconotext.serve.jobs import Jobs
from iconotext.serve.pool import Pool
from iconotext.serve.settings import ServeSettings

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory, root) -> Iterator[schemathesis.BaseSchema]:
    """The application in this process, asked as a program with the key."""
    chosen = ServeSettings(
        data=tmp_path_factory.mktemp("described") / "data", root=root, allow=("testserver",), max_seconds=60
    )
    store = open_data(chosen)
    pool = Pool(1, work.prepare, "default")
    jobs = Jobs(store, pool, chosen, Events())
    app = make_app(chosen, Access(store, chosen.port, chosen.data), jobs)
    key = {"Authorization": f"Bearer {(chosen.data / 'key').read_text().strip()}"}
    schema = schemathesis.openapi.from_asgi("/openapi.json", app, headers=key)
    schema.config.update(headers=key)
    assert not [name for name in schema.raw_schema["components"]["schemas"] if "__" in name]  # two of one name
    yield schema
    jobs.close()
    pool.close()
    store.close()


@pytest.mark.parametrize("mode", GenerationMode)
def test_every_answer_is_one_that_is_declared(described, mode):
    operations = [found.ok() for found in described.get_all_operations()]
    assert {"/v1/link", "/v1/collections", "/metrics"} <= {operation.path for operation in operations}
    for operation in operations:

        @settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck), database=None)
        @given(case=operation.as_strategy(generation_mode=mode))
        def ask(case: Case[Any]) -> None:
            case.call_and_validate(excluded_checks=[positive_data_acceptance])  # rules that no schema can say

        with contextlib.suppress(*([Unsatisfiable] if mode is GenerationMode.NEGATIVE else [])):  # nothing can be wrong
            ask()
