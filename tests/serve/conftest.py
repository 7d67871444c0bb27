"""A server that all tests of this folder share, and one that may write into files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from iconotext.serve.store import Store
from tests.support.server import Running
from tests.support.server import article as article
from tests.support.server import desk as desk
from tests.support.server import writer as writer


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory, article: dict[str, bytes]) -> Path:
    """A folder with a document, a link that leads out of it, and a secret beside it."""
    folder = tmp_path_factory.mktemp("root")
    (folder / "secret.md").write_text("# Secret\n\nNobody may read this.\n")
    (folder / "open" / "trip").mkdir(parents=True)
    for name, data in article.items():
        (folder / "open" / name).write_bytes(data)
    (folder / "open" / "out").symlink_to(folder)
    (folder / "open" / "trip" / "leads-out.md").symlink_to(folder / "secret.md")
    return folder / "open"


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Iterator[Running]:
    """A server that all tests share."""
    options = ("--root", str(root), "--max-upload", "4000000", "--max-files", "50")
    with Running(tmp_path_factory.mktemp("serve") / "data", *options) as running:
        yield running


@pytest.fixture
def store(tmp_path) -> Iterator[Store]:
    made = Store(tmp_path / "s.sqlite")
    yield made
    made.close()
