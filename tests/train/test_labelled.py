from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from iconotext.errors import CorpusError
from iconotext.train.batches import epoch_batches, load_batch
from iconotext.train.prepared import labelled_documents, labelled_pairs
from tests.support.training import made, small_recipe

# Documents 0 and 1 share picture 1; document 2 has no link.
LINKS = [[(0, 0), (2, 0), (1, 1)], [(0, 1)], [], [(1, 0)]]
DOCUMENTS = [(3, [0, 1]), (2, [1, 2]), (2, [3]), (2, [4, 5])]


def corpus(links=LINKS, documents=DOCUMENTS, splits=None):
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
    found = labelled_pairs(corpus(), np.array([0, 1, 3]), negative_mask)
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
    prepared = corpus()
    batch = load_batch(prepared, LABELLED, np.array([3, 0, 1]), 2, training=True, seed=[0])
    assert batch.positives == 4  # one link of document 3, three of document 0
    assert batch.sentence_counts == batch.image_counts == [1] * 5
    assert batch.images[:, 0].tolist() == [4, 0, 0, 1, 2]
    starts = prepared.words.offsets[[8, 0, 2, 1, 3]]  # sentence 1 of document 3, then 0, 2, 1 of document 0 ...
    firsts = np.cumsum([0, *batch.lengths.tolist()])[:-1]
    assert batch.words[firsts].tolist() == starts.tolist()


def test_a_larger_share_has_the_documents_of_a_smaller_one():
    many = corpus([[(0, 0)]] * 20, [(1, [n]) for n in range(20)])
    shares = {}
    for share in (0.2, 0.4, 0.6, 1.0):
        recipe = small_recipe(similarity={"kind": "labelled-pairs"}, training={"labelled": share})
        shares[share] = set(labelled_documents(many, recipe, "train").tolist())
        batches = epoch_batches(many, recipe, "train", 0)
        assert {int(n) for documents, _ in batches for n in documents} == shares[share]
    assert [len(own) for own in shares.values()] == [4, 8, 12, 20]
    assert shares[0.2] < shares[0.4] < shares[0.6] < shares[1.0]


def test_documents_without_links_take_no_part():
    assert labelled_documents(corpus(), LABELLED, "train").tolist() == [0, 1, 3]


def test_too_few_links_are_an_error():
    with pytest.raises(CorpusError, match="two or more validation documents with gold links; there are 1"):
        labelled_documents(corpus(splits=[0, 0, 1, 1]), LABELLED, "validation")
