"""The rows of a table without training: random scores and object detection (Hessel 2019, §3.3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.encoders.stored_model import VOCABULARY
from iconotext.errors import FeatureError
from iconotext.evaluate.results import Results, Scored, evaluate, write_results
from iconotext.features.word_vectors import WORD2VEC, load_vocabulary, train_word2vec
from iconotext.papers.tables.comparison import Notify
from iconotext.papers.tables.folder import VALIDATION_K, about_results, results_path
from iconotext.papers.tables.rows import DETECTION, RANDOM, Row
from iconotext.system.files import write_text
from iconotext.train.prepared import Prepared, TrainingSentences

if TYPE_CHECKING:
    from iconotext.recipe import Recipe


def score_baselines(
    rows: Sequence[Row], prepared: Prepared, corpus: Path, recipe: Recipe, folder: Path, notify: Notify
) -> list[str]:
    """Score the rows without training, unless their scores exist; returns remarks for the report."""
    keys = {row.key for row in rows}
    if RANDOM in keys:
        score_random(prepared, corpus, folder)
    problem = None
    if DETECTION in keys:
        problem = score_object_detection(corpus, recipe, folder, notify, word_vector_file(recipe, prepared))
    return [] if problem is None else [f"Object detection: not possible here: {problem}."]


def score_random(prepared: Prepared, corpus: Path, folder: Path) -> None:
    """Score random numbers on the test documents, unless these scores exist."""
    from iconotext.evaluate.scores import random_scores

    path = results_path(folder, RANDOM)
    if path.is_file():
        return

    def scored() -> Iterator[Scored]:
        for document in prepared.linked_documents("test").tolist():
            sentences, images = (
                int(offsets[document + 1] - offsets[document])
                for offsets in (prepared.sentence_offsets, prepared.image_offsets)
            )
            name = prepared.ids[document]
            yield Scored(name, random_scores(name, sentences, images), prepared.links_of(document))

    write_results(Results(evaluate(scored()), about_results(corpus, RANDOM)), path)


def score_object_detection(
    corpus: Path, recipe: Recipe, folder: Path, notify: Notify, vectors: Path | None = None
) -> str | None:
    """Score object detection on the test documents, unless its scores exist; returns the reason if it cannot."""
    from iconotext.corpus.store import read_corpus
    from iconotext.encoders.encoder import load_bridge
    from iconotext.papers.analyses.object_detection import evaluate_object_detection

    path = results_path(folder, DETECTION)
    if path.is_file():
        return None
    notify("object detection")
    # A table of features has no classifier, nor have pixels; where there are picture files, the default has one.
    own_image = recipe.features.image != "pixels" and not recipe.features.image.endswith(".npy")
    try:
        encoder = load_bridge(
            image=recipe.features.image if own_image else None,
            text=None if recipe.features.text == "words" else recipe.features.text,
            word_vectors=vectors,
            word_dim=300 if recipe.words is None else recipe.words.word_dim,
            texts=(sentence.text for document in read_corpus(corpus) for sentence in document.sentences),
        )
        detection = evaluate_object_detection(
            (document for document in read_corpus(corpus) if document.split == "test"),
            (document for document in read_corpus(corpus) if document.split == "validation"),
            encoder,
        )
    except FeatureError as error:
        return str(error)
    if detection.chosen is not None:
        about = {**about_results(corpus, VALIDATION_K), "k": detection.validation_k}
        write_results(Results(detection.chosen, about), results_path(folder, VALIDATION_K), force=True)
    write_results(Results(detection.best, {**about_results(corpus, DETECTION), "k": detection.k}), path, force=True)
    return None


def word_vector_file(recipe: Recipe, prepared: Prepared) -> Path | None:
    """Return the file of a recipe's initial word vectors; None if it names none, or a text backbone.

    Vectors that word2vec learns from the training sentences are written beside the prepared corpus.
    """
    vectors = recipe.words.word_vectors if recipe.words else None
    if recipe.words is None or vectors is None or str(vectors) == "minilm":
        return None
    if str(vectors) != WORD2VEC or prepared.words is None:
        return Path(vectors)
    path = prepared.folder / f"{WORD2VEC}.txt"
    if not path.is_file():
        words = load_vocabulary(prepared.folder / VOCABULARY).words
        learned = TrainingSentences(prepared, prepared.words)
        found = train_word2vec(learned, len(words), dim=recipe.words.word_dim, seed=recipe.seed)
        lines = (
            f"{word} {' '.join(map(str, row))}" for word, row in zip(words, found.tolist(), strict=True) if any(row)
        )
        write_text(path, "\n".join(lines) + "\n", force=True)
    return path
