from __future__ import annotations

import numpy as np
import pytest
import torch

from iconotext.networks.int8 import BATCH, load_projection, projection_shapes
from iconotext.networks.projection import Projection
from iconotext.recipe.encoders import ProjectionSettings


@pytest.mark.parametrize("hidden", [0, 7])
@pytest.mark.parametrize("rescale", [False, True])
@pytest.mark.parametrize("batch_norm", [False, True])
def test_is_what_pytorch_computes(hidden, rescale, batch_norm):
    torch.manual_seed(hidden)
    module = Projection(
        5, dim=4, hidden=hidden, dropout=0.5, dropout_at="output", rescale=rescale, batch_norm=batch_norm
    )
    vectors = 3 * torch.randn(50, 5)
    module(vectors)  # the batch norm learns mean and variance
    module.eval()
    settings = ProjectionSettings(kind="projection", hidden=hidden, rescale=rescale, batch_norm=batch_norm)
    weights = {name: tensor.numpy() for name, tensor in module.state_dict().items()}
    assert {name: array.shape for name, array in weights.items()} == projection_shapes(5, 4, settings)
    with torch.inference_mode():
        expected = module(vectors).numpy()
    found = load_projection(weights, settings)(vectors.numpy())
    np.testing.assert_allclose(found, expected, atol=0.03)  # few numbers, of which each is rounded
    assert np.mean(np.sum(found * expected, axis=1)) > 0.9998


def test_a_row_is_the_same_to_the_last_bit_whatever_stands_beside_it():
    chance = np.random.default_rng(0)
    settings = ProjectionSettings(kind="projection", hidden=96, rescale=True)
    weights = {
        name: chance.standard_normal(shape).astype(np.float32)
        for name, shape in projection_shapes(384, 48, settings).items()
    }
    vectors = chance.standard_normal((3 * BATCH - 5, 384)).astype(np.float32)
    projected = load_projection(weights, settings)
    together = projected(vectors)
    alone = np.concatenate([projected(row[None]) for row in vectors])
    assert together.tobytes() == alone.tobytes()
    assert projected(vectors[::-1])[::-1].tobytes() == alone.tobytes()
    assert projected(vectors[:0]).shape == (0, 48)
