from __future__ import annotations

from collections import Counter, defaultdict

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from iconotext.corpus.image_files import ImageKeys
from iconotext.corpus.split import Shares, assign_splits, connected, grouped
from iconotext.errors import CorpusError, SettingError
from iconotext.types import Document, Image


def document(name, *images):
    return Document(str(name), (), tuple(Image(source) for source in images))


def test_shares_come_out_exactly_where_nothing_is_shared():
    docs = [document(i, f"{i}") for i in range(200)]
    splits = assign_splits(docs, Shares(0.1, 0.25))
    assert Counter(splits) == {"train": 130, "validation": 20, "test": 50}
    assert splits == assign_splits(docs, Shares(0.1, 0.25))
    assert splits != assign_splits(docs, Shares(0.1, 0.25), seed=1)
    assert assign_splits([], Shares()) == []


@given(st.lists(st.lists(st.integers(0, 60), max_size=3), min_size=40, max_size=60), st.integers(0, 9))
@pytest.mark.slow
def test_no_picture_is_in_two_splits(images, seed):
    docs = [document(i, *map(str, sources)) for i, sources in enumerate(images)]
    try:
        splits = assign_splits(docs, Shares(0.2, 0.2), seed=seed)
    except CorpusError as error:
        assert "share pictures" in str(error)
        return
    where = defaultdict(set)
    for doc, split in zip(docs, splits, strict=True):
        for image in doc.images:
            where[image.source].add(split)
    assert all(len(found) == 1 for found in where.values())
    counts = Counter(splits)
    assert counts["validation"] <= round(0.2 * len(docs))
    assert counts["test"] <= round(0.2 * len(docs))


def test_pictures_are_the_same_by_their_bytes(tmp_path):
    docs = []
    for i in range(20):
        file = tmp_path / f"{i}.png"
        file.write_bytes(b"%d" % (i // 2))
        docs.append(Document(str(i), (), (Image(file.name, file=file),)))
    splits = assign_splits(docs, Shares(0.2, 0.2))
    assert all(splits[i] == splits[i + 1] for i in range(0, 20, 2))
    assert Counter(splits) == {"train": 12, "validation": 4, "test": 4}


def test_documents_that_all_hang_together_cannot_be_divided():
    with pytest.raises(CorpusError, match=r"validation would be empty: the smallest group .* has 10"):
        assign_splits([document(i, "logo") for i in range(10)], Shares())


@pytest.mark.parametrize("shares", [(-0.1, 0.1), (0.5, 0.5), (1, 0), (float("nan"), 0)])
def test_shares_must_leave_something(shares):
    with pytest.raises(SettingError, match="shares"):
        Shares(*shares)


def test_pictures_inside_documents_and_lost_ones_are_known_too(tmp_path):
    keys = ImageKeys()
    file = tmp_path / "a.png"
    file.write_bytes(b"x")
    assert keys.of(Image("inside", file=b"x")) == keys.of(Image("a.png", file=file)) != keys.of(Image("y", file=b"y"))
    gone = Image("b.png", file=tmp_path / "b.png")
    assert keys.of(gone) == keys.of(Image("b.png")) != keys.of(Image("c.png"))


def test_a_long_chain_is_no_trouble():
    assert len(set(connected((i, i + 1) for i in range(50_000)))) == 1
    assert len(set(connected((i, i + 1) for i in reversed(range(50_000))))) == 1


@example([])
@example([set("ab"), set("c"), set("bd"), set(), set("dc"), set("e"), set()])
@given(st.lists(st.sets(st.integers(0, 20), max_size=3), max_size=25))
def test_groups_are_those_that_spreading_finds(keys):
    def reached(start):
        """Everything that can be walked to from one thing."""
        found, more = set(), {start}
        while more:
            found |= more
            more = {j for i in more for j in range(len(keys)) if keys[i] & keys[j]} - found
        return found

    groups = connected(keys)
    for i in range(len(keys)):
        assert {j for j, group in enumerate(groups) if group == groups[i]} == reached(i)
        assert groups[i] in reached(i)
    together = grouped(groups)
    assert sorted(number for group in together for number in group) == list(range(len(keys)))
    assert [group[0] for group in together] == sorted(group[0] for group in together)
    assert all(group == sorted(group) for group in together)
