"""What the test documents of a table are seen through where their difficulty is explained: images and sentences."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from iconotext.papers.tables.baselines import word_vector_file

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.recipe import Recipe
    from iconotext.train.prepared import Prepared
    from iconotext.types import FloatMatrix


def vectors_of(
    corpus: Path, recipe: Recipe, prepared: Prepared, images: NDArray[np.floating], wanted: Collection[str]
) -> Iterator[tuple[str, FloatMatrix, FloatMatrix]]:
    """Id, (m, dim) images and (n, dim) sentences of test documents, in the order of the corpus.

    Args:
        recipe: Says which word vectors or text backbone.
    """
    from iconotext.corpus.store import read_corpus

    numbers = {prepared.ids[number]: number for number in prepared.documents("test").tolist()}
    encode = _sentence_vectors(corpus, recipe, prepared)
    for document in read_corpus(corpus):
        if document.id in wanted and document.id in numbers:
            vectors = np.asarray(images[rows_of(prepared, numbers[document.id])], np.float32)
            yield document.id, vectors, encode([sentence.text for sentence in document.sentences])


def rows_of(prepared: Prepared, document: int) -> NDArray[np.int64]:
    """Where the images of a document lie."""
    return np.asarray(prepared.image_rows[prepared.image_offsets[document] : prepared.image_offsets[document + 1]])


def seen_through(recipe: Recipe, prepared: Prepared) -> str:
    """A sentence for people that says what the vectors are."""
    file = word_vector_file(recipe, prepared)
    text = recipe.features.text if recipe.features.text != "words" else "the text backbone that comes with the program"
    of_text = f"mean word vectors of {file.name}" if file else text
    image = recipe.features.image
    of_image = Path(image).name if image.endswith(".npy") else prepared.meta["backbones"]["image"]
    paper = "the paper has DenseNet169 and mean word2vec vectors"
    return f"Spread of images by {of_image}, of sentences by {of_text}; {paper}."


def _sentence_vectors(corpus: Path, recipe: Recipe, prepared: Prepared) -> Callable[[Sequence[str]], FloatMatrix]:
    """Mean word vectors, as in the paper, where the recipe names a file of them; else a text backbone."""
    from iconotext.corpus.store import read_corpus
    from iconotext.features import FeatureCache, cached_text, load_text_backbone
    from iconotext.features.word_vectors import mean_words

    file = word_vector_file(recipe, prepared)
    if file is not None and recipe.words is not None:
        texts = (sentence.text for document in read_corpus(corpus) for sentence in document.sentences)
        return mean_words(file, recipe.words.word_dim, texts).encode
    words = recipe.features.text == "words"
    text = load_text_backbone() if words else load_text_backbone(recipe.features.text)
    return cached_text(text, FeatureCache()).encode
