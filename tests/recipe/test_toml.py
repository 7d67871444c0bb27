from __future__ import annotations

import tomllib
from pkgutil import resolve_name
from typing import get_args

import pytest

from iconotext.errors import SettingError
from iconotext.objectives import CONTRASTS, OBJECTIVES
from iconotext.recipe import (
    ObjectiveSettings,
    Recipe,
    SimilaritySettings,
    TrainingSettings,
    dump_recipe,
    load_recipe,
    make_recipe,
)
from iconotext.recipe.encoders import IMAGE_ENCODERS, TEXT_ENCODERS
from iconotext.similarity import SIMILARITIES


def written(tmp_path, text=""):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return path


def test_a_dump_has_every_setting_that_has_a_value(tmp_path):
    values = tomllib.loads(dump_recipe(load_recipe(written(tmp_path))))
    assert values["name"] == "mine"
    assert values["training"]["epochs"] == 50
    optional = {"clip", "max_sentences", "max_images", "max_regions"}
    assert set(values["training"]) == set(TrainingSettings.model_fields) - optional
    assert "b" not in values["objective"]
    full = load_recipe(written(tmp_path), ["objective.b=3", "text.word_vectors=v.bin", "training.clip=1"])
    assert load_recipe(written(tmp_path, dump_recipe(full))) == full


def test_the_defaults_are_those_of_the_paper(tmp_path):
    recipe = load_recipe(written(tmp_path))
    assert (recipe.dim, recipe.text.word_dim, recipe.text.dropout, recipe.image.dropout) == (1024, 300, 0.4, 0.4)
    assert (recipe.objective.kind, recipe.objective.margin, recipe.objective.negatives) == ("hinge", 0.2, "hardest")
    training = recipe.training
    assert (training.learning_rate, training.epochs, training.batch) == (1e-4, 50, 11)
    assert (training.schedule, training.factor, training.patience, training.warmup) == ("plateau", 5, 3, 0)


