"""What a run starts from: vocabulary, sizes, and the first weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from iconotext.embed.folder import VOCABULARY, init_folder, load_model
from iconotext.errors import CorpusError, FeatureError, SettingError
from iconotext.features import check_backbones
from iconotext.features.regions.files import is_region_file
from iconotext.features.word2vec import WORD2VEC
from iconotext.features.word_vectors import MINILM
from iconotext.recipe.settings import REGION_FILES
from iconotext.train.labelled import labelled_documents
from iconotext.train.prepared import TrainingSentences

if TYPE_CHECKING:
    from torch import nn

    from iconotext.embed.build import Inputs
    from iconotext.embed.folder import StoredModel
    from iconotext.embed.model import JointModel
    from iconotext.features.vocabulary import Vocabulary
    from iconotext.recipe import Recipe
    from iconotext.train.prepared import Prepared
    from iconotext.types import FloatMatrix


def with_init(recipe: Recipe) -> Recipe:
    """The recipe with the encoders of the model that it starts from, if it names one.

    Raises:
        SettingError: It has settings that those encoders have no use for.
        FeatureError: The model cannot be read.
    """
    if recipe.init is None:
        return recipe
    old = load_model(init_folder(recipe.init)).recipe
    taken = {name: getattr(old, name) for name in ("dim", "features", "text", "image", "linking")}
    if _of_another_corpus(recipe.features.image, old.features.image):
        taken["features"] = old.features.model_copy(update={"image": recipe.features.image})
    if old.words is not None:
        taken["text"] = old.words.model_copy(update={"word_vectors": None})  # that model's went on from there
    resolved = recipe.model_copy(update=taken)
    try:
        resolved.check_encoders()
    except ValueError as error:
        raise SettingError(f"the recipe, with the encoders of {recipe.init}: {error}") from error
    return resolved


def _of_another_corpus(new: str, old: str) -> bool:
    """Whether both are files of features, which hold those of one corpus."""
    tables = new.endswith(".npy") and old.endswith(".npy")
    return tables or (is_region_file(Path(new)) and (is_region_file(Path(old)) or Path(old).suffix in REGION_FILES))


def check_start(recipe: Recipe) -> None:
    """Raise what would stop a run only after its corpus is encoded.

    Raises:
        SettingError: The file of word vectors is not there.
        FeatureError: There is no such backbone.
    """
    check_backbones(recipe.features.text, recipe.features.image)
    vectors = recipe.words.word_vectors if recipe.words else None
    if vectors is not None and vectors not in (MINILM, WORD2VEC) and not Path(vectors).is_file():
        raise SettingError(f"text.word_vectors: there is no file {vectors}")


def check_run(recipe: Recipe, prepared: Prepared) -> None:
    """Raise what would make a run end after its first epoch, or learn nothing.

    Raises:
        CorpusError: Labelled pairs are wanted, and there are none to train on or to validate on; or relations, and
            none are labelled; or a median rank, and documents are no pairs.
        SettingError: The learning rate would rise until the end.
    """
    from iconotext.train.batches import epoch_batches

    if recipe.similarity.kind == "labelled-pairs":
        for split in ("train", "validation"):
            labelled_documents(prepared, recipe, split)
    _check_relations(recipe, prepared)
    if recipe.training.choose == "median-rank" and not prepared.all_single("validation"):
        raise CorpusError(
            'training.choose = "median-rank" needs validation documents of one sentence and one image each; '
            'with others set training.choose = "loss"'
        )
    warmup = recipe.training.warmup_steps
    if warmup:
        steps = recipe.training.epochs * len(epoch_batches(prepared, recipe, "train", 0))
        if warmup >= steps:
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


def told_relations(recipe: Recipe, prepared: Prepared) -> list[str]:
    """Names of the relations that a model of the recipe tells, by number; none without the coherence objective."""
    return (recipe.objective.relations or prepared.labelled_relations) if recipe.objective.coherence else []


def check_concepts(recipe: Recipe, names: Sequence[str]) -> None:
    """Raise if an encoder shall read concepts where none are named.

    Raises:
        FeatureError: The source of regions names nothing.
    """
    if recipe.reads_concepts and not names:
        raise FeatureError(
            f"{recipe.features.image}: names nothing that is seen in its regions; give it the names of its concepts, "
            "or set image.concepts = false"
        )


def start_vocabulary(recipe: Recipe) -> Vocabulary | None:
    """The words of the model that the recipe starts from: its weights belong to them, whatever the new corpus has."""
    return None if recipe.init is None else load_model(init_folder(recipe.init)).vocabulary


class Start(NamedTuple):
    """The model before its first step.

    Attributes:
        model: The same for the same seed.
        inputs: Sizes of what the encoders read.
        vocabulary: Of encoders that read words.
    """

    model: JointModel
    inputs: Inputs
    vocabulary: Vocabulary | None


def new_model(recipe: Recipe, prepared: Prepared, *, first: bool = True) -> Start:
    """The model before its first step, the same for the same seed.

    Args:
        recipe: The resolved recipe.
        prepared: The corpus.
        first: Whether its weights matter; those of a run that goes on come from the checkpoint.

    Raises:
        FeatureError: The model to start from was trained on other features, or the word vectors cannot be read.
        SettingError: The file of word vectors knows none of the words.
    """
    import torch

    from iconotext.embed.build import Inputs
    from iconotext.embed.model import JointModel
    from iconotext.features.vocabulary import load_vocabulary

    vocabulary = load_vocabulary(prepared.folder / VOCABULARY) if recipe.words else None
    names: list[str] = prepared.meta["concepts"] if recipe.reads_concepts else []
    check_concepts(recipe, names)
    words = [vocabulary.ids(name, max_tokens=len(name)) for name in names] if vocabulary else []
    inputs = Inputs(
        words=len(vocabulary) if vocabulary else 0,
        text_features=prepared.meta["text_features"],
        image_features=prepared.meta["image_features"],
        concepts=len(names),
        concept_words=sum(map(len, words)),
        relations=len(told_relations(recipe, prepared)),
    )
    torch.manual_seed(recipe.seed)
    model = JointModel(recipe, inputs)
    if names:
        model.set_concepts(words if vocabulary else torch.from_numpy(_encoded(recipe, names)))
    if first and recipe.init is not None:
        _continue(model, load_model(init_folder(recipe.init)), prepared, recipe)
    elif first and recipe.words is not None and recipe.words.word_vectors is not None and vocabulary is not None:
        vectors = _word_vectors(recipe.words.word_vectors, recipe.words.word_dim, recipe.seed, prepared, vocabulary)
        model.set_word_vectors(torch.from_numpy(vectors))
    return Start(model, inputs, vocabulary)


def _word_vectors(source: str, dim: int, seed: int, prepared: Prepared, vocabulary: Vocabulary) -> FloatMatrix:
    """(V, dim) what the word vectors start from, zeros for a word without one."""
    if source == WORD2VEC and prepared.words is not None:
        from iconotext.features.word2vec import train_word2vec

        return train_word2vec(TrainingSentences(prepared, prepared.words), len(vocabulary), dim=dim, seed=seed)
    from iconotext.features.word_vectors import load_word_vectors

    vectors, found = load_word_vectors(source, vocabulary.words, dim=dim)
    if not found:
        raise SettingError(f"{source}: has no vector for any of the {len(vocabulary)} words")
    return vectors


def _encoded(recipe: Recipe, names: Sequence[str]) -> FloatMatrix:
    """(C, features) the names of concepts as the text backbone has them."""
    from iconotext.features import FeatureCache, cached_text, load_text_backbone

    return cached_text(load_text_backbone(recipe.features.text), FeatureCache()).encode(names)


def _continue(model: JointModel, old: StoredModel, prepared: Prepared, recipe: Recipe) -> None:
    """Take over the encoders, and what is known of relations that are told further on.

    Scale and bias belong to the objective, which may be another one.
    A file of features says nothing about the network it is from; of two files only the dimensions are compared, and
    what can be seen in their regions.
    """
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
    if model.coherence is not None and old.model.coherence is not None:
        _continue_relations(model.coherence, told_relations(recipe, prepared), old.model.coherence, old.relations)


def _continue_relations(new: nn.Linear, told: Sequence[str], old: nn.Linear, known: Sequence[str]) -> None:
    """Take over what is known of the relations that both tell; the others begin anew."""
    import torch

    with torch.no_grad():
        for row, relation in enumerate(known):
            if relation in told:
                new.weight[told.index(relation)] = old.weight[row]
                new.bias[told.index(relation)] = old.bias[row]
