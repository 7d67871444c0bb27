"""What several tests of readers use."""

from __future__ import annotations

from importlib import import_module

import pytest


@pytest.fixture
def in_this_process(monkeypatch):
    """Readers run in this process, where a test can replace their parts."""
    monkeypatch.setattr(import_module("iconotext.read"), "run_isolated", lambda f, _memory, _seconds, *given: f(*given))
