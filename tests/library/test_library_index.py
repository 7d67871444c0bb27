from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest

from iconotext.library import candidates, store
from iconotext.library import index as module
from iconotext.library.candidates import Filters
from iconotext.library.index import build_index, exact_nearest, needs_index
from iconotext.library.items import Item, Place
from iconotext.library.settings import LibrarySettings
from iconotext.library.store import Library, create_library, describe, open_library
from tests.support.encoders import MadeUpEncoder

pytestmark = pytest.mark.slow

DIM = 64
COUNT = 3000


def found_near(library, query, n, where=None):
    """What a search by picture looks at."""
    condition = None if where is None else where.condition
    return candidates.find_candidates(library, None, query, n, sentence=None, where=condition).near


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


def queries(count: int, seed: int = 1) -> np.ndarray:
    near, far = (np.stack([item.vector for item in items(count, seed=number)]) for number in (seed, 9))
    return near * 0.6 + 0.4 * far


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
    library.insert(items(8900, seed=3))
    assert not needs_index(library)
    library.insert(items(300, seed=4))
    assert needs_index(library)  # it has grown to more than four times what it was


def test_an_index_in_many_pieces_is_made_anew(library, monkeypatch):
    monkeypatch.setattr(module, "ABOVE", 2000)
    monkeypatch.setattr(module, "MAX_PARTS", 3)
    assert library.index_parts("vector") == 0
    build_index(library, unit(queries(40)))
    assert library.index_parts("vector") == 1
    for run in range(20):  # LanceDB joins the first ones
        library.insert(items(50, seed=20 + run))
        library.tidy()
        if library.index_parts("vector") > 3:
            break
        assert not needs_index(library)
    assert needs_index(library)
    build_index(library, unit(queries(40)))
    assert library.index_parts("vector") == 1
    assert not needs_index(library)


def test_filters_are_searched_exactly_where_few_pictures_satisfy_them(library, monkeypatch):
    monkeypatch.setattr(module, "ABOVE", 2000)
    library.insert(items(30, seed=5, folder="/few's"))
    build_index(library, unit(queries(40)))
    opened = open_library(library.path)
    query = unit(queries(1))[0]
    where = Filters(folder="/few's")
    found = found_near(opened, query, 30, where)
    assert len(found) == 30  # as many as there are, far off as they may be
    told = opened.details(near.picture for near in found).values()
    assert {item.places[0].file.rsplit("/", 1)[0] for item in told} == {"/few's"}


@pytest.fixture(scope="module")
def dated_path(tmp_path_factory):
    """Pictures of ten years in no order, a few words each, and a hundred that are the same."""
    library = create_library(tmp_path_factory.mktemp("dated") / "lib", LibrarySettings("m", "s", DIM))
    library.insert(items(COUNT, seed=1))
    draw = np.random.default_rng(3)
    some = items(COUNT, seed=4)
    some += [replace(some[0], digest=f"same{n:03}") for n in range(100)]
    words = draw.choice(["ba", "du", "ki", "lo", "me"], (len(some), 3))
    library.insert(
        [
            replace(
                each, date=datetime(2010 + n % 10, 1, 1), places=(Place(file=each.places[0].file, caption=" ".join(w)),)
            )
            for n, (each, w) in enumerate(zip(some, words, strict=True))
        ]
    )
    library.tidy()
    build_index(library, unit(queries(60)))
    return library.path


@pytest.fixture
def dated(dated_path, monkeypatch):
    monkeypatch.setattr(store, "AMONG", 1)
    return open_library(dated_path)


def since(year: int) -> str:
    return str(Filters(since=datetime(year, 1, 1)).condition)


@pytest.mark.parametrize(("year", "among"), [(2011, True), (2015, True), (2019, False)])
def test_a_condition_chooses_among_the_nearest_where_enough_satisfy_it(dated, monkeypatch, year, among):
    asked, count = [], Library.count

    def counted(self: Library, where: str | None = None) -> int:
        asked.append(where)
        return count(self, where)

    monkeypatch.setattr(Library, "count", counted)
    shares = []
    for query in unit(queries(COUNT, seed=4)[:30]):
        found = dated.nearest(query, 10, where=since(year), few=1500)
        assert [near.similarity for near in found] == sorted((near.similarity for near in found), reverse=True)
        exact = dated.nearest(query, 10, where=since(year), exact=True)
        shares.append(len({near.digest for near in found} & {near.digest for near in exact}) / 10)
        if not among:  # three hundred satisfy it
            assert [near.digest for near in found] == [near.digest for near in exact]
    assert np.mean(shares) >= 0.95
    counts = asked.count(since(year))  # which takes long
    assert counts <= 6 if among else counts == 30  # some are near to those that are the same


