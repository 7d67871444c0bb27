"""Train a relation model: ``iconotext train relations --corpus clue.jsonl --corpus cite.jsonl``."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.embed.folder import METRICS, RECIPE
from iconotext.embed.layer_means import LayerMeans
from iconotext.embed.relation_model import LIMIT, RelationModel, RelationWeights, save_relation_model
from iconotext.errors import CorpusError
from iconotext.evaluate.average_precision import average_precision
from iconotext.features import cached_image, load_image_backbone
from iconotext.recipe.relations import dump_relation_recipe
from iconotext.train.lock import locked
from iconotext.train.relations.data import RelationData, folds_of, groups_of, read_relation_data
from iconotext.train.relations.pictures import PictureSide, from_labels, from_texts
from iconotext.train.relations.text import (
    PICTURE_DIM,
    calibrated_weights,
    calibration_error,
    cross_calibrated,
    fit_text,
    unseen_logits,
)
from iconotext.write import write_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.features.backbone import ImageBackbone
    from iconotext.features.cache import FeatureCache
    from iconotext.recipe.relations import RelationRecipe, RelationSettings
    from iconotext.types import FloatMatrix

Told = Callable[[str, int], None]
"""Hears what is done, and how much of it."""

LEAST_PICTURES = 50
"""Pictures without labels that are needed to learn what a picture adds."""


def train_relations(
    recipe: RelationRecipe,
    corpora: Sequence[Path],
    folder: Path,
    *,
    cache: FeatureCache | None = None,
    report: Told | None = None,
) -> Path:
    """Train a relation model and write it to a folder; the same recipe and corpora give the same model.

    Texts of documents with ``relations`` train the text side. What a picture adds is learned from the pictures of these
    documents where enough are there, else from pictures of the other documents and the texts written about them, else
    not at all; ``metrics.json`` says which. ``metrics.json`` also has, for each relation, pairs, positive rate, average
    precision and calibration error, measured on pairs whose texts and pictures the judging model had not seen.

    Args:
        recipe: What to do.
        corpora: Corpus files.
        folder: Of the model; made if need be. A model that is there is replaced.
        cache: Where features are kept; None keeps none.
        report: Told how it goes on.

    Returns:
        The folder.

    Raises:
        CorpusError: No document has relations, or a file breaks the format.
        FeatureError: A backbone is missing.
        TrainingError: The loss is no number any more, or another process trains in the folder.
    """
    told: Told = report or (lambda what, done: None)
    settings = recipe.relations
    data = read_relation_data(corpora)
    groups = groups_of(data.texts, data.images)
    if len(np.unique(groups)) < settings.folds:
        raise CorpusError(f"{len(np.unique(groups))} texts and pictures are too few for {settings.folds} folds")
    parts = folds_of(groups, settings.folds, settings.seed)
    reader = LayerMeans(cache)
    images = load_image_backbone()
    backbones = {"text": reader.name, "image": images.name}
    told("reading texts", 0)
    layers = reader.encode(data.texts)
    with locked(folder / ".lock", wait=0, what="trains"):
        answers = data.answers[:, : data.relations]
        unseen = unseen_logits(layers, data, parts, settings, backbones, lambda done: told("fold", done))
        judged = np.clip(cross_calibrated(unseen, answers, parts), -LIMIT, LIMIT)
        told("final model", 0)
        weights = fit_text(layers, data, np.arange(len(data.texts)), settings, backbones)
        weights = calibrated_weights(weights, unseen, answers)
        told("pictures", 0)
        seeing = cached_image(images, cache) if cache is not None else images
        weights, pictures = _with_pictures(weights, data, judged, seeing, reader, settings)
        metrics = {"relations": _figures(data, judged, answers), **pictures, "pairs": len(data.texts)}
        write_text(folder / RECIPE, dump_relation_recipe(recipe), force=True)
        write_text(folder / METRICS, json.dumps(metrics, indent=1) + "\n", force=True)
        save_relation_model(folder, weights)
    (folder / ".lock").unlink(missing_ok=True)
    return folder


def _with_pictures(
    weights: RelationWeights,
    data: RelationData,
    text: FloatMatrix,
    backbone: ImageBackbone,
    reader: LayerMeans,
    settings: RelationSettings,
) -> tuple[RelationWeights, dict[str, Any]]:
    """The weights with what pictures add, and what there is to say about it."""
    there = np.array([i for i, image in enumerate(data.images) if image.file and not image.problem], np.int64)
    pooled, good = _pooled(backbone, [data.images[i].file or b"" for i in there])
    there = there[good]
    if len(there) >= settings.picture_labels:
        answers = data.answers[there, : data.relations]
        side, learned, count = from_labels(pooled, answers, text[there], settings), "labels", len(there)
    else:
        pooled, good = _pooled(backbone, [image.file or b"" for image, _ in data.pictures])
        if len(good) < LEAST_PICTURES:
            return weights, {"pictures": {"learned_from": None, "count": len(good)}}
        model = RelationModel("unfinished", weights, reader)
        flat = [written for i in good for written in data.pictures[i][1]]
        ends = np.cumsum([len(data.pictures[i][1]) for i in good])[:-1]
        said = np.split(model.text_logits(flat), ends)
        side = from_texts(pooled, said, [data.sources[i] for i in good], model.relations, settings)
        learned, count = "texts", len(good)
    return _added(weights, side), {"pictures": _told(side, weights.relations, learned, count)}


def _pooled(backbone: ImageBackbone, files: Sequence[Any]) -> tuple[FloatMatrix, NDArray[np.int64]]:
    """Features of the pictures that can be read, and which those are."""
    if not files:
        return np.zeros((0, PICTURE_DIM), np.float32), np.zeros(0, np.int64)
    features = backbone.encode(files)
    good = np.array([i for i, problem in enumerate(features.problems) if problem is None], np.int64)
    return features.pooled[good], good


def _added(weights: RelationWeights, side: PictureSide) -> RelationWeights:
    return replace(weights, arrays={**weights.arrays, "picture": side.weight, "picture_bias": side.bias})


def _told(side: PictureSide, relations: Sequence[str], learned: str, count: int) -> dict[str, Any]:
    return {
        "learned_from": learned,
        "count": count,
        "correlation": dict(zip(relations, side.correlation, strict=True)),
        "kept": dict(zip(relations, side.kept, strict=True)),
    }


def _figures(data: RelationData, logits: FloatMatrix, answers: NDArray[np.float32]) -> dict[str, Any]:
    figures = {}
    for r, name in enumerate(data.labels[: data.relations]):
        there = ~np.isnan(answers[:, r])
        figures[name] = {
            "pairs": int(there.sum()),
            "positive_rate": float(answers[there, r].mean()),
            "average_precision": average_precision(logits[there, r], answers[there, r] > 0.5),
            "calibration_error": calibration_error(logits[:, r], answers[:, r]),
        }
    return figures
