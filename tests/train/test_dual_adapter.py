"""Small layers that are trained behind a frozen dual encoder."""

import json

import numpy as np
import pytest

from iconotext.encoders.load import load_encoder
from iconotext.errors import SettingError
from iconotext.recipe import load_recipe
from iconotext.train.run import train
from tests.support.images import noise

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
    return load_recipe(name, [f"features.text={encoder}", f"features.image={encoder}", "dim=5", "training.epochs=8",
        "training.learning_rate=0.003", "training.batch=4", "objective.intra_document=1", "training.warmup=0",
        "objective.scale=20", *more])  # fmt: skip


def vectors(encoder, corpus):
    """Of the texts, and of two pictures."""
    images = encoder.encode_images([corpus.parent / f"0-{which}.png" for which in range(2)])
    return np.concatenate([encoder.encode_sentences(TEXTS), images.vectors])


@pytest.mark.training
def test_an_adapter_that_learns_nothing_is_the_encoder(models, corpus, tmp_path):
    model = train(recipe("dual-adapter", models / "clip", "training.learning_rate=1e-12"), [corpus], tmp_path / "a")
    found, own = (vectors(load_encoder(str(each)), corpus) for each in (model, models / "clip"))
    np.testing.assert_allclose(found, own, atol=1e-6)


def test_what_cannot_be_trained_is_refused(models, corpus, tmp_path):
    with pytest.raises(SettingError, match="dim is 13"):
        train(recipe("dual-adapter", models / "clip", "dim=13"), [corpus], tmp_path / "model")
    with pytest.raises(SettingError, match="batch_norm"):
        recipe("dual-adapter", models / "clip", "text.batch_norm=true")
