"""Checks before a run begins: what would stop it late, or keep it from learning."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.errors import CorpusError, FeatureError, SettingError
from iconotext.extras import require
from iconotext.features import check_backbones
from iconotext.features.word2vec import WORD2VEC
from iconotext.features.word_vectors import MINILM
from iconotext.train.labelled import labelled_documents

if TYPE_CHECKING:
    from iconotext.recipe import Recipe
    from iconotext.train.prepared import Prepared


def check_start(recipe: Recipe) -> None:
    """Check what would otherwise stop a run only after its corpus is encoded.

    Raises:
        SettingError: The file of word vectors does not exist.
        FeatureError: There is no such backbone.
        MissingPackageError: What trains is not installed.
    """
    require("train", "torch", "scipy", "lap", purpose="training")
    check_backbones(recipe.features.text, recipe.features.image)
    vectors = recipe.words.word_vectors if recipe.words else None
    if vectors is not None and vectors not in (MINILM, WORD2VEC) and not Path(vectors).is_file():
        raise SettingError(f"text.word_vectors: there is no file {vectors}")


def check_run(recipe: Recipe, prepared: Prepared) -> None:
    """Check what would otherwise end a run after its first epoch, or keep it from learning.

    Raises:
        CorpusError: Labelled pairs are wanted, and there are none for training or for validation; or relations, and
            none are labelled; or a median rank, and documents are not single pairs.
        FeatureError: The recipe reads concepts, and no region has one.
    """
    if recipe.similarity.kind == "labelled-pairs":
        for split in ("train", "validation"):
            labelled_documents(prepared, recipe, split)
    _check_relations(recipe, prepared)
    check_concepts(recipe, prepared.meta["concepts"])
    if recipe.reads_concepts and prepared.regions is not None and not (prepared.regions.concepts >= 0).any():
        raise FeatureError(
            f"{recipe.features.image}: none of its regions has a concept, so there is nothing to read; compute them "
            "again, or set image.concepts = false"
        )
    if recipe.training.choose == "median-rank" and not prepared.all_single("validation"):
        raise CorpusError(
            'training.choose = "median-rank" needs validation documents of one sentence and one image each; '
            'with others set training.choose = "loss"'
        )


def check_warmup(recipe: Recipe, steps: int) -> None:
    """Raise ``SettingError`` if, with ``steps`` steps per epoch, the learning rate would rise until the end."""
    warmup, steps = recipe.training.warmup_steps, recipe.training.epochs * steps
    if warmup >= max(steps, 1):
        raise SettingError(
            f"training.warmup_steps is {warmup:,}, but on this corpus the run has {steps:,} steps, so that the "
            f"learning rate never gets to training.learning_rate; set it to {max(steps // 10, 1):,} or so"
        )


def _check_relations(recipe: Recipe, prepared: Prepared) -> None:
    if not recipe.objective.coherence:
        return
    known = prepared.labelled_relations
    missing = [name for name in recipe.objective.relations if name not in known]
    if missing or not known:
        what = f"the relation {missing[0]}" if missing else "any relation"
        there = f"; labelled are {', '.join(known)}" if known else ""
        raise CorpusError(
            f"objective.coherence: no training document of one sentence and one image has a label of {what}{there}"
        )


def check_concepts(recipe: Recipe, names: Sequence[str]) -> None:
    """Raise ``FeatureError`` if an encoder reads concepts and the source of regions does not name any."""
    if recipe.reads_concepts and not names:
        raise FeatureError(
            f"{recipe.features.image}: does not say what is seen in its regions: put the names of concepts beside it "
            "(NAME.concepts.txt), and where it has neither objects nor probabilities, the detector's last layer "
            "(NAME.classifier.safetensors), or set image.concepts = false"
        )
