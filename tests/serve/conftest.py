"""A server that all tests of this folder share, and one that may write into files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.server import Running, article_files


@pytest.fixture(scope="session")
def article(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A document with two pictures, as files of a folder."""
    return article_files(tmp_path_factory.mktemp("article"))


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


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder where the tests of a module write documents."""
    return tmp_path_factory.mktemp("desk")


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory, desk: Path) -> Iterator[Running]:
    """A server that may write there."""
    with Running(tmp_path_factory.mktemp("serve") / "data", "--root", str(desk), "--write") as running:
        yield running
