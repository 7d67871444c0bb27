from __future__ import annotations

from iconotext.recipe import make_recipe
from iconotext.train.summary import model_card

PREPARED = {"backbones": {"text": "words", "image": "net-1"}, "documents": 12, "skipped": 3}


def test_card_says_what_is_known():
    recipe = make_recipe({"name": "mine", "follows": "nobody"}, source="test")
    found = {"documents": 5, "undefined": 1, "auc": 0.75, "p@1": 0.5, "p@5": 0.25}
    metrics = {"best_epoch": 2, "epochs": 9, "validation_loss": 0.123456, "test": found}
    card = model_card(recipe, PREPARED, metrics)
    assert card.startswith("# mine\n")
    assert "- test: AUC 75.0, p@1 50.0, p@5 25.0 (4 documents with gold links)\n" in card
    assert "- best epoch 2 of 9, validation loss 0.1235\n" in card
    assert "12 (3 without" in card


def test_card_without_gold_links_says_so():
    recipe = make_recipe({"name": "mine"}, source="test")
    trained = {"best_epoch": 1, "epochs": 1, "validation_loss": 1.0}
    undefined = {"documents": 2, "undefined": 2, "auc": None, "p@1": None, "p@5": None}
    for metrics in (trained, trained | {"test": undefined}):
        card = model_card(recipe, PREPARED, metrics)
        assert "No gold links were known" in card
        assert "test:" not in card


def test_names_in_a_card_are_text():
    recipe = make_recipe({"name": "<img src=x onerror=alert(1)>"}, source="test")
    metrics = {"best_epoch": 1, "epochs": 1, "validation_loss": 1.0, "relations": ["<b>|`x`", "Story"]}
    card = model_card(recipe, PREPARED, metrics)
    assert "<img" not in card
    assert "<b>" not in card
