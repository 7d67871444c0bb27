"""The start of a run: checks for what would stop it late or in vain, and the model that it starts from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.corpus.shards import corpus_files, rows_of
from iconotext.encoders.stored_model import StoredModel, init_folder, load_model
from iconotext.errors import CorpusError, FeatureError, SettingError
from iconotext.extras import require
from iconotext.features import check_backbones
from iconotext.features.region_files import is_region_file
from iconotext.features.word_vectors import MINILM, WORD2VEC
from iconotext.plain_text import counted
from iconotext.recipe.settings import REGION_FILES
from iconotext.train.prepared import Prepared, labelled_documents, learned_relations

if TYPE_CHECKING:
    from torch import nn

    from iconotext.corpus.row import Row
    from iconotext.encoders.joint_model import JointModel
    from iconotext.features.word_vectors import Vocabulary
    from iconotext.recipe import Recipe


def check_start(recipe: Recipe) -> None:
    """Check for problems that would otherwise stop a run only after its corpus is encoded."""
    require("train", "torch", "scipy", "lap", purpose="training")
    check_backbones(recipe.features.text, recipe.features.image)
    vectors = recipe.words.word_vectors if recipe.words else None
    if vectors is not None and vectors not in (MINILM, WORD2VEC) and not Path(vectors).is_file():
        raise SettingError(f"text.word_vectors: there is no file {vectors}")


ENOUGH_PICTURES = 200
"""Number of training pictures from which adapting helped in each trial; see docs/train-your-own.md.

