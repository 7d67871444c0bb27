from __future__ import annotations

import numpy as np
import pytest
import torch

from iconotext.encoders.joint_model import JointModel
from iconotext.errors import SettingError
from iconotext.networks.transformer import RegionBatch, RegionEncoder
from iconotext.recipe import make_recipe
from iconotext.recipe.encoders import Inputs
from tests.support.equations import affine, norm, pooled, weights_of

COUNTS = torch.tensor([2, 3, 1])
CONCEPTS = torch.tensor([0, 3, 2, 2, -1, 1])
LAYERS = {"heads": 2, "layers": 1}
NAMES = torch.randn(4, 6, generator=torch.Generator().manual_seed(3))


def batch() -> RegionBatch:
    return RegionBatch(torch.randn(6, 5, generator=torch.Generator().manual_seed(4)), COUNTS, CONCEPTS)


def encoder(*, layers: int = 2, concepts: bool = True, dropout: float = 0.0) -> RegionEncoder:
    torch.manual_seed(0)
    return RegionEncoder(5, 6 if concepts else 0, dim=8, layers=layers, heads=2, dropout=dropout)


def by_hand(weights, features, concepts, names, layers):
    """Equations 8 to 10, one region and one concept after the other; ``names`` are projected (W_T and b_T of Eq. 9)."""
    segments = [norm(each, weights, "segment_norm") for each in weights["segment.weight"]]
    seen = [(norm(affine(each, weights, "region"), weights, "region_norm") + segments[0]) / 2 for each in features]
    if names is not None:
        for concept in concepts:
            named = norm(names[concept], weights, "concept_norm") if concept >= 0 else np.zeros(len(segments[1]))
            seen.append((named + segments[1]) / 2)
    return pooled(seen, weights, layers, heads=2)


def shaken(model):
    """Norms and biases begin as 1 and 0, which would hide where one is left out."""
    torch.manual_seed(5)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, 0.1, 0.5)
    return model.eval()


def images_by_hand(weights, names, layers):
    images = batch()
    parts = zip(images.features.double().numpy(), images.concepts.tolist(), strict=True)
    rows, at, found = list(parts), 0, []
    for count in COUNTS.tolist():
        features, concepts = zip(*rows[at : at + count], strict=True)
        found.append(by_hand(weights, features, concepts, names, layers))
        at += count
    return np.array(found)


@pytest.mark.parametrize("concepts", [True, False])
@pytest.mark.parametrize("layers", [2, 0])
def test_images_are_encoded_as_the_equations_say(layers: int, concepts: bool) -> None:
    model = shaken(encoder(layers=layers, concepts=concepts))
    weights = weights_of(model)
    names = [affine(name, weights, "concept") for name in NAMES.double().numpy()] if concepts else None
    found = model(batch(), NAMES if concepts else None).detach().numpy()
    assert found == pytest.approx(images_by_hand(weights, names, layers), abs=1e-5)


def test_a_shared_projection_of_concepts_is_that_of_the_words_of_sentences() -> None:
    """W_T and b_T of Equations 7 and 9 are one matrix and one vector."""
    model = shaken(made("transformer", shared_projection=True))
    model.set_concepts([[1], [2, 3], [4], [5, 6]])
    text, image = weights_of(model.text), weights_of(model.image)
    assert not [name for name in image if name.startswith("concept.")]
    words = text["embedding.weight"]
    means = [words[1], (words[2] + words[3]) / 2, words[4], (words[5] + words[6]) / 2]
    names = [affine(mean, text, "inward") for mean in means]
    found = model.encode_images(batch()).detach().numpy()
    assert found == pytest.approx(images_by_hand(image, names, layers=1), abs=1e-5)
    model.requires_grad_(True).encode_images(batch())[:, 0].sum().backward()
    assert model.text.inward.weight.grad.abs().sum() > 0  # what images teach reaches the sentences


@pytest.mark.parametrize("more", [{"concepts": False}, {"text": "gru"}])
def test_a_projection_is_shared_only_where_both_sides_have_one(more) -> None:
    with pytest.raises(SettingError, match=r"image\.shared_projection projects concepts as the sentence encoder"):
        made(**{"text": "transformer", "shared_projection": True, **more})


WORDS = {
    "gru": {"word_dim": 6, "max_tokens": 9},
    "transformer": {"word_dim": 6, "max_tokens": 9, **LAYERS},
    "projection": {},
}


def made(text: str, *, concepts: bool = True, shared_projection: bool = False) -> JointModel:
    recipe = make_recipe(
        {
            "name": "small",
            "dim": 8,
            "features": {"text": "minilm" if text == "projection" else "words"},
            "text": {"kind": text, **WORDS[text]},
            "image": {"kind": "regions", "concepts": concepts, "shared_projection": shared_projection, **LAYERS},
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
