"""Evidence of a batch of documents: where the cells lie, and that no document depends on the others."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from iconotext.evidence.caption import Reading
from iconotext.evidence.cells import Cells, Columns
from iconotext.evidence.gather import gather_evidence
from iconotext.types import Document
from tests.support.linking import documents, encode


def test_cells_by_hand() -> None:
    # the first document has two sentences and one image, the second one sentence and two images
    cells = Cells(np.array([2, 1]), np.array([1, 2]))
    assert cells.image.tolist() == [0, 0, 1, 2]
    assert cells.sentence.tolist() == [0, 1, 2, 2]
    values = np.array([1.0, 2.0, 4.0, 8.0])
    assert cells.image_sums(values).tolist() == [3, 4, 8]
    assert cells.image_means(values).tolist() == [1.5, 4, 8]
    assert cells.image_tops(values).tolist() == [2, 4, 8]
    assert cells.sentence_sums(values).tolist() == [1, 2, 12]
    assert cells.sentence_tops(values).tolist() == [1, 2, 8]
    assert [matrix.tolist() for matrix in cells.matrices(values)] == [[[1], [2]], [[4, 8]]]
    assert cells.joined([None, np.array([[4.0, 8.0]])]).tolist() == [0, 0, 4, 8]
    assert cells.joined(cells.matrices(values)).tolist() == values.tolist()
    assert cells.at(np.array([1, 2]), np.array([0, 2])).tolist() == [1, 3]


def test_columns_of_a_document() -> None:
    cells = Cells(np.array([2, 1]), np.array([1, 2]))
    features = {"a": np.array([1, 2, 3, 4], np.float32), "b": np.array([0, 1, 0, 1], np.float32)}
    first, second = cells.columns(features)
    assert {name: matrix.tolist() for name, matrix in second.items()} == {"a": [[3, 4]], "b": [[0, 1]]}
    assert Columns.of(dict(first)).block.tolist() == first.block.tolist()
    assert len(first) == 2
    assert "c" not in first
    # 10 times the second column; what has no weight does not count, nor a document without columns
    assert cells.summed([first, None], {"b": 10.0, "c": 1.0}).tolist() == [0, 10, 0, 0]


@settings(max_examples=20, deadline=None)
@given(st.lists(documents(), min_size=1, max_size=9), st.integers(0, 2**31))
def test_a_document_does_not_depend_on_the_others_of_its_batch(batch: list[Document], seed: int) -> None:
    rng = np.random.default_rng(seed)
    cosines = [
        None if rng.integers(4) == 0 else rng.normal(size=(len(d.sentences), len(d.images))).astype(np.float32)
        for d in batch
    ]
    readings = [
        Reading(encode, encode([sentence.text for sentence in d.sentences]) if rng.integers(2) else None) for d in batch
    ]
    together = gather_evidence(batch, cosines, readings)
    for found, document, similarity, reading in zip(together, batch, cosines, readings, strict=True):
        (alone,) = gather_evidence([document], [similarity], [reading])
        assert found.features.keys() == alone.features.keys()
        for kind, columns in found.features.items():
            assert columns.keys() == alone.features[kind].keys()
            for name, matrix in columns.items():
                assert matrix.shape == (len(document.sentences), len(alone.numbers))
                np.testing.assert_array_equal(matrix, alone.features[kind][name], err_msg=name)
