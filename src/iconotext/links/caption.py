"""Caption evidence: the texts of an image (caption, alt text, file name), compared with every sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from iconotext.embed.space import unit_rows
from iconotext.links.citing import looks
from iconotext.links.common_words import word_features
from iconotext.links.layout import block_ranks
from iconotext.links.matcher import PROBE, Matcher, load_matcher
from iconotext.links.words import file_words, text_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.links.cells import Cells, Ints
    from iconotext.types import Document, FloatMatrix, Image

Encode = Callable[[Sequence[str]], "FloatMatrix"]
"""Texts to (n, d) float32 unit vectors."""

Field = Literal["caption", "alt", "lone"]
"""The caption; the alt text beside a caption; the alt text or file name of an image without a caption."""

_SAMPLE = 256  # sentences of a document that are sampled for mean and spread: 30,000 pairs are enough
_TYPICAL_MEAN, _TYPICAL_SPREAD, _TYPICAL_WEIGHT = (
    0.2,
    0.14,
    20,
)  # MiniLM's values within a document, and the number of pairs that they count as

_FILE_LIKE = re.compile(r"^\S*$|\.(jpe?g|png|gif|webp|avif|svg)$|^[\d\W_]*$", re.IGNORECASE)


def texts_of(image: Image) -> dict[Field, str]:
    """The texts of an image, by field; empty if it has none."""
    caption = (image.caption or "").strip()
    alt = (image.alt or "").strip()
    if alt and _FILE_LIKE.search(alt):  # editors put the file name there
        alt = text_words(alt) or ""
    found: dict[Field, str] = {}
    if caption:
        found["caption"] = caption
        if alt and alt != caption:
            found["alt"] = alt
    elif lone := alt or file_words(image.source):
        found["lone"] = lone
    return found


def compared_text(image: Image) -> str | None:
    """The text of an image that is compared with sentences by meaning: caption, else alt text, else file name."""
    fields = texts_of(image)
    return fields.get("caption") or fields.get("lone")


class Reading(NamedTuple):
    """How the texts of a document become vectors.

    Attributes:
        encode: Texts to unit vectors.
        sentences: (S, d) vectors of the sentences, if they have been encoded already.
    """

    encode: Encode
    sentences: FloatMatrix | None = None


def caption_features(
    documents: Sequence[Document], cells: Cells, readings: Sequence[Reading], *, matcher: Matcher | None = None
) -> dict[str, FloatMatrix]:
    """Features that compare the texts of every image with every sentence.

    Args:
        matcher: Default: the matcher in the package.

    Returns:
        Name to (cells,) float32, 0 where an image has no text. ``caption.*``: see ``compared``, for ``compared_text``.
        ``texts.*``: the word features for all texts of an image together. ``looks.*``: see ``iconotext.links.citing``.
    """
    texts = [texts_of(image) for document in documents for image in document.images]
    own = [fields.get("caption") or fields.get("lone") for fields in texts]
    every = [" . ".join(fields.values()) or None for fields in texts]
    features = compared(documents, cells, own, readings, name="caption", also=every, matcher=matcher)
    present = np.array([text is not None for text in own])[cells.image]
    columns = looks(documents)
    shown = np.stack(list(columns.values()))[:, cells.sentence] * present
    features |= zip((f"looks.{name}" for name in columns), shown, strict=True)
    features["looks.cites"] = features.pop("caption.cites") * present
    return features


def compared(
    documents: Sequence[Document],
    cells: Cells,
    texts: Sequence[str | None],
    readings: Sequence[Reading],
    *,
    name: str,
    also: Sequence[str | None] | None = None,
    matcher: Matcher | None = None,
) -> dict[str, FloatMatrix]:
    """Features that compare one text for each image with every sentence.

    Args:
        texts: One for each image of the documents; None for an image without text.
        name: Prefix of the features' names.
        also: Longer texts, one for each image; only their words are compared, with the prefix ``texts.``.
        matcher: Default: the matcher in the package.

    Returns:
        Name to (cells,) float32, 0 where an image has no text: those of ``word_features``, and ``cos``, cosine as a z
        score against the cosines among the sentences, since encoders differ in their mean and spread; ``block``, the
        same for the mean vector of the sentence's block; ``match``, score of the matcher minus its mean over the
        sentences; ``rival``, ``match`` minus that of the best other image; ``cites``, how much the sentence is like
        sentences that cite.
    """
    present = np.array([bool(text) for text in texts])
    ranks = block_ranks(documents)
    matcher = matcher or load_matcher()
    vectors = list(_vectors(documents, cells, texts, readings))
    sentences = [own for own, _, _ in vectors]
    centre, spread = _scales(sentences)
    means, own_block = _block_means(sentences, cells, ranks)
    cos, block_cos, match, cites = [], [], [], []
    for number, (own, images, probe) in enumerate(vectors):
        fitting = matcher.fitting(probe, centre[number], spread[number])
        cos.append(own @ images.T)
        block_cos.append((means[number] @ images.T)[own_block[number]])
        match.append(fitting.match(own, images))
        cites.append(fitting.cites(own))
    shown, of = present[cells.image], cells.of_image[cells.image]
    matched = cells.joined(match) * shown
    matched -= cells.image_means(matched).astype(np.float32)[cells.image]
    features = {
        f"{name}.cos": (cells.joined(cos) - centre[of]) / spread[of] * shown,
        f"{name}.block": (cells.joined(block_cos) - centre[of]) / spread[of] * shown,
        f"{name}.match": matched,
        f"{name}.rival": _rival(cells, matched, present),
        f"{name}.cites": np.concatenate(cites)[cells.sentence],
    }
    every = [sentence.text for document in documents for sentence in document.sentences]
    several = [texts] if also is None or also == texts else [texts, also]
    words = word_features(cells, ranks, every, *several)
    features |= {f"{name}.{key}": value for key, value in words[0].items()}
    if also is not None:
        features |= {f"texts.{key}": value for key, value in words[-1].items()}
    return features


def _vectors(
    documents: Sequence[Document], cells: Cells, texts: Sequence[str | None], readings: Sequence[Reading]
) -> Iterator[tuple[FloatMatrix, FloatMatrix, FloatMatrix]]:
    """For each document the vectors of its sentences, its images' texts, and ``PROBE``."""
    firsts = cells.first_image.tolist()
    own = [texts[first : first + len(d.images)] for first, d in zip(firsts, documents, strict=True)]
    wanted: dict[Encode, dict[str, None]] = {}
    for document, some, reading in zip(documents, own, readings, strict=True):
        asked = wanted.setdefault(reading.encode, {})
        if reading.sentences is None:
            asked.update(dict.fromkeys(sentence.text for sentence in document.sentences))
        asked.update(dict.fromkeys(text for text in some if text))
    found = {encode: encode([*asked, PROBE]) for encode, asked in wanted.items()}
    rows = {encode: {text: row for row, text in enumerate(asked)} for encode, asked in wanted.items()}
    for document, some, (encode, sentences) in zip(documents, own, readings, strict=True):
        vectors, row = found[encode], rows[encode]
        if sentences is None:
            sentences = vectors[[row[sentence.text] for sentence in document.sentences]]
        images = vectors[[row[text] if text else -1 for text in some]]
        if not all(some):
            images[[not text for text in some]] = 0
        yield sentences, images, vectors[-1]


