"""An image network that is trained: its pixels, and what stands behind it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image

from iconotext.networks.image_network import ImageNetwork, load_pixels, trained_network


@pytest.fixture
def file(tmp_path):
    """A wide picture, black but for its left edge."""
    pixels = np.zeros((300, 600, 3), np.uint8)
    pixels[:, :30] = 255
    Image.fromarray(pixels).save(tmp_path / "edge.png")
    return tmp_path / "edge.png"


def test_a_resized_picture_is_seen_whole_and_is_the_same_in_training(file):
    """Alikhani 2021: "Image is first resized to 224 x 224"; of cutting, turning and mirroring it says nothing."""
    with Image.open(file) as image:
        expected = np.asarray(image.resize((224, 224), Image.Resampling.BICUBIC), np.int16)
    assert expected[:, :9].min() > 240  # the edge is in the picture
    for random in (None, np.random.default_rng(0), np.random.default_rng(1)):
        (found,) = load_pixels([str(file)], random, whole=True).numpy().astype(np.int16)
        assert abs(found - expected).max() <= 2
    cropped = [load_pixels([str(file)], np.random.default_rng(seed)).numpy() for seed in range(2)]
    assert not np.array_equal(*cropped)


def test_behind_the_network_are_a_batch_norm_and_an_affine_layer(file):
    torch.manual_seed(0)
    model = ImageNetwork(dim=4, dropout=0.0, batch_norm=True, pictures="resized")
    for name in ("norm.weight", "norm.bias", "norm.running_mean"):
        model.projection.state_dict()[name].normal_()
    model.projection.state_dict()["norm.running_var"].uniform_(0.5, 2)
    model.eval().requires_grad_(False)
    weights = {name: value.double().numpy() for name, value in model.projection.state_dict().items()}
    pixels = load_pixels([str(file)], None, whole=True)
    (features,) = model.network(pixels).mean((2, 3)).double().numpy()
    scaled = (features - weights["norm.running_mean"]) / np.sqrt(weights["norm.running_var"] + 1e-5)
    joint = weights["out.weight"] @ (scaled * weights["norm.weight"] + weights["norm.bias"]) + weights["out.bias"]
    expected = joint / np.linalg.norm(joint)
    assert model(pixels)[0].numpy() == pytest.approx(expected, abs=1e-5)
    # As an image backbone it prepares pictures as in training.
    found = trained_network(model, "mine", 4).encode([file]).pooled[0]
    assert found == pytest.approx(expected, abs=2e-2)
