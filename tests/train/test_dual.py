"""The coherence module on a dual encoder that stays as it is."""

import json

import numpy as np
import pytest

from iconotext.encoders.load import load_encoder
from iconotext.encoders.stored_model import load_model, save_model
from iconotext.errors import FeatureError, SettingError
from iconotext.features import load_dual_encoder
from iconotext.recipe import load_recipe
from iconotext.train.prepare import prepared_key
from iconotext.train.run import train
from tests.support.hub_models import noise


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dual")
    lines = []
    for number in range(30):
        (folder / f"{number}.png").write_bytes(noise(number))
        lines.append({"id": str(number), "split": ("train", "train", "validation")[number % 3],
                      "sentences": ["a cat" if number % 2 else "the dog on the mat"], "images": [f"{number}.png"],
                      "relations": {"Story": bool(number % 2)}})  # fmt: skip
    (folder / "pairs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder / "pairs.jsonl"


def recipe(models, *more):
    name = models / "clip"
    return load_recipe("coherence-dual", [f"features.text={name}", f"features.image={name}", "dim=12",
        "training.epochs=60", "training.learning_rate=0.1", "training.batch=10", *more])  # fmt: skip


@pytest.mark.training
def test_only_the_module_is_trained_and_the_vectors_stay_those_of_the_encoder(models, corpus, tmp_path):
    train(recipe(models), [corpus], tmp_path / "model")
    stored = load_model(tmp_path / "model")
    assert {name for name, _ in stored.model.named_parameters()} == {
        "log_scale", "bias", "coherence.weight", "coherence.bias"}  # fmt: skip
    encoder, dual = load_encoder(str(tmp_path / "model")), load_dual_encoder(str(models / "clip"))
    texts, files = ["a cat", "the dog on the mat"], [corpus.parent / "0.png", corpus.parent / "1.png"]
    assert encoder.dim == 12
    np.testing.assert_allclose(encoder.encode_sentences(texts), dual.text.encode(texts), atol=1e-5)
    images = encoder.encode_images(files)
    np.testing.assert_allclose(images.vectors, dual.image.encode(files).pooled, atol=1e-5)
    assert images.problems == (None, None)
    found = encoder.coherence.probabilities(encoder.encode_sentences(texts), images.vectors)
    assert found.shape == (2, 2, 1)
    assert (found[0] > found[1]).all()  # cats come with stories
    assert encoder.text_backbone.name == dual.text.name


def test_what_is_no_dual_encoder_of_this_length_is_refused(models, corpus, tmp_path):
    with pytest.raises(SettingError, match=r"dim is 13, the text features have 12"):
        train(recipe(models, "dim=13"), [corpus], tmp_path / "model")
    own = recipe(models, f"features.text={models / 'vit'}", f"features.image={models / 'vit'}")
    with pytest.raises(FeatureError):
        train(own, [corpus], tmp_path / "model")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("objective.coherence=0 objective.cross_document=1", "nothing is learned"),
        ("training.choose=median-rank", "no rank ever changes"),
        ("features.image=efficientnet-lite0", "both name"),
    ],
)
def test_settings_of_which_nothing_would_be_learned_are_refused(models, settings, message):
    with pytest.raises(SettingError, match=message):
        recipe(models, *settings.split())


def test_another_encoder_is_refused(models, corpus, tmp_path):
    train(recipe(models, "training.epochs=1"), [corpus], tmp_path / "model")
    with pytest.raises(FeatureError, match="was trained on the dual encoder"):
        load_encoder(str(tmp_path / "model"), text="minilm")
    stored = load_model(tmp_path / "model")
    save_model(tmp_path / "model", stored.recipe, stored.inputs, stored.model.state_dict(), vocabulary=None,
               backbones={"text": "other", "image": "other"}, relations=stored.relations)  # fmt: skip
    with pytest.raises(FeatureError, match="text backbone other"):
        load_encoder(str(tmp_path / "model"))


def test_frozen_and_projected_vectors_of_one_encoder_are_prepared_apart(models, corpus):
    frozen = recipe(models)
    projected = load_recipe("coherence", ["init=none", "features.text=minilm", f"features.image={models / 'clip'}",
                                          "text.kind=projection"])  # fmt: skip
    as_frozen = frozen.model_copy(update={"text": projected.text, "image": projected.image})
    assert prepared_key(frozen, [corpus]) != prepared_key(as_frozen, [corpus])


def test_going_on_without_anything_to_learn_is_refused_before_the_corpus_is_read(models, corpus, tmp_path):
    train(recipe(models, "training.epochs=1"), [corpus], tmp_path / "model")
    own = load_recipe(
        "coherence", [f"init={tmp_path / 'model'}", "objective.coherence=0", "objective.learn_scale=false"]
    )
    with pytest.raises(SettingError, match="nothing is learned"):
        train(own, [corpus], tmp_path / "more")
    assert not (tmp_path / "more" / "corpus").exists()