def _scales(several: Sequence[FloatMatrix]) -> tuple[FloatMatrix, FloatMatrix]:
    """(documents,) mean and standard deviation of the cosines among the sentences of each document.

    With few sentences they are drawn towards MiniLM's typical values. For vectors of zeros they are 0 and 1.
    """
    samples = [vectors[:: max(1, -(-len(vectors) // _SAMPLE))] for vectors in several]
    sizes = np.array([len(sample) for sample in samples])
    begin = np.cumsum(sizes**2) - sizes**2
    cosines = np.concatenate([(sample @ sample.T).ravel() for sample in samples]).astype(np.float64)
    rows = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    diagonal = np.repeat(begin, sizes) + rows * (np.repeat(sizes, sizes) + 1)
    first, total = np.cumsum(sizes) - sizes, sizes * (sizes - 1) / 2 + _TYPICAL_WEIGHT

    def of_pairs(symmetric: NDArray[np.float64]) -> NDArray[np.float64]:
        """(documents,) the sums below the diagonals."""
        return np.asarray(np.add.reduceat(symmetric, begin) - np.add.reduceat(symmetric[diagonal], first)) / 2

    centre = (of_pairs(cosines) + _TYPICAL_WEIGHT * _TYPICAL_MEAN) / total
    squares = np.square(cosines - np.repeat(centre, sizes**2))
    variance = (of_pairs(squares) + _TYPICAL_WEIGHT * _TYPICAL_SPREAD**2) / total
    read = np.add.reduceat(cosines[diagonal], first) > 0
    return np.where(read, centre, 0).astype(np.float32), np.where(read, np.sqrt(variance), 1).astype(np.float32)


def _block_means(
    several: Sequence[FloatMatrix], cells: Cells, ranks: Ints
) -> tuple[Sequence[FloatMatrix], Sequence[Ints]]:
    """For each document the unit mean vector of each block, and the block number of each sentence."""
    own = np.split(ranks, cells.first_sentence[1:])
    begins = np.diff(ranks, prepend=-1) != 0
    begins[cells.first_sentence] = True
    blocks = np.cumsum([int(each[-1]) + 1 for each in own])[:-1]
    if len({vectors.shape[1] for vectors in several}) > 1:  # some in a language that the encoder does not know
        parts = zip(several, np.split(begins, cells.first_sentence[1:]), strict=True)
        return [_directions(vectors, begin) for vectors, begin in parts], own
    return np.split(_directions(np.concatenate(several), begins), blocks), own


def _directions(vectors: FloatMatrix, begins: NDArray[np.bool_]) -> FloatMatrix:
    """Unit vectors of the sums of consecutive rows; ``begins`` marks the first row of each sum."""
    return unit_rows(np.add.reduceat(vectors, np.flatnonzero(begins), axis=0))


def _rival(cells: Cells, score: FloatMatrix, present: NDArray[np.bool_]) -> FloatMatrix:
    """Score of each cell minus the best score of another image for its sentence; 0 if only one image has a text."""
    there = present[cells.image]
    shown = np.where(there, score, -np.inf)
    best = cells.sentence_tops(shown)[cells.sentence]
    is_best = shown == best
    several = cells.sentence_sums(is_best)[cells.sentence] > 1
    second = cells.sentence_tops(np.where(is_best, -np.inf, shown))[cells.sentence]
    other = np.where(is_best & ~several, second, best)
    there &= np.isfinite(other)
    return np.subtract(score, other, out=np.zeros_like(score), where=there)
