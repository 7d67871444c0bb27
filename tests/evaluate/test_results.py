from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iconotext.errors import CorpusError, OutputError, ShapeError
from iconotext.evaluate import Results, Scored, evaluate, read_results, write_results
from iconotext.evaluate.results import COLUMNS
from iconotext.evaluate.scores import random_scores
from iconotext.evaluate.statistics import bootstrap_intervals, resampled_counts
from tests.counted import calls

TWO = [
    Scored("a", np.array([[0.9, 0.1], [0.2, 0.8]], np.float32), ((0, 0), (1, 1))),
    Scored("b", np.array([[0.1, 0.9, 0.5]], np.float32), ((0, 0),)),
]


def test_means_by_hand():
    found = evaluate(TWO)
    one, two = found.documents
    assert (one.auc, one.p1, one.p5, one.image_hits, one.linked_images) == (1, 1, 2 / 4, 2, 2)
    assert (two.auc, two.p1, two.p5, two.image_hits, two.linked_images) == (0, 0, 1 / 3, 1, 1)
    # image@1 is over images, not over documents: with one sentence the best one is always right
    assert found.means == pytest.approx({"auc": 0.5, "p@1": 0.5, "p@5": 5 / 12, "image@1": 1.0})
    assert found.intervals["image@1"] == pytest.approx((1, 1))
    assert found.intervals["auc"] == pytest.approx(
        (0, 1)
    )  # of two documents, a quarter of the draws has one of them twice


def test_documents_without_an_auc_are_left_out_counted_and_named():
    flat = np.zeros((1, 2), np.float32)
    found = evaluate(
        [*TWO, Scored("unknown", flat, None), Scored("none", flat, ()), Scored("all", flat, ((0, 0), (0, 1)))]
    )
    assert found.means == evaluate(TWO).means
    assert found.intervals == evaluate(TWO).intervals
    assert {d.id: d.undefined for d in found.undefined} == {
        "unknown": "the gold links are unknown",
        "none": "it has no gold links",
        "all": "every sentence is linked to every image",
    }
    as_dict = found.as_dict(model="m", corpus="c", split=None)
    assert (as_dict["documents"], as_dict["undefined"]) == (5, 3)
    assert as_dict["undefined_documents"] == ["unknown", "none", "all"]


def test_nothing_to_evaluate_is_no_figure_and_no_error():
    for documents in ([], [Scored("x", np.zeros((0, 0), np.float32), ())]):
        found = evaluate(documents).as_dict(model="m", corpus="c", split="test")
        assert found["auc"] is None
        assert found["intervals"]["p@1"] is None
        json.dumps(found, allow_nan=False)


def test_json_has_the_keys_of_the_design():
    found = evaluate(TWO).as_dict(model="default", corpus="c.jsonl", split="test")
    assert list(found) == [
        "model", "corpus", "split", "documents", "undefined", "auc", "p@1", "p@5", "image@1", "intervals",
        "undefined_documents",
    ]  # fmt: skip
    assert set(found["intervals"]) == {"auc", "p@1", "p@5", "image@1"}


def test_a_bad_matrix_names_its_document():
    with pytest.raises(ShapeError, match=r"'x'.*not a number"):
        evaluate([Scored("x", np.array([[np.nan]]), ((0, 0),))])
    with pytest.raises(ShapeError, match=r"'x'.*\(1, 0\)"):
        evaluate([Scored("x", np.array([[0.0]]), ((1, 0),))])


def test_results_come_back_as_they_were_written(tmp_path):
    found = evaluate([*TWO, Scored("ü", np.zeros((2, 2), np.float32), None)])
    path = tmp_path / "new" / "r.parquet"
    about = {"model": "m", "corpus": "c", "split": None, "evidence": ["picture"]}
    write_results(Results(found, about), path)
    back = read_results(path)
    assert back.evaluation == found
    assert (back.about, back.model) == (about, "m")
    with pytest.raises(OutputError, match="exists"):
        write_results(Results(found), path)
    write_results(Results(found), path, force=True)
    assert read_results(path).model == ""
    assert list(path.parent.iterdir()) == [path]


