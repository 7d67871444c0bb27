from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest

from iconotext.features.backbone import TextBackbone
from iconotext.train import changes
from iconotext.train.changes import Changes, changed_links
from iconotext.train.summary import notes

SENTENCES = ["Cut the board.", "Figure 2 shows the glue.", "Wait."]


def encode(texts):
    """Each sentence has a direction of its own; every other text is like the first."""
    return np.eye(3, 4, dtype=np.float32)[[SENTENCES.index(text) if text in SENTENCES else 0 for text in texts]]


def encoder(*columns):
    """One that finds the same cosines in every document; columns are images."""
    similarity = np.array(columns, np.float32).T

    def read_all(documents):
        return [SimpleNamespace(document=document, similarity=similarity) for document, _ in documents]

    text = TextBackbone("words", 4, encode)
    return SimpleNamespace(name="x", language=None, read_all=read_all, text_backbone=text, reader=text)


def test_images_whose_best_sentence_is_another_one_are_counted(tmp_path, monkeypatch):
    layout = {"blocks": [0, 1, 2], "positions": [1, 2]}
    captions = [None, "Figure 2: glue"]
    rows = [
        {"id": "pair", "sentences": SENTENCES, "images": ["a.png"]},
        {"id": "guide", "sentences": SENTENCES, "images": ["a.png", "b.png"], "captions": captions, **layout},
    ]
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name in ("a.png", "b.png"):
        (tmp_path / name).write_bytes(b"stands for an image")
    models = {"old": encoder([0.9, 0.1, 0.2], [0.1, 0.8, 0.3]), "new": encoder([0.1, 0.2, 0.9], [0.8, 0.1, 0.3])}
    monkeypatch.setattr(changes, "load_encoder", lambda name: models[str(name)])
    # By the picture alone both have another sentence; the second is cited by the same one as before.
    found = changed_links("old", "new", [tmp_path / "c.jsonl"])
    assert (found.images, found.picture) == (2, 2)
    assert found.all <= 1
    assert changed_links("old", "old", [tmp_path / "c.jsonl"]) == Changes(2, 0, 0)


BEFORE = {"validation_loss": 2.0, "validation_auc": None}


@pytest.mark.parametrize(
    ("metrics", "expected"),
    [
        ({}, []),
        ({"validated_on": {"documents": 9, "images": 20}}, []),
        (
            {"validated_on": {"documents": 1, "images": 2}},
            ["validated on 2 pictures of 1 document: too few to tell whether training helped. Give more documents, "
             "and their captions (iconotext corpus build pairs)"],
        ),
        (
            {"before": BEFORE | {"validation_auc": 0.546}, "best_epoch": 3, "validation_loss": 1.5,
             "changed": Changes(157, 41, 1)._asdict()},
            ["before training: validation loss 2.0000, AUC 54.6",
             "links changed: of 157 pictures, 41 have another best sentence by the picture alone, 1 with all evidence"],
        ),
        (
            {"before": BEFORE, "best_epoch": 3, "validation_loss": 1.5, "changed": None},
            ["before training: validation loss 2.0000",
             "links changed: cannot be counted, since features have no texts; link some of their documents with both "
             "models, or compare them by `iconotext evaluate`"],
        ),
        (
            {"before": BEFORE, "best_epoch": 0, "validation_loss": 2.0, "last_loss": 2.5},
            ["before training: validation loss 2.0000",
             "no epoch was better than that (the last: 2.5000), so the model is the one it was"],
        ),
        (
            {"before": BEFORE, "best_epoch": 1, "validation_loss": 1.99},
            ["before training: validation loss 2.0000", "it is now less than 1 % better: training changed little"],
        ),
    ],
)  # fmt: skip
def test_what_is_said_of_a_training(metrics, expected):
    assert list(notes(metrics)) == expected
