from __future__ import annotations

import json
import math

import numpy as np
import pytest

from iconotext.encoders.coherence_relations import SETTINGS_FILE, read_refinement, refine
from iconotext.errors import CorpusError, FeatureError, OutputError, SettingError
from iconotext.evaluate.retrieval import rank_pools, retrieval
from iconotext_papers.analyses.refinement import FIGURE_FILE, STRENGTHS, tune_refinement, write_tuning


def made(seed=0, n=60, helpful=True):
    """Similarities with noise, and relations that are surer (or less sure) of the right image."""
    random = np.random.default_rng(seed)
    cosines = (0.2 * random.random((n, n)) + 0.1 * np.eye(n)).astype(np.float32)
    told = np.full((n, n, 2), 0.6, np.float32)
    told[np.arange(n), np.arange(n)] = 0.95 if helpful else 0.5
    return cosines, told


def by_number(array):
    return lambda queries, images: array[np.ix_(queries, images)]


def test_every_setting_has_the_figures_of_a_run_with_it():
    cosines, told = made()
    image_of = np.arange(60)
    arguments = {"pool": 25, "draws": 3, "seed": 4}
    tuning = tune_refinement(
        by_number(cosines), by_number(told), image_of, strengths=(0.5, 0.1), thresholds=(0.03, 0.01), **arguments
    )
    assert [(each.strength, each.threshold) for each in tuning.settings] == [
        (0, 0), (0.1, 0.01), (0.1, 0.03), (0.5, 0.01), (0.5, 0.03),
    ]  # fmt: skip
    for each in tuning.settings:

        def score(queries, images, each=each):
            return refine(
                cosines[np.ix_(queries, images)],
                told[np.ix_(queries, images)],
                strength=each.strength,
                threshold=each.threshold,
            )

        assert each.metrics == retrieval(rank_pools(score, image_of, **arguments))
    assert 0 == tuning.settings[0].hard < tuning.settings[1].hard < tuning.settings[2].hard < 1
    assert len(tuning.differences) == len(tuning.ranks) == 3 * 25


def test_what_helps_is_chosen_and_what_hurts_is_not():
    chosen = {}
    for helpful in (True, False):
        cosines, told = made(helpful=helpful)
        tuning = tune_refinement(
            by_number(cosines), by_number(told), np.arange(60), strengths=(0.5,), thresholds=(0.05,), pool=40, draws=3
        )
        chosen[helpful] = (tuning.best.strength, tuning.best.threshold)
        best = min(each.metrics.median_rank.mean for each in tuning.settings)
        assert tuning.best.metrics.median_rank.mean == best
    assert chosen == {True: (0.5, 0.05), False: (0.0, 0.0)}


def test_ties_go_to_the_mean_rank_then_to_the_smaller_threshold_and_strength():
    cosines = np.eye(6, dtype=np.float32)  # all right, whatever is refined
    told = np.full((6, 6, 1), 0.7)
    tuning = tune_refinement(by_number(cosines), by_number(told), np.arange(6), pool=5, draws=2)
    assert (tuning.best.strength, tuning.best.threshold) == (0, 0)
    # The median is that of two right answers of three, and the refinement mends the third.
    cosines = np.array([[0.9, 0.1, 0.0], [0.1, 0.9, 0.0], [0.0, 0.51, 0.5]])
    told = np.full((3, 3, 1), 0.5)
    told[2, 2] = 1.0
    tuning = tune_refinement(
        by_number(cosines), by_number(told), np.arange(3), strengths=(0.5, 0.3), thresholds=(0.5, 0.2, 0.1), pool=3
    )
    assert {each.metrics.median_rank.mean for each in tuning.settings} == {1.0}
    assert (tuning.best.strength, tuning.best.threshold) == (0.3, 0.1)


def test_settings_out_of_range():
    cosines, told = made()
    for wrong in ({"strengths": ()}, {"thresholds": ()}, {"strengths": (-1,)}, {"thresholds": (math.nan,)}):
        with pytest.raises(SettingError):
            tune_refinement(by_number(cosines), by_number(told), np.arange(60), pool=5, **wrong)
    with pytest.raises(CorpusError, match="pool=60"):
        tune_refinement(by_number(cosines), by_number(told), np.arange(60))


@pytest.mark.slow
def test_written_settings_are_read_again(tmp_path):
    cosines, told = made()
    tuning = tune_refinement(by_number(cosines), by_number(told), np.arange(60), pool=40, draws=2)
    write_tuning(tuning, tmp_path / "m", {"model": "m"})
    assert read_refinement(tmp_path / "m") == (tuning.best.strength, tuning.best.threshold)
    stored = json.loads((tmp_path / "m" / SETTINGS_FILE).read_text())
    assert stored["model"] == "m"
    assert len(stored["settings"]) == len(tuning.settings)
    figure = (tmp_path / "m" / FIGURE_FILE).read_text()
    assert "rank of the right image" in figure  # Fig. 3b
    assert "confidence in it" in figure  # Fig. 3a
    assert all(f"λ = {strength:g}" in figure for strength in STRENGTHS)
    with pytest.raises(OutputError, match="exists"):
        write_tuning(tuning, tmp_path / "m", {})
    write_tuning(tuning, tmp_path / "m", {"model": "m"}, force=True)
    assert (tmp_path / "m" / FIGURE_FILE).read_text() == figure  # equal numbers, equal drawing
    assert read_refinement(tmp_path) is None


@pytest.mark.parametrize(
    "text", ["", "{}", "[1]", '{"strength": "a", "threshold": 1}', '{"strength": -1, "threshold": 1}',
             '{"strength": NaN, "threshold": 1}', '{"strength": null, "threshold": 1}'],
)  # fmt: skip
def test_damaged_settings_are_one_clear_error(tmp_path, text):
    (tmp_path / SETTINGS_FILE).write_text(text)
    with pytest.raises(FeatureError, match=SETTINGS_FILE):
        read_refinement(tmp_path)


def test_a_pool_of_one_image_is_drawn_nevertheless(tmp_path):
    tuning = tune_refinement(by_number(np.ones((2, 2))), by_number(np.ones((2, 2, 1))), np.arange(2), pool=1, draws=2)
    assert tuning.best.threshold == 0
    write_tuning(tuning, tmp_path, {})
