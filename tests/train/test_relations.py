"""Relation models: their logistic regressions, calibration, offsets of images, and whole trainings."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from iconotext.encoders.relation_model import load_relation_model
from iconotext.errors import CorpusError, SettingError
from iconotext.features.backbone import ImageFeatures
from iconotext.recipe import dump_recipe, load_recipe
from iconotext.recipe.recipe import RelationSettings
from iconotext.recipe.toml import is_relation_recipe, load_relation_recipe
from iconotext.train.relations import train as training
from iconotext.train.relations.data import folds_of, groups_of, read_relation_data
from iconotext.train.relations.fit import (
    calibration,
    calibration_error,
    cross_calibrated,
    fit_logistic,
    fit_standardised,
    from_labels,
    from_texts,
)
from iconotext.train.relations.train import is_trained, train_relations
from iconotext.types import Image

SMALL = [f"relations.{each}" for each in ("folds=2", "buckets=256", "layer_strength=0.1")]


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def pair(number, text, image, **relations):
    return {"id": f"p{number}", "sentences": [text], "images": [image], "relations": relations}


def labelled(tmp_path, count=40, name="labelled.jsonl"):
    """Texts that say 'lovely' are reactions; every other one shows what it says."""
    rows = [
        pair(n, f"a {'lovely' if n % 2 else 'plain'} thing {n}", f"{n}.png", Subjective=bool(n % 2), Visible=n % 2 == 0)
        for n in range(count)
    ]
    rows[0]["relations"]["Visible"] = None
    return write(tmp_path / name, rows)


def test_reading_keeps_answers_and_puts_relations_first(tmp_path):
    data = read_relation_data([labelled(tmp_path, 4)])
    assert data.relations == ("Visible", "Subjective")
    np.testing.assert_array_equal(data.answers[:2], [[np.nan, 0], [0, 1]])
    assert data.texts[1] == "a lovely thing 1"
    assert data.images[1].source == "1.png"
    assert data.described == []


def test_pictures_without_labels_come_with_what_is_written_about_them(tmp_path, picture):
    picture("a.png", seed=1)
    row = {"id": "d", "sentences": ["It sleeps.", "Taxes rise."], "images": ["a.png", "gone.png"]}
    row |= {"links": [[0, 0], [1, 1]], "captions": ["A cat", None], "alts": ["A cat", None]}
    data = read_relation_data([labelled(tmp_path, 2), write(tmp_path / "d.jsonl", [row])])
    found = [(each.image.source, each.texts, each.source) for each in data.described]
    assert found == [("a.png", ("It sleeps.", "A cat"), 1)]


def test_what_no_model_can_be_trained_on_is_refused(tmp_path):
    two = pair(0, "a", "a.png", Visible=True) | {"sentences": ["a", "b"]}
    with pytest.raises(CorpusError, match=r"'p0'.*one sentence and one image, and it has 2 and 1"):
        read_relation_data([write(tmp_path / "two.jsonl", [two])])
    bare = {"id": "d", "sentences": ["a"], "images": []}
    with pytest.raises(CorpusError, match="no document has relations"):
        read_relation_data([write(tmp_path / "bare.jsonl", [bare])])
    one = load_relation_recipe("relations", SMALL)
    with pytest.raises(CorpusError, match="too few for 2 folds"):
        train_relations(one, [write(tmp_path / "one.jsonl", [pair(0, "a", "a", Visible=True)])], tmp_path / "m")


def test_pairs_that_share_text_or_picture_are_one_group_over_others_too():
    texts = ["A dog", "a  DOG", "cat", "bird", "fish"]
    groups = groups_of(texts, [Image(source) for source in ("1", "2", "2", "3", "4")])
    assert groups[0] == groups[1] == groups[2]
    assert len(set(groups.tolist())) == 3


def test_a_group_stays_in_one_fold_and_folds_are_even():
    groups = np.repeat(np.arange(30), np.random.default_rng(0).integers(1, 9, 30))
    parts = folds_of(groups, 4, 0)
    assert all(len(set(parts[groups == group].tolist())) == 1 for group in range(30))
    sizes = np.bincount(parts)
    assert sizes.max() - sizes.min() <= 2
    assert (folds_of(groups, 4, 0) == parts).all()
    assert (folds_of(groups, 4, 1) != parts).any()


def test_calibration_finds_slope_and_shift():
    chance = np.random.default_rng(0)
    true = chance.normal(size=(20_000, 1)).astype(np.float32)
    answers = (chance.random((20_000, 1)) < 1 / (1 + np.exp(-true))).astype(np.float32)
    slope, shift = calibration(2 * true + 3, answers)
    assert slope[0] == pytest.approx(0.5, abs=0.03)
    assert shift[0] == pytest.approx(-1.5, abs=0.1)
    even = cross_calibrated(2 * true + 3, answers, np.arange(20_000) % 2)
    assert calibration_error(even[:, 0], answers[:, 0]) < 0.02
    assert calibration_error(2 * true[:, 0] + 3, answers[:, 0]) > 0.2


def test_calibration_error_by_hand():
    # Ten bins of one pair each: probabilities a half, five of ten true.
    assert calibration_error(np.zeros(10, np.float32), np.array([1, 0] * 5, np.float32)) == pytest.approx(0.5)
    assert calibration_error(np.zeros(2, np.float32), np.full(2, np.nan, np.float32)) is None


def test_a_relation_that_runs_the_wrong_way_is_made_flat():
    logits = np.linspace(-2, 2, 100, dtype=np.float32)[:, None]
    answers = (logits < -1).astype(np.float32)  # a quarter
    answers[50] = np.nan
    slope, shift = calibration(logits, answers)
    assert slope[0] == 0
    assert 1 / (1 + np.exp(-shift[0])) == pytest.approx(np.nanmean(answers), abs=1e-6)
    parts = np.arange(100) % 3
    found = cross_calibrated(logits, answers, parts)
    for part in range(3):
        rate = np.nanmean(answers[parts != part])
        np.testing.assert_allclose(1 / (1 + np.exp(-found[parts == part])), rate, atol=1e-6)


def test_a_shift_is_a_number_whatever_the_answers():
    logits = np.linspace(-2, 2, 50, dtype=np.float32)[:, None]
    for answers in (np.ones((50, 1)), np.zeros((50, 1)), np.full((50, 1), np.nan)):
        slope, shift = calibration(logits, answers.astype(np.float32))
        assert np.isfinite([slope, shift]).all()


@pytest.mark.training
def test_training_twice_gives_the_same_model_that_has_learned(tmp_path):
    recipe = load_relation_recipe("relations", SMALL)
    corpus = labelled(tmp_path)
    for name in ("one", "two"):
        train_relations(recipe, [corpus], tmp_path / name)
    one, two = ((tmp_path / name / "weights.safetensors").read_bytes() for name in ("one", "two"))
    assert one == two
    metrics = json.loads((tmp_path / "one/metrics.json").read_text())
    assert metrics["relations"]["Subjective"]["average_precision"] > 0.9
    assert metrics["relations"]["Visible"]["pairs"] == 39
    assert metrics["pictures"] == {"learned_from": None, "count": 0}
    model = load_relation_model(tmp_path / "one")
    lovely, plain = model.text_logits(["a lovely hat", "a plain hat"])
    assert lovely[1] > plain[1]
    assert not model.image_offsets(np.ones((2, 1280), np.float32)).any()
    assert not (tmp_path / "one/.lock").exists()
    assert metrics["splits"] == {"train": 0, "validation": 0, "test": 0, "none": 40}


def contents(folder):
    return {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in folder.iterdir()}


def test_a_folder_with_another_model_is_left_as_it_is(tmp_path):
    recipe, corpus, model = load_relation_recipe("relations", SMALL), labelled(tmp_path), tmp_path / "m"
    train_relations(recipe, [corpus], model)
    before = contents(model)
    train_relations(recipe, [corpus], model)  # trained already
    other = load_relation_recipe("relations", [*SMALL, "relations.buckets=257"])
    with pytest.raises(SettingError, match=r"m: holds a model of another recipe, which differs in relations\.buckets"):
        train_relations(other, [corpus], model)
    assert contents(model) == before
    # A model that is older than a setting is one of its default.
    text = (model / "recipe.toml").read_text()
    (model / "recipe.toml").write_text("".join(line for line in text.splitlines(True) if not line.startswith("seed")))
    assert is_trained(model, recipe)


@pytest.mark.parametrize("names", ["recipe weights metrics", "recipe weights", "recipe", "weights", "metrics"])
def test_a_folder_of_another_kind_of_model_or_of_files_that_say_nothing_is_left_alone(tmp_path, names):
    files = {"recipe": "recipe.toml", "weights": "weights.safetensors", "metrics": "metrics.json"}
    (tmp_path / "m").mkdir()
    for name in names.split():
        (tmp_path / "m" / files[name]).write_text(dump_recipe(load_recipe("default")))
    before = contents(tmp_path / "m")
    first = files[names.split()[0]]
    with pytest.raises(SettingError, match=f"{first} in it does not belong to a relation model; name another folder"):
        train_relations(load_relation_recipe("relations", SMALL), [labelled(tmp_path)], tmp_path / "m")
    assert contents(tmp_path / "m") == before


@pytest.mark.training
def test_training_that_was_not_finished_is_done_anew(tmp_path, monkeypatch):
    recipe, corpus, model = load_relation_recipe("relations", SMALL), labelled(tmp_path), tmp_path / "m"
    train_relations(recipe, [corpus], model)
    whole = {name: content for name, (content, _) in contents(model).items()}
    (model / "weights.safetensors").unlink()

    def killed(folder, weights):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("iconotext.train.relations.train.save_relation_model", killed)
        with pytest.raises(KeyboardInterrupt):
            train_relations(recipe, [corpus], model)
    assert not (model / "metrics.json").exists()  # no figures of weights that are not there
    train_relations(recipe, [corpus], model)
    assert {name: content for name, (content, _) in contents(model).items()} == whole


def test_many_pictures_are_looked_at_some_at_a_time(monkeypatch):
    class Backbone:
        dim = 1280

        def encode(self, files):
            asked.append(len(files))
            problems = tuple("broken" if file == b"1" else None for file in files)
            return ImageFeatures(np.array([[float(f)] * 1280 for f in files], np.float32), problems=problems)

    asked: list[int] = []
    monkeypatch.setattr(training, "IMAGES", 4)
    pooled, good = training._pooled(Backbone(), [b"3", b"1", b"4", b"1", b"5", b"9"])
    assert asked == [4, 2]
    assert good.tolist() == [0, 2, 4, 5]
    assert pooled[:, 7].tolist() == [3, 4, 5, 9]
    assert [each.shape for each in training._pooled(Backbone(), [])] == [(0, 1280), (0,)]


def test_splits_are_all_read_unless_some_are_named(tmp_path):
    rows = [pair(n, f"text {n}", f"{n}.png", Visible=True) for n in range(5)]
    for row, split in zip(rows, ("train", "validation", "test", "test", None), strict=True):
        row["split"] = split
    path = write(tmp_path / "c.jsonl", rows)
    data = read_relation_data([path])
    assert data.splits == {"train": 1, "validation": 1, "test": 2, "none": 1}
    data = read_relation_data([path], ("train",))
    assert data.texts == ["text 0", "text 4"]
    assert data.splits == {"train": 1, "none": 1}
    for row in rows:
        row["split"] = "test"
    with pytest.raises(CorpusError, match=r"no document in the splits train, validation has relations"):
        read_relation_data([write(tmp_path / "t.jsonl", rows)], ("train", "validation"))


def test_relations_of_other_names_are_relations_too(tmp_path):
    answers = ({"Irony": True, "Visible": None}, {"Visible": False, "Allusion": None}, {"Metaphor": True})
    rows = [pair(n, f"text {n}", f"{n}.png", **given) for n, given in enumerate(answers)]
    data = read_relation_data([write(tmp_path / "own.jsonl", rows)])
    assert data.relations == ("Visible", "Irony", "Metaphor")  # nobody answered Allusion
    nan = np.nan
    np.testing.assert_array_equal(data.answers, [[nan, 1, nan], [0, nan, nan], [nan, nan, 1]])


def test_a_model_of_other_relations_tells_them(tmp_path):
    rows = [pair(n, f"a {'lovely' if n % 2 else 'plain'} thing {n}", f"{n}.png", Irony=bool(n % 2)) for n in range(24)]
    recipe = load_relation_recipe("relations", [*SMALL, 'relations.picture_silent=["Irony"]'])
    train_relations(recipe, [write(tmp_path / "own.jsonl", rows)], tmp_path / "m")
    model = load_relation_model(tmp_path / "m")
    assert model.relations == ("Irony",)
    assert model.text_logits(["a lovely hat"]).shape == (1, 1)


def test_a_silent_relation_that_does_not_exist_is_told(tmp_path):
    recipe = load_relation_recipe("relations", [*SMALL, 'relations.picture_silent=["Irelevant", "Meta"]'])
    with pytest.raises(
        SettingError, match=r"relations\.picture_silent: Irelevant: no such relation; there are Visible"
    ):
        train_relations(recipe, [labelled(tmp_path)], tmp_path / "m")


@pytest.mark.training
def test_labelled_pictures_that_are_there_are_learned_from(tmp_path, picture):
    for number in range(12):
        picture(f"{number}.png", seed=number % 2, size=(40, 40))
    recipe = load_relation_recipe("relations", [*SMALL, "relations.picture_labels=10"])
    train_relations(recipe, [labelled(tmp_path)], tmp_path / "m")
    told = json.loads((tmp_path / "m/metrics.json").read_text())["pictures"]
    assert (told["learned_from"], told["count"]) == ("labels", 12)
    assert told["held_out"]["Subjective"]["pairs"] == 12
    assert told["held_out"]["Subjective"]["text_and_image"] == 1
    assert told["kept"]["Subjective"]
    assert load_relation_model(tmp_path / "m").image_offsets(np.ones((1, 1280), np.float32)).any()


@pytest.mark.training
def test_pictures_with_texts_are_learned_from_where_labels_lack(tmp_path, picture):
    rows = []
    for number in range(60):
        picture(f"u{number}.png", seed=number % 2, size=(40, 40))
        text = f"a {'lovely' if number % 2 else 'plain'} hat {number}"
        rows.append({"id": f"u{number}", "sentences": [text], "images": [f"u{number}.png"], "links": [[0, 0]]})
    recipe = load_relation_recipe("relations", SMALL)
    train_relations(recipe, [labelled(tmp_path), write(tmp_path / "u.jsonl", rows)], tmp_path / "m")
    told = json.loads((tmp_path / "m/metrics.json").read_text())["pictures"]
    assert (told["learned_from"], told["count"]) == ("texts", 60)
    assert told["correlation"]["Subjective"] > 0.8
    assert told["kept"]["Subjective"]


def test_offsets_from_labels_find_what_the_text_does_not_say():
    chance = np.random.default_rng(0)
    pooled = chance.normal(size=(2000, 5)).astype(np.float32)
    text = chance.normal(size=(2000, 1)).astype(np.float32)
    true = text[:, 0] + 2 * pooled[:, 3] - 1
    answers = (chance.random(2000) < 1 / (1 + np.exp(-true))).astype(np.float32)[:, None]
    side = from_labels(pooled, answers, text, np.arange(2000) % 4, 1.0)
    assert side.figures["kept"] == [True]
    assert side.figures["held_out"][0]["pairs"] == 2000
    assert side.figures["held_out"][0]["text_and_image"] > side.figures["held_out"][0]["text"] + 0.1
    np.testing.assert_allclose(side.weight[:, 0], [0, 0, 0, 2, 0], atol=0.25)
    assert side.bias[0] == pytest.approx(-1, abs=0.2)


def test_offsets_that_make_unseen_pictures_worse_are_dropped():
    chance = np.random.default_rng(0)
    pooled = chance.normal(size=(60, 40)).astype(np.float32)
    text = chance.normal(size=(60, 3)).astype(np.float32)
    # The text says it all; pictures are noise, which a free fit learns by heart.
    answers = (text > 0).astype(np.float32)
    answers[:, 1] = pooled[:, 0] > 0  # the picture says it all
    answers[:, 2] = np.nan
    answers[:9, 2] = 0  # nobody can know
    side = from_labels(pooled, answers, text, np.arange(60) % 3, 10.0)
    assert side.figures["kept"] == [False, True, False]
    assert side.figures["held_out"][0]["text"] == 1
    assert side.figures["held_out"][0]["text_and_image"] < 1
    assert side.figures["held_out"][2] == {"pairs": 9, "text": None, "text_and_image": None}
    assert not side.weight[:, [0, 2]].any()
    assert not side.bias[[0, 2]].any()
    assert side.weight[:, 1].any()


def test_held_out_pictures_are_judged_by_what_other_parts_say():
    """Parts of contrary pictures: whoever learned from the others is always wrong."""
    pooled = np.tile([[1.0], [-1.0]], (40, 1)).astype(np.float32)
    parts = np.repeat([0, 1], 40)
    answers = ((pooled[:, 0] > 0) == (parts == 0)).astype(np.float32)[:, None]
    text = answers / 10
    side = from_labels(pooled, answers, text, parts, 10.0)
    # With the picture every no stands before every yes.
    assert side.figures["held_out"][0] == pytest.approx({"pairs": 80, "text": 1, "text_and_image": 0.5})
    assert side.figures["kept"] == [False]
    alone = from_labels(pooled, answers, np.zeros((80, 1), np.float32), np.zeros(80, np.int64), 1e-3)
    figures = alone.figures["held_out"][0]
    assert figures["text"] == figures["text_and_image"]  # nothing to learn from


def test_offsets_from_texts_are_half_of_what_is_foretold_and_nothing_where_there_is_nothing():
    chance = np.random.default_rng(0)
    pooled = chance.normal(size=(1000, 5)).astype(np.float32)
    texts = [
        np.stack([3 * row[0] + chance.normal(size=4), chance.normal(size=4), 3 * row[0] + np.zeros(4)], 1)
        for row in pooled
    ]
    sources = np.repeat([0, 1], 500)
    for k in range(500, 1000):
        texts[k] = texts[k] + 50  # what tells corpora apart is not learned
    side = from_texts(pooled, texts, sources, ("Story", "Meta", "Irrelevant"), RelationSettings(), strength=1)
    assert side.figures["kept"] == [True, False, False]
    assert side.weight[0, 0] == pytest.approx(0.5 * 3 * 4 / 5, abs=0.15)
    assert not side.weight[:, 1:].any()
    assert abs(side.bias[0]) < 0.2
    assert side.figures["correlation"][0] > 0.9
    assert side.figures["correlation"][1] < 0.2


def test_a_recipe_with_the_table_is_known_and_its_errors_are_told(tmp_path):
    assert is_relation_recipe("relations")
    assert not is_relation_recipe("default")
    assert not is_relation_recipe(tmp_path / "none.toml")
    assert load_relation_recipe("relations", ["relations.folds=7", "name=mine"]).relations.folds == 7
    some = load_relation_recipe("relations", ['relations.splits=["train", "test"]'])
    assert some.relations.splits == ["train", "test"]
    for setting, message in {
        "other.key=1": r"other\.key=1",
        'splits=["all"]': r"relations\.splits",
        "splits=[]": r"relations\.splits",
        'splits="train"': r'splits="train": relations\.splits: must be a list, not \'train\'',
        "picture_silent=Irrelevant": r"relations\.picture_silent: must be a list, not 'Irrelevant'",
    }.items():
        with pytest.raises(SettingError, match=message):
            load_relation_recipe("relations", [setting if "." in setting else f"relations.{setting}"])
    (tmp_path / "three.toml").write_text("relations = 3\n")
    with pytest.raises(SettingError, match=r"folds=7: relations is a value, not a table"):
        load_relation_recipe(tmp_path / "three.toml", ["relations.folds=7"])


@pytest.fixture
def drawn():
    chance = np.random.default_rng(0)
    x = chance.normal(size=(300, 4)).astype(np.float32)
    y = (x @ [1.0, -2.0, 0.0, 0.5] + chance.logistic(size=300) > 0.3).astype(np.float32)
    return x, y


@pytest.mark.parametrize("strength", [0.1, 1.0, 10.0])
def test_it_finds_what_scikit_learn_finds(drawn, strength):
    x, y = drawn
    oracle = LogisticRegression(C=strength, tol=1e-8).fit(x, y)
    for rows in (x, csr_array(x)):
        weights, bias = fit_logistic(rows, np.stack([y, 1 - y], 1), strength)
        for column, sign in enumerate((1, -1)):  # the second one is fitted to the opposite
            np.testing.assert_allclose(sign * weights[:, column], oracle.coef_[0], atol=2e-3)
            assert sign * bias[column] == pytest.approx(oracle.intercept_[0], abs=2e-3)


def test_rows_without_an_answer_have_no_say(drawn):
    x, y = drawn
    half = np.where(np.arange(300) < 150, y, np.nan).astype(np.float32)
    both = np.stack([half, y], 1)  # answered by other rows, and by all
    weights, bias = fit_logistic(x, both, 1.0)
    for column, rows in enumerate((150, 300)):
        again, again_bias = fit_logistic(x[:rows], y[:rows, None], 1.0)
        np.testing.assert_allclose(weights[:, [column]], again, atol=1e-3)
        assert bias[column] == pytest.approx(again_bias[0], abs=1e-3)
    nothing, zero = fit_logistic(x, np.full((300, 1), np.nan, np.float32), 1.0)
    assert not nothing.any()
    assert zero.tolist() == [0]


def test_weights_on_standardised_columns_are_for_the_rows_as_they_are(drawn):
    x, y = drawn
    weights, bias = fit_logistic(x, y[:, None], 1.0)
    moved = x * np.float32([1, 10, 0.1, 1]) + np.float32([0, 5, 1, -3])
    found, shift = fit_standardised(moved, y[:, None], 1.0)
    np.testing.assert_allclose(moved @ found + shift, x @ weights + bias, atol=0.05)


def test_known_log_odds_are_not_learned_again(drawn):
    x, y = drawn
    weights, bias = fit_logistic(x, y[:, None], 1e4)
    more, more_bias = fit_logistic(x, y[:, None], 1e4, offsets=x @ weights + bias)
    assert np.abs(more).max() < 0.01
    assert abs(more_bias[0]) < 0.01
