from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from numpy.typing import NDArray

from iconotext.features.regions import Regions, grid_boxes
from iconotext.links.removal import coverable_regions

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix


def regions(boxes: FloatMatrix) -> Regions:
    n = len(boxes)
    return Regions(
        np.array([n]),
        np.zeros((n, 2), np.float16),
        np.asarray(boxes, np.float32),
        np.zeros(n, np.int32),
        np.zeros(n, np.float32),
        (None,),
    )


def nothing(left_out: NDArray[np.bool_]) -> FloatMatrix:
    return np.zeros((len(left_out), 1), np.float32)


@pytest.mark.parametrize(("count", "trials"), [(3, 3), (2, 2), (1, 0)])
def test_objects_are_left_out_each_in_turn_but_never_all(count: int, trials: int) -> None:
    found = coverable_regions(regions(np.full((count, 4), 0.5, np.float32)), nothing)
    assert found.trials.tolist() == np.eye(count, dtype=bool)[:trials].tolist()


def test_cells_of_a_grid_are_left_out_in_squares() -> None:
    found = coverable_regions(regions(grid_boxes()), nothing)
    assert found.trials.shape == (25, 36)
    assert set(found.trials.sum(axis=1).tolist()) == {4}
    assert np.flatnonzero(found.trials[0]).tolist() == [0, 1, 6, 7]
    assert (found.trials.sum(axis=0) > 0).all()


def test_as_many_objects_as_cells_are_no_grid() -> None:
    boxes = grid_boxes().copy()
    boxes[5] += 0.05
    assert coverable_regions(regions(boxes), nothing).trials.shape == (36, 36)
