from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iconotext.errors import CorpusError, OutputError, ShapeError
from iconotext.evaluate import (
    Evaluation,
    Results,
    Scored,
    compare,
    evaluate,
    read_results,
    write_results,
)
from iconotext.evaluate.results import COLUMNS
from iconotext.types import Document, Image, Sentence
from tests.support.analyses import document_scores
from tests.support.counted import calls

TWO = [
    Scored("a", np.array([[0.9, 0.1], [0.2, 0.8]], np.float32), ((0, 0), (1, 1))),
    Scored("b", np.array([[0.1, 0.9, 0.5]], np.float32), ((0, 0),)),
]


def test_means_by_hand():
    found = evaluate(TWO)
    one, two = found.documents
    assert one.figures == {"auc": (1, 1), "p@1": (1, 1), "p@5": (2 / 4, 1), "image@1": (2, 2)}
    assert two.figures == {"auc": (0, 1), "p@1": (0, 1), "p@5": (1 / 3, 1), "image@1": (1, 1)}
    assert (one.auc, two.auc) == (1, 0)
    # image@1 is over images, not over documents: with one sentence the best one is always right
    assert found.means == pytest.approx({"auc": 0.5, "p@1": 0.5, "p@5": 5 / 12, "image@1": 1.0})
    assert found.intervals["image@1"] == pytest.approx((0.025**0.5, 1))  # not a point, though all are right
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
    found = evaluate([TWO[0], TWO[1]._replace(contents=(7, -9)), Scored("ü", np.zeros((2, 2), np.float32), None)])
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


def scores(*aucs: float | None, sentences=4) -> Evaluation:
    facts = {"sentences": sentences, "images": 3, "links": 2, "linked_images": 2}
    values = [(value, value or 0, (value or 0) / 2, 2 * (value or 0)) for value in aucs]
    return Evaluation(tuple(document_scores(str(i), *figures, **facts) for i, figures in enumerate(values)))


def test_compare_by_hand():
    found = compare(scores(0.9, 0.8, 0.7), scores(0.5, 0.6, 0.7))
    assert found["auc"].difference == pytest.approx(0.2)
    assert found["p@5"].difference == pytest.approx(0.1)
    assert found["image@1"].difference == pytest.approx(0.2)  # 1.2 hits more among 6 images
    assert found["auc"].p == 0.5  # 2 of the 4 different ways
    assert found["auc"].interval[0] <= 0.2 <= found["auc"].interval[1]
    back = compare(scores(0.5, 0.6, 0.7), scores(0.9, 0.8, 0.7))
    assert back["auc"].difference == pytest.approx(-0.2)
    assert back["auc"].p == found["auc"].p


def test_a_model_compared_with_itself():
    for each in compare(scores(0.1, 0.9, None), scores(0.1, 0.9, None)).values():
        assert (each.difference, each.p) == (0, 1)
        assert each.interval == pytest.approx((0.025**0.5 - 1, 1 - 0.025**0.5))  # two documents say little of others


def test_documents_that_are_all_alike_leave_room_for_others():
    assert scores(*[1.0] * 15).intervals["auc"] == pytest.approx((0.025 ** (1 / 15), 1))
    assert scores(*[0.0] * 15).intervals["auc"] == pytest.approx((0, 1 - 0.025 ** (1 / 15)))


def test_documents_that_share_pictures_count_less():
    values = np.random.default_rng(0).random(60).tolist()
    once = scores(*values)
    copies = Evaluation(tuple(
        replace(document, id=f"{document.id} {copy}", contents=(number + 1,))
        for copy in range(4) for number, document in enumerate(once.documents)
    ))  # fmt: skip
    assert copies.intervals["auc"] == pytest.approx(once.intervals["auc"])
    worse = replace(copies, documents=tuple(
        replace(d, figures={name: (0.9 * total, weight) for name, (total, weight) in d.figures.items()})
        for d in copies.documents
    ))  # fmt: skip
    few = Evaluation(once.documents), Evaluation(worse.documents[:60])
    few = few[0], replace(few[1], documents=tuple(replace(d, id=d.id[:-2]) for d in few[1].documents))
    assert compare(copies, worse)["auc"].interval == pytest.approx(compare(*few)["auc"].interval)


def test_what_a_document_shares_is_known_by_its_files_and_linked_sentences(tmp_path):
    def contents(name, text, *images):
        document = Document(name, (Sentence("See also"), Sentence(text)), images, links=((1, 0),))
        return set(Scored.of(document, np.zeros((2, len(images)))).contents)

    tram, boat, missing = tmp_path / "tram.png", tmp_path / "boat.png", Image("tram.png", problem="not found")
    tram.write_bytes(b"tram")
    boat.write_bytes(b"boat")
    one = contents("a", "A tram.", Image("tram.png", tram), missing)
    assert len(one) == 2  # a picture and a text: a name that leads nowhere is no picture
    assert one & contents("b", "A boat.", Image("../tram.png", tram)) == {key for key in one if key > 0}
    assert one & contents("c", "A tram.", Image("boat.png", b"boat")) == {key for key in one if key < 0}
    assert not one & contents("d", "A boat.", Image("tram.png", boat), missing)
    held = [contents(name, name, Image(name, file)) for name, file in (("e", b"boat"), ("f", boat))]
    assert len(held[0] & held[1]) == 1  # the same bytes under two names


def test_order_does_not_matter_and_documents_are_matched_by_id():
    one, other = scores(0.9, 0.2, 0.4), scores(0.1, 0.3, 0.4)
    turned = Evaluation(other.documents[::-1])
    assert compare(one, other) == compare(one, turned)


def test_different_documents_are_refused():
    with pytest.raises(CorpusError, match=r"1 only in the first \(2\), 0 only in the second"):
        compare(scores(0.1, 0.2, 0.3), scores(0.1, 0.2))
    other = scores(0.1, 0.2, sentences=5)
    with pytest.raises(CorpusError, match=r"'0' differs.*\(4, 3, 2\) and \(5, 3, 2\)"):
        compare(scores(0.1, 0.2), other)
    with pytest.raises(CorpusError, match="no document has a defined AUC"):
        compare(scores(None), scores(None))
    twice = Evaluation(scores(0.1).documents * 2)
    with pytest.raises(CorpusError, match="twice"):
        compare(twice, scores(0.1))
