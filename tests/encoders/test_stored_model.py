from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from iconotext import Linker, read
from iconotext.corpus.store import read_corpus
from iconotext.encoders.joint_model import JointModel
from iconotext.encoders.spaces import JointSpace, word_reader
from iconotext.encoders.stored_model import load_model, save_model
from iconotext.errors import FeatureError, SettingError
from iconotext.features.backbone import ImageFeatures
from iconotext.features.word_vectors import UNKNOWN, Vocabulary
from iconotext.linker import LinkSettings
from iconotext.recipe.encoders import Inputs
from iconotext.train import train
from iconotext.train.prepared import open_prepared
from iconotext.train.validate import scored_documents
from tests.support.training import small_recipe, write_synthetic

CPU = torch.device("cpu")
VOCABULARY = Vocabulary([UNKNOWN, "a", "b"])


def saved(folder, **more):
    recipe = small_recipe()
    torch.manual_seed(0)
    inputs = Inputs(words=3, text_features=0, image_features=5)
    model = JointModel(recipe, inputs)
    backbones = {"text": "words", "image": "table"}
    save_model(folder, recipe, inputs, model.state_dict(), vocabulary=VOCABULARY, backbones=backbones, **more)
    return model


def test_a_saved_model_is_read_as_it_was(tmp_path):
    model = saved(tmp_path / "model")
    stored = load_model(tmp_path / "model")
    assert stored.name == "small"
    assert stored.vocabulary.words == VOCABULARY.words
    assert stored.backbones == {"text": "words", "image": "table"}
    assert not stored.model.training
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, stored.model.state_dict()[name])
    assert not any(parameter.requires_grad for parameter in stored.model.parameters())
    before = (tmp_path / "model" / "weights.safetensors").read_bytes()
    for _ in range(3):
        saved(tmp_path / "model")
        assert (tmp_path / "model" / "weights.safetensors").read_bytes() == before


def test_half_of_the_bits_are_nearly_the_same(tmp_path):
    model = saved(tmp_path / "half", half=True)
    saved(tmp_path / "whole")
    sizes = [(tmp_path / kind / "weights.safetensors").stat().st_size for kind in ("half", "whole")]
    assert sizes[0] < 0.7 * sizes[1]
    for name, weight in load_model(tmp_path / "half").model.state_dict().items():
        assert torch.allclose(weight, model.state_dict()[name], atol=1e-3)


@pytest.mark.parametrize(
    ("file", "data", "message"),
    [
        ("weights.safetensors", b"no weights", r"weights.safetensors: damaged, or of another recipe"),
        ("weights.safetensors", None, r"weights.safetensors is missing \(has training ended\?\)"),
        ("recipe.toml", None, r"recipe.toml is missing"),
        ("recipe.toml", b"name = 3", r"the model's recipe cannot be read: .*name: must be text"),
        ("recipe.toml", b"name = 'other'\ndim = 3\n[text]\nword_dim = 8\n", r"damaged, or of another recipe"),
        ("vocabulary.txt", None, r"vocabulary.txt: cannot be read"),
    ],
)
def test_what_is_missing_or_damaged_is_named(tmp_path, file, data, message):
    saved(tmp_path)
    if data is None:
        (tmp_path / file).unlink()
    else:
        (tmp_path / file).write_bytes(data)
    with pytest.raises(FeatureError, match=message):
        load_model(tmp_path)


def test_sentences_and_images_of_a_document_may_be_none(tmp_path):
    saved(tmp_path)
    stored = load_model(tmp_path)
    nothing = ImageFeatures(np.zeros((0, 5), np.float32), problems=())
    reader = word_reader(stored, stored.vocabulary, 100, "words")
    assert JointSpace(stored).images(nothing, nothing).shape == (0, 16)
    assert reader.encode([]).shape == (0, 16)
    np.testing.assert_allclose(np.linalg.norm(reader.encode(["", "never seen"]), axis=1), 1, rtol=1e-5)


