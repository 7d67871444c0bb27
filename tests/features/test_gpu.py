from __future__ import annotations

import numpy as np
import pytest
import torch

from iconotext.features import efficientnet as image_module
from iconotext.features import load_image_backbone, load_text_backbone
from iconotext.features import minilm as text_module

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")]


def test_pictures_are_the_same_on_gpu_and_cpu(picture, monkeypatch):
    files = [picture(f"{seed}.png", seed=seed, size=(300, 200)) for seed in range(5)]
    on_gpu = load_image_backbone().encode(files, regions=True)
    monkeypatch.setattr(image_module, "best_device", lambda: torch.device("cpu"))
    on_cpu = load_image_backbone().encode(files, regions=True)
    for name, array in on_cpu.arrays().items():
        if name != "region_classes":
            np.testing.assert_allclose(on_gpu.arrays()[name], array, rtol=1e-2, atol=1e-3)


def test_sentences_are_the_same_on_gpu_and_cpu(monkeypatch):
    texts = ["A tram.", "A cat sleeps on the roof of the depot, and nobody wakes it."] * 20
    on_gpu = load_text_backbone().encode(texts)
    monkeypatch.setattr(text_module, "best_device", lambda: torch.device("cpu"))
    np.testing.assert_allclose(on_gpu, load_text_backbone().encode(texts), atol=1e-4)
