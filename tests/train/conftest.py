from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.support.training import write_synthetic


@pytest.fixture(scope="session")
def corpus(tmp_path_factory) -> Path:
    return write_synthetic(tmp_path_factory.mktemp("synthetic"))


@pytest.fixture(scope="session")
def large(tmp_path_factory) -> Path:
    return write_synthetic(tmp_path_factory.mktemp("large"), 200)


# Of modules, so that what their fixtures train is the same to the last bit as what their tests train.
@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
