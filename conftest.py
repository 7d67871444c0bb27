"""What the tests of both packages use: small pictures and small documents, made on the spot, and one browser."""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest
from PIL import Image

from iconotext.system.worker import close_worker
from iconotext.types import LinkedDocument
from tests.support.browser import browser_program, launched
from tests.support.graph_models import write_models
from tests.support.linked import HOSTILE, hostile_document, three_pictures
from tests.support.small_hub import SmallHub, serving

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # it would tell its makers of our tests

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a suite in the background; its children would ignore it, too
    signal.signal(signal.SIGINT, signal.default_int_handler)

MakeImage = Callable[..., Path]

TABLES_OF_PLUGINS = (
    ("iconotext.system.plugins", "plugins"),
    ("iconotext.read.format", "all_formats"),
    ("iconotext.read.format", "formats_by_suffix"),
    ("iconotext.cli.commands", "added"),
)
"""Functions that remember the entries of installed packages."""


MARKS_OF_MODULE = re.compile(r"^pytestmark = (?:\[\n.*?^\]|.*?$)", re.MULTILINE | re.DOTALL)
LEFT_OUT = re.compile(r"not (?:\w+|\(\w+(?: or \w+)*\))")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out modules of which ``-m "not ..."`` leaves out every test: so what they need is not imported."""
    expression = config.getoption("markexpr")
    if collection_path.suffix != ".py" or not LEFT_OUT.fullmatch(expression):
        return None
    found = MARKS_OF_MODULE.search(collection_path.read_text("utf-8"))
    marks = re.findall(r"pytest\.mark\.(\w+)", found[0]) if found else []
    return True if set(marks) & set(re.findall(r"\w+", expression)) else None


def pytest_collection_finish() -> None:
    """What collecting made stays to the end, so the collector of garbage need not look at it again and again."""
    gc.collect()
    gc.freeze()


# Where a test does not say itself how many examples it needs. No deadline: other tests run at the same time. The same
# examples each time, so that what passed passes on every machine; "new" draws others, to find what they miss.
hypothesis.settings.register_profile("quick", max_examples=15, deadline=None, derandomize=True)
hypothesis.settings.register_profile("thorough", max_examples=100, deadline=None, derandomize=True)
hypothesis.settings.register_profile("new", max_examples=400, deadline=None, print_blob=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "thorough"))


@pytest.fixture
def picture(tmp_path: Path) -> MakeImage:
    """Write a picture of noise, different for every seed: ``picture("img/a.png", seed=1)``."""

    def make(name: str = "a.png", *, seed: int = 0, size: tuple[int, int] = (80, 72)) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
        Image.fromarray(pixels).save(path)
        return path

    return make


@pytest.fixture
def install_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Path]]:
    """Install a package of one module for a test: ``install_package(name, code, group, entry="name:object")``."""

    def forget() -> None:
        for module, name in TABLES_OF_PLUGINS:
            if module in sys.modules:
                getattr(sys.modules[module], name).cache_clear()
        close_worker()  # the next one has the new path

    def install(name: str, code: str, group: str, **entries: str) -> Path:
        (tmp_path / f"{name}.py").write_text(code)
        about = tmp_path / f"{name}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nSummary: For a test.\n")
        lines = [f"[{group}]", *(f"{entry} = {target}" for entry, target in entries.items())]
        (about / "entry_points.txt").write_text("\n".join(lines))
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delitem(sys.modules, name, raising=False)
        forget()
        return about

    yield install
    monkeypatch.undo()
    forget()


@pytest.fixture
def linked() -> LinkedDocument:
    """Three pictures, two of them linked; headings, an item, a quotation and cells."""
    return three_pictures()


@pytest.fixture(params=HOSTILE, ids=range(len(HOSTILE)))
def hostile(request: pytest.FixtureRequest) -> tuple[str, LinkedDocument]:
    """A document that says the same dangerous thing everywhere it can, and what it says."""
    return request.param, hostile_document(request.param)


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of ResNets and dual encoders of random weights; see ``write_models``."""
    folder = tmp_path_factory.mktemp("models")
    write_models(folder)
    return folder


@pytest.fixture
def small_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallHub]:
    """A stand-in of the Hugging Face hub without models, which the library of the hub asks, and an empty cache."""
    from huggingface_hub import constants

    hub = SmallHub()
    with serving(hub) as address:
        monkeypatch.setattr(constants, "ENDPOINT", address)
        monkeypatch.setattr(
            constants, "HUGGINGFACE_CO_URL_TEMPLATE", address + "/{repo_id}/resolve/{revision}/{filename}"
        )
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
        yield hub


@pytest.fixture(autouse=True, scope="session")
def _worker_ends_with_the_tests() -> Iterator[None]:
    """The process that reads files says what it has covered when it ends, which must be before the report."""
    yield
    close_worker()


@pytest.fixture(autouse=True, scope="session")
def _nothing_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test, and nothing that several share, reads or writes the cache or the settings of the person who runs it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ICONOTEXT_CONFIG", os.devnull)
        patch.setenv("ICONOTEXT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


CACHES = count()


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test finds what another one has put into the cache. The few tests that use it make the folder."""
    monkeypatch.setenv("ICONOTEXT_CACHE", str(tmp_path_factory.getbasetemp() / "caches" / str(next(CACHES))))


@pytest.fixture(autouse=True)
def _unforeseen_errors_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """What no reader foresaw is a bug: tests see it as it is, not as the error that users get."""
    monkeypatch.setattr(import_module("iconotext.read"), "_unforeseen", lambda _path, error: error)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """One Chromium for all tests that look at pages: Playwright cannot be started a second time in a process."""
    pytest.importorskip("playwright", reason="playwright is not installed")
    program = browser_program()
    if program is None:
        pytest.skip("no browser: install chromium or google-chrome")
    with launched(program) as running:
        yield running
