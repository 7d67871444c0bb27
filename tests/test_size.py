"""What keeps the program small enough to hold in one head: numbers that may be lowered, and are raised only with a reason.

The reasons stand in ``docs/decisions/0015-size-of-the-program.md``.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import iconotext
from iconotext.evidence.gather import DocumentEvidence, EncodedText
from iconotext.library import Match, Query, Result, Searcher, add_paths
from iconotext.library.candidates import Candidates
from iconotext.library.items import Item, Near
from iconotext.types import Document

SOURCE = Path(iconotext.__file__).parent
TESTS = Path(__file__).parent
PAPERS = TESTS.parent / "packages/iconotext-papers"
LIMITS = {
    "lines of src": 63_890,
    "modules of src": 315,
    "lines of the package of the papers": 10_000,
    "lines of the package of the check": 220,
    "lines of tests": 57_705,
    "modules that a document enters while it is linked": 15,
    "modules that a query enters while a library is searched": 9,
}


def lines(folder):
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in folder.rglob("*.py"))


def test_lines_and_modules():
    counted = {
        "lines of src": lines(SOURCE),
        "modules of src": len(list(SOURCE.rglob("*.py"))),
        "lines of the package of the papers": lines(PAPERS / "src"),
        "lines of the package of the check": lines(TESTS.parent / "packages/iconotext-check"),
        "lines of tests": lines(TESTS)
        + lines(PAPERS / "tests")
        + len((TESTS.parent / "conftest.py").read_text().splitlines()),
    }
    assert {name: number for name, number in counted.items() if number > LIMITS[name]} == {}


def entered(work, is_part):
    """The modules of ours whose functions get an object that ``is_part``, alone or in a list, while ``work`` runs."""
    modules = set()

    def carries(value):
        if isinstance(value, Sequence) and not isinstance(value, str | bytes):
            return any(map(is_part, value))
        return is_part(value)

    def profile(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(SOURCE)) and not code.co_name.startswith("<"):
            arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            if any(carries(frame.f_locals.get(name)) for name in arguments):
                modules.add(Path(code.co_filename).relative_to(SOURCE).as_posix())

    threading.setprofile(profile)  # for threads that start meanwhile
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return modules


@pytest.mark.slow
def test_the_modules_that_a_document_enters(tmp_path, picture):
    picture("tram.png")
    (tmp_path / "a.md").write_text(
        "# Trams\n\nA red tram waits, as Figure 1 shows.\n\n![Figure 1: A red tram](tram.png)\n"
    )
    document, linker = iconotext.read(tmp_path / "a.md"), iconotext.Linker.load()
    linker.link(document)  # loads models
    kinds = (Document, EncodedText, DocumentEvidence)
    modules = entered(lambda: linker.link(document), lambda value: isinstance(value, kinds))
    run = modules - {"linker.py", "types.py"}  # before the run, and what is asked of the document itself
    assert "run.py" in run
    assert len(run) <= LIMITS["modules that a document enters while it is linked"], sorted(run)


@pytest.mark.slow
@pytest.mark.parametrize("relation", [None, "story"])
def test_the_modules_that_a_query_enters(tmp_path, picture, relation):
    picture("pictures/tram.png")
    picture("pictures/boat.png", seed=1)
    add_paths(tmp_path / "library", [tmp_path / "pictures"])
    query, searcher = Query("A red tram waits", relation=relation, anyway=True), Searcher(tmp_path / "library")
    assert len(searcher.find(query).results) == 2  # loads models
    kinds, dim = (Query, Candidates, Near, Match, Item, Result), searcher.library.settings.dim

    def is_part(value):  # the query, its sentence, its vector, and the results on their way
        return (
            isinstance(value, kinds)
            or (isinstance(value, str) and value == query.text)
            or (isinstance(value, np.ndarray) and value.shape == (dim,))
        )

    modules = entered(lambda: searcher.find(query), is_part)
    assert "library/search.py" in modules
    assert len(modules) <= LIMITS["modules that a query enters while a library is searched"], sorted(modules)
