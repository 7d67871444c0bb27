"""What the tests of the tables share."""

from __future__ import annotations

from pathlib import Path

import pytest

from papers.support.tables import in_process
from tests.support.training import write_synthetic

__all__ = ["in_process"]


@pytest.fixture(scope="session")
def corpus(tmp_path_factory) -> Path:
    return write_synthetic(tmp_path_factory.mktemp("synthetic"))
