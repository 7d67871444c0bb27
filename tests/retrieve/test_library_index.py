from __future__ import annotations

import numpy as np
import pytest

from iconotext.retrieve import search
from iconotext.retrieve.filters import Filters
from iconotext.retrieve.items import Item, Place
from iconotext.retrieve.library import index as module
from iconotext.retrieve.library.describe import describe
from iconotext.retrieve.library.index import build_index, exact_nearest, needs_index
from iconotext.retrieve.library.store import LibrarySettings, create_library, open_library

DIM = 64
COUNT = 3000


def items(count: int, *, seed: int, folder: str = "/photos") -> list[Item]:
    draw = np.random.default_rng(seed)
    rows = draw.standard_normal((40, DIM))[draw.integers(0, 40, count)] + 0.5 * draw.standard_normal((count, DIM))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return [
        Item(f"{seed:04}{number:028}", (Place(file=f"{folder}/{number}.jpg"),), None, row)
        for number, row in enumerate(rows)
    ]


@pytest.fixture
def library(tmp_path):
    made = create_library(tmp_path / "lib", LibrarySettings("m", "s", DIM))
    made.insert(items(COUNT, seed=1))
    return made


def queries(count: int) -> np.ndarray:
    return np.stack([item.vector for item in items(count, seed=1)]) * 0.6 + 0.4 * np.stack(
        [item.vector for item in items(count, seed=9)]
    )


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_exact_search_is_that_of_a_matrix(library):
    asked = unit(queries(5))
    everything = items(COUNT, seed=1)
    products = asked @ np.stack([item.vector for item in everything]).T
    for query, row, names in zip(asked, products, exact_nearest(library, asked, 10), strict=True):
        expected = [everything[i].digest for i in np.argsort(-row)[:10]]
        assert names == set(expected)
        near = library.nearest(query, 10)
        assert [found.digest for found in near] == expected
        assert [found.similarity for found in near] == pytest.approx(np.sort(row)[::-1][:10].tolist(), abs=1e-5)


def test_the_index_finds_what_exact_search_finds_and_says_how_much(library, monkeypatch):
    monkeypatch.setattr(module, "ABOVE", 2000)
    assert needs_index(library)
    index = build_index(library, unit(queries(60)))
    assert (index.pictures, index.queries) == (COUNT, 30)
    assert index.recall >= 0.95
    assert not needs_index(library)
    opened = open_library(library.path)
    assert opened.settings.index == index
    assert describe(opened)["index"]["recall"] == index.recall
    asked = unit(queries(300))[60:]
    found = [{near.digest for near in opened.nearest(query, 10)} for query in asked]
    shares = [len(a & b) / 10 for a, b in zip(found, exact_nearest(opened, asked, 10), strict=True)]
    assert np.mean(shares) >= 0.93  # of queries that the index was not tried with
    assert [n.digest for n in opened.nearest(asked[0], 10, exact=True)] == [
        n.digest for n in library.nearest(asked[0], 10, exact=True)
    ]


def test_pictures_added_and_removed_after_the_index_was_made(library, monkeypatch):
    monkeypatch.setattr(module, "ABOVE", 2000)
    build_index(library, unit(queries(40)))
    late = items(50, seed=2, folder="/late")
    library.insert(late)
    opened = open_library(library.path)
    assert opened.nearest(late[7].vector, 1)[0].digest == late[7].digest  # not in the index yet
    library.tidy()
    opened = open_library(library.path)
    assert opened.nearest(late[7].vector, 1)[0].digest == late[7].digest
    library.remove([late[7].digest])
    assert open_library(library.path).nearest(late[7].vector, 1)[0].digest != late[7].digest
    assert not needs_index(library)
    library.insert(items(2000, seed=3))
    assert needs_index(library)  # it has grown by more than half


def test_filters_are_searched_exactly_where_few_pictures_satisfy_them(library, monkeypatch):
    monkeypatch.setattr(module, "ABOVE", 2000)
    library.insert(items(30, seed=5, folder="/few's"))
    build_index(library, unit(queries(40)))
    opened = open_library(library.path)
    query = unit(queries(1))[0]
    where = Filters(folder="/few's")
    found = search._nearest(opened, query, search.Query("x", filters=where), 30)
    assert len(found) == 30  # as many as there are, far off as they may be
    assert {near.places[0].file.rsplit("/", 1)[0] for near in found} == {"/few's"}