def test_of_equally_near_pictures_that_satisfy_a_condition_the_first_names_come(dated):
    first = items(COUNT, seed=4)[0].vector
    names = [f"same{n:03}" for n in range(100) if n % 10]
    assert [near.digest for near in dated.nearest(first, 20, where=since(2011))] == names[:20]


@pytest.mark.parametrize("year", [2010, 2013, 2018])
@pytest.mark.parametrize("n", [5, 60])
def test_a_condition_finds_the_same_words_with_an_index_and_without(dated, year, n):
    exactly = Library(dated.path, replace(dated.settings, index=None))
    for words in ("ba", "du ki", "ba lo me"):
        found, expected = (
            [(picture.digest, score) for picture, score in each.matching(words, n, where=since(year))]
            for each in (dated, exactly)
        )
        assert found == expected
        assert len(found) == n


@pytest.fixture(scope="module")
def themed_path(tmp_path_factory):
    """Two folders of pictures that have nothing in common; sentences are like those of the first."""
    made = create_library(tmp_path_factory.mktemp("themed") / "lib", LibrarySettings("m", "s", DIM))
    for seed, folder, side in ((1, "/dogs", 1), (2, "/cars", -1)):
        many = items(3000, seed=seed, folder=folder)
        rows = unit(np.stack([item.vector for item in many]) + side * np.eye(DIM, dtype=np.float32)[0])
        made.insert([replace(item, vector=row) for item, row in zip(many, rows, strict=True)])
    index = build_index(made, like_dogs())
    made.save(index=replace(index, probes=4))  # few, as in a library of many partitions
    return made.path


def like_dogs() -> np.ndarray:
    return unit(queries(60) + np.eye(DIM, dtype=np.float32)[0])


@pytest.fixture
def themed(themed_path, monkeypatch):
    monkeypatch.setattr(candidates, "ABOVE", 1000)
    return open_library(themed_path), like_dogs()


def share(library, asked, n, folder=None) -> float:
    """The share of the n nearest that is found."""
    shares, where = [], Filters(folder=folder)
    for query in asked:
        found = found_near(library, query, n, where)
        exact = library.nearest(query, n, where=where.condition, exact=True)
        assert len(found) == len(exact) == n
        shares.append(len({near.digest for near in found} & {near.digest for near in exact}) / n)
    return float(np.mean(shares))


@pytest.mark.parametrize("n", [10, 200])
def test_a_filter_finds_what_lies_far_from_the_question(themed, n):
    library, sentences = themed  # the index begins with centres drawn at random, so the share moves a little
    assert share(library, sentences[:20], n, "/cars") >= 0.9
    assert share(library, sentences[:20], n, "/dogs") >= 0.9


def test_more_results_are_looked_for_in_more_partitions(themed):
    library, sentences = themed
    assert share(library, sentences[:20], 200) >= 0.9
    assert share(library, sentences[:10], 1000) >= 0.9


def test_what_an_index_does_not_find_is_compared_exactly(themed):
    library, sentences = themed
    found = library.nearest(sentences[0], 2900)
    assert [near.digest for near in found] == [near.digest for near in library.nearest(sentences[0], 2900, exact=True)]


def test_a_library_that_has_become_small_is_searched_exactly(themed, tmp_path):
    library, sentences = themed
    library = open_library(shutil.copytree(library.path, tmp_path / "lib"))
    names = sorted(digest for some, _ in library.vectors() for digest in some)
    library.remove(names[:5500])
    assert library.settings.index is not None
    found = found_near(library, sentences[0], 10)
    assert [near.digest for near in found] == [near.digest for near in library.nearest(sentences[0], 10, exact=True)]


@pytest.mark.parametrize("dim", [12, 16])
def test_an_index_of_vectors_of_any_length(tmp_path, dim):
    made = create_library(tmp_path / "lib", LibrarySettings("m", "s", dim))
    rows = unit(np.random.default_rng(0).standard_normal((500, dim)))
    made.insert([Item(f"{n:03}", (Place(file=f"/{n}.jpg"),), None, row) for n, row in enumerate(rows)])
    assert build_index(made, unit(rows[:40] + 0.1)).recall >= 0.95


def test_an_index_is_tried_with_sentences_and_pictures(library):
    def texts(given):
        told.extend(given)
        return np.full((len(given), DIM), DIM**-0.5, np.float32)

    told: list[str] = []
    asked = module.index_queries(
        library, MadeUpEncoder("s", DIM, texts, lambda files: (np.zeros((0, DIM), np.float32), ()))
    )
    assert asked.shape == (200, DIM)
    assert len(set(told)) == 160
    assert all(text.startswith("A photograph of ") and "," not in text for text in told)
    stored = {tuple(row) for _, rows in library.vectors() for row in rows.tolist()}
    assert {tuple(row) for row in asked[160:].tolist()} <= stored
