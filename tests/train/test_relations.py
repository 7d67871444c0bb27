from __future__ import annotations

import json

import numpy as np
import pytest

from iconotext.embed.relation_model import load_relation_model
from iconotext.errors import CorpusError, SettingError
from iconotext.recipe.relations import RelationSettings, is_relation_recipe, load_relation_recipe
from iconotext.train.relations.data import folds_of, groups_of, read_relation_data
from iconotext.train.relations.pictures import from_labels, from_texts
from iconotext.train.relations.text import calibration, calibration_error, cross_calibrated
from iconotext.train.relations.training import train_relations
from iconotext.types import Image

SMALL = [f"relations.{each}" for each in ("members=1", "hidden=4", "epochs=3", "batch=8", "folds=2", "buckets=256")]


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
    rows[1]["meta"] = {"Where": True, "line": 3}
    return write(tmp_path / name, rows)


def test_reading_keeps_answers_and_puts_relations_first(tmp_path):
    data = read_relation_data([labelled(tmp_path, 4)])
    assert data.labels == ("Visible", "Subjective", "Where")
    assert data.relations == 2
    np.testing.assert_array_equal(data.answers[:2], [[np.nan, 0, np.nan], [0, 1, 1]])
    assert data.texts[1] == "a lovely thing 1"
    assert data.images[1].source == "1.png"
    assert data.pictures == []


def test_pictures_without_labels_come_with_what_is_written_about_them(tmp_path, picture):
    picture("a.png", seed=1)
    rows = [
        {
            "id": "d",
            "sentences": ["It sleeps.", "Taxes rise."],
            "images": ["a.png", "gone.png"],
            "links": [[0, 0], [1, 1]],
            "captions": ["A cat", None],
            "alts": ["A cat", None],
        }
    ]
    data = read_relation_data([labelled(tmp_path, 2), write(tmp_path / "d.jsonl", rows)])
    assert [(image.source, texts) for image, texts in data.pictures] == [("a.png", ("It sleeps.", "A cat"))]
    assert data.sources == [1]


def test_what_no_model_can_be_trained_on_is_refused(tmp_path):
    two = pair(0, "a", "a.png", Visible=True) | {"sentences": ["a", "b"]}
    with pytest.raises(CorpusError, match=r"'p0'.*one sentence and one image, it has 2 and 1"):
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
    slope, _ = calibration(logits, (logits < 0).astype(np.float32))
    assert slope[0] == 0


def test_training_twice_gives_the_same_model_that_has_learned(tmp_path):
    recipe = load_relation_recipe("relations", [*SMALL, "relations.epochs=30"])
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
    assert not model.picture_offsets(np.ones((2, 1280), np.float32)).any()
    assert not (tmp_path / "one/.lock").exists()


def test_labelled_pictures_that_are_there_are_learned_from(tmp_path, picture):
    for number in range(12):
        picture(f"{number}.png", seed=number % 2, size=(40, 40))
    train_relations(
        load_relation_recipe("relations", [*SMALL, "relations.picture_labels=10"]), [labelled(tmp_path)], tmp_path / "m"
    )
    told = json.loads((tmp_path / "m/metrics.json").read_text())["pictures"]
    assert (told["learned_from"], told["count"]) == ("labels", 12)
    assert load_relation_model(tmp_path / "m").picture_offsets(np.ones((1, 1280), np.float32)).any()


def test_pictures_with_texts_are_learned_from_where_labels_lack(tmp_path, picture):
    rows = []
    for number in range(60):
        picture(f"u{number}.png", seed=number % 2, size=(40, 40))
        text = f"a {'lovely' if number % 2 else 'plain'} hat {number}"
        rows.append({"id": f"u{number}", "sentences": [text], "images": [f"u{number}.png"], "links": [[0, 0]]})
    recipe = load_relation_recipe("relations", [*SMALL, "relations.epochs=30"])
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
    side = from_labels(pooled, answers, text, RelationSettings(picture_strength=1.0))
    np.testing.assert_allclose(side.weight[:, 0], [0, 0, 0, 2, 0], atol=0.25)
    assert side.bias[0] == pytest.approx(-1, abs=0.2)


def test_offsets_from_texts_are_half_of_what_is_foretold_and_nothing_where_there_is_nothing():
    chance = np.random.default_rng(0)
    pooled = chance.normal(size=(1000, 5)).astype(np.float32)
    texts = [
        np.stack([3 * row[0] + chance.normal(size=4), chance.normal(size=4), 3 * row[0] + np.zeros(4)], 1)
        for row in pooled
    ]
    sources = [0] * 500 + [1] * 500
    for k in range(500, 1000):
        texts[k] = texts[k] + 50  # what tells corpora apart is not learned
    side = from_texts(pooled, texts, sources, ("Story", "Meta", "Irrelevant"), RelationSettings())
    assert side.kept == (True, False, False)
    assert side.weight[0, 0] == pytest.approx(0.5 * 3 * 4 / 5, abs=0.15)
    assert not side.weight[:, 1:].any()
    assert abs(side.bias[0]) < 0.2
    assert side.correlation[0] > 0.9
    assert side.correlation[1] < 0.2


def test_a_recipe_with_the_table_is_known_and_its_errors_are_told(tmp_path):
    assert is_relation_recipe("relations")
    assert not is_relation_recipe("default")
    assert not is_relation_recipe(tmp_path / "none.toml")
    assert load_relation_recipe("relations", ["relations.members=7", "name=mine"]).relations.members == 7
    with pytest.raises(SettingError, match=r"relations\.members: input should be greater"):
        load_relation_recipe("relations", ["relations.members=0"])
    with pytest.raises(SettingError, match=r"--set other\.key=1"):
        load_relation_recipe("relations", ["other.key=1"])
    with pytest.raises(SettingError, match="cannot be read"):
        load_relation_recipe(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("[relations\n")
    with pytest.raises(SettingError, match="not TOML"):
        load_relation_recipe(tmp_path / "bad.toml")
    (tmp_path / "unknown.toml").write_text("[relations]\nfolds = 3\nlayer = 2\n")
    with pytest.raises(SettingError, match=r"relations\.layer: extra inputs"):
        load_relation_recipe(tmp_path / "unknown.toml")
