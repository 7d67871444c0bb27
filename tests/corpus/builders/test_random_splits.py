"""Dealing out documents that come one by one."""

from __future__ import annotations

import pytest

from iconotext.corpus.builders.frame.build import build_corpus
from iconotext.corpus.builders.frame.random_splits import with_random_splits
from iconotext.corpus.published_sizes import PublishedSizes
from iconotext.corpus.split import Shares
from iconotext.corpus.store import read_corpus
from iconotext.errors import CorpusError

PUBLISHED = PublishedSizes((8, 1, 1), images=10, density=100, median=(1, 1), rounding=1)


def documents(count, sentence="One."):
    return ({"id": f"{i}", "sentences": [sentence], "images": [f"{i}.jpg"], "links": [(0, 0)]} for i in range(count))


def test_documents_keep_their_order_and_get_splits(tmp_path):
    output = tmp_path / "c.jsonl"

    def rows(build):
        build.published = PUBLISHED
        yield from with_random_splits(build, documents(10), Shares(0.1, 0.1))

    report = build_corpus("some", rows, output, sources=[tmp_path])
    found = list(read_corpus(output))
    assert [document.id for document in found] == [f"{i}" for i in range(10)]
    assert sorted(str(document.split) for document in found) == ["test", *["train"] * 8, "validation"]
    assert all(count.fits for count in report.counts if count.what != "different images")
    counts = {count.what: count.found for count in report.counts}
    assert counts["different images"] == 10
    assert counts["links per 100 possible links"] == 100


def test_a_text_that_cannot_be_written_names_its_document(tmp_path):
    def rows(build):
        yield from with_random_splits(build, documents(3, "\ud800"), Shares(0, 0))

    with pytest.raises(CorpusError, match=r"document '0': .*surrogate"):
        build_corpus("some", rows, tmp_path / "c.jsonl", sources=[tmp_path])
