"""Batches of training documents, and of labelled pairs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from iconotext.errors import CorpusError
from iconotext.train.batches import epoch_batches, load_batch, planned_reads, read_ahead
from iconotext.train.prepared import labelled_documents, labelled_pairs
from tests.support.training import made, small_recipe

PLAIN = made([(3, [2 * n, 2 * n + 1]) for n in range(23)])


def plan(prepared=PLAIN, split="train", epoch=0, **tables):
    return epoch_batches(prepared, small_recipe(**tables), split, epoch)


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 30), st.integers(1, 40), st.sampled_from(["mixed", "by-corpus"]), st.integers(0, 99))
def test_every_document_is_a_positive_once(batch, b, batches, seed):
    prepared = made([(1, [n]) for n in range(23)], corpora=[n % 3 // 2 for n in range(23)])
    tables = {"seed": seed, "objective": {"b": b}, "training": {"batch": batch, "batches": batches}}
    planned = plan(prepared, **tables)
    assert sorted(d for documents, p in planned for d in documents[:p]) == list(range(23))
    for documents, positives in planned:
        assert 1 <= positives <= batch
        assert len(set(documents.tolist())) == len(documents)
        assert len(documents) == max(positives, min(max(2, b + 1), 23))
    sizes = [positives for _, positives in planned]
    assert batches == "by-corpus" or max(sizes) - min(sizes) <= 1


def test_the_same_for_the_same_seed_and_epoch_and_else_another_order():
    def flat(**more):
        return [documents.tolist() for documents, _ in plan(**more)]

    assert flat() == flat()
    assert flat(epoch=1) != flat()
    assert flat(seed=1) != flat()
    prepared = made([(1, [n]) for n in range(9)], splits=[1] * 9)
    assert flat(prepared=prepared, split="validation", epoch=3) == flat(prepared=prepared, split="validation")


def test_batches_of_one_corpus_have_negatives_of_it_as_long_as_there_are():
    corpora = [0] * 20 + [1] * 3
    prepared = made([(1, [n]) for n in range(23)], corpora=corpora)
    tables = {"objective": {"b": 6}, "training": {"batch": 4, "batches": "by-corpus"}}
    for documents, positives in plan(prepared, **tables):
        owners = {corpora[d] for d in documents[:positives]}
        assert len(owners) == 1
        others = [corpora[d] for d in documents]
        assert others.count(1) == 3 if owners == {1} else others == [0] * 7


def load(prepared, documents, *, learning=True, seed=0, **tables):
    return load_batch(
        prepared, small_recipe(**tables), np.array(documents), len(documents), training=learning, seed=[seed]
    )


def test_a_batch_has_the_rows_of_its_documents():
    prepared = made([(2, [5, 6]), (1, [7]), (3, [0, 1, 2])])
    batch = load(prepared, [2, 0])
    assert (batch.sentence_counts, batch.image_counts) == ([3, 2], [3, 2])
    assert batch.images[:, 0].tolist() == [0, 1, 2, 5, 6]
    offsets = prepared.words.offsets
    wanted = [*range(offsets[3], offsets[6]), *range(offsets[0], offsets[2])]
    assert batch.words.tolist() == wanted
    assert batch.lengths.tolist() == np.diff(offsets)[[3, 4, 5, 0, 1]].tolist()
    assert batch.to(torch.device("cpu")).lengths is not None


def test_limits_hold_in_training_only_and_keep_the_order():
    prepared = made([(9, list(range(8))), (2, [20])])
    limits = {"training": {"max_sentences": 4, "max_images": 3}}
    seen = set()
    for seed in range(20):
        batch = load(prepared, [0, 1], seed=seed, **limits)
        assert (batch.sentence_counts, batch.image_counts) == ([4, 2], [3, 1])
        rows = batch.images[:3, 0].tolist()
        assert rows == sorted(set(rows))
        seen |= set(rows)
    assert seen == set(range(8))
    whole = load(prepared, [0, 1], learning=False, **limits)
    assert (whole.sentence_counts, whole.image_counts) == ([9, 2], [8, 1])


@pytest.mark.parametrize("kind", ["dense", "single-pair"])
@pytest.mark.parametrize("limit", [None, 1])
def test_documents_that_share_an_image_are_no_negatives(kind, limit):
    prepared = made([(1, [0, 1, 2]), (1, [3, 4]), (1, [5, 2, 2]), (2, [6])])
    tables = {"similarity": {"kind": kind}, "training": {} if limit is None else {"max_images": limit}}
    for seed in range(6):  # whichever images take part
        negative_mask = load(prepared, [0, 1, 2, 3], seed=seed, **tables).negative_mask
        assert negative_mask.tolist() == [
            [False, True, False, True],
            [True, False, True, True],
            [False, True, False, True],
            [True, True, True, False],
        ]


def test_single_pairs_are_drawn_from_each_document():
    prepared = made([(5, [0, 1, 2]), (1, [7])])
    drawn = {
        tuple(load(prepared, [0, 1], seed=s, similarity={"kind": "single-pair"}).images[:, 0].tolist())
        for s in range(40)
    }
    assert drawn == {(0, 7), (1, 7), (2, 7)}
    batch = load(prepared, [0, 1], similarity={"kind": "single-pair"})
    assert (batch.sentence_counts, batch.image_counts, len(batch.lengths)) == ([1, 1], [1, 1], 2)


def test_batches_that_begin_later_are_the_same():
    recipe = small_recipe(training={"max_sentences": 2, "batch": 4})
    planned = epoch_batches(PLAIN, recipe, "train", 3)
    whole = list(read_ahead(planned_reads(PLAIN, recipe, planned, training=True, epoch=3)))
    later = list(read_ahead(planned_reads(PLAIN, recipe, planned, training=True, epoch=3, start=4)))
    assert len(whole) == len(planned) == 6
    for one, other in zip(whole[4:], later, strict=True):
        assert torch.equal(one.words, other.words)
    assert list(read_ahead(planned_reads(PLAIN, recipe, planned, training=True, epoch=3, start=6))) == []
    other_epoch = list(read_ahead(planned_reads(PLAIN, recipe, planned, training=True, epoch=4)))
    assert not all(torch.equal(a.words, b.words) for a, b in zip(whole, other_epoch, strict=True))


def test_an_error_while_reading_comes_through():
    with pytest.raises(IndexError):
        list(read_ahead(planned_reads(PLAIN, small_recipe(), [(np.array([99]), 1)], training=True, epoch=0)))


def test_posteriors_are_those_of_what_takes_part_and_likely_sentences_always_do():
    prepared = made([(9, [0, 1]), (2, [2]), (9, [3, 4, 5])])
    rng = np.random.default_rng(1)
    blocks = [np.full((s, v), 0.01, np.float16) for s, v in ((9, 2), (2, 1), (9, 3))]
    for block in blocks:
        block[rng.integers(len(block)), 0] = 0.9
    prepared = replace(prepared, posteriors=np.concatenate([block.ravel() for block in blocks]))
    np.testing.assert_array_equal(prepared.posterior_of(2), blocks[2])
    recipe = small_recipe(objective={"posterior": 1}, training={"max_sentences": 3, "max_images": 2})
    for seed in range(20):
        batch = load_batch(prepared, recipe, np.array([2, 0, 1]), 2, training=True, seed=[seed])
        assert batch.image_counts == [2, 2, 1]
        assert set(batch.sentence_counts[:2]) <= {3, 4}
        sizes = [s * v for s, v in zip(batch.sentence_counts[:2], batch.image_counts, strict=False)]
        third, first = batch.posteriors.split(sizes)  # of the positives alone
        assert first.max() == pytest.approx(0.9, abs=1e-3)
        shown = 3 in batch.images[:2, 0]  # the image that has a likely sentence
        assert third.max() == pytest.approx(0.9 if shown else 0.01, abs=1e-3)
    whole = load_batch(prepared, recipe, np.array([2, 0]), 2, training=False, seed=[0])
    np.testing.assert_array_equal(whole.posteriors.numpy(), np.concatenate([blocks[2].ravel(), blocks[0].ravel()]))
    assert load_batch(prepared, small_recipe(), np.array([2, 0]), 2, training=True, seed=[0]).posteriors is None


# Documents 0 and 1 share picture 1; document 2 has no link.
LINKS = [[(0, 0), (2, 0), (1, 1)], [(0, 1)], [], [(1, 0)]]
DOCUMENTS = [(3, [0, 1]), (2, [1, 2]), (2, [3]), (2, [4, 5])]


def linked_corpus(links=LINKS, documents=DOCUMENTS, splits=None):
    return replace(
        made(documents, splits=splits),
        links=np.array([link for own in links for link in own], np.int32).reshape(-1, 2),
        link_offsets=np.cumsum([0, *map(len, links)]),
        linked=np.ones(len(documents), bool),
    )


LABELLED = small_recipe(similarity={"kind": "labelled-pairs"})


def test_pairs_by_hand():
    negative_mask = ~np.eye(3, dtype=bool)
    negative_mask[0, 1] = negative_mask[1, 0] = False
    found = labelled_pairs(linked_corpus(), np.array([0, 1, 3]), negative_mask)
    assert found.documents.tolist() == [0, 0, 0, 1, 3]
    assert found.sentences.tolist() == [0, 2, 1, 0, 1]
    assert found.images.tolist() == [0, 0, 1, 1, 0]
    # Sentences 0 and 2 of document 0 both show its first picture, so neither is the other's negative; sentence 1 is
    # both's. Documents 0 and 1 share a picture; document 3 is everyone's negative.
    assert found.negative_mask.astype(int).tolist() == [
        [0, 0, 1, 0, 1],
        [0, 0, 1, 0, 1],
        [1, 1, 0, 0, 1],
        [0, 0, 0, 0, 1],
        [1, 1, 1, 1, 0],
    ]


def test_a_batch_holds_the_linked_sentences_and_images_alone():
    prepared = linked_corpus()
    batch = load_batch(prepared, LABELLED, np.array([3, 0, 1]), 2, training=True, seed=[0])
    assert batch.positives == 4  # one link of document 3, three of document 0
    assert batch.sentence_counts == batch.image_counts == [1] * 5
    assert batch.images[:, 0].tolist() == [4, 0, 0, 1, 2]
    starts = prepared.words.offsets[[8, 0, 2, 1, 3]]  # sentence 1 of document 3, then 0, 2, 1 of document 0 ...
    firsts = np.cumsum([0, *batch.lengths.tolist()])[:-1]
    assert batch.words[firsts].tolist() == starts.tolist()


def test_a_larger_share_has_the_documents_of_a_smaller_one():
    many = linked_corpus([[(0, 0)]] * 20, [(1, [n]) for n in range(20)])
    shares = {}
    for share in (0.2, 0.4, 0.6, 1.0):
        recipe = small_recipe(similarity={"kind": "labelled-pairs"}, training={"labelled": share})
        shares[share] = set(labelled_documents(many, recipe, "train").tolist())
        batches = epoch_batches(many, recipe, "train", 0)
        assert {int(n) for documents, _ in batches for n in documents} == shares[share]
    assert [len(own) for own in shares.values()] == [4, 8, 12, 20]
    assert shares[0.2] < shares[0.4] < shares[0.6] < shares[1.0]


def test_documents_without_links_take_no_part():
    assert labelled_documents(linked_corpus(), LABELLED, "train").tolist() == [0, 1, 3]


def test_too_few_links_are_an_error():
    with pytest.raises(CorpusError, match="two or more validation documents with gold links; there are 1"):
        labelled_documents(linked_corpus(splits=[0, 0, 1, 1]), LABELLED, "validation")
