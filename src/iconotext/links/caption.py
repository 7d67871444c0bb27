"""Caption evidence: what is written about a picture, compared with every sentence as text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from iconotext.links.words import WordIndex, file_words, names, stems, text_words

if TYPE_CHECKING:
    from iconotext.types import Document, FloatMatrix, Image

Encode = Callable[[Sequence[str]], "FloatMatrix"]
"""Texts to (n, d) float32 unit vectors."""

Field = Literal["caption", "alt", "lone"]
"""The caption; the alt text beside a caption; the alt text or file name of a picture without a caption."""

FIELDS: tuple[Field, ...] = ("caption", "alt", "lone")

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[\"'“‘(]*[A-ZÀ-ÞА-Я0-9])|(?<=[。！？])")
_FILE_LIKE = re.compile(r"^\S*$|\.(jpe?g|png|gif|webp|avif|svg)$|^[\d\W_]*$", re.IGNORECASE)


def texts_of(image: Image) -> dict[Field, str]:
    """What is written about an image, by field; empty where nothing is."""
    caption = (image.caption or "").strip()
    alt = (image.alt or "").strip()
    if _FILE_LIKE.search(alt):  # editors put the file name there
        alt = text_words(alt) or ""
    if caption:
        return {"caption": caption} | ({"alt": alt} if alt and alt != caption else {})
    lone = alt or file_words(image.source)
    return {"lone": lone} if lone else {}


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
        ``cos`` cosine of sentence and text;
        ``part`` cosine of the best fitting sentence of the text;
        ``rival`` by how much that exceeds the best among the other images;
        ``around`` mean cosine of the two neighbouring sentences;
        ``share`` idf of the common words over that of the text;
        ``cover`` the same over that of the sentence;
        ``common`` log(1 + idf of the common words);
        ``names`` log(1 + idf of the common names and numbers).
    """
    texts = [texts_of(image) for image in document.images]
    sentences = [sentence.text for sentence in document.sentences]
    if not sentences or not any(texts):
        return {}
    parts = {text: _parts(text) for fields in texts for text in fields.values()}
    wanted = list(dict.fromkeys([text for text in parts] + [part for some in parts.values() for part in some]))
    if sentence_vectors is None:
        vectors = encode([*sentences, *wanted])
        sentence_vectors, vectors = vectors[: len(sentences)], vectors[len(sentences) :]
    else:
        vectors = encode(wanted)
    cosines = sentence_vectors @ vectors.T  # (S, number of texts)
    column = {text: k for k, text in enumerate(wanted)}

    words = WordIndex.of(sentences)
    name_sets = [names(sentence) for sentence in sentences]
    weights = np.array([0.0] * len(sentences), dtype=np.float32)
    for word, holders in words.postings.items():
        weights[holders] += words.idf(word)

    shape = (len(sentences), len(texts))
    features: dict[str, FloatMatrix] = {}
    for field in FIELDS:
        if not any(field in fields for fields in texts):
            continue
        cos, part, common, share, named = (np.zeros(shape, np.float32) for _ in range(5))
        present = np.zeros(len(texts), dtype=np.bool_)
        for j, fields in enumerate(texts):
            if field not in fields:
                continue
            text = fields[field]
            present[j] = True
            cos[:, j] = cosines[:, column[text]]
            part[:, j] = cosines[:, [column[p] for p in (text, *parts[text])]].max(axis=1)
            common[:, j], share[:, j], named[:, j] = _overlap(text, words, name_sets)
        around = _around(cos)
        features |= {
            f"{field}.cos": cos,
            f"{field}.part": part,
            f"{field}.rival": _rival(part, present),
            f"{field}.around": around,
            f"{field}.share": share,
            f"{field}.cover": common / np.maximum(weights, 1.0)[:, None],
            f"{field}.common": np.log1p(common),
            f"{field}.names": np.log1p(named),
        }
    return features


def _parts(text: str) -> list[str]:
    """The sentences of a caption, if there are several."""
    parts = [part.strip() for part in _SENTENCE_END.split(text) if len(part.strip()) > 2]
    return parts if len(parts) > 1 else []


def _overlap(
    text: str, words: WordIndex, name_sets: Sequence[set[str]]
) -> tuple[FloatMatrix, FloatMatrix, FloatMatrix]:
    """(S,) idf of the words common with each sentence, its share in the text's, and idf of the common names."""
    size = len(words.lengths)
    common, named = np.zeros(size, np.float32), np.zeros(size, np.float32)
    telling = names(text)
    total = 0.0
    for word in sorted(stems(text)):  # sorted: sums of floats must not depend on the hash seed
        idf = words.idf(word)
        total += idf
        holders = words.postings.get(word)
        if not holders:
            continue
        common[holders] += idf
        if word in telling:
            named[[i for i in holders if word in name_sets[i]]] += idf
    return common, common / np.float32(max(total, 1.0)), named


def _rival(part: FloatMatrix, present: np.ndarray) -> FloatMatrix:
    """By how much a cell exceeds the best other image of its row; 0 where only one image has the field."""
    if np.count_nonzero(present) < 2:
        return np.zeros_like(part)
    shown = np.where(present, part, -np.inf)
    order = np.sort(shown, axis=1)
    best, second = order[:, -1:], order[:, -2:-1]
    other = np.where(shown == best, second, best)
    result: FloatMatrix = np.where(present, part - other, 0.0).astype(np.float32)
    return result


def _around(cos: FloatMatrix) -> FloatMatrix:
    """Mean of the cells above and below; at the ends, the one there is."""
    if len(cos) < 2:
        return np.zeros_like(cos)
    padded = np.concatenate([cos[1:2], cos, cos[-2:-1]])
    result: FloatMatrix = (padded[:-2] + padded[2:]) / np.float32(2)
    return result
