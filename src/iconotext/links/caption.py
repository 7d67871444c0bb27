"""Caption evidence: what is written about an image, compared with every sentence as text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from iconotext.links.citing import looks
from iconotext.links.layout import block_ranks
from iconotext.links.matcher import PROBE, Matcher, load_matcher
from iconotext.links.words import WordIndex, file_words, neighbours, rareness, stems, text_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
_HEAD = 5  # words of a caption that mostly name what it shows

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


def compared_text(image: Image) -> str | None:
    """The text of an image that is compared with sentences by meaning: its caption, else what stands for one."""
    fields = texts_of(image)
    return fields.get("caption") or fields.get("lone")


def caption_features(
    document: Document,
    encode: Encode,
    *,
    sentence_vectors: FloatMatrix | None = None,
    matcher: Matcher | None = None,
) -> dict[str, FloatMatrix]:
    """Features that compare what is written about every image with every sentence.

    Args:
        document: With S sentences and V images.
        encode: Called once, with every text that is needed.
        sentence_vectors: (S, d) what ``encode`` gives for the sentences, where the caller has it.
        matcher: What has learned which sentences cite; that of the package by default.

    Returns:
        Name to (S, V) float32; 0 in the column of an image without any text. An
        empty dict where no image has any text, or a side is empty. See ``compared`` for the names that begin with
        ``caption.``, for the caption, or else the alt text or the file name; those with ``texts.`` are the same for
        all texts of an image together; those with ``looks.`` are of ``iconotext.links.citing``.
    """
    texts = [texts_of(image) for image in document.images]
    if not document.sentences or not any(texts):
        return {}
    own = list(map(compared_text, document.images))
    every = [" . ".join(fields.values()) or None for fields in texts]
    features = compared(
        document, own, encode, name="caption", also=every, sentence_vectors=sentence_vectors, matcher=matcher
    )
    present = np.array([text is not None for text in own])
    columns = looks(document)
    shown = np.where(present, np.stack(list(columns.values()))[:, :, None], np.float32(0))
    features |= zip((f"looks.{name}" for name in columns), shown, strict=True)
    features["looks.cites"] = np.where(present, features.pop("caption.cites"), np.float32(0))
    return features


def compared(
    document: Document,
    texts: Sequence[str | None],
    encode: Encode,
    *,
    name: str,
    also: Sequence[str | None] | None = None,
    sentence_vectors: FloatMatrix | None = None,
    matcher: Matcher | None = None,
) -> dict[str, FloatMatrix]:
    """Features that compare one text an image with every sentence.

    Args:
        document: With S sentences, one at least, and V images.
        texts: Of each image; None for none. One at least is there.
        encode: Texts to unit vectors; called once.
        name: What the names of the features begin with.
        also: Longer texts of the images, of which only the words are compared, under ``texts.``.
        sentence_vectors: (S, d) what ``encode`` gives for the sentences.
        matcher: That of the package by default.

    Returns:
        Name to (S, V) float32; 0 in the column of an image without a text. Of words see ``word_features``; besides
        ``cos`` cosine in standard deviations of the cosines among the sentences from their mean: encoders differ in
        both; ``block`` the same for the mean of the sentences of a block; ``match`` how well they match by what the
        matcher has learned, above the mean over the sentences; ``rival`` by how much it exceeds the best of the
        other images; ``cites`` how much the sentence is like those that cite.
    """
    wanted = list(dict.fromkeys(text for text in texts if text))
    sentences = [] if sentence_vectors is not None else [sentence.text for sentence in document.sentences]
    vectors = encode([*sentences, *wanted, PROBE])
    if sentence_vectors is None:
        sentence_vectors = vectors[: len(sentences)]
    row = {text: k for k, text in enumerate(wanted, start=len(sentences))}
    present = np.array([bool(text) for text in texts], dtype=np.bool_)
    image_vectors = np.stack([vectors[row[text]] if text else np.zeros_like(vectors[0]) for text in texts])
    centre, spread = _scale(sentence_vectors)
    ranks = block_ranks(document)
    fitting = (matcher or load_matcher()).fitting(vectors[-1], centre, spread)
    match = np.where(present, fitting.match(sentence_vectors, image_vectors), np.float32(0))
    match -= match.mean(axis=0, keepdims=True)
    cos = (sentence_vectors @ image_vectors.T - centre) / spread
    block_cos = (_block_means(sentence_vectors, ranks) @ image_vectors.T - centre)[ranks] / spread
    features = {
        f"{name}.cos": np.where(present, cos, np.float32(0)),
        f"{name}.block": np.where(present, block_cos, np.float32(0)),
        f"{name}.match": match,
        f"{name}.rival": _rival(match, present),
        f"{name}.cites": np.broadcast_to(fitting.cites(sentence_vectors)[:, None], match.shape),
    }
    every = [text for text in (*texts, *(also or ())) if text]
    index = WordIndex.of([sentence.text for sentence in document.sentences], every)
    words = word_features(index, ranks, texts)
    features |= {f"{name}.{key}": value for key, value in words.items()}
    if also is not None:
        words = words if list(also) == list(texts) else word_features(index, ranks, also)
        features |= {f"texts.{key}": value for key, value in words.items()}
    return features


def word_features(index: WordIndex, ranks: NDArray[np.int64], texts: Sequence[str | None]) -> dict[str, FloatMatrix]:
    """Features of the words that a sentence and a text have in common. Rare: idf in a large collection of textbooks.

    Args:
        index: Of the S sentences.
        ranks: (S,) number of the block of each sentence.
        texts: One an image; None for none.

    Returns:
        Name to (S, V) float32:
        ``count`` number of the common words; ``rare`` log(1 + sum of how rare they are); ``share`` and ``cover`` that
        sum over that of the text and over that of the sentence; ``dice`` between the two; ``own`` log(1 + sum of
        their idf in the document), words of several images counting less; ``rarest`` the rarest, in the document and
        outside; ``both`` log(1 + sum of the product of the two); ``near`` the share of the text that the block of the
        sentence holds; ``first`` log(1 + sum over the words that the sentence is the first to hold); ``pairs``
        log(1 + number of common pairs of neighbouring words); ``head`` the share of the text's first words.
    """
    shape = (index.size, len(texts))
    words = [sorted(stems(text)) if text else [] for text in texts]  # sums of floats must not depend on the hash seed
    total = np.array([sum(map(rareness, some)) + 1e-6 for some in words])
    shared_by = Counter(word for some in words for word in some)
    entries = [
        (j, word, index.postings[word]) for j, some in enumerate(words) for word in some if word in index.postings
    ]
    rare = np.array([rareness(word) for _, word, _ in entries])
    idf = np.array([index.idf(word) for _, word, _ in entries])
    cells = _Cells.of([(j, holders) for j, _, holders in entries], shape)
    starts = np.cumsum(cells.lengths) - cells.lengths  # of each entry among the cells
    held, blocks = cells.summed(rare), ranks[cells.rows]
    rarest = np.zeros(shape)
    np.maximum.at(rarest, (cells.rows, cells.columns), np.repeat(rare + idf, cells.lengths))
    new = np.ones(len(blocks), np.bool_)  # whether it is the first of its entry in its block
    new[1:] = blocks[1:] != blocks[:-1]
    new[starts] = True
    in_block = np.zeros((int(ranks[-1]) + 1, len(texts)))
    np.add.at(in_block, (blocks[new], cells.columns[new]), np.repeat(rare, cells.lengths)[new])
    first = np.zeros(shape)
    np.add.at(first, (cells.rows[starts], cells.columns[starts]), rare)
    pairs = [
        (j, index.pairs[pair]) for j, text in enumerate(texts) for pair in neighbours(text or "") & index.pairs.keys()
    ]
    weights = index.weights[:, None].astype(np.float64)
    found = {
        "count": cells.summed(np.ones(len(entries))),
        "rare": np.log1p(held),
        "share": held / total,
        "cover": held / (weights + 1),
        "dice": 2 * held / (total + weights + 1),
        "own": np.log1p(cells.summed(idf / np.sqrt([shared_by[entry[1]] for entry in entries]))),
        "rarest": rarest,
        "both": np.log1p(cells.summed(rare * idf)),
        "near": in_block[ranks] / total,
        "first": np.log1p(first),
        "pairs": np.log1p(_Cells.of(pairs, shape).summed(np.ones(len(pairs)))),
        "head": _head_share(texts, index),
    }
    return dict(zip(found, np.array(list(found.values()), np.float32), strict=True))


class _Cells(NamedTuple):
    """Cells of an (S, V) matrix, several an entry.

    Attributes:
        rows: Of each cell; ascending in each entry.
        columns: Of each cell.
        lengths: Cells of each entry.
        shape: S and V.
    """

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    lengths: NDArray[np.int64]
    shape: tuple[int, int]

    @classmethod
    def of(cls, entries: Sequence[tuple[int, Sequence[int]]], shape: tuple[int, int]) -> _Cells:
        """Of each entry its column, and its rows."""
        lengths = np.array([len(rows) for _, rows in entries], np.int64)
        rows = np.fromiter(chain.from_iterable(rows for _, rows in entries), np.int64, int(lengths.sum()))
        return cls(rows, np.repeat(np.array([j for j, _ in entries], np.int64), lengths), lengths, shape)

    def summed(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """(S, V) sums of the values of the entries that have each cell."""
        cells = self.rows * self.shape[1] + self.columns
        size = self.shape[0] * self.shape[1]
        return np.asarray(np.bincount(cells, np.repeat(values, self.lengths), size), np.float64).reshape(self.shape)


def _head_share(texts: Sequence[str | None], index: WordIndex) -> NDArray[np.float64]:
    """(S, V) share of the rareness of each text's first words that each sentence holds."""
    heads = [sorted(stems(" ".join((text or "").split()[:_HEAD]))) for text in texts]
    entries = [(j, word) for j, some in enumerate(heads) for word in some if word in index.postings]
    cells = _Cells.of([(j, index.postings[word]) for j, word in entries], (index.size, len(texts)))
    total = np.array([sum(map(rareness, some)) + 1e-6 for some in heads])
    share: NDArray[np.float64] = cells.summed(np.array([rareness(word) for _, word in entries])) / total
    return share


