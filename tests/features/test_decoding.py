import threading

import numpy as np
import pytest

from iconotext.features.decoding import AHEAD, pixel_batches

BROKEN = b"no picture"


def size(picture):
    return np.array(picture.size)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("batch_size", [1, 4, 100])
def test_order_is_kept_and_broken_ones_are_told(threads, batch_size, noise):
    files = [noise(i, 10 + i, 10) if i % 3 else BROKEN for i in range(11)]
    rows, widths = [], []
    problems: dict[int, str] = {}
    for batch in pixel_batches(files, size, at_least=1, batch_size=batch_size, threads=threads):
        rows += batch.rows
        widths += [int(pixels[0]) for pixels in batch.pixels]
        problems |= batch.problems
    assert rows == [i for i in range(11) if i % 3]
    assert widths == [10 + i for i in rows]
    assert sorted(problems) == [0, 3, 6, 9]


def test_no_files():
    assert list(pixel_batches([], size, at_least=1, batch_size=4)) == []


def test_never_runs_far_ahead(noise):
    prepared = []

    def note(picture):
        prepared.append(picture.size)
        return picture.size

    batches = pixel_batches([noise(0)] * 100, note, at_least=1, batch_size=2, threads=2)
    for i in range(1, 4):
        next(batches)
        assert len(prepared) <= 2 * (i + AHEAD)
    batches.close()
    assert len(prepared) <= 2 * (3 + AHEAD)


def test_threads_end_with_the_batches(noise):
    before = threading.active_count()
    batches = pixel_batches([noise(0)] * 20, size, at_least=1, batch_size=2, threads=4)
    next(batches)
    batches.close()
    assert threading.active_count() == before


def test_a_mistake_in_prepare_is_not_swallowed(noise):
    def wrong(picture):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(pixel_batches([noise(0)], wrong, at_least=1, batch_size=1))
