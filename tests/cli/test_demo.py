from __future__ import annotations

import pytest

from tests import program


@pytest.mark.slow
def test_demo_writes_and_links_an_article(tmp_path):
    folder = tmp_path / "demo"
    first = program.run("demo", folder)
    assert (folder / "linked" / "article.html").stat().st_size > 100_000
    assert "pictures/cat.jpg" in first.stdout
    again = program.run("demo", folder, status=1)
    assert "--force" in again.output
    program.run("demo", folder, "--force")