def test_what_is_no_results_file_is_named(tmp_path):
    with pytest.raises(CorpusError, match=r"gone\.parquet: cannot be read"):
        read_results(tmp_path / "gone.parquet")
    (tmp_path / "text.parquet").write_text("no")
    with pytest.raises(CorpusError, match="not a Parquet file"):
        read_results(tmp_path / "text.parquet")
    pq.write_table(pa.table({"id": ["a"], "sentences": [1], "images": [1]}), tmp_path / "other.parquet")
    with pytest.raises(CorpusError, match="column links is missing"):
        read_results(tmp_path / "other.parquet")
    pq.write_table(pa.table({name: ["x"] for name in COLUMNS}), tmp_path / "text.parquet")
    with pytest.raises(CorpusError, match="another type"):
        read_results(tmp_path / "text.parquet")


def test_resampled_counts_are_draws_with_replacement():
    counts = np.concatenate(list(resampled_counts(7, 3000, 1)))
    assert counts.shape == (3000, 7)
    assert (counts.sum(1) == 7).all()
    assert abs(counts.mean() - 1) < 1e-9
    assert abs(counts.var(0).mean() - (1 - 1 / 7)) < 0.03  # of a multinomial
    np.testing.assert_array_equal(counts, np.concatenate(list(resampled_counts(7, 3000, 1))))


def test_intervals_agree_with_a_plain_loop():
    random = np.random.default_rng(0)
    totals, weights = random.random((30, 2)), random.integers(1, 5, (30, 2)).astype(float)
    found = bootstrap_intervals(totals, weights, resamplings=4000)
    other = np.random.default_rng(9)
    ratios = []
    for _ in range(4000):
        drawn = [other.integers(30) for _ in range(30)]
        ratios.append([sum(totals[i, c] for i in drawn) / sum(weights[i, c] for i in drawn) for c in (0, 1)])
    np.testing.assert_allclose(found, np.quantile(ratios, [0.025, 0.975], axis=0).T, atol=0.012)


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    random = np.random.default_rng(0)
    hits = 0
    for sample in range(300):
        values = random.random((60, 1)) ** 2  # skewed, mean 1/3
        low, high = bootstrap_intervals(values, np.ones((60, 1)), resamplings=500, seed=sample)[0]
        hits += low <= 1 / 3 <= high
    assert 0.89 <= hits / 300 <= 0.985


def test_intervals_refuse_what_does_not_fit():
    with pytest.raises(ShapeError, match=r"\(0, 1\)"):
        bootstrap_intervals(np.zeros((0, 1)), np.zeros((0, 1)))
    with pytest.raises(ShapeError, match=r"\(2, 1\)"):
        bootstrap_intervals(np.zeros((2, 1)), np.ones((3, 1)))


def test_work_grows_no_faster_than_the_documents():
    random = np.random.default_rng(0)
    documents = [
        Scored(str(i), random.random((10, 10), np.float32), tuple((j, j) for j in range(5))) for i in range(400)
    ]

    def evaluated(number):
        found = evaluate(documents[:number])
        assert found.intervals["auc"][0] < found.means["auc"] < found.intervals["auc"][1]

    evaluated(10)  # what is prepared once is not counted
    assert calls(evaluated, 400) < 2.5 * calls(evaluated, 200)


def test_random_scores_depend_on_the_document_and_the_seed_alone():
    one = random_scores("a", 3, 4)
    np.testing.assert_array_equal(one, random_scores("a", 3, 4))
    assert (one != random_scores("b", 3, 4)).any()
    assert (one != random_scores("a", 3, 4, seed=1)).any()
    assert one.dtype == np.float32
    many = [Scored(str(i), random_scores(str(i), 8, 8), tuple((j, j) for j in range(8))) for i in range(600)]
    interval = evaluate(many).intervals["auc"]
    assert interval is not None
    assert interval[0] < 0.5 < interval[1] < interval[0] + 0.03
