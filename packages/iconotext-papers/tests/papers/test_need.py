from __future__ import annotations

import sys

import pytest

from iconotext.errors import MissingPackageError
from iconotext_papers.charts import check_figure


def test_a_figure_without_matplotlib_is_refused_in_a_line_before_the_work(monkeypatch, tmp_path):
    check_figure(tmp_path / "a.svg")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingPackageError, match="this needs matplotlib, which is not installed: pip install"):
        check_figure(tmp_path / "a.svg")
