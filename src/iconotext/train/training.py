"""The state of a training run in one of its processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from iconotext.embed.folder import VOCABULARY, init_folder, load_model
from iconotext.errors import SettingError
from iconotext.features.word2vec import WORD2VEC
from iconotext.recipe import Recipe, dump_recipe
from iconotext.train.checkpoint import Checkpoint, Progress, save_checkpoint
from iconotext.train.checks import check_concepts
from iconotext.train.init import take_over
from iconotext.train.prepared import Prepared, TrainingSentences, learned_relations
from iconotext.train.step import make_optimizer

if TYPE_CHECKING:
    from torch.optim import AdamW

    from iconotext.embed.inputs import Inputs
    from iconotext.embed.model import JointModel
    from iconotext.features.vocabulary import Vocabulary
    from iconotext.recipe import Recipe
    from iconotext.train.parallel import Processes, Watcher
    from iconotext.train.prepared import Prepared
    from iconotext.types import FloatMatrix


class Start(NamedTuple):
    """The model before its first step; the same for the same seed."""

    model: JointModel
    inputs: Inputs
    vocabulary: Vocabulary | None


def new_model(recipe: Recipe, prepared: Prepared, *, first: bool = True) -> Start:
    """Make the model before its first step; the same for the same seed.

    Args:
        first: Whether its weights are used; a continued run takes them from the checkpoint.

    Raises:
        FeatureError: The model to start from was trained on other features, or the word vectors cannot be read.
        SettingError: The file of word vectors has none of the words.
    """
    import torch

    from iconotext.embed.inputs import Inputs
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
        relations=len(learned_relations(recipe, prepared)),
    )
    torch.manual_seed(recipe.seed)
    model = JointModel(recipe, inputs)
    if names:
        model.set_concepts(words if vocabulary else torch.from_numpy(_encoded(recipe, names)))
    if first and recipe.init is not None:
        take_over(model, load_model(init_folder(recipe.init)), prepared, recipe)
    elif first and recipe.words is not None and recipe.words.word_vectors is not None and vocabulary is not None:
        vectors = _word_vectors(recipe.words.word_vectors, recipe.words.word_dim, recipe.seed, prepared, vocabulary)
        model.set_word_vectors(torch.from_numpy(vectors))
    return Start(model, inputs, vocabulary)


def _word_vectors(source: str, dim: int, seed: int, prepared: Prepared, vocabulary: Vocabulary) -> FloatMatrix:
    """(V, dim) initial word vectors; zeros for a word without one."""
    if source == WORD2VEC and prepared.words is not None:
        from iconotext.features.word2vec import train_word2vec

        return train_word2vec(TrainingSentences(prepared, prepared.words), len(vocabulary), dim=dim, seed=seed)
    from iconotext.features.word_vectors import load_word_vectors

    vectors, found = load_word_vectors(source, vocabulary.words, dim=dim)
    if not found:
        raise SettingError(f"{source}: has no vector for any of the {len(vocabulary)} words")
    return vectors


def _encoded(recipe: Recipe, names: Sequence[str]) -> FloatMatrix:
    """(C, features) names of concepts, encoded by the text backbone."""
    from iconotext.features import FeatureCache, cached_text, load_text_backbone

    return cached_text(load_text_backbone(recipe.features.text), FeatureCache()).encode(names)


@dataclass(eq=False)
class Training:
    """The state of a run in one of its processes.

    Attributes:
        watcher: Shows progress; only in the first process.
        encode: The model, wrapped by ``processes``.
    """

    recipe: Recipe
    prepared: Prepared
    folder: Path
    processes: Processes
    watcher: Watcher | None
    start: Start
    encode: Callable[..., Any]
    optimizer: AdamW
    progress: Progress

    @property
    def model(self) -> JointModel:
        """The unwrapped model."""
        return self.start.model

    @property
    def trained_by(self) -> Recipe:
        """The recipe; with its remedy, if the run learned nothing and was restarted."""
        if self.progress.collapsed is None:
            return self.recipe
        objective = self.recipe.objective
        remedy = objective.model_copy(update={"mean_epochs": objective.remedy_epochs})
        return self.recipe.model_copy(update={"objective": remedy})

    def begin_again(self) -> None:
        """Restart, remembering only that nothing was learned."""
        self.model.load_state_dict(new_model(self.recipe, self.prepared).model.state_dict())
        self.optimizer = make_optimizer(self.model, self.recipe)
        self.progress = Progress(collapsed=self.progress.epoch)

    @property
    def main(self) -> bool:
        """Whether this process writes the files."""
        return self.processes.global_rank == 0

    def save_checkpoint(self) -> None:
        """Write everything that is needed to continue."""
        save_checkpoint(
            self.folder,
            Checkpoint(
                dump_recipe(self.recipe),
                self.prepared.meta["key"],
                self.progress,
                self.model.state_dict(),
                self.optimizer.state_dict(),
            ),
        )