def _scale(vectors: FloatMatrix) -> tuple[np.float32, np.float32]:
    """Mean and standard deviation of the cosines among the sentences; of few, near MiniLM's typical ones.

    Vectors of zeros, for texts that the encoder cannot read, leave all cosines at 0.
    """
    if not vectors.any():
        return np.float32(0), np.float32(1)
    step = max(1, -(-len(vectors) // _SAMPLE))
    sample = vectors[::step]
    cosines = (sample @ sample.T)[_pairs(len(sample))].astype(np.float64)
    total = len(cosines) + _TYPICAL_WEIGHT
    centre = (cosines.sum() + _TYPICAL_WEIGHT * _TYPICAL_MEAN) / total
    variance = (np.square(cosines - centre).sum() + _TYPICAL_WEIGHT * _TYPICAL_SPREAD**2) / total
    return np.float32(centre), np.float32(np.sqrt(variance))


def _pairs(n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The cells below the diagonal of the first n rows."""
    rows, columns = _all_pairs()
    return rows[: n * (n - 1) // 2], columns[: n * (n - 1) // 2]


@cache
def _all_pairs() -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    rows, columns = np.tril_indices(_SAMPLE, k=-1)  # row by row, so that those of fewer rows come first
    return rows, columns


def _block_means(vectors: FloatMatrix, ranks: NDArray[np.int64]) -> FloatMatrix:
    """(blocks, d) unit vectors in the direction of the mean of each block's sentences."""
    means = np.add.reduceat(vectors, np.flatnonzero(np.diff(ranks, prepend=-1)), axis=0)
    length = np.linalg.norm(means, axis=1, keepdims=True)
    result: FloatMatrix = np.divide(means, length, out=np.zeros_like(means), where=length > 0)
    return result


def _rival(score: FloatMatrix, present: NDArray[np.bool_]) -> FloatMatrix:
    """By how much a cell exceeds the best other image of its row; 0 where only one image has a text."""
    if np.count_nonzero(present) < 2:
        return np.zeros_like(score)
    shown = np.where(present, score, -np.inf)
    top = np.partition(shown, -2, axis=1)[:, -2:]
    best, second = top[:, 1:], top[:, :1]
    result: FloatMatrix = np.where(present, score - np.where(shown == best, second, best), 0.0).astype(np.float32)
    return result