A picture counts once in a document and once with its caption alone."""


def too_few_pictures(corpora: Sequence[Path]) -> str | None:
    """Return a note if corpora have few pictures to learn from, else None; they are read no further than necessary."""
    pictures = 0
    for row in _training_rows(corpora):
        pictures += len(row.images)
        if pictures >= ENOUGH_PICTURES:
            return None
    return (
        f"{counted(pictures, 'picture')} to learn from, where training was seen to help from {ENOUGH_PICTURES} on, "
        "counted once in documents and once with their captions (iconotext corpus build pairs): the model may stay as "
        "it is"
    )


def _training_rows(corpora: Sequence[Path]) -> Iterator[Row]:
    files = (file for corpus in corpora for file in corpus_files(corpus))
    return (row for file in files for row in rows_of(file) if row.split in (None, "train"))


def check_run(recipe: Recipe, prepared: Prepared) -> None:
    """Check for problems that would otherwise end a run after its first epoch, or prevent it from learning."""
    if recipe.similarity.kind == "labelled-pairs":
        for split in ("train", "validation"):
            labelled_documents(prepared, recipe, split)
    if recipe.objective.coherence:
        labelled = prepared.labelled_relations
        missing = [name for name in recipe.objective.relations if name not in labelled]
        if missing or not labelled:
            relation = f"the relation {missing[0]}" if missing else "any relation"
            advice = f"; labelled are {', '.join(labelled)}" if labelled else ""
            raise CorpusError(
                "objective.coherence: no training document of one sentence and one image has a label of "
                f"{relation}{advice}"
            )
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


def check_corpora(recipe: Recipe, corpora: Sequence[Path]) -> None:
    """Check before anything is prepared that corpora are not too small for the warm-up; they are read no further."""
    training = recipe.training
    if training.warmup_steps:
        enough = (training.warmup_steps // training.epochs + 1) * training.batch
        documents = sum(1 for _ in islice(_training_rows(corpora), enough))
        check_warmup(recipe, -(-documents // training.batch) + len(corpora) - 1)


def check_warmup(recipe: Recipe, steps: int) -> None:
    """Check that the learning rate does not rise until the end of a run with ``steps`` steps per epoch."""
    warmup, steps = recipe.training.warmup_steps, recipe.training.epochs * steps
    if warmup >= max(steps, 1):
        raise SettingError(
            f"training.warmup_steps is {warmup:,}, but on this corpus the run has {steps:,} steps, so that the "
            f"learning rate never gets to training.learning_rate; set it to {max(steps // 10, 1):,} or so"
        )


def check_concepts(recipe: Recipe, names: Sequence[str]) -> None:
    """Check that the source of regions names concepts if an encoder reads them."""
    if recipe.reads_concepts and not names:
        raise FeatureError(
            f"{recipe.features.image}: does not say what is seen in its regions: write the objects or probabilities of "
            "regions into it, and the names of concepts beside it (NAME.concepts.txt), or set image.concepts = false"
        )


def with_init(recipe: Recipe) -> Recipe:
    """Give a recipe the encoders of the model that it starts from; unchanged if it names none."""
    if recipe.init is None:
        return recipe
    old = load_model(init_folder(recipe.init)).recipe
    inherited = {name: getattr(old, name) for name in ("dim", "features", "text", "image", "linking")}
    if _of_another_corpus(recipe.features.image, old.features.image):
        inherited["features"] = old.features.model_copy(update={"image": recipe.features.image})
    if old.words is not None:
        inherited["text"] = old.words.model_copy(update={"word_vectors": None})  # that model's word vectors are used
    resolved = recipe.model_copy(update=inherited)
    try:
        resolved.check_encoders()
    except ValueError as error:
        raise SettingError(f"the recipe, with the encoders of {recipe.init}: {error}") from error
    return resolved


def _of_another_corpus(new: str, old: str) -> bool:
    """Tell whether both are files of features; such a file belongs to one corpus, so it may differ."""
    tables = new.endswith(".npy") and old.endswith(".npy")
    return tables or (is_region_file(Path(new)) and (is_region_file(Path(old)) or Path(old).suffix in REGION_FILES))


def start_vocabulary(recipe: Recipe) -> Vocabulary | None:
    """Return the words to which the weights of the model to start from belong; None if the recipe names no model."""
    return None if recipe.init is None else load_model(init_folder(recipe.init)).vocabulary


def take_over(model: JointModel, old: StoredModel, prepared: Prepared, recipe: Recipe) -> None:
    """Copy the encoders of a model, and the weights of relations that both models predict.

    Scale and bias are not copied: they belong to the objective, which may differ. A file of features does not name the
    network that made it; of two files only the dimensions, and the concepts of their regions, are compared.
    """
    _take_encoders(model, old, prepared, recipe)
    if model.coherence is not None and old.model.coherence is not None:
        _continue_relations(model.coherence, learned_relations(recipe, prepared), old.model.coherence, old.relations)


def _take_encoders(model: JointModel, old: StoredModel, prepared: Prepared, recipe: Recipe) -> None:
    name, images = recipe.init, recipe.features.image
    for side, new in prepared.meta["backbones"].items():
        looked_up = side == "image" and (images.endswith(".npy") or is_region_file(Path(images)))
        if new != old.backbones.get(side) and not looked_up:
            raise FeatureError(f"{name}: was trained on the {side} backbone {old.backbones.get(side)}, not {new}")
    if old.concepts != (prepared.meta["concepts"] if recipe.reads_concepts else []):
        raise FeatureError(f"{name}: was trained on other concepts than those of {images}")
    try:
        model.text.load_state_dict(old.model.text.state_dict())
        model.image.load_state_dict(old.model.image.state_dict())
    except RuntimeError as error:
        raise FeatureError(
            f"{name}: does not fit the features of this corpus: {' '.join(str(error).split())}"
        ) from error


def _continue_relations(new: nn.Module, learned: Sequence[str], old: nn.Module, old_names: Sequence[str]) -> None:
    """Copy the weights of the relations that both predict; the others start with random weights.

    Of modules with another number of layers nothing is copied.
    """
    import torch

    parameters, old_parameters = (list(model.parameters()) for model in (new, old))
    if len(parameters) != len(old_parameters):
        return
    with torch.no_grad():
        for parameter, other in zip(parameters[:-2], old_parameters[:-2], strict=True):
            parameter.copy_(other)
        for parameter, other in zip(parameters[-2:], old_parameters[-2:], strict=True):
            for row, relation in enumerate(old_names):
                if relation in learned:
                    parameter[learned.index(relation)] = other[row]
