"""A disk that is full."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

resource = pytest.importorskip("resource", reason="Windows has no limit on the size of files")


@contextmanager
def largest(size):
    """No file may get larger than ``size`` bytes; Python ignores the signal, so writes fail as on a full disk."""
    before, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, hard))
