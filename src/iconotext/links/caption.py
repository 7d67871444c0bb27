"""Caption evidence: what is written about an image, compared with every sentence as text."""

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

_SAMPLE = 256  # sentences whose cosines are used: 30,000 pairs are enough for two numbers
_TYPICAL_MEAN, _TYPICAL_SPREAD, _TYPICAL_WEIGHT = (
    0.2,
    0.14,
    20,
)  # MiniLM's within a document, and for how many pairs they count

_FILE_LIKE = re.compile(r"^\S*$|\.(jpe?g|png|gif|webp|avif|svg)$|^[\d\W_]*$", re.IGNORECASE)


def texts_of(image: Image) -> dict[Field, str]:
    """What is written about an image, by field; empty where nothing is."""
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
    """The text of an image that is compared with sentences by meaning: its caption, else what stands for one."""
    fields = texts_of(image)
    return fields.get("caption") or fields.get("lone")


class Reading(NamedTuple):
    """How the texts of a document become vectors.

    Attributes:
        encode: Texts to unit vectors.
        sentences: (S, d) what it gives for the sentences, where that is known.
    """

    encode: Encode
    sentences: FloatMatrix | None = None


def caption_features(
    documents: Sequence[Document], cells: Cells, readings: Sequence[Reading], *, matcher: Matcher | None = None
) -> dict[str, FloatMatrix]:
    """Features that compare what is written about every image with every sentence.

    Args:
        matcher: What has learned which sentences cite; that of the package by default.

    Returns:
        Name to (cells,) float32; 0 where an image has no text. See ``compared`` for the names that begin with
        ``caption.``, for the caption, or else the alt text or the file name; those with ``texts.`` are the same for
        all texts of an image together; those with ``looks.`` are of ``iconotext.links.citing``.
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
    """Features that compare one text an image with every sentence.

    Args:
        texts: Of each image of the documents; None for none.
        name: What the names of the features begin with.
        also: Longer texts of the images, of which only the words are compared, under ``texts.``.
        matcher: That of the package by default.

    Returns:
        Name to (cells,) float32; 0 where an image has no text. Of words see ``word_features``; besides
        ``cos`` cosine in standard deviations of the cosines among the sentences from their mean: encoders differ in
        both; ``block`` the same for the mean of the sentences of a block; ``match`` how well they match by what the
        matcher has learned, above the mean over the sentences; ``rival`` by how much it exceeds the best of the
        other images; ``cites`` how much the sentence is like those that cite.
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
    """Of each document the vectors of its sentences, of the texts of its images, and of ``PROBE``."""
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
    """Mean and standard deviation of the cosines among the sentences of each document.

    Of few sentences, they are near MiniLM's typical ones.
    Vectors of zeros, for texts that the encoder cannot read, leave all cosines at 0.
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
    """Of each document unit vectors in the direction of the mean of each block's sentences, and their blocks."""
    own = np.split(ranks, cells.first_sentence[1:])
    begins = np.diff(ranks, prepend=-1) != 0
    begins[cells.first_sentence] = True
    blocks = np.cumsum([int(each[-1]) + 1 for each in own])[:-1]
    if len({vectors.shape[1] for vectors in several}) > 1:  # some in a language that the encoder does not know
        parts = zip(several, np.split(begins, cells.first_sentence[1:]), strict=True)
        return [_directions(vectors, begin) for vectors, begin in parts], own
    return np.split(_directions(np.concatenate(several), begins), blocks), own


def _directions(vectors: FloatMatrix, begins: NDArray[np.bool_]) -> FloatMatrix:
    """Unit vectors in the direction of the sums of rows, each from where one begins."""
    return unit_rows(np.add.reduceat(vectors, np.flatnonzero(begins), axis=0))


def _rival(cells: Cells, score: FloatMatrix, present: NDArray[np.bool_]) -> FloatMatrix:
    """By how much a cell exceeds the best other image of its sentence; 0 where only one image has a text."""
    there = present[cells.image]
    shown = np.where(there, score, -np.inf)
    best = cells.sentence_tops(shown)[cells.sentence]
    is_best = shown == best
    several = cells.sentence_sums(is_best)[cells.sentence] > 1
    second = cells.sentence_tops(np.where(is_best, -np.inf, shown))[cells.sentence]
    other = np.where(is_best & ~several, second, best)
    there &= np.isfinite(other)
    return np.subtract(score, other, out=np.zeros_like(score), where=there)
