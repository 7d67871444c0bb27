"""Train a relation model: ``iconotext train relations --corpus clue.jsonl --corpus cite.jsonl``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.embed.layer_means import LayerMeans
from iconotext.embed.relation_model import LIMIT, RelationModel
from iconotext.embed.relation_weights import RelationWeights
from iconotext.errors import CorpusError, SettingError
from iconotext.evaluate.average_precision import average_precision
from iconotext.features import cached_image, load_image_backbone
from iconotext.relations import RELATIONS
from iconotext.train.lock import locked
from iconotext.train.relations.data import RelationData, folds_of, groups_of, read_relation_data
from iconotext.train.relations.folder import is_trained, write_model
from iconotext.train.relations.images import ImageSide, from_labels, from_texts
from iconotext.train.relations.text import (
    IMAGE_DIM,
    calibrated_weights,
    calibration_error,
    cross_calibrated,
    fit_text,
    unseen_logits,
)
from iconotext.write import reporting_full_disk

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.features.backbone import ImageBackbone
    from iconotext.features.cache import FeatureCache
    from iconotext.recipe.relations import RelationRecipe, RelationSettings
    from iconotext.types import FloatMatrix

Progress = Callable[[str, int], None]
"""Hears what is done, and how much of it."""

LEAST_IMAGES = 50
"""Pictures without labels that are needed to learn what a picture adds."""

IMAGES = 1024
"""Pictures that are looked at before what is needed of them is kept."""

LOCK = ".lock"
"""File within the model's folder that one process at a time holds."""


def train_relations(
    recipe: RelationRecipe,
    corpora: Sequence[Path],
    folder: Path,
    *,
    cache: FeatureCache | None = None,
    report: Progress | None = None,
) -> Path:
    """Train a relation model and write it to a folder; the same recipe and corpora give the same model.

    Texts of documents with ``relations`` train the text side, by default those of all splits: published labels are few.
    What a picture adds is learned from the pictures of these documents where enough are there, else from pictures of
    the other documents and the texts written about them, else not at all; ``metrics.json`` says which. It also has how
    many labelled pairs of each split were used and, for each relation, pairs, positive rate, average precision and
    calibration error of the text side, measured on pairs whose texts and pictures the judging model had not seen. Where
    a picture side was learned from labels, ``pictures.held_out`` has the average precisions without and with it.

    Args:
        recipe: What to do.
        corpora: Corpus files.
        folder: Of the model; made if need be. One that holds the model of the same recipe stays as it is.
        cache: Where features are kept; None keeps none.
        report: Called with what is being done and how far it is.

    Returns:
        The folder.

    Raises:
        SettingError: The folder holds something else, or a setting names a relation that does not exist.
        CorpusError: No document has relations, or a file breaks the format.
        FeatureError: A backbone is missing.
        TrainingError: The loss is no number any more, or another process trains in the folder.
    """
    progress: Progress = report or (lambda what, done: None)
    settings = recipe.relations
    if is_trained(folder, recipe):
        return folder
    data = read_relation_data(corpora, settings.splits)
    _check_silent(settings, data)
    groups = groups_of(data.texts, data.images)
    if len(np.unique(groups)) < settings.folds:
        raise CorpusError(f"{len(np.unique(groups))} texts and pictures are too few for {settings.folds} folds")
    parts = folds_of(groups, settings.folds, settings.seed)
    reader = LayerMeans(cache)
    images = load_image_backbone()
    with reporting_full_disk(folder), locked(folder / LOCK, wait=0, what="trains"):
        if not is_trained(folder, recipe):  # another process may have ended meanwhile
            seeing = cached_image(images, cache) if cache is not None else images
            write_model(folder, recipe, *_trained(data, parts, settings, reader, seeing, progress))
    (folder / LOCK).unlink(missing_ok=True)
    return folder


def _trained(
    data: RelationData,
    parts: NDArray[np.int64],
    settings: RelationSettings,
    reader: LayerMeans,
    images: ImageBackbone,
    progress: Progress,
) -> tuple[RelationWeights, dict[str, Any]]:
    """The weights, and what ``metrics.json`` says of them."""
    backbones = {"text": reader.name, "image": images.name}
    progress("reading texts", 0)
    layers = reader.encode(data.texts)
    answers = data.answers[:, : data.relations]
    unseen = unseen_logits(layers, data, parts, settings, backbones, lambda done: progress("fold", done))
    judged = np.clip(cross_calibrated(unseen, answers, parts), -LIMIT, LIMIT)
    progress("final model", 0)
    weights = fit_text(layers, data, np.arange(len(data.texts)), settings, backbones)
    weights = calibrated_weights(weights, unseen, answers)
    progress("pictures", 0)
    weights, pictures = _with_images(weights, data, parts, judged, images, reader, settings)
    relations = _figures(data, judged, answers)
    return weights, {"relations": relations, **pictures, "pairs": len(data.texts), "splits": data.splits}


def _check_silent(settings: RelationSettings, data: RelationData) -> None:
    """Raise unless ``picture_silent`` names relations of the papers or of the corpora."""
    known = list(dict.fromkeys((*(relation.name for relation in RELATIONS), *data.labels[: data.relations])))
    unknown = [name for name in settings.picture_silent if name not in known]
    if unknown:
        raise SettingError(
            f"relations.picture_silent: {', '.join(unknown)}: no such relation; there are {', '.join(known)}"
        )


def _with_images(
    weights: RelationWeights,
    data: RelationData,
    parts: NDArray[np.int64],
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
        side, learned, count = from_labels(pooled, answers, text[there], parts[there], settings), "labels", len(there)
    else:
        pooled, good = _pooled(backbone, [image.file or b"" for image, _ in data.pictures])
        if len(good) < LEAST_IMAGES:
            return weights, {"pictures": {"learned_from": None, "count": len(good)}}
        model = RelationModel("unfinished", weights, reader)
        flat = [written for i in good for written in data.pictures[i][1]]
        ends = np.cumsum([len(data.pictures[i][1]) for i in good])[:-1]
        said = np.split(model.text_logits(flat), ends)
        side = from_texts(pooled, said, [data.sources[i] for i in good], model.relations, settings)
        learned, count = "texts", len(good)
    return _added(weights, side), {"pictures": _image_facts(side, weights.relations, learned, count)}


def _pooled(backbone: ImageBackbone, files: Sequence[Any]) -> tuple[FloatMatrix, NDArray[np.int64]]:
    """Features of the pictures that can be read, and which those are."""
    pooled = np.zeros((len(files), IMAGE_DIM), np.float32)
    readable = np.zeros(len(files), np.bool_)
    for start in range(0, len(files), IMAGES):  # a backbone gives more than is kept here
        features = backbone.encode(files[start : start + IMAGES])
        pooled[start : start + len(features)] = features.pooled
        readable[start : start + len(features)] = [problem is None for problem in features.problems]
    return pooled if readable.all() else pooled[readable], np.flatnonzero(readable)


def _added(weights: RelationWeights, side: ImageSide) -> RelationWeights:
    return replace(weights, arrays={**weights.arrays, "picture": side.weight, "picture_bias": side.bias})


def _image_facts(side: ImageSide, relations: Sequence[str], learned: str, count: int) -> dict[str, Any]:
    facts = {
        "learned_from": learned,
        "count": count,
        "correlation": dict(zip(relations, side.correlation, strict=True)),
        "kept": dict(zip(relations, side.kept, strict=True)),
    }
    if not side.held_out:
        return facts
    return {**facts, "held_out": {name: each._asdict() for name, each in zip(relations, side.held_out, strict=True)}}


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
