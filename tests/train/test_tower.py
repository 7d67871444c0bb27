"""Dual encoders that are trained: both sides, one of them, or small layers behind frozen ones."""

import json
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file

from iconotext.encoders.load import load_encoder
from iconotext.encoders.stored_model import DUAL, load_model
from iconotext.errors import FeatureError, SettingError
from iconotext.features import load_dual_encoder
from iconotext.recipe import load_recipe
from iconotext.train.run import train
from tests.support.hub_models import noise

SAID = (["a cat", "the dog on the mat"], ["a dog", "on the mat the cat"], ["mat on mat", "the the"])
TEXTS = ["a cat", "the dog on the mat", "a cat on the mat"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Documents of two sentences and two pictures, of three kinds."""
    folder = tmp_path_factory.mktemp("towers")
    lines = []
    for number in range(18):
        images = [f"{number}-{which}.png" for which in range(2)]
        for which, name in enumerate(images):
            (folder / name).write_bytes(noise(2 * (number % 3) + which))
        lines.append({"id": str(number), "split": ("train", "validation")[number > 11], "images": images,
                      "sentences": [SAID[number % 3][0], SAID[number % 3][1] + " cat" * (90 * (number == 0))], "links": [[0, 0], [1, 1]]})  # fmt: skip
    (folder / "corpus.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder / "corpus.jsonl"


def recipe(name, encoder, *more):
    return load_recipe(name, [f"features.text={encoder}", f"features.image={encoder}", "dim=12", "training.epochs=8",
        "training.learning_rate=0.003", "training.batch=4", "objective.intra_document=1", "training.warmup=0",
        "objective.scale=20", *more])  # fmt: skip


def vectors(encoder, corpus):
    """Of the texts, and of two pictures."""
    images = encoder.encode_images([corpus.parent / f"0-{which}.png" for which in range(2)])
    return np.concatenate([encoder.encode_sentences(TEXTS), images.vectors])


@pytest.mark.training
@pytest.mark.parametrize(("kind", "changes"), [("clip", ()), ("siglip", ("objective.kind=logistic", "dim=16"))])
def test_both_sides_learn_and_are_written_as_a_dual_encoder(models, corpus, tmp_path, kind, changes):
    own = recipe("dual-fine-tune", models / kind, *changes)
    model = train(own, [corpus], tmp_path / "model")
    trained, written = load_encoder(str(model)), load_encoder(str(model / DUAL))
    np.testing.assert_allclose(vectors(trained, corpus), vectors(written, corpus), atol=1e-6)
    before = vectors(load_encoder(str(models / kind)), corpus)
    assert (np.abs(vectors(trained, corpus) - before).max(1) > 1e-4).all()
    metrics = json.loads((model / "metrics.json").read_text())
    assert metrics["validation_loss"] < metrics["before"]["validation_loss"]
    assert metrics["changed"]["images"] > 0
    arrays = load_model(model).arrays
    assert set(arrays) == {"log_scale", "bias"}, "the weights of the sides are in one place"
    scale = load_file(model / DUAL / "model.safetensors")["logit_scale"].item()
    assert scale == pytest.approx(arrays["log_scale"].item())
    assert scale != pytest.approx(np.log(20), abs=1e-6)
    assert {"tokenizer.json", "config.json", "model.safetensors", "preprocessor_config.json"} <= {
        file.name for file in (model / DUAL).iterdir()
    }


@pytest.mark.training
def test_the_first_look_is_the_dual_encoder_itself(models, corpus, tmp_path):
    """The loss before training, from batches of tokens and pixels, is that of its own vectors."""
    model = train(recipe("dual-fine-tune", models / "clip"), [corpus], tmp_path / "towers")
    frozen = train(recipe("dual-adapter", models / "clip"), [corpus], tmp_path / "adapter")
    first, second = (json.loads((each / "metrics.json").read_text())["before"] for each in (model, frozen))
    assert first["validation_loss"] == pytest.approx(second["validation_loss"], rel=1e-3)
    assert first["validation_auc"] == second["validation_auc"]


@pytest.mark.training
def test_one_side_learns_alone(models, corpus, tmp_path):
    model = train(recipe("dual-fine-tune", models / "clip", "image.kind=identity"), [corpus], tmp_path / "model")
    before, after = (vectors(load_encoder(str(each)), corpus) for each in (models / "clip", model))
    np.testing.assert_allclose(after[3:], before[3:], atol=1e-6)
    assert np.abs(after[:3] - before[:3]).max() > 1e-4


@pytest.mark.training
def test_training_goes_on_from_a_trained_one_and_adapters_stand_behind_it(models, corpus, tmp_path):
    model = train(recipe("dual-fine-tune", models / "clip"), [corpus], tmp_path / "model")
    own = load_recipe("adapt", [f"init={model}", "training.epochs=1", "training.warmup=0", "objective.posterior=0"])
    further = train(own, [corpus], tmp_path / "further")
    assert (further / DUAL / "model.safetensors").is_file()
    adapted = train(recipe("dual-adapter", model / DUAL), [corpus], tmp_path / "adapted")
    found = vectors(load_encoder(str(adapted)), corpus)
    assert found.shape == (5, 12)
    shutil.rmtree(model / DUAL)
    assert vectors(load_encoder(str(further)), corpus).shape == (5, 12), "it has all that it needs"
    with pytest.raises(FeatureError, match="dual-encoder"):
        load_encoder(str(model))


@pytest.mark.training
def test_an_adapter_that_learns_nothing_is_the_encoder(models, corpus, tmp_path):
    model = train(recipe("dual-adapter", models / "clip", "training.learning_rate=1e-12"), [corpus], tmp_path / "a")
    found, own = (vectors(load_encoder(str(each)), corpus) for each in (model, models / "clip"))
    np.testing.assert_allclose(found, own, atol=1e-6)


def test_what_cannot_be_trained_is_refused(models, corpus, tmp_path):
    with pytest.raises(SettingError, match="dim is 13"):
        train(recipe("dual-fine-tune", models / "clip", "dim=13"), [corpus], tmp_path / "model")
    with pytest.raises(SettingError, match="dim is 13"):
        train(recipe("dual-adapter", models / "clip", "dim=13"), [corpus], tmp_path / "model")
    with pytest.raises(FeatureError, match="vit"):
        train(recipe("dual-fine-tune", models / "vit"), [corpus], tmp_path / "model")
    with pytest.raises(SettingError, match="both or neither"):
        recipe("dual-fine-tune", models / "clip", "image.kind=projection")
    with pytest.raises(SettingError, match="batch_norm"):
        recipe("dual-adapter", models / "clip", "text.batch_norm=true")


@pytest.mark.slow
def test_a_tower_reads_as_the_encoder_does(models):
    import torch

    from iconotext.networks.towers import TextTower

    for kind, dim in (("clip", 12), ("siglip", 16)):
        tower = TextTower(str(models / kind), dim).eval()
        ids = tower.tokens.ids([*TEXTS, "cat " * 99])
        with torch.inference_mode():
            found = tower(torch.tensor([each for text in ids for each in text]), torch.tensor([len(t) for t in ids]))
        own = load_dual_encoder(str(models / kind)).text.encode([*TEXTS, "cat " * 99])
        np.testing.assert_allclose(found.numpy(), own, atol=1e-6)
