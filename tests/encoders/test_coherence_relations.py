import numpy as np
import pytest
import torch
from scipy.special import expit

from iconotext.encoders.coherence_relations import Coherence
from iconotext.encoders.joint_model import coherence_module
from iconotext.errors import ShapeError


def model(weight, bias, dim=2):
    layer = torch.nn.Linear(2 * dim, len(bias))
    layer.weight.data, layer.bias.data = torch.tensor(weight), torch.tensor(bias)
    layer.requires_grad_(False)
    return Coherence(tuple(f"r{n}" for n in range(len(bias))), layer)


def test_two_texts_and_two_pictures_by_hand():
    stored = model([[1.0, 0.0, 0.0, 2.0], [0.0, -1.0, 0.0, 0.0]], [0.5, 0.0])
    found = stored.probabilities(np.eye(2, dtype=np.float32), np.array([[0, 1], [1, 0]], np.float32))
    assert found[:, :, 0] == pytest.approx(expit(np.array([[1 + 2 + 0.5, 1 + 0.5], [2 + 0.5, 0.5]])), abs=1e-6)
    assert found[:, :, 1] == pytest.approx(expit(np.array([[0, 0], [-1, -1]])), abs=1e-6)


def test_what_the_bridge_adds_behind_the_joint_space_does_not_count():
    stored = model([[1.0, 0.0, 0.0, 2.0]], [0.0])
    texts, pictures = np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32)[::-1]
    longer = [np.hstack([0.8 * rows, 0.6 * np.ones((2, 3), np.float32)]) for rows in (texts, pictures)]
    assert stored.probabilities(*longer) == pytest.approx(stored.probabilities(texts, pictures))


def test_a_picture_that_cannot_be_read_and_extreme_weights_give_probabilities():
    stored = model([[1000.0, 0.0, 0.0, -1000.0]], [0.0])
    found = stored.probabilities(np.array([[1, 0], [-1, 0], [0, 0]], np.float32), np.zeros((1, 2), np.float32))
    assert found[:, 0, 0].tolist() == [1.0, 0.0, 0.5]


def test_vectors_of_another_model_are_refused():
    with pytest.raises(ShapeError, match="2 dimensions"):
        model([[0.0] * 4], [0.0]).probabilities(np.zeros((1, 1)), np.zeros((1, 2)))


def test_more_layers_read_the_pair_with_a_relu_between_them():
    torch.manual_seed(0)
    layers = coherence_module(dim=3, relations=2, layers=3).double().requires_grad_(False)
    stored = Coherence(("a", "b"), layers)
    rng = np.random.default_rng(0)
    texts, images = (
        rows / np.linalg.norm(rows, axis=1, keepdims=True)
        for rows in (rng.normal(size=(4, 3)), rng.normal(size=(5, 3)))
    )
    weights = {name: value.numpy() for name, value in layers.state_dict().items()}
    assert [weights[f"{n}.weight"].shape for n in (0, 2, 4)] == [(3, 6), (3, 3), (2, 3)]
    for text, found in zip(texts, stored.probabilities(texts, images), strict=True):
        for image, own in zip(images, found, strict=True):
            x = np.concatenate([text, image])
            for number in (0, 2, 4):
                x = (
                    weights[f"{number}.weight"] @ (x if number == 0 else np.where(x > 0, x, 0))
                    + weights[f"{number}.bias"]
                )
            assert own == pytest.approx(1 / (1 + np.exp(-x)), abs=1e-6)
