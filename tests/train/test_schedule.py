from __future__ import annotations

import pytest

from iconotext.recipe import TrainingSettings
from iconotext.train.schedule import Plateau, learning_rate


def seen(losses, nothing=10.0, **settings):
    """After each loss, how often the rate was divided; ``nothing`` is the loss of equal similarities."""
    plateau, made = Plateau(), TrainingSettings(**settings)
    divided: list[int] = []
    for loss in losses:
        plateau.see(loss, made, steps=10 * (len(divided) + 1), informed=loss < nothing)
        divided.append(plateau.divided)
    return divided


def test_the_rate_is_divided_after_three_epochs_without_a_better_loss():
    assert seen([0.4, 0.3, 0.3, 0.35, 0.31, 0.3, 0.3, 0.3, 0.2, 0.2]) == [0, 0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert seen([0.4, 0.5, 0.39, 0.5, 0.5, 0.5], patience=2) == [0, 0, 0, 0, 1, 1]


def test_the_plateau_counts_only_once_something_is_learned():
    # The released code: as long as no loss was below 2 · margin nothing is counted.
    assert seen([0.4, 0.4, 0.41, 0.4, 0.4], nothing=0.4) == [0] * 5
    assert seen([0.41, 0.39, 0.4, 0.45, 0.39], nothing=0.4) == [0, 0, 0, 0, 1]


def test_the_plateau_counts_only_after_a_warm_up_in_steps():
    # 10 steps an epoch: the first three epochs do not count, not even as the best so far.
    assert seen([0.1, 0.4, 0.4, 0.3, 0.4, 0.4, 0.4], warmup_steps=40) == [0, 0, 0, 0, 0, 0, 1]


def test_a_warm_up_in_steps_rises_from_1e_7_on_a_line():
    made = TrainingSettings(learning_rate=1.0, warmup_steps=8)
    rates = [learning_rate(made, n // 4, n % 4, steps=4, plateau=Plateau()) for n in range(12)]
    assert rates[:8] == pytest.approx([1e-7 + (1 - 1e-7) * n / 8 for n in range(1, 9)])
    assert rates[8:] == [1.0] * 4


def rate(epoch, step, plateau=None, **settings):
    made = TrainingSettings(learning_rate=1.0, **settings)
    return learning_rate(made, epoch, step, steps=4, plateau=plateau or Plateau())


def test_rates_by_hand():
    assert rate(7, 2, schedule="constant") == 1
    assert [rate(0, step, warmup=1) for step in range(4)] == [0.25, 0.5, 0.75, 1]
    assert rate(1, 0, warmup=3) == pytest.approx(5 / 12)
    assert rate(3, 0, warmup=3) == 1
    assert rate(9, 0, Plateau(divided=2)) == pytest.approx(1 / 25)
    assert rate(9, 0, Plateau(divided=2), schedule="constant") == 1
    # The cosine falls from the end of the warm-up to 0 at the last step.
    assert rate(4, 3, schedule="cosine", epochs=10) == pytest.approx(0.5)
    assert rate(9, 3, schedule="cosine", epochs=10) == pytest.approx(0)
    assert rate(5, 3, schedule="cosine", epochs=10, warmup=2) == pytest.approx(0.5)
