from __future__ import annotations

from pathlib import Path

import pytest

ARTICLE = """# Trams

A red tram waits at the stop. The driver drinks coffee. Figure 1 shows it.

![A red tram at a stop](one.png)
*Figure 1: A red tram.*

## Cats

A cat sleeps on the roof of the depot. Nobody wakes it.

![A sleeping cat](two.png)

![Gone](gone.png)
"""


@pytest.fixture
def article(tmp_path, picture) -> Path:
    """Two pictures with their sentences, and one that is not there."""
    picture("docs/one.png", seed=1)
    picture("docs/two.png", seed=2)
    path = tmp_path / "docs" / "article.md"
    path.write_text(ARTICLE)
    return path
