"""The words that sentences and the texts of images have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from iconotext.links.words import of_texts, rareness, stems_in_order, tokens_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.links.cells import Cells, Ints
    from iconotext.types import FloatMatrix

_HEAD = 5  # words of a caption that mostly name what it shows


def word_features(
    cells: Cells, ranks: Ints, sentences: Sequence[str], *several: Sequence[str | None]
) -> list[dict[str, FloatMatrix]]:
    """Features of the words that a sentence and a text have in common. Rare: idf in a large collection of textbooks.

    Args:
        cells: Of documents.
        ranks: Of each sentence the number of its block, counted from 0 in each document.
        sentences: All that they say.
        several: One text an image, None for none; as often as there are kinds of texts.

    Returns:
        For each of ``several`` name to (cells,) float32:
        ``count`` number of the common words; ``rare`` log(1 + sum of how rare they are); ``share`` and ``cover`` that
        sum over that of the text and over that of the sentence; ``dice`` between the two; ``own`` log(1 + sum of
        their idf in the document), words of several images counting less; ``rarest`` the rarest, in the document and
        outside; ``both`` log(1 + sum of the product of the two); ``near`` the share of the text that the block of the
        sentence holds; ``first`` log(1 + sum over the words that the sentence is the first to hold); ``pairs``
        log(1 + number of common pairs of neighbouring words); ``head`` the share of the text's first words.
    """
    numbers: dict[str, int] = {}
    known: dict[str, _Numbered] = {}
    for text in dict.fromkeys([*sentences, *(text for texts in several for text in texts if text)]):
        known[text] = _numbered(_words_of(text), numbers)
    rare = np.array([*map(rareness, numbers), 0.0])
    own = _Words.of([known[text] for text in sentences], len(numbers))
    nothing = _numbered(_words_of(""), numbers)
    return [
        _features(cells, ranks, rare, own, _Words.of([known[t] if t else nothing for t in texts], len(numbers)))
        for texts in several
    ]


def _features(
    cells: Cells, ranks: Ints, rare: NDArray[np.float64], own: _Words, texts: _Words
) -> dict[str, FloatMatrix]:
    size, images = len(cells.image), len(cells.of_image)
    rareness_of = rare[texts.stems]
    total = np.bincount(texts.stem_of, rareness_of, images) + 1e-6
    in_head = texts.places < texts.heads[texts.stem_of]
    head_total = np.bincount(texts.stem_of[in_head], rareness_of[in_head], images) + 1e-6
    _, same, times = np.unique(
        cells.of_image[texts.stem_of] * len(rare) + texts.stems, return_inverse=True, return_counts=True
    )
    held = _held(cells, own.stems, own.stem_of, texts.stems, texts.stem_of)
    word, holders, starts = rareness_of[held.entry], held.lengths, np.cumsum(held.lengths) - held.lengths
    sentences = cells.sentences[cells.of_image[texts.stem_of[held.entry]]]
    idf = np.log1p((sentences - holders + 0.5) / (holders + 0.5))
    at = cells.at(held.sentence, held.image)

    def summed(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.bincount(at, np.repeat(values, holders), size), np.float64)

    common = summed(word)
    rarest = np.zeros(size)
    np.maximum.at(rarest, at, np.repeat(word + idf, holders))
    # Of the words that a block holds each counts once, so of the cells of an entry in a block the first.
    blocks = ranks[cells.first_sentence + cells.sentences - 1][cells.of_image] + 1
    first_block = np.cumsum(blocks) - blocks
    block = first_block[held.image] + ranks[held.sentence]
    new = np.ones(len(block), np.bool_)
    new[1:] = block[1:] != block[:-1]
    new[starts] = True
    in_block = np.bincount(block[new], np.repeat(word, holders)[new], blocks.sum())
    wanted = np.unique(texts.pairs[1] * len(rare) ** 2 + texts.pairs[0])  # a text may hold a pair twice
    pairs = _held(cells, *own.pairs, wanted % len(rare) ** 2, wanted // len(rare) ** 2)
    pair_at = cells.at(pairs.sentence, pairs.image)
    again = np.zeros(len(pair_at), np.bool_)  # so may a sentence
    again[1:] = pair_at[1:] == pair_at[:-1]
    again[np.cumsum(pairs.lengths) - pairs.lengths] = False
    weights = np.bincount(own.stem_of, rare[own.stems], len(cells.of_sentence))[cells.sentence]
    every = total[cells.image]
    found = {
        "count": np.bincount(at, minlength=size),
        "rare": np.log1p(common),
        "share": common / every,
        "cover": common / (weights + 1),
        "dice": 2 * common / (every + weights + 1),
        "own": np.log1p(summed(idf / np.sqrt(times[same][held.entry]))),
        "rarest": rarest,
        "both": np.log1p(summed(word * idf)),
        "near": in_block[first_block[cells.image] + ranks[cells.sentence]] / every,
        "first": np.log1p(np.bincount(at[starts], word, size)),
        "pairs": np.log1p(np.bincount(pair_at[~again], minlength=size)),
        "head": summed(word * in_head[held.entry]) / head_total[cells.image],
    }
    return {name: values.astype(np.float32) for name, values in found.items()}


@of_texts
def _words_of(text: str) -> tuple[tuple[str, ...], tuple[str, ...], int]:
    """The words of a text, their stems, and how many of the stems are of its first words."""
    head = stems_in_order(" ".join(text.split()[:_HEAD]))
    return tokens_of(text), tuple(stems_in_order(text)), len(head)


class _Numbered(NamedTuple):
    """What ``_words_of`` gives, with numbers for words."""

    tokens: Ints
    stems: Ints
    head: int


def _numbered(words: tuple[tuple[str, ...], tuple[str, ...], int], numbers: dict[str, int]) -> _Numbered:
    tokens, stems, head = words
    add = numbers.setdefault
    return _Numbered(
        np.array([add(word, len(numbers)) for word in tokens], np.int64),
        np.array([add(word, len(numbers)) for word in stems], np.int64),
        head,
    )


class _Words(NamedTuple):
    """The words of many texts.

    Attributes:
        stems: Text by text, each once, in its order.
        stem_of: The text of each.
        places: Of each among those of its text.
        heads: (texts,) how many of the stems are of the text's first words.
        pairs: Of neighbouring words, a number each; and the text of each.
    """

    stems: Ints
    stem_of: Ints
    places: Ints
    heads: Ints
    pairs: tuple[Ints, Ints]

    @classmethod
    def of(cls, texts: Sequence[_Numbered], words: int) -> _Words:
        lengths = np.array([len(text.stems) for text in texts])
        stem_of = np.repeat(np.arange(len(texts)), lengths)
        places = np.arange(len(stem_of)) - (np.cumsum(lengths) - lengths)[stem_of]
        tokens = np.concatenate([text.tokens for text in texts])
        token_of = np.repeat(np.arange(len(texts)), [len(text.tokens) for text in texts])
        together = token_of[1:] == token_of[:-1]
        pairs = (tokens[:-1] * words + tokens[1:])[together]
        heads = np.array([text.head for text in texts])
        return cls(
            np.concatenate([text.stems for text in texts]), stem_of, places, heads, (pairs, token_of[1:][together])
        )


class _Held(NamedTuple):
    """Which words of the texts of images are held by which sentences.

    Attributes:
        entry: Numbers of the words that some sentence of the document holds.
        lengths: By how many.
        image: Of each word, as often as it is held.
        sentence: That holds it.
    """

    entry: Ints
    lengths: Ints
    image: Ints
    sentence: Ints


def _held(cells: Cells, words: Ints, sentence: Ints, wanted: Ints, image: Ints) -> _Held:
    """Words of sentences, and of the texts of images, where they are the same in the same document."""
    asked, same = np.unique(wanted, return_inverse=True)  # numbers of pairs are large, these are not
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
