"""The pages of models: what folders say, measuring in slices, what is kept, two models side by side."""

from __future__ import annotations

import json
import os
import shutil
from urllib.parse import quote
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from iconotext.embed.folder import METRICS, RECIPE, WEIGHTS, shipped_folder
from iconotext.errors import CorpusError, SettingError
from iconotext.evaluate import DocumentScores, evaluate
from iconotext.evaluate.scores import score_documents
from iconotext.pipeline import LinkSettings
from iconotext.serve import model_work
from iconotext.serve.model_charts import TICKS, Series, axis, curve_chart, histogram
from iconotext.serve.model_comparison import agreement_of, differences, ranked
from iconotext.serve.model_folders import model_folders, objective_of, read_model_folder
from iconotext.serve.model_work import Task, keep, measure, measured_part, scores_in
from iconotext.serve.models import check_models
from iconotext.serve.settings import ServeSettings
from iconotext.types import Document, LinkedDocument
from tests.serve.conftest import Running, wait_for
from tests.serve.models import BROKEN, WHY, write_corpus, write_epochs, write_models


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return write_models(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus") / "walks")


@pytest.fixture(scope="module")
def server(tmp_path_factory, models, corpus):
    options = ("--models", str(models), "--corpus", str(corpus))
    with Running(tmp_path_factory.mktemp("serve") / "data", *options) as running:
        yield running


def measured(server: Running, name: str):
    server.ask("POST", f"/v1/models/{name}/evaluation")
    return wait_for(
        lambda: (found := server.ask("GET", f"/v1/models/{name}/evaluation").json)["state"] == "done" and found
    )


def test_every_state_of_a_folder(models):
    found = {each.name: each for each in model_folders(models)}
    assert {name: each.state for name, each in found.items()} == {
        BROKEN: "broken",
        "captions": "trained",
        "dead": "trained",
        "growing": "training",
        "photographs": "trained",
    }
    assert found["dead"].collapsed
    assert WHY in found["dead"].notes
    assert not found["captions"].collapsed
    assert str(models) not in found[BROKEN].problem
    assert found["growing"].curves.epochs == (1, 2)
    assert objective_of(found["captions"].recipe) == "cross-document; logistic; single-pair"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (METRICS, "{"),
        (METRICS, "[]"),
        (METRICS, '{"validation": {"auc": 1}}'),
        (METRICS, '{"collapse": 1}'),
        (RECIPE, "name = 3"),
        (RECIPE, "seed = -1"),
        (METRICS, "{}"),
        (METRICS, '{"best_epoch": 1, "epochs": 2, "test": {"auc": "<b>", "intervals": {}}}'),
        (METRICS, "\udcff"),
    ],
)
def test_whatever_is_damaged_is_said_and_raises_nothing(tmp_path, name, text):
    shutil.copytree(shipped_folder(), tmp_path / "model")
    (tmp_path / "model" / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    found = read_model_folder(tmp_path / "model")
    assert found.state == "broken"
    assert found.problem


def test_without_weights_or_log(tmp_path):
    shutil.copytree(shipped_folder(), tmp_path / "model")
    (tmp_path / "model" / "log.csv").write_text("epoch\n1\n")
    assert "column" in read_model_folder(tmp_path / "model").no_curves
    (tmp_path / "model" / WEIGHTS).unlink()
    assert read_model_folder(tmp_path / "model").problem == f"{WEIGHTS} is missing"


def test_a_relation_model_says_what_it_tells(tmp_path):
    shutil.copytree(shipped_folder("relations"), tmp_path / "relations")
    found = read_model_folder(tmp_path / "relations")
    assert found.state == "relations"
    assert any("average precision" in note for note in found.notes)


def test_a_link_that_leads_out_is_no_model(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "out").symlink_to(shipped_folder())
    assert list(model_folders(tmp_path / "models")) == []


def test_slices_are_the_same_as_one_walk(corpus, monkeypatch):
    monkeypatch.setattr(model_work, "SLICE", 0.0)
    task = Task("default", str(corpus), "key")
    told: list[tuple[DocumentScores, str]] = []
    ended = False
    while not ended:
        if len(told) == 2:
            model_work._walks.clear()  # another process goes on
        part = measure(task, len(told))
        assert (part.of, part.split) == (6, None)
        told += part.scores
        ended = part.ended
    linking = LinkSettings(evidence=("picture",))
    expected = evaluate(score_documents("default", measured_part(corpus).documents(), linking))
    assert tuple(each for each, _ in told) == expected.documents
    assert told[0][1] == "Walk 0 <b>"
    assert len(model_work._walks) == 0


def test_the_test_split_where_there_is_one(tmp_path):
    rows = [{"id": name, "split": name, "sentences": ["a"], "images": []} for name in ("train", "test")]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert measured_part(tmp_path / "corpus.jsonl").split == "test"


def test_what_is_kept_is_bounded_and_is_read_again(tmp_path, corpus, monkeypatch):
    monkeypatch.setattr(model_work, "KEPT", 2)
    scores = measure(Task("default", str(corpus), "key"), 0).scores
    for time, name in enumerate(("a", "b", "c")):
        keep(str(tmp_path / name), scores, "test")
        os.utime(tmp_path / name, (time, time))
    assert len(list(tmp_path.iterdir())) == 2
    assert tuple(scores_in(tmp_path / "c")) == tuple(each for each, _ in scores)
    assert model_work.compared(str(tmp_path / "b"), str(tmp_path / "c"))["auc"]["difference"] == 0
    with pytest.raises(CorpusError, match="none of 1 documents can be measured"):
        keep(str(tmp_path / "d"), scores[-1:], None)


def test_ranks_of_a_picture_by_hand():
    document = Document("a", ("one", "two", "three", "four"), ("x.png", "y.png"), links=((2, 0), (3, 0)))
    similarity = np.array([[0.5, 0], [-0.001, 0], [0.3, 0], [0.9, 0]], np.float32)
    found = model_work._ranked(LinkedDocument(document, (), similarity, "m"), 0)
    assert found == {"best": [[3, 0.9], [0, 0.5], [2, 0.3]], "gold": [2, 3], "rank": 1}
    assert model_work._ranked(LinkedDocument(document, (), similarity, "m"), 1)["rank"] is None


def test_differences_hardest_and_agreement_by_hand():
    one = [
        {"title": "a", "auc": 0.5, "p1": 0.0},
        {"title": "b", "auc": None, "p1": None},
        {"title": "c", "auc": 0.9, "p1": 1.0},
    ]
    two = [
        {"title": "a", "auc": 0.4, "p1": 0.0},
        {"title": "b", "auc": None, "p1": None},
        {"title": "c", "auc": 1.0, "p1": 1.0},
    ]
    assert [(each.number, round(each.gain, 2)) for each in differences(one, two)] == [(2, 0.1), (0, -0.1)]
    assert [number for number, _ in ranked(one)] == [0, 2]
    first = [{"number": 0, "best": [[3, 0.5]]}, {"number": 1, "best": [[0, 0.1]]}, {"number": 2, "best": []}]
    second = [{"number": 0, "best": [[3, 0.2]]}, {"number": 1, "best": [[1, 0.1]]}, {"number": 2, "best": []}]
    assert [(each.picture["number"], each.same) for each in agreement_of(first, second)] == [
        (1, False),
        (2, False),
        (0, True),
    ]


def elements(drawn: str, tag: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(drawn).iter(f"{{http://www.w3.org/2000/svg}}{tag}"))


def texts(drawn: str) -> set[str]:
    return {"".join(each.itertext()).strip() for each in elements(drawn, "text")}


@pytest.mark.parametrize("dark", [False, True])
def test_curves_stand_where_their_numbers_say(dark):
    nan = float("nan")
    lines = [Series("training", (0.0, nan, 10.0)), Series("validation", (nan, nan, float("inf")))]
    lines.append(Series("alike", (5.0, 5.0, 5.0), dashed=True))
    drawn = curve_chart((1, 2, 3), lines, "loss", 3, dark)
    assert {"1", "2", "3", "0", "10", "loss", "epoch"} <= texts(drawn)
    assert any(each.endswith("kept: epoch 3") for each in texts(drawn))
    # From 58 to 428 across and from 213 up to 34, a twentieth more than the values on either side.
    paths = [each.get("d") for each in elements(drawn, "path")]
    assert paths[0] == "M74.8 204.9M411.2 42.1"
    assert paths[1] == ""
    assert paths[2] == "M74.8 123.5L243.0 123.5L411.2 123.5"
    assert paths[3] == "M411.2 213V34"
    assert [(each.get("cx"), each.get("cy")) for each in elements(drawn, "circle")] == [
        ("74.8", "204.9"),
        ("411.2", "42.1"),
    ]


def test_a_histogram_counts():
    drawn = histogram([0.1, 0.12, 0.5, 1.0], 0.43, False)
    assert any(each.endswith("mean: 43.0 %") for each in texts(drawn))
    heights = [float(each.get("height", "")) for each in elements(drawn, "rect")]
    one = round(179 / 2.1, 1)  # of the two that stand highest, and a twentieth
    assert [n for n, height in enumerate(heights) if height] == [2, 10, 19]
    assert [heights[n] for n in (2, 10, 19)] == pytest.approx([2 * one, one, one], abs=0.2)


@given(
    values=st.lists(st.floats(-1e29, 1e29), max_size=6),
    whole=st.booleans(),
    margin=st.sampled_from([0.0, 0.05]),
)
@example(values=[5e-324], whole=False, margin=0.0)
@example(values=[0, 5e-324], whole=False, margin=0.0)
def test_all_values_have_room_on_an_axis_of_few_numbers(values, whole, margin):
    made = axis(values, 10, 110, whole=whole, margin=margin)
    assert all(9.9 <= made(value) <= 110.1 for value in (*values, *made.ticks))
    assert len(made.ticks) <= TICKS + 1
    assert whole or len(made.ticks) >= 2
    assert not whole or all(tick == int(tick) for tick in made.ticks)


def test_settings_that_cannot_be(tmp_path):
    with pytest.raises(SettingError, match="no folder"):
        check_models(ServeSettings(models=tmp_path / "none"))
    with pytest.raises(SettingError, match="no file"):
        check_models(ServeSettings(models=tmp_path, corpus=tmp_path / "none"))
    with pytest.raises(SettingError, match="name their folder"):
        check_models(ServeSettings(corpus=tmp_path))


def test_a_model_is_measured_once(server, models):
    assert server.ask("GET", "/v1/models/captions/evaluation").json["state"] == "none"
    found = measured(server, "captions")
    assert found["of"] == len(found["documents"]) == 6
    assert found["documents"][-1]["auc"] is None
    again = server.ask("POST", "/v1/models/captions/evaluation")
    assert (again.status, again.json) == (202, found)
    (models / "captions" / RECIPE).touch()  # the same bytes
    assert server.ask("GET", "/v1/models/captions/evaluation").json == found
    recipe = (models / "captions" / RECIPE).read_text()
    (models / "captions" / RECIPE).write_text(recipe + "\n# another\n")
    assert server.ask("GET", "/v1/models/captions/evaluation").json["state"] == "none"
    (models / "captions" / RECIPE).write_text(recipe)


def test_what_was_measured_outlives_the_server(tmp_path, models, corpus):
    for state in ("none", "done"):
        running = Running(tmp_path / "data", "--models", str(models), "--corpus", str(corpus))
        assert running.ask("GET", "/v1/models/captions/evaluation").json["state"] == state
        measured(running, "captions")
        running.kill()


@pytest.mark.parametrize("name", ["none", "..", "%2e%2e", "notes", quote(BROKEN, safe=""), "growing"])
def test_what_cannot_be_measured(server, name):
    assert server.ask("POST", f"/v1/models/{name}/evaluation").status in (404, 405, 409)
    assert server.ask("GET", f"/models/{name}/documents/0").status in (404, 409)


def test_a_model_that_cannot_be_loaded_says_so(tmp_path, corpus):
    shutil.copytree(shipped_folder(), tmp_path / "models" / "short")
    (tmp_path / "models" / "short" / WEIGHTS).write_bytes(b"no weights")
    running = Running(tmp_path / "data", "--models", str(tmp_path / "models"), "--corpus", str(corpus))
    running.ask("POST", "/v1/models/short/evaluation")

    def failed():
        found = running.ask("GET", "/v1/models/short/evaluation").json
        return found["state"] == "failed" and found["problem"]

    assert wait_for(failed).startswith("weights.safetensors: damaged")
    page = running.ask("GET", "/models/short").body
    assert b"weights.safetensors: damaged" in page
    assert str(tmp_path).encode() not in page
    running.close()


def test_curves_grow(server, models):
    growing = server.ask("GET", "/v1/models/growing").json
    assert (growing["state"], growing["epochs"]) == ("training", [1, 2])
    write_epochs(models / "growing", 3)
    assert server.ask("GET", "/v1/models/growing").json["epochs"] == [1, 2, 3]
    for path in ("loss.svg", "auc.svg?dark=1"):
        drawing = server.ask("GET", f"/models/growing/{path}")
        assert drawing.headers["content-type"] == "image/svg+xml"
        assert "script" not in drawing.headers["content-security-policy"]
    assert server.ask("GET", "/models/growing/elsewhere.svg").status == 404


def test_there_are_no_models_where_none_were_named(tmp_path):
    running = Running(tmp_path / "data")
    assert running.ask("GET", "/v1/models").status == 404
    assert b"/models" not in running.ask("GET", "/").body
    running.close()


def test_an_error_of_the_library_names_no_folder_of_this_machine(server, models, corpus):
    texts = server.ask("GET", "/v1/models").body + server.ask("GET", "/models").body
    assert str(models).encode() not in texts


def test_a_corpus_that_is_gone_is_told(server, models, corpus):
    away = corpus.with_name("away")
    corpus.rename(away)
    try:
        for address in ("/v1/models/photographs/evaluation", "/models/photographs"):
            answer = server.ask("GET", address)
            assert answer.status == 409
            assert answer.json["detail"] == f"{corpus.name}: cannot be read: No such file or directory"
    finally:
        away.rename(corpus)
