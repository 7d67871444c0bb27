from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from iconotext.encoders.backbone_encoder import Inputs
from iconotext.encoders.joint_model import JointModel
from iconotext.networks.transformer import RegionBatch, RegionEncoder
from iconotext.recipe import make_recipe

COUNTS = torch.tensor([2, 3, 1])
CONCEPTS = torch.tensor([0, 3, 2, 2, -1, 1])
LAYERS = {"heads": 2, "layers": 1}
NAMES = torch.randn(4, 6, generator=torch.Generator().manual_seed(3))


def batch() -> RegionBatch:
    return RegionBatch(torch.randn(6, 5, generator=torch.Generator().manual_seed(4)), COUNTS, CONCEPTS)


def encoder(*, layers: int = 2, concepts: bool = True, dropout: float = 0.0) -> RegionEncoder:
    torch.manual_seed(0)
    return RegionEncoder(5, 6 if concepts else 0, dim=8, layers=layers, heads=2, dropout=dropout)


def tokens_of(model: RegionEncoder, features: Tensor, concepts: list[int]) -> Tensor:
    """Equations 8 and 9, one region and one concept after the other."""
    segments = functional.layer_norm(model.segment.weight, (8,))
    seen = [(functional.layer_norm(model.region(each), (8,)) + segments[0]) / 2 for each in features]
    if isinstance(model.concept, torch.nn.Identity):
        return torch.stack(seen)
    named = [
        (functional.layer_norm(model.concept(NAMES[c]), (8,)) if c >= 0 else torch.zeros(8)) + segments[1]
        for c in concepts
    ]
    return torch.stack(seen + [each / 2 for each in named])


@pytest.mark.parametrize("concepts", [True, False])
@pytest.mark.parametrize("layers", [2, 0])
def test_images_are_encoded_as_the_equations_say(layers: int, concepts: bool) -> None:
    model = encoder(layers=layers, concepts=concepts).eval()
    images = batch()
    found = model(images, NAMES if concepts else None)
    parts = zip(images.features.split([2, 3, 1]), images.concepts.split([2, 3, 1]), found, strict=True)
    for features, own, vector in parts:
        tokens = tokens_of(model, features, own.tolist())
        if layers:
            assert model.transformer is not None
            expected = model.transformer(tokens, torch.tensor([len(tokens)])).mean(0)
        else:
            assert model.weight is not None
            expected = (model.weight(tokens).softmax(0) * tokens).sum(0)
        torch.testing.assert_close(vector, expected / expected.norm(), atol=1e-5, rtol=1e-4)


def test_the_order_of_regions_does_not_count() -> None:
    model, images = encoder().eval(), batch()
    turned = torch.tensor([1, 0, 4, 3, 2, 5])
    other = RegionBatch(images.features[turned], COUNTS, CONCEPTS[turned])
    torch.testing.assert_close(model(images, NAMES), model(other, NAMES), atol=1e-5, rtol=1e-4)


def test_an_image_does_not_depend_on_its_neighbours() -> None:
    model, images = encoder().eval(), batch()
    alone = model(RegionBatch(images.features[2:5], COUNTS[1:2], CONCEPTS[2:5]), NAMES)
    torch.testing.assert_close(alone[0], model(images, NAMES)[1], atol=1e-6, rtol=1e-5)


WORDS = {
    "gru": {"word_dim": 6, "max_tokens": 9},
    "transformer": {"word_dim": 6, "max_tokens": 9, **LAYERS},
    "projection": {},
}


def made(text: str, *, concepts: bool = True) -> JointModel:
    recipe = make_recipe(
        {
            "name": "small",
            "dim": 8,
            "features": {"text": "minilm" if text == "projection" else "words"},
            "text": {"kind": text, **WORDS[text]},
            "image": {"kind": "regions", "concepts": concepts, **LAYERS},
        },
        source="test",
    )
    torch.manual_seed(0)
    if text == "projection":
        return JointModel(recipe, Inputs(0, 6, 5, concepts=4))
    return JointModel(recipe, Inputs(20, 0, 5, concepts=4, concept_words=6))


@pytest.mark.parametrize("text", ["transformer", "gru"])
def test_words_of_sentences_and_of_concepts_are_the_same_parameter(text: str) -> None:
    model = made(text).eval()
    model.set_concepts([[1], [2, 3], [4], [5, 6]])
    names = model.concept_names()
    assert names is not None
    torch.testing.assert_close(names[1], (model.embedding.weight[2] + model.embedding.weight[3]) / 2)
    shapes = [name for name, parameter in model.named_parameters() if parameter.shape == (20, 6)]
    assert shapes == ["text.embedding.weight"]
    # What images alone teach reaches the words of the sentences: those of the concepts seen, no others.
    model.encode_images(batch())[:, 0].sum().backward()
    gradient = model.embedding.weight.grad
    assert gradient is not None
    assert gradient.abs().sum(1).nonzero()[:, 0].tolist() == [1, 2, 3, 4, 5, 6]


def test_beside_frozen_sentence_vectors_concepts_are_frozen_too() -> None:
    model = made("projection")
    model.set_concepts(NAMES)
    names = model.concept_names()
    assert names is not None
    assert torch.equal(names, NAMES)
    assert not names.requires_grad
    encoded, images, *_ = model(batch(), sentences=torch.randn(2, 6), words=None, lengths=None)
    assert encoded.shape == (2, 8)
    assert images.shape == (3, 8)


def test_the_gradient_is_that_of_finite_differences() -> None:
    model = encoder().double().eval()
    images = batch()
    features = images.features.double().requires_grad_()
    assert torch.autograd.gradcheck(
        lambda f: model(RegionBatch(f, COUNTS, CONCEPTS), NAMES.double()).double(), (features,), atol=1e-3, rtol=1e-2
    )
