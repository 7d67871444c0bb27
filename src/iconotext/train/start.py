"""The model of a run before its first step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from iconotext.embed.folder import VOCABULARY, init_folder, load_model
from iconotext.errors import SettingError
from iconotext.features.word2vec import WORD2VEC
from iconotext.train.checks import check_concepts
from iconotext.train.init import take_over
from iconotext.train.prepared import TrainingSentences, learned_relations

if TYPE_CHECKING:
    from iconotext.embed.build import Inputs
    from iconotext.embed.model import JointModel
    from iconotext.features.vocabulary import Vocabulary
    from iconotext.recipe import Recipe
    from iconotext.train.prepared import Prepared
    from iconotext.types import FloatMatrix


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
