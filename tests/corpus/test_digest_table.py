from __future__ import annotations

import hashlib

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from iconotext.corpus.digest_table import DigestTable, digest_of
from iconotext.corpus.distinct import Distinct

SMALL = st.integers(0, 40).map(lambda n: n * 0x0600_0000_0000_0001 % 2**64)  # many that want the same slots
DIGESTS = SMALL | st.integers(0, 2**64 - 1)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(DIGESTS, max_size=30), max_size=8))
def test_against_a_dict(batches):
    table = DigestTable()
    known: dict[int, int] = {}
    for number, batch in enumerate(batches, start=1):
        slots, new = table.put(np.array(batch, np.uint64))
        wanted = []
        for key in (max(key, 1) for key in batch):
            wanted.append(key not in known)
            known.setdefault(key, number)
        assert new.tolist() == wanted
        table.values[slots[new]] = number
        assert table.values[slots].tolist() == [known[max(key, 1)] for key in batch]
        assert len(table) == len(known)


def test_values_stay_while_the_table_grows():
    table = DigestTable()
    keys = np.random.default_rng(0).integers(1, 2**64, 50_000, dtype=np.uint64)
    for start in range(0, len(keys), 1000):
        slots, new = table.put(keys[start : start + 1000])
        assert new.all()
        table.values[slots] = keys[start : start + 1000] ^ np.uint64(7)
    slots, new = table.put(keys[::-1])
    assert not new.any()
    assert np.array_equal(table.values[slots], keys[::-1] ^ np.uint64(7))


def test_digests_are_the_same_in_every_process():
    assert digest_of("img/a.jpg") == int.from_bytes(hashlib.blake2b(b"img/a.jpg", digest_size=8).digest(), "little")
    assert len({digest_of(text) for text in ("", "a", "b", "\ud800", "\udfff")}) == 5


@settings(deadline=None)
@given(st.lists(st.lists(st.text(max_size=2), max_size=20), max_size=10))
def test_different_texts_are_counted(batches):
    counted, known = Distinct(), set()
    for batch in batches:
        counted.add(batch)
        known |= set(batch)
        assert len(counted) == len(known)


def test_many_different_texts_are_counted(monkeypatch):
    monkeypatch.setattr("iconotext.corpus.distinct.WAITING", 100)
    counted = Distinct()
    for start in range(0, 5000, 10):
        counted.add(str(number % 3000) for number in range(start, start + 20))
    assert len(counted) == 3000
