"""Features of the words that sentences and images' texts have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from iconotext.links.words import number_of, of_texts, rareness, stems_in_order, tokens_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.links.cells import Cells, Ints
    from iconotext.types import FloatMatrix

_HEAD = 5  # words of a caption that mostly name what it shows
_MIXES = np.int64(0x1E3779B97F4A7C15)  # odd; hashes a pair of words to one number, almost without collisions


def word_features(
    cells: Cells, ranks: Ints, sentences: Sequence[str], *several: Sequence[str | None]
) -> list[dict[str, FloatMatrix]]:
    """Features of the words that a sentence and an image's text have in common.

    A word's rareness is its idf in a large collection of textbooks (``words.rareness``), its own idf that among the
    sentences of the document.

    Args:
        ranks: (sentences,) number of each sentence's block, from 0 in each document.
        sentences: Their texts.
        several: Lists of texts, each with one text for every image; None for an image without.

    Returns:
        For each list, name to (cells,) float32: ``count``, number of common words; ``rare``, log(1 + their total
        rareness); ``share``, ``cover`` and ``dice``, that total over the text's, the sentence's and the mean of both;
        ``own``, log(1 + their total own idf), words of several images counting less; ``rarest``, the largest sum of
        rareness and own idf; ``both``, log(1 + the total of their products); ``near``, ``share`` for the sentence's
        block; ``first``, log(1 + total over words that the sentence is the first to contain); ``pairs``, log(1 +
        number of common pairs of neighbouring words); ``head``, ``share`` for the text's first words.
    """
    own = _Words.of(sentences)
    return [_features(cells, ranks, own, _Words.of([text or "" for text in texts])) for texts in several]


def _features(cells: Cells, ranks: Ints, own: _Words, texts: _Words) -> dict[str, FloatMatrix]:
    size, images = len(cells.image), len(cells.of_image)
    total = np.bincount(texts.stem_of, texts.rare, images) + 1e-6
    head_total = np.bincount(texts.stem_of[texts.in_head], texts.rare[texts.in_head], images) + 1e-6
    times = _times(cells.of_image[texts.stem_of], texts.stems)
    held = _held(cells, own.stems, own.stem_of, texts.stems, texts.stem_of)
    word, holders, starts = texts.rare[held.entry], held.lengths, np.cumsum(held.lengths) - held.lengths
    sentences = cells.sentences[cells.of_image[texts.stem_of[held.entry]]]
    idf = np.log1p((sentences - holders + 0.5) / (holders + 0.5))
    at = cells.at(held.sentence, held.image)

    def summed(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.bincount(at, np.repeat(values, holders), size), np.float64)

    common = summed(word)
    rarest = np.zeros(size)
    np.maximum.at(rarest, at, np.repeat(word + idf, holders))
    # A word counts once in a block: of its cells in the block only the first.
    blocks = ranks[cells.first_sentence + cells.sentences - 1][cells.of_image] + 1
    first_block = np.cumsum(blocks) - blocks
    block = first_block[held.image] + ranks[held.sentence]
    new = np.ones(len(block), np.bool_)
    new[1:] = block[1:] != block[:-1]
    new[starts] = True
    in_block = np.bincount(block[new], np.repeat(word, holders)[new], blocks.sum())
    pairs = _held(cells, *own.pairs, *_once(*texts.pairs))
    pair_at = cells.at(pairs.sentence, pairs.image)
    again = np.zeros(len(pair_at), np.bool_)  # a sentence may hold a pair twice
    again[1:] = pair_at[1:] == pair_at[:-1]
    again[np.cumsum(pairs.lengths) - pairs.lengths] = False
    weights = np.bincount(own.stem_of, own.rare, len(cells.of_sentence))[cells.sentence]
    every = total[cells.image]
    found = {
        "count": np.bincount(at, minlength=size),
        "rare": np.log1p(common),
        "share": common / every,
        "cover": common / (weights + 1),
        "dice": 2 * common / (every + weights + 1),
        "own": np.log1p(summed(idf / np.sqrt(times[held.entry]))),
        "rarest": rarest,
        "both": np.log1p(summed(word * idf)),
        "near": in_block[first_block[cells.image] + ranks[cells.sentence]] / every,
        "first": np.log1p(np.bincount(at[starts], word, size)),
        "pairs": np.log1p(np.bincount(pair_at[~again], minlength=size)),
        "head": summed(word * texts.in_head[held.entry]) / head_total[cells.image],
    }
    return {name: values.astype(np.float32) for name, values in found.items()}


def _times(document: Ints, stems: Ints) -> Ints:
    """How often each stem occurs in the images' texts of its document."""
    _, same = np.unique(stems, return_inverse=True)
    _, place, times = np.unique(document * len(stems) + same, return_inverse=True, return_counts=True)
    return np.asarray(times[place], np.int64)


