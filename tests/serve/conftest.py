"""A server and a library that all tests of this folder share, and a server that may write into files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from iconotext.serve.store import Store
from tests.support import program
from tests.support.server import Running, png
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


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory, article: dict[str, bytes]) -> Path:
    """A library of a document with two pictures, and of 30 pictures in a folder, made by the program."""
    home = tmp_path_factory.mktemp("library")
    for name, data in article.items():
        (home / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (home / "docs" / name).write_bytes(data)
    (home / "photos" / "deep").mkdir(parents=True)
    for number in range(30):
        folder = home / "photos" / ("deep" if number % 2 else ".")
        (folder / f"photo-{number}.png").write_bytes(png((8 * number, 200 - 5 * number, 90), home))
    (home / "one.png").unlink()
    (home / "secret.png").write_bytes(png((1, 2, 3), home))
    program.run("library", "add", home / "lib", home / "docs", home / "photos")
    return home / "lib"


@pytest.fixture
def store(tmp_path) -> Iterator[Store]:
    made = Store(tmp_path / "s.sqlite")
    yield made
    made.close()
