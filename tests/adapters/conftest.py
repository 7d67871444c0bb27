from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.articles import ARTICLE


@pytest.fixture
def article(tmp_path, picture) -> Path:
    """Two pictures with their sentences, and one that is not there."""
    picture("docs/one.png", seed=1)
    picture("docs/two.png", seed=2)
    path = tmp_path / "docs" / "article.md"
    path.write_text(ARTICLE)
    return path