def _once(pairs: Ints, image: Ints) -> tuple[Ints, Ints]:
    """The pairs of each image without repetitions."""
    _, same = np.unique(pairs, return_inverse=True)
    _, first = np.unique(image * len(pairs) + same, return_index=True)
    return pairs[first], image[first]


class _Text(NamedTuple):
    """The words of a text as numbers (``number_of``).

    Attributes:
        stems: Different stems, in the order of the text.
        rare: Rareness of each stem.
        in_head: Whether each stem is among the text's first words.
        pairs: Pairs of neighbouring words, each hashed to one number.
    """

    stems: Ints
    rare: NDArray[np.float64]
    in_head: NDArray[np.bool_]
    pairs: Ints


@of_texts
def _text(text: str) -> _Text:
    words = list(stems_in_order(text))
    tokens = np.array([number_of(word) for word in tokens_of(text)], np.int64)
    return _Text(
        np.array([number_of(word) for word in words], np.int64),
        np.array([rareness(word) for word in words], np.float64),
        np.arange(len(words)) < len(stems_in_order(" ".join(text.split()[:_HEAD]))),
        tokens[:-1] * _MIXES + tokens[1:],  # overflows, which is meant
    )


class _Words(NamedTuple):
    """The words of many texts, one text after the other; arrays as in ``_Text``.

    Attributes:
        stem_of: Number of the text that each stem comes from.
        pairs: The pairs of words, and the number of the text that each pair comes from.
    """

    stems: Ints
    rare: NDArray[np.float64]
    in_head: NDArray[np.bool_]
    stem_of: Ints
    pairs: tuple[Ints, Ints]

    @classmethod
    def of(cls, texts: Sequence[str]) -> _Words:
        every = list(map(_text, texts))
        stems, rare, in_head, pairs = map(np.concatenate, zip(*every, strict=True))
        number = np.arange(len(every))
        pair_of = np.repeat(number, [len(text.pairs) for text in every])
        return cls(stems, rare, in_head, np.repeat(number, [len(text.stems) for text in every]), (pairs, pair_of))


class _Held(NamedTuple):
    """Which sentences contain which words of the images' texts: N words are contained, M pairs (word, sentence).

    Attributes:
        entry: (N,) index of each word that at least one sentence of the same document contains.
        lengths: (N,) number of sentences that contain it.
        image: (M,) number of the image of each pair; the pairs of one word follow each other.
        sentence: (M,) number of the sentence of each pair.
    """

    entry: Ints
    lengths: Ints
    image: Ints
    sentence: Ints


def _held(cells: Cells, words: Ints, sentence: Ints, wanted: Ints, image: Ints) -> _Held:
    """Find equal words in the sentences and in the images' texts of the same document."""
    asked, same = np.unique(wanted, return_inverse=True)  # replace hashes by small numbers
    found = np.minimum(np.searchsorted(asked, words), len(asked) - 1)
    there = np.flatnonzero(asked[found] == words) if len(asked) else np.zeros(0, np.int64)
    keys = cells.of_sentence[sentence[there]] * len(asked) + found[there]
    order = np.argsort(keys, kind="stable")
    keys, sentence = keys[order], sentence[there][order]
    own = cells.of_image[image] * len(asked) + same
    begin = np.searchsorted(keys, own)
    lengths = np.searchsorted(keys, own, side="right") - begin
    entry = np.flatnonzero(lengths)
    begin, lengths = begin[entry], lengths[entry]
    each = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths - begin, lengths)
    return _Held(entry, lengths, np.repeat(image[entry], lengths), sentence[each])