WRONG = {
    "epoch = 3": r"mine.toml: epoch: no such key; there are name, follows, seed, .*training, linking",
    "[training]\nepoch = 3": r"mine.toml: training.epoch: no such key; did you mean training.epochs\? There are batch, epochs, .*precision",
    "[training]\nepochs = '3'": r"mine.toml: training.epochs: must be a whole number, not '3'",
    "[training]\nepochs = 3.0": r"mine.toml: training.epochs: must be a whole number, not 3.0",
    "[training]\nepochs = true": r"mine.toml: training.epochs: must be a whole number, not True",
    "[training]\nepochs = 0": r"training.epochs: must be greater than or equal to 1, not 0",
    "[training]\nlearning_rate = inf": r"training.learning_rate: must be a finite number, not inf",
    "[training]\nlearning_rate = nan": r"training.learning_rate: must be",
    "[text]\nkind = 'cnn'": r"text.kind: must be 'gru', 'transformer', 'lstm' or 'projection', not 'cnn'",
    "text = 3": r"mine.toml: text: a table is needed, not 3; its keys are kind, word_dim",
    "text = [1]": r"mine.toml: text: a table is needed",
    "name = ''": r"mine.toml: name: string should have at least 1 character",
    "[similarity]\nk = 'all'": r"similarity.k: must be 'min' or 'half', not 'all'; .*similarity.k: .*whole number",
    "[similarity]\nkind = 'top-k'\nk = 0": r"mine.toml: similarity: k is 0; give min, half or a number from 1",
    "seed = -1": r"seed: must be greater than or equal to 0",
    "a = ": r"mine.toml: not TOML",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_is_named_with_file_key_and_allowed_values(tmp_path, text):
    with pytest.raises(SettingError, match=WRONG[text]):
        load_recipe(written(tmp_path, text))


CONTRADICTIONS = {
    "text.kind=projection": 'text.kind = "projection" does not go with features.text = "words"',
    "features.text=minilm": 'text.kind = "gru" does not go with features.text = "minilm"',
    "features.image=pixels": 'image.kind = "projection" does not go with features.image = "pixels"',
    "image.kind=network": 'image.kind = "network" does not go with',
    "features.image=pixels image.kind=network image.dropout_at=input": r"image.dropout_at: no such key for kind network; did you mean image.dropout\? There are kind, network, dropout, batch_norm, pictures$",
    "features.image=pixels image.kind=network image.hidden=3": "image.hidden: no such key for kind network",
    "linking.bridge=0.5": "linking.bridge needs a text backbone",
    "features.text=minilm text.kind=projection text.word_vectors=v.txt": "text.word_vectors: no such key for kind projection",
    "text.hidden=3": "text.hidden: no such key for kind gru; .*here are kind, word_dim",
    "text.dropuot=0": "text.dropuot: no such key for kind gru; did you mean text.dropout",
    "text.kind=lstn": "text.kind: must be 'gru', .* or 'projection', not 'lstn'; did you mean lstm",
    "text.kind=3": "text.kind: must be .*, not 3",
    "objective.mean_epochs=2 objective.kind=softmax": "objective: mean_epochs is for",
    "objective.mean_epochs=2 objective.negatives=mean": "objective: mean_epochs is for",
    "objective.learn_scale=true": "objective: learn_scale is for softmax and logistic",
    "training.average=3 training.epochs=2": "training: average is 3, more than epochs, 2",
    "training.schedule=cosine training.warmup=2 training.epochs=2": "training: warmup is 2, which leaves none of 2",
    "similarity.k=half": 'similarity: k is for top-k and assignment; kind is "dense"',
    "similarity.kind=assignment similarity.directions=mean": 'directions is for dense and top-k; kind is "assignment"',
    "text.layers=2": "text.layers: no such key for kind gru",
    "text.kind=transformer text.heads=7": "text.heads is 7, which does not divide dim, 1024",
    "text.kind=transformer text.dropout_at=input": "text.dropout_at: no such key for kind transformer",
    "image.max_regions=9": "image.max_regions: no such key for kind projection",
    "image.concepts=false": "image.concepts: no such key for kind projection",
    "features.image=r.tsv": "a file of regions, for image.kind = .regions.",
    "features.image=f.npy image.kind=regions": 'image.kind = "regions" needs regions; features.image = "f.npy" has none',
    "training.max_regions=9": 'training.max_regions is for encoders of regions; image.kind is "projection"',
    "objective.cross_document=0": "objective: all weights are 0",
    "similarity.kind=single-pair objective.sub_document=1": "need sets; similarity.kind is .single-pair.",
    "objective.order=1": "objective.order: no such key",
    "similarity.kind=single-pair objective.posterior=1": "intra_document, sub_document and posterior need sets",
    "similarity.kind=labelled-pairs objective.intra_document=1": "need sets; similarity.kind is .labelled-pairs.",
    "training.labelled=0.5": 'training.labelled is for labelled-pairs; similarity.kind is "dense"',
    "training.warmup=1 training.warmup_steps=9": "one thing in two units",
    "training.warmup_steps=9 training.schedule=cosine": "training: warmup_steps is for plateau and constant",
    "objective.kind=softmax objective.learn_scale=true objective.cross_document=0 objective.intra_document=1": "only cross_document and sub_document learn it",
    "similarity.kind=top-k similarity.links=exactly": 'links is for assignment; kind is "top-k"',
}


@pytest.mark.parametrize("overrides", CONTRADICTIONS)
def test_contradictions_are_named(tmp_path, overrides):
    with pytest.raises(SettingError, match=CONTRADICTIONS[overrides]):
        load_recipe(written(tmp_path), overrides.split())


def test_another_kind_of_encoder_takes_the_files_settings_of_the_old_kind_away_and_no_others(tmp_path):
    path = written(tmp_path, '[text]\nkind = "lstm"\nattention = "none"\nmax_tokens = 7')
    text = load_recipe(path, ["text.layers=2", "text.kind=transformer"]).text
    assert (text.kind, text.max_tokens, text.layers) == ("transformer", 7, 2)
    with pytest.raises(SettingError, match=r"text.attention=true: text.attention: no such key for kind gru"):
        load_recipe(path, ["text.attention=true", "text.kind=gru"])
    with pytest.raises(SettingError, match=r"mine.toml: text.attentoin: no such key"):
        load_recipe(written(tmp_path, '[text]\nkind = "lstm"\nattentoin = false'), ["text.kind=gru"])


def test_without_layers_heads_need_not_divide(tmp_path):
    pooled = "image.kind=regions image.layers=0 dim=300".split()
    assert load_recipe(written(tmp_path), pooled).image.layers == 0


def test_encoders_of_a_model_to_start_from_are_not_the_recipes(tmp_path):
    assert load_recipe(written(tmp_path), ["init=default", "training.max_regions=5"]).training.max_regions == 5


def test_every_wrong_key_is_named_at_once(tmp_path):
    with pytest.raises(SettingError, match=r"seed: .*; .*training.batch: "):
        load_recipe(written(tmp_path, "seed = -1\n[training]\nbatch = 1"))


OVERRIDES = {
    "training.epochs=5": ("training", "epochs", 5),
    "training.learning_rate=1": ("training", "learning_rate", 1.0),
    "training.learning_rate=1e-3": ("training", "learning_rate", 1e-3),
    "training.precision=32": ("training", "precision", "32"),
    "training.precision=bf16": ("training", "precision", "bf16"),
    'training.precision="32"': ("training", "precision", "32"),
    "training.schedule = cosine": ("training", "schedule", "cosine"),
    "objective.b=none": ("objective", "b", None),
    "objective.b=7": ("objective", "b", 7),
    "objective.learn_scale=false": ("objective", "learn_scale", False),
}


@pytest.mark.parametrize("override", OVERRIDES)
def test_overrides(tmp_path, override):
    table, key, value = OVERRIDES[override]
    recipe = load_recipe(written(tmp_path, "[objective]\nb = 5"), [override])
    assert getattr(getattr(recipe, table), key) == value


def test_overrides_of_names_and_unions(tmp_path):
    path = written(tmp_path)
    assert load_recipe(path, ["name=2026"]).name == "2026"
    assert load_recipe(path, ["similarity.kind=top-k", "similarity.k=3"]).similarity.k == 3
    assert load_recipe(path, ["similarity.kind=top-k", "similarity.k=half"]).similarity.k == "half"
    assert load_recipe(path, ["init=models/one"]).init == "models/one"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("training.epochs", "training.epochs: give key=value, such as training.epochs=5"),
        ("=5", "=5: give key=value"),
        ("training.epochs=many", "training.epochs=many: training.epochs: must be a whole number"),
        ("training.epochs=none", "training.epochs=none: training.epochs: must be a whole number"),
        ("epochs=5", "epochs=5: epochs: no such key; there are name"),
        ("training.nope=5", "training.nope=5: training.nope: no such key; there are batch"),
        ("name.x=5", "name.x=5: name is a value, not a table"),
    ],
)
def test_wrong_overrides_are_named(tmp_path, override, message):
    with pytest.raises(SettingError, match=message.replace("(", r"\(")):
        load_recipe(written(tmp_path, 'name = "a"'), [override])


