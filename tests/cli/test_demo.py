from __future__ import annotations

import pytest
from typer.testing import CliRunner

from iconotext.cli.app import app


@pytest.mark.slow
def test_demo_writes_and_links_an_article(tmp_path):
    folder = tmp_path / "demo"
    first = CliRunner().invoke(app, ["demo", str(folder)])
    assert first.exit_code == 0, first.output
    assert (folder / "linked" / "article.html").stat().st_size > 100_000
    assert "pictures/cat.jpg" in first.stdout
    again = CliRunner().invoke(app, ["demo", str(folder)])
    assert again.exit_code == 1
    assert "--force" in again.output
    assert CliRunner().invoke(app, ["demo", str(folder), "--force"]).exit_code == 0
