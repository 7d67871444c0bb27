"""Trains a relation model, as ``iconotext train relations --corpus clue.jsonl`` does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.encoders.relation_model import LayerMeans, RelationModel, RelationWeights, save_relation_model
from iconotext.encoders.stored_model import METRICS, RECIPE, WEIGHTS
from iconotext.errors import CorpusError, SettingError, TrainingError
from iconotext.evaluate.metrics import average_precision
from iconotext.extras import require
from iconotext.features import cached_image, load_image_backbone
from iconotext.recipe import dump_recipe
from iconotext.recipe.recipe import RelationRecipe, RelationSettings
from iconotext.recipe.toml import is_relation_recipe, load_relation_recipe
from iconotext.relations import RELATIONS
from iconotext.system.files import locked, reporting_full_disk, write_text
from iconotext.train.checkpoint import BUSY, LOCK, same_recipe
from iconotext.train.prepare import Report, no_report
from iconotext.train.relations.data import RelationData, folds_of, groups_of, read_relation_data
from iconotext.train.relations.fit import (
    ImageOffsets,
    calibrated,
    calibration_error,
    cross_calibrated,
    fit_text,
    from_labels,
    from_texts,
    unseen_logits,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.features.backbone import ImageBackbone
    from iconotext.features.cache import FeatureCache
    from iconotext.types import FloatMatrix


LEAST_IMAGES = 50
"""Smallest number of unlabelled images from which offsets are learned."""

IMAGES = 1024
"""Images that are encoded at a time, before their features are reduced to the pooled ones."""


def train_relations(
    recipe: RelationRecipe,
    corpora: Sequence[Path],
    folder: Path,
    *,
    cache: FeatureCache | None = None,
    report: Report = no_report,
) -> Path:
    """Train a relation model into a folder, and return it; the same recipe and corpora give the same model.

    Texts of documents with ``relations`` train the text side, by default those of all splits, since published labels
    are few. The term of an image is learned from the images of these documents if enough exist, else from images of the
    other documents and the texts about them, else it is 0; ``metrics.json`` records which. It also has the number of
    labelled pairs of each split and, for each relation, pairs, positive rate, average precision and calibration error
    of the text side, measured by cross-validation on unseen texts and images. If offsets of images were learned from
    labels, ``pictures.held_out`` has the average precisions without and with them.

    Args:
        recipe: The recipe.
        corpora: Corpus files.
        folder: Folder of the model; created if necessary. A folder with the finished model of the same recipe is
            unchanged.
        cache: The cache for features; None for no cache.
        report: Called with the current task, and the amount that is done.

    Raises:
        SettingError: The folder has another model, or a setting names an unknown relation.
        CorpusError: No document has relations, or a file breaks the format.
        FeatureError: A backbone is missing.
        TrainingError: Another process trains in the folder.
    """
    settings = recipe.relations
    if is_trained(folder, recipe):
        return folder
    require("train", "torch", "scipy", purpose="training")
    data = read_relation_data(corpora, settings.splits)
    names = list(dict.fromkeys((*(relation.name for relation in RELATIONS), *data.relations)))
    unknown = [name for name in settings.picture_silent if name not in names]
    if unknown:
        raise SettingError(
            f"relations.picture_silent: {', '.join(unknown)}: no such relation; there are {', '.join(names)}"
        )
    groups = groups_of(data.texts, data.images)
    if len(np.unique(groups)) < settings.folds:
        raise CorpusError(f"{len(np.unique(groups))} texts and pictures are too few for {settings.folds} folds")
    parts = folds_of(groups, settings.folds, settings.seed)
    reader = LayerMeans(cache)
    backbone = load_image_backbone()
    if cache is not None:
        backbone = cached_image(backbone, cache)
    with reporting_full_disk(folder), locked(folder / LOCK, BUSY, TrainingError):
        if not is_trained(folder, recipe):  # another process may have finished it meanwhile
            weights, metrics = _trained(data, parts, settings, reader, backbone, report)
            (folder / METRICS).unlink(missing_ok=True)  # they belong to the old weights
            write_text(folder / RECIPE, dump_recipe(recipe), force=True)
            save_relation_model(folder, weights)
            # Without metrics a model counts as unfinished, so they come last.
            write_text(folder / METRICS, json.dumps(metrics, indent=1) + "\n", force=True)
    (folder / LOCK).unlink(missing_ok=True)
    return folder


def _trained(
    data: RelationData,
    parts: NDArray[np.int64],
    settings: RelationSettings,
    reader: LayerMeans,
    backbone: ImageBackbone,
    report: Report,
) -> tuple[RelationWeights, dict[str, Any]]:
    """Train the weights, and return them with their part of ``metrics.json``."""
    report("reading texts", 0)
    layers = reader.encode(data.texts)
    unseen = unseen_logits(layers, data, parts, settings, report)
    unbiased = cross_calibrated(unseen, data.answers, parts)
    report("final model", 0)
    arrays = calibrated(fit_text(layers, data.texts, data.answers, settings), unseen, data.answers)
    nothing = np.zeros((backbone.dim, len(data.relations)), np.float32)
    of_text = {**arrays, "image": nothing, "image_bias": np.zeros_like(arrays["bias"])}
    weights = RelationWeights(data.relations, of_text, {"text": reader.name, "image": backbone.name})
    report("pictures", 0)
    learned, count, offsets = _offsets(data, parts, unbiased, backbone, RelationModel("", weights, reader), settings)
    images: dict[str, Any] = {"learned_from": learned, "count": count}
    if offsets is not None:
        all_arrays = {**arrays, "image": offsets.weight, "image_bias": offsets.bias}
        weights = replace(weights, arrays=all_arrays)
        images |= {name: dict(zip(data.relations, figures, strict=True)) for name, figures in offsets.figures.items()}
    figures = {"relations": _figures(data, unbiased), "pictures": images}
    return weights, {**figures, "pairs": len(data.texts), "splits": data.splits}


def _offsets(
    data: RelationData,
    parts: NDArray[np.int64],
    unbiased: FloatMatrix,
    backbone: ImageBackbone,
    text_alone: RelationModel,
    settings: RelationSettings,
) -> tuple[str | None, int, ImageOffsets | None]:
    """Learn the offsets of images.

    Return the name of the data from which they were learned, the number of images, and the offsets; None if the images
    are too few.
    """
    usable = np.array([i for i, image in enumerate(data.images) if image.file and not image.problem], np.int64)
    pooled, readable = _pooled(backbone, [data.images[i].file or b"" for i in usable])
    usable = usable[readable]
    if len(usable) >= settings.picture_labels:
        return "labels", len(usable), from_labels(pooled, data.answers[usable], unbiased[usable], parts[usable])
    pooled, readable = _pooled(backbone, [item.image.file or b"" for item in data.described])
    if len(readable) < LEAST_IMAGES:
        return None, len(readable), None
    described = [data.described[i] for i in readable]
    logits = text_alone.text_logits([text for item in described for text in item.texts])
    of_each = np.split(logits, np.cumsum([len(item.texts) for item in described])[:-1])
    sources = np.array([item.source for item in described])
    return "texts", len(readable), from_texts(pooled, of_each, sources, data.relations, settings)


def _pooled(backbone: ImageBackbone, files: Sequence[Any]) -> tuple[FloatMatrix, NDArray[np.int64]]:
    """Features of the images that can be read, and the numbers of these images."""
    pooled = [np.zeros((0, backbone.dim), np.float32)]
    readable: list[bool] = []
    for start in range(0, len(files), IMAGES):  # a backbone's features are larger than the pooled ones
        features = backbone.encode(files[start : start + IMAGES])
        usable = [problem is None for problem in features.problems]
        pooled.append(features.pooled[usable])
        readable += usable
    return np.concatenate(pooled), np.flatnonzero(readable)


def _figures(data: RelationData, logits: FloatMatrix) -> dict[str, Any]:
    figures = {}
    for r, name in enumerate(data.relations):
        answers = data.answers[:, r]
        answered = ~np.isnan(answers)
        figures[name] = {
            "pairs": int(answered.sum()),
            "positive_rate": float(answers[answered].mean()),
            "average_precision": average_precision(logits[answered, r], answers[answered] > 0.5),
            "calibration_error": calibration_error(logits[:, r], answers),
        }
    return figures


def is_trained(folder: Path, recipe: RelationRecipe) -> bool:
    """Whether the folder has the finished model of a recipe; False if it can be trained there."""
    files = [name for name in (RECIPE, WEIGHTS, METRICS) if (folder / name).is_file()]
    if not files:
        return False
    if RECIPE not in files or not is_relation_recipe(folder / RECIPE):
        raise SettingError(
            f"{folder}: {files[0]} in it does not belong to a relation model; name another folder, or remove this one"
        )
    # Settings newer than the model have their default values.
    same_recipe(folder, dump_recipe(load_relation_recipe(folder / RECIPE)), dump_recipe(recipe))
    return len(files) == 3