def test_a_projection_reads_no_word_vectors():
    recipe = small_recipe(features={"text": "minilm"}, text={"kind": "projection"})
    with pytest.raises(SettingError, match=r"needs text.kind = .gru., .transformer. or .lstm."):
        JointModel(recipe, Inputs(0, 4, 5)).set_word_vectors(torch.zeros(3, 4))


# From training to linking


def matrices(folder, arrays):
    """What validation gives, by document."""
    stored, prepared = load_model(folder), open_prepared(arrays)
    every = np.arange(prepared.meta["documents"])
    return {each[0]: each[1] for each in scored_documents(stored.model, prepared, stored.recipe, every, CPU)}


def linked(folder, corpus, **settings):
    linker = Linker.load(str(folder), LinkSettings(evidence=("picture",), **settings))
    return {document.id: linker.link(document).similarity for document in read_corpus(corpus)}


def assert_same(one, other, atol):
    assert one.keys() == other.keys()
    for name, matrix in one.items():
        np.testing.assert_allclose(np.asarray(other[name]), matrix, atol=atol)


@pytest.mark.slow
def test_a_model_of_words_and_a_table_links_as_it_was_validated(tmp_path):
    corpus = write_synthetic(tmp_path / "corpus", 20)
    folder = train(small_recipe(), [corpus], tmp_path / "model", prepared=tmp_path / "arrays")
    table = str(tmp_path / "corpus" / "features.npy")
    assert_same(
        matrices(folder, tmp_path / "arrays"), linked(folder, corpus, image=table), 1e-2
    )  # products in linking have 8 bits
    with pytest.raises(FeatureError, match=r"looks images up in a table of features; name it: image=FILE.npy"):
        Linker.load(str(folder))


@pytest.fixture
def pictures(tmp_path, picture):
    """Six documents with pictures of noise."""
    rows = []
    for number in range(6):
        picture(f"{number}.png", seed=number)
        rows.append(
            {
                "id": f"d{number}",
                "split": "validation" if number % 3 == 2 else "train",
                "sentences": [f"A dog number {number}.", "The tower."],
                "images": [f"{number}.png", f"{(number + 1) % 6}.png"],
                "links": [[0, 0]],
            }
        )
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.slow
def test_a_model_of_backbones_links_as_it_was_validated_and_with_no_others(tmp_path, pictures):
    recipe = small_recipe(
        features={"text": "minilm", "image": "efficientnet-lite0"},
        text={"kind": "projection", "rescale": True},
        image={"hidden": 8, "rescale": True},
        training={"epochs": 1, "batch": 2},
    )
    folder = train(recipe, [pictures], tmp_path / "model", prepared=tmp_path / "arrays")
    assert_same(matrices(folder, tmp_path / "arrays"), linked(folder, pictures), 1e-2)
    weights = folder / "weights.safetensors"
    changed = weights.read_bytes().replace(b"efficientnet-lite0", b"efficientnet-lite9")
    weights.write_bytes(changed)
    with pytest.raises(
        FeatureError, match=r"was trained on the image backbone efficientnet-lite9.*, not efficientnet-lite0"
    ):
        Linker.load(str(folder))


@pytest.mark.slow
def test_an_image_network_is_trained_along_saved_and_used(tmp_path, pictures):
    recipe = small_recipe(
        features={"image": "pixels"},
        image={"kind": "network"},
        training={"epochs": 1, "batch": 2, "max_images": 1, "learning_rate": 1e-3},
    )
    folder = train(recipe, [pictures], tmp_path / "model", prepared=tmp_path / "arrays")
    stored = load_model(folder)
    torch.manual_seed(recipe.seed)
    fresh = JointModel(recipe, Inputs(stored.model.text.embedding.num_embeddings, 0, 0))
    before, after = fresh.image.state_dict(), stored.model.image.state_dict()
    moved = {name for name, weight in before.items() if not torch.equal(weight, after[name])}
    assert moved == {name for name in before if "classifier" not in name}
    assert_same(matrices(folder, tmp_path / "arrays"), linked(folder, pictures), 1e-4)
    page = tmp_path / "page.md"
    page.write_text("A dog.\n\n![](0.png)\n\nThe tower.\n")
    assert Linker.load(str(folder)).link(read(page)).links
