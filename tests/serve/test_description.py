"""The description of the whole server: everything that it allows is asked, and every answer is one that it declares."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from typer.testing import CliRunner

from iconotext.alt_text.captioner import Captioner, CaptionerSettings
from iconotext.cli.app import app as command
from iconotext.serve import work
from iconotext.serve.app import make_app, open_data
from iconotext.serve.guard import Access
from iconotext.serve.jobs import Jobs
from iconotext.serve.pool import Pool
from iconotext.serve.settings import ServeSettings

if TYPE_CHECKING:
    import schemathesis

pytestmark = pytest.mark.slow


@pytest.fixture  # for each test anew: a client that is done ends what the application began
def described(tmp_path_factory: pytest.TempPathFactory, root) -> Iterator[schemathesis.BaseSchema]:
    """The application in this process with all that it can serve, asked as a program with the key."""
    home = tmp_path_factory.mktemp("described")
    done = CliRunner().invoke(command, ["library", "add", str(home / "library"), str(root / "trip")])
    assert done.exit_code == 0, done.output
    nobody = Captioner(CaptionerSettings(url="http://127.0.0.1:9", model="seer"), folder=home)
    with served(nobody, data=home / "data", root=root, library=home / "library") as schema:
        yield schema


@pytest.fixture  # for each test anew: a client that is done ends what the application began
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[schemathesis.BaseSchema]:
    """The same without a folder and a library."""
    with served(data=tmp_path_factory.mktemp("bare") / "data") as schema:
        yield schema


@contextlib.contextmanager
def served(captioner: Captioner | None = None, **given: Any) -> Iterator[schemathesis.BaseSchema]:
    import schemathesis

    chosen = ServeSettings(allow=("testserver",), max_seconds=600, **given)
    with open_data(chosen) as store:
        pool = Pool(1, work.prepare, "default")
        jobs = Jobs(store, pool, chosen, captioner)
        app = make_app(chosen, Access(store, chosen.port, chosen.data), jobs)
        key = {"Authorization": f"Bearer {(chosen.data / 'key').read_text().strip()}"}
        schema = schemathesis.openapi.from_asgi("/openapi.json", app, headers=key)
        schema.config.update(headers=key, request_timeout=600)
        assert not [name for name in schema.raw_schema["components"]["schemas"] if "__" in name]  # two of one name
        yield schema
        jobs.close()
        pool.close()


def test_every_answer_is_one_that_is_declared(described):
    from schemathesis import GenerationMode
    from schemathesis.specs.openapi.checks import positive_data_acceptance

    operations = [found.ok() for found in described.get_all_operations()]
    paths = " ".join(operation.path for operation in operations)
    assert all(name in paths for name in ("/v1/link", "/v1/collections", "/v1/search"))
    for mode, operation in product(GenerationMode, operations):

        @settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck), database=None)
        @given(case=operation.as_strategy(generation_mode=mode))
        def ask(case: schemathesis.Case[Any]) -> None:
            case.call_and_validate(excluded_checks=[positive_data_acceptance])  # rules that no schema can say

        with contextlib.suppress(*([Unsatisfiable] if mode is GenerationMode.NEGATIVE else [])):  # nothing can be wrong
            ask()


@pytest.mark.parametrize("which", ["described", "bare"])
def test_answers_to_requests_that_follow_from_others(which, request):
    """Identifiers of one answer are asked for in the next request: in what order, Hypothesis chooses."""
    from schemathesis.specs.openapi.checks import positive_data_acceptance

    machine = request.getfixturevalue(which).as_state_machine()

    class Asking(machine):  # type: ignore[misc, valid-type]  # made while the test runs
        def validate_response(self, response: Any, case: schemathesis.Case[Any], **more: Any) -> None:
            case.validate_response(response, excluded_checks=[positive_data_acceptance])

    chosen = settings(
        max_examples=5, stateful_step_count=8, deadline=None, suppress_health_check=list(HealthCheck), database=None
    )
    Asking.run(settings=chosen)
