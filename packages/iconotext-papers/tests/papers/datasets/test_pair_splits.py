from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iconotext.errors import CorpusError
from iconotext_papers.datasets.labelled_pairs import PUBLISHED, leaks, sizes, split_pairs


def keys(*pairs):
    return [(bytes([picture]), bytes([text])) for picture, text in pairs]


def test_the_published_sizes():
    cite, clue = (PUBLISHED[name] for name in ("CITE++", "Clue"))
    assert (sum(cite.values()), sum(clue.values())) == (4299, 7559)
    for published in (cite, clue):
        ours = sizes(sum(published.values()))
        assert {"train": ours["train"] + ours["validation"], "test": ours["test"]} == published
    assert (sizes(4299)["validation"], sizes(7559)["validation"]) == (344, 605)


@settings(deadline=None)
@given(st.integers(0, 300), st.integers(0, 9))
def test_sizes_are_kept_and_the_seed_decides(count, seed):
    some = [(i.to_bytes(2), i.to_bytes(2)) for i in range(count)]
    splits = split_pairs(some, seed=seed)
    assert Counter(splits) == Counter(sizes(count))
    assert splits == split_pairs(some, seed=seed)
    assert count < 30 or splits != split_pairs(some, seed=seed + 1)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=60), st.integers(0, 5))
def test_grouped_pairs_share_nothing(pairs, seed):
    some = keys(*pairs)
    try:
        splits = split_pairs(some, seed=seed, group=True)
    except CorpusError as error:
        assert "would be empty" in str(error)
        return
    assert leaks(some, splits) == {"picture": 0, "text": 0, "either": 0}
    for i, split in enumerate(splits):  # nor do validation and test
        for j, other in enumerate(splits):
            assert split == other or (pairs[i][0] != pairs[j][0] and pairs[i][1] != pairs[j][1])
    counts = Counter(splits)
    assert all(counts[split] <= wanted for split, wanted in sizes(len(pairs)).items() if split != "train")


def test_pairs_that_hang_together_through_others():
    chain = keys((0, 0), (0, 1), (1, 1), (1, 2))
    with pytest.raises(CorpusError, match=r"test would be empty: .* has 4, more than the 1 asked for"):
        split_pairs(chain, group=True)
    splits = split_pairs(chain + keys(*((i, i) for i in range(10, 40))), group=True)
    assert len(set(splits[:4])) == 1


def test_a_picture_and_a_text_are_never_the_same():
    some = keys(*((i, i + 1) for i in range(30)))
    assert Counter(split_pairs(some, group=True)) == Counter(sizes(30))


def test_what_is_shared_is_counted():
    some = keys((0, 0), (0, 1), (1, 0), (2, 2), (0, 0))
    assert leaks(some, ["train", "test", "validation", "test", "test"]) == {"picture": 2, "text": 2, "either": 3}
