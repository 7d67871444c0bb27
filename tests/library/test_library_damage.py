"""Files of a library that were damaged after they were written: search and add name the file, and what helps."""

from __future__ import annotations

import shutil

import pytest

from iconotext.errors import LibraryError
from iconotext.library import damage
from iconotext.library.damage import HINT, SUMS, check_sums
from iconotext.library.store import LEDGER, open_library
from tests.support.library import paint, update
from tests.support.program import run

DAMAGES = {
    "cut": lambda data: data[: len(data) // 2],
    "longer": lambda data: data + b"LANC",
    "a bit": lambda data: data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 4]) + data[len(data) // 2 + 1 :],
    "zeros": lambda data: bytes(len(data)),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A library that was written twice, with pictures that came, changed and went."""
    folder = tmp_path_factory.mktemp("library")
    for number in range(6):
        paint(folder / "photos" / f"{number}.png", (40 * number, 255 - 40 * number, 40))
    update(folder / "lib", folder / "photos")
    paint(folder / "photos" / "0.png", (9, 9, 200))
    (folder / "photos" / "5.png").rename(folder / "photos" / "6.png")
    update(folder / "lib", folder / "photos")
    return folder


@pytest.fixture
def lib(whole, tmp_path):
    """A copy that a test may damage."""
    return shutil.copytree(whole / "lib", tmp_path / "lib")


def files_of(library):
    return sorted(file for file in (library / "pictures.lance").rglob("*") if file.is_file() and file.name != HINT)


def test_an_unharmed_library_is_whole_after_every_run(whole):
    for _ in range(2):
        check_sums(whole / "lib", whole=True)
        update(whole / "lib", whole / "photos")
    kinds = {file.relative_to(whole / "lib" / "pictures.lance").parts[0] for file in files_of(whole / "lib")}
    assert {"data", "_indices", "_versions", "_deletions"} <= kinds


@pytest.mark.parametrize("kind", DAMAGES)
def test_every_damaged_file_is_named_before_it_is_read(lib, kind):
    for file in files_of(lib):
        data = file.read_bytes()
        file.write_bytes(DAMAGES[kind](data))
        with pytest.raises(LibraryError) as error:
            _ = open_library(lib).table
        assert str(error.value).startswith(f"{file}: damaged since it was written; add the pictures again with: ")
        assert "\n" not in str(error.value)
        file.write_bytes(data)
    assert open_library(lib).count() == 6


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_hint_costs_nothing(lib, kind):
    (hint,) = lib.rglob(HINT)
    hint.write_bytes(DAMAGES[kind](hint.read_bytes()))
    assert open_library(lib).count() == 6


@pytest.mark.slow
def test_search_and_add_name_it(whole, tmp_path):
    library = tmp_path / "lib"
    run("library", "add", library, whole / "photos")
    for which in ("data/*.lance", "_indices/*/*.lance"):
        file = max((library / "pictures.lance").glob(which))
        data = file.read_bytes()
        file.write_bytes(DAMAGES["a bit"](data))
        for command in (["search", library, "a boat"], ["library", "add", library, whole / "photos"]):
            said = run(*command, status=1).stderr
            assert said.startswith(f"iconotext: {file}: damaged since it was written")
            assert said.count("\n") == 1
        file.write_bytes(data)
    assert "6 files unchanged" in run("library", "add", library, whole / "photos").output


def test_a_large_file_is_compared_where_it_cannot_be_read(lib, monkeypatch):
    monkeypatch.setattr(damage, "SMALL", 0)
    for file in (lib / "pictures.lance").glob("data/*.lance"):
        file.write_bytes(file.read_bytes()[:-50] + bytes(50))
    opened = open_library(lib)
    with pytest.raises(LibraryError, match=r"\.lance: damaged since it was written"):
        list(opened.vectors())


@pytest.mark.parametrize("text", ["", "[1]", '{"data/../../x": [1, "a"]}', '{"data/x": 3}', "[" * 50_000])
def test_sums_that_are_none_cost_nothing(lib, text):
    (lib / SUMS).write_text(text)
    assert open_library(lib).count() == 6


def test_a_table_that_was_deleted_is_made_anew(whole, lib):
    shutil.rmtree(lib / "pictures.lance")
    for name in ("library.json", LEDGER):
        (lib / name).unlink()
    update(lib, whole / "photos")
    check_sums(lib, whole=True)
    assert open_library(lib).count() == 6


class PanicException(BaseException):
    """As LanceDB raises it; it is no ``Exception``."""


def test_a_panic_of_the_database_is_one_line(whole):
    def panic():
        raise PanicException("called `Option::unwrap()` on a `None` value")

    with pytest.raises(LibraryError, match=r"cannot be read or written: called `Option"):
        open_library(whole / "lib")._attempt(panic)
    with pytest.raises(KeyboardInterrupt):
        open_library(whole / "lib")._attempt(lambda: (_ for _ in ()).throw(KeyboardInterrupt))
