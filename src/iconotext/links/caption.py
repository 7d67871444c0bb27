"""Caption evidence: what is written about an image, compared with every sentence as text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from iconotext.links.words import WordIndex, file_words, names, stems, text_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.types import Document, FloatMatrix, Image

Encode = Callable[[Sequence[str]], "FloatMatrix"]
"""Texts to (n, d) float32 unit vectors."""

Field = Literal["caption", "alt", "lone"]
"""The caption; the alt text beside a caption; the alt text or file name of an image without a caption."""

FIELDS: tuple[Field, ...] = ("caption", "alt", "lone")

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
    if _FILE_LIKE.search(alt):  # editors put the file name there
        alt = text_words(alt) or ""
    found: dict[Field, str] = {}
    if caption:
        found["caption"] = caption
        if alt and alt != caption:
            found["alt"] = alt
    elif lone := alt or file_words(image.source):
        found["lone"] = lone
    return found


def caption_features(
    document: Document, encode: Encode, *, sentence_vectors: FloatMatrix | None = None
) -> dict[str, FloatMatrix]:
    """Features that compare caption, alt text and file name of every image with every sentence.

    Args:
        document: With S sentences and V images.
        encode: Called once, with every text that is needed.
        sentence_vectors: (S, d) what ``encode`` gives for the sentences, where the caller has it.

    Returns:
        Name to (S, V) float32; 0 in the column of an image that lacks the field. An empty dict where no image has
        any text, or a side is empty. For each field:
        ``cos`` cosine of sentence and text, in standard deviations of the cosines among the sentences from their mean:
        encoders differ in both;
        ``rival`` by how much that exceeds the best among the other images;
        ``around`` mean of the two neighbouring sentences;
        ``share`` idf of the common words over that of the text;
        ``cover`` the same over that of the sentence;
        ``common`` log(1 + idf of the common words);
        ``first`` the same of those that the sentence is the first in its block to hold: things are introduced once;
        ``rare`` highest idf of a common word;
        ``names`` log(1 + idf of the common names and numbers).
    """
    texts = [texts_of(image) for image in document.images]
    sentences = [sentence.text for sentence in document.sentences]
    if not sentences or not any(texts):
        return {}
    wanted = list(dict.fromkeys(text for fields in texts for text in fields.values()))
    if sentence_vectors is None:
        vectors = encode([*sentences, *wanted])
        sentence_vectors, vectors = vectors[: len(sentences)], vectors[len(sentences) :]
    else:
        vectors = encode(wanted)
    centre, spread = _scale(sentence_vectors)
    cosines = (sentence_vectors @ vectors.T - centre) / spread  # (S, number of texts)
    column = {text: k for k, text in enumerate(wanted)}
    words = WordIndex.of(sentences)
    named_in = _postings(sentences)
    blocks = np.array([-1 if s.block is None else s.block for s in document.sentences], dtype=np.int64)
    weights = np.maximum(np.array(words.weights(), dtype=np.float32), np.float32(1.0))[:, None]

    shape = (len(sentences), len(texts))
    features: dict[str, FloatMatrix] = {}
    for field in FIELDS:
        present = np.array([field in fields for fields in texts], dtype=np.bool_)
        if not present.any():
            continue
        cos, common, first, rare, named, share = (np.zeros(shape, np.float32) for _ in range(6))
        for j in np.flatnonzero(present):
            text = texts[j][field]
            cos[:, j] = cosines[:, column[text]]
            share[:, j] = _overlap(text, words, named_in, blocks, common[:, j], first[:, j], rare[:, j], named[:, j])
        features |= {
            f"{field}.cos": cos,
            f"{field}.rival": _rival(cos, present),
            f"{field}.around": _around(cos),
            f"{field}.share": share,
            f"{field}.cover": (common / weights).astype(np.float32, copy=False),
            f"{field}.common": np.log1p(common),
            f"{field}.first": np.log1p(first),
            f"{field}.rare": rare,
            f"{field}.names": np.log1p(named),
        }
    return features


def _postings(sentences: Sequence[str]) -> dict[str, list[int]]:
    """Name to the sentences that hold it as a name."""
    postings: dict[str, list[int]] = {}
    for i, sentence in enumerate(sentences):
        for name in names(sentence):
            postings.setdefault(name, []).append(i)
    return postings


def _scale(vectors: FloatMatrix) -> tuple[np.float32, np.float32]:
    """Mean and standard deviation of the cosines among the sentences; of few, near MiniLM's typical ones.

    Vectors of zeros, for texts that the encoder cannot read, leave all cosines at 0.
    """
    if not vectors.any():
        return np.float32(0), np.float32(1)
    step = max(1, -(-len(vectors) // _SAMPLE))
    sample = vectors[::step]
    cosines = (sample @ sample.T)[np.triu_indices(len(sample), k=1)].astype(np.float64)
    total = len(cosines) + _TYPICAL_WEIGHT
    centre = (cosines.sum() + _TYPICAL_WEIGHT * _TYPICAL_MEAN) / total
    variance = (np.square(cosines - centre).sum() + _TYPICAL_WEIGHT * _TYPICAL_SPREAD**2) / total
    return np.float32(centre), np.float32(np.sqrt(variance))


def _overlap(
    text: str,
    words: WordIndex,
    named_in: Mapping[str, list[int]],
    blocks: NDArray[np.int64],
    common: NDArray[np.float32],
    first: NDArray[np.float32],
    rare: NDArray[np.float32],
    named: NDArray[np.float32],
) -> NDArray[np.float32]:
    """Adds a text's words to the (S,) columns of common idf, first mentions, rarest word and names; gives the share."""
    telling = names(text)
    total = 0.0
    for word in sorted(stems(text)):  # sorted: sums of floats must not depend on the hash seed
        idf = words.idf(word)
        total += idf
        holders = np.array(words.postings.get(word, ()), dtype=np.int64)
        if not len(holders):
            continue
        common[holders] += idf
        rare[holders] = np.maximum(rare[holders], idf)
        first[holders[np.diff(blocks[holders], prepend=-2) != 0]] += idf
        if word in telling:
            named[named_in.get(word, [])] += idf
    share: NDArray[np.float32] = common / np.float32(max(total, 1.0))
    return share


def _rival(cos: FloatMatrix, present: NDArray[np.bool_]) -> FloatMatrix:
    """By how much a cell exceeds the best other image of its row; 0 where only one image has the field."""
    if np.count_nonzero(present) < 2:
        return np.zeros_like(cos)
    shown = np.where(present, cos, -np.inf)
    top = np.partition(shown, -2, axis=1)[:, -2:]
    best, second = top[:, 1:], top[:, :1]
    result: FloatMatrix = np.where(present, cos - np.where(shown == best, second, best), 0.0).astype(np.float32)
    return result


def _around(cos: FloatMatrix) -> FloatMatrix:
    """Mean of the cells above and below; at the ends, the one there is."""
    if len(cos) < 2:
        return np.zeros_like(cos)
    padded = np.concatenate([cos[1:2], cos, cos[-2:-1]])
    result: FloatMatrix = (padded[:-2] + padded[2:]) / np.float32(2)
    return result
