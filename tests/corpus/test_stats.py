from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iconotext.corpus.row import Row
from iconotext.corpus.stats import row_stats


def row(n, m, links=None, split=None, prefix="i", **more):
    images = [f"{prefix}{i}" for i in range(m)]
    return Row(id="d", sentences=["A."] * n, images=images, links=links, split=split, **more)


def test_by_hand():
    found = row_stats(
        [
            row(2, 2, ((0, 0), (1, 1), (1, 1)), "train"),  # 2 of 4
            row(4, 1, (), "train"),  # 0 of 4
            row(10, 3, None, "test", "j"),  # nobody knows
        ]
    )
    assert found.splits == {"train": 2, "test": 1}
    assert found.documents == 3
    assert (found.sentences.median, found.sentences.mean, found.sentences.max) == (4, 16 / 3, 10)
    assert (found.images.median, found.images.max) == (2, 3)
    assert found.unique_images == 2 + 3
    assert found.density == 2 / 8
    assert found.mean_density == (2 / 4 + 0 / 4) / 2
    assert found.unknown == 1


def test_the_density_of_the_data_sets_in_table_1():
    """MSCOCO 5 %, Story-DII 20 %, DII-Stress 2 %: five links between so many sentences and images."""
    links = tuple((i, i) for i in range(5))
    for n, m, density in ((10, 10, 0.05), (5, 5, 0.2), (50, 5, 0.02)):
        assert row_stats([row(n, m, links)] * 3).density == pytest.approx(density)


def test_an_empty_corpus_and_one_without_links():
    empty = row_stats([])
    assert (empty.documents, empty.density, empty.mean_density, empty.sentences.median) == (0, None, None, 0)
    assert row_stats([row(0, 3, ())]).density is None
    assert row_stats([row(2, 3)]).as_json()["density"] is None


@given(st.lists(st.integers(0, 9), min_size=1, max_size=30))
def test_sizes_against_the_standard_library(sizes):
    found = row_stats([row(n, 0) for n in sizes]).sentences
    assert found.median == statistics.median(sizes)
    assert found.mean == pytest.approx(statistics.mean(sizes))
    assert found.max == max(sizes)


def test_positive_rates_of_relations():
    labels = [{"Visible": True, "Story": None}, {"Visible": False, "Story": None}, {"Visible": None, "Meta": True}, {}]
    found = row_stats([*(row(0, 0, relations=some) for some in labels), row(1, 1)])
    assert {name: (rate.yes, rate.total, rate.rate) for name, rate in found.relations.items()} == {
        "Visible": (1, 2, 0.5),
        "Story": (0, 0, None),
        "Meta": (1, 1, 1.0),
    }
    assert found.as_json()["relations"]["Visible"] == {"positive": 1, "answered": 2, "rate": 0.5}
    assert row_stats([row(1, 1)]).relations == {}


def test_different_images_by_hand():
    rows = [
        Row(id="a", split="train", sentences=["A.", "B."], images=["a"], links=[(0, 0), (0, 0)]),
        Row(id="b", sentences=["A.", "B."], images=["a", "b", "c"], relations={"Visible": True}),
    ]
    found = row_stats(rows)
    assert (found.splits, found.unique_images, found.links, found.unknown) == ({"train": 1, "none": 1}, 3, 1, 1)


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=6), max_size=6))
def test_different_images_are_counted(batches):
    found = row_stats(Row(id="a", sentences=[], images=batch) for batch in batches)
    assert found.unique_images == len({source for batch in batches for source in batch})
