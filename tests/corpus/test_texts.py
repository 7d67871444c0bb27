from __future__ import annotations

import hashlib

from hypothesis import given, settings
from hypothesis import strategies as st

from iconotext.corpus.row import Row
from iconotext.corpus.stats import row_stats
from iconotext.corpus.texts import TextFile, Texts, digest_of


def test_digests_are_the_same_in_every_process():
    assert digest_of("img/a.jpg") == int.from_bytes(hashlib.blake2b(b"img/a.jpg", digest_size=8).digest(), "little")
    assert len({digest_of(text) for text in ("", "a", "b", "\ud800", "\udfff")}) == 5


@settings(deadline=None)
@given(st.lists(st.lists(st.text(max_size=3) | st.just("\ud800"), max_size=5), max_size=5))
def test_texts_come_back_by_their_numbers(parts):
    with TextFile() as file:
        for part in parts:
            texts = Texts()
            for text in part:
                texts.add(text, digest_of(text))
            file.extend(texts)
        everything = [text for part in parts for text in part]
        assert [file[number] for number in range(len(everything))] == everything
        assert file.digests.tolist() == [digest_of(text) for text in everything]


@settings(deadline=None)
@given(st.lists(st.lists(st.text(max_size=2), max_size=20), max_size=10))
def test_different_images_are_counted(batches):
    found = row_stats(Row(id="a", sentences=[], images=batch) for batch in batches)
    assert found.unique_images == len({source for batch in batches for source in batch})
