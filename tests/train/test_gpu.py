"""Steps of training on a GPU: the losses and gradients of a CPU."""

from __future__ import annotations

import pytest
import torch

from iconotext.encoders.stored_model import load_model
from iconotext.recipe import load_recipe
from iconotext.recipe.encoders import GRUSettings
from iconotext.train import train
from iconotext.train.batches import epoch_batches, planned_reads, read_ahead
from iconotext.train.loop import new_model
from iconotext.train.loss import batch_loss
from iconotext.train.prepare import prepare
from tests.support.training import regional_recipe, write_pairs, write_regional

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")]


def first_steps(recipe, prepared):
    """The losses, those of coherence, and the gradients of a first step: on a CPU, and on a GPU."""
    batches = planned_reads(prepared, recipe, epoch_batches(prepared, recipe, "train", 0), training=True, epoch=0)
    batch = next(read_ahead(batches))
    for device in ("cpu", "cuda"):
        model = new_model(recipe, prepared).model
        model.to(device).train()
        generator = torch.Generator().manual_seed(3)
        losses, _, of_coherence = batch_loss(
            model, batch.to(torch.device(device)), recipe, epoch=0, generator=generator
        )
        losses.mean().backward()
        gradients = {name: p.grad.cpu() for name, p in model.named_parameters() if p.grad is not None}
        yield losses.detach().cpu(), of_coherence.detach().cpu(), gradients


@pytest.mark.parametrize("layers", [1, 0])
@pytest.mark.parametrize("text", ["transformer", "gru"])
@pytest.mark.parametrize("similarity", ["top-k", "labelled-pairs"])
def test_a_step_on_regions_is_the_same_on_gpu_and_cpu(tmp_path, similarity, text, layers):
    corpus = write_regional(tmp_path, 40)
    more: dict[str, dict[str, object]] = {"objective": {"intra_document": 1.0, "sub_document": 1.0}}
    if similarity == "labelled-pairs":
        more = {"similarity": {"kind": similarity, "directions": "sum"}}
    recipe = regional_recipe(tmp_path, image={"layers": layers, "dropout": 0.0}, text={"dropout": 0.0}, **more)
    if text == "gru":
        recipe = recipe.model_copy(update={"text": GRUSettings(word_dim=8, dropout=0.0)})
    on_cpu, on_gpu = first_steps(recipe, prepare(recipe, [corpus], tmp_path / "prepared"))
    torch.testing.assert_close(on_gpu[0], on_cpu[0], atol=1e-4, rtol=1e-3)
    torch.testing.assert_close(on_gpu[2], on_cpu[2], atol=1e-3, rtol=1e-2)


@pytest.mark.parametrize("precision", ["32", "bf16"])
def test_training_on_a_gpu_ends_with_a_model(tmp_path, precision):
    corpus = write_regional(tmp_path, 60)
    recipe = regional_recipe(tmp_path, training={"epochs": 2, "precision": precision})
    train(recipe, [corpus], tmp_path / "model")
    assert load_model(tmp_path / "model").recipe.training.precision == precision


def test_a_step_that_tells_relations_is_the_same_on_gpu_and_cpu(tmp_path):
    corpus = write_pairs(tmp_path)
    settings = ["features.image=features.npy", "dim=16", "text.word_dim=12", "training.batch=16"]
    recipe = load_recipe("alikhani2021/cmcm", settings)
    on_cpu, on_gpu = first_steps(recipe, prepare(recipe, [corpus], tmp_path / "prepared"))
    torch.testing.assert_close(on_gpu[:2], on_cpu[:2], atol=1e-3, rtol=1e-2)
    lstm = "text.lstm.weight_ih_l0"
    torch.testing.assert_close(on_gpu[2][lstm], on_cpu[2][lstm], atol=1e-3, rtol=1e-2)
    train(recipe.model_copy(update={"name": "gpu"}), [corpus], tmp_path / "model")
    assert load_model(tmp_path / "model").relations == ["Visible", "Action", "Story", "Meta"]
