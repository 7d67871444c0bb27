from __future__ import annotations

import numpy as np
import pytest
import torch

from iconotext.features import load_image_backbone, load_text_backbone
from iconotext.features.efficientnet import load_networks
from iconotext.features.minilm import load_network
from iconotext.features.runtime import VARIABLE

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")]


@pytest.fixture
def without_gpu(monkeypatch):
    """Makes the backbones load their networks again, for the CPU."""
    monkeypatch.setenv(VARIABLE, "torch")

    def switch():
        monkeypatch.setattr("iconotext.features.runtime.best_device", lambda: torch.device("cpu"))
        load_networks.cache_clear()
        load_network.cache_clear()

    yield switch
    load_networks.cache_clear()
    load_network.cache_clear()


def test_pictures_are_the_same_on_gpu_and_cpu(picture, without_gpu):
    files = [picture(f"{seed}.png", seed=seed, size=(300, 200)) for seed in range(5)]
    on_gpu = load_image_backbone().encode(files, regions=True)
    without_gpu()
    on_cpu = load_image_backbone().encode(files, regions=True)
    for name, array in on_cpu.arrays().items():
        if name != "region_classes":
            np.testing.assert_allclose(on_gpu.arrays()[name], array, rtol=1e-2, atol=1e-3)


def test_sentences_are_the_same_on_gpu_and_cpu(without_gpu):
    texts = ["A tram.", "A cat sleeps on the roof of the depot, and nobody wakes it."] * 20
    on_gpu = load_text_backbone().encode(texts)
    without_gpu()
    np.testing.assert_allclose(on_gpu, load_text_backbone().encode(texts), atol=1e-4)