def test_files_that_are_no_recipes(tmp_path, monkeypatch):
    with pytest.raises(SettingError, match=r"nowhere.toml: cannot be read: No such file"):
        load_recipe(tmp_path / "nowhere.toml")
    with pytest.raises(
        SettingError, match=r"nowhere: no such file, and no recipe of this name ships; .*hessel2019/dense"
    ):
        load_recipe("nowhere")
    with pytest.raises(SettingError, match=r"dense: no such file, .*; did you mean hessel2019/dense\? There are"):
        load_recipe("dense")
    (tmp_path / "mine.toml").write_bytes(b"\xff")
    with pytest.raises(SettingError, match="not TOML"):
        load_recipe(tmp_path / "mine.toml")
    # A folder of a recipe's name does not hide it.
    (tmp_path / "hessel2019" / "dense").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert load_recipe("hessel2019/dense").similarity.kind == "dense"


def test_recipes_are_fixed_once_made():
    recipe = make_recipe({"name": "a"}, source="here")
    with pytest.raises(ValueError, match="frozen"):
        setattr(recipe, "seed", 3)  # noqa: B010 - written plainly, mypy would already refuse it
    with pytest.raises(SettingError, match="here: name: is missing"):
        make_recipe({}, source="here")


def test_kinds_and_weights_are_the_rows_of_their_tables():
    assert get_args(SimilaritySettings.model_fields["kind"].annotation) == tuple(SIMILARITIES)
    assert get_args(ObjectiveSettings.model_fields["kind"].annotation) == tuple(CONTRASTS)
    for side, table in (("text", TEXT_ENCODERS), ("image", IMAGE_ENCODERS)):
        assert get_args(Recipe.model_fields[side].annotation) == tuple(row.settings for row in table.values())
    used = {name for table in (OBJECTIVES, CONTRASTS) for row in table.values() for name in row.settings}
    used |= {name for row in CONTRASTS.values() for name in row.arguments} | {*OBJECTIVES, "kind", "b"}
    assert used == set(ObjectiveSettings.model_fields)
    assert {name for row in SIMILARITIES.values() for name in row.settings} | {"kind"} == {
        *SimilaritySettings.model_fields
    }
    functions = [row.function for rows in (OBJECTIVES, CONTRASTS, SIMILARITIES) for row in rows.values()]
    assert all(resolve_name(function) for function in functions if function)
