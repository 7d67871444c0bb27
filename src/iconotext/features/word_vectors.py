"""Word vectors that others trained: word2vec and GloVe files, and those of MiniLM, which comes with the program."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Container, Iterable, Iterator, Sequence
from io import BufferedIOBase
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from iconotext.errors import FeatureError
from iconotext.features.backbone import TextBackbone
from iconotext.features.vocabulary import words_of

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix

BLOCK = 1 << 20
"""Bytes of a binary file that are read at once."""

LONGEST = 10_000
"""Numbers of a vector, and bytes of a word, beyond which a file is taken for something else."""

MINILM = "minilm"
"""Names MiniLM instead of a file."""

Entry = tuple[str, "FloatMatrix"]


def load_word_vectors(source: Path | str, words: Sequence[str], *, dim: int) -> tuple[FloatMatrix, int]:
    """Vectors of words.

    Args:
        source: ``minilm``, or a file, of whose words only these are kept in memory: text (``.txt``, ``.vec``; GloVe's,
            or word2vec's with its first line), or word2vec's binary (``.bin``); each also packed (``.gz``). A word is
            also looked for with a capital and in capitals, as GoogleNews has it.
        words: V words.

    Returns:
        (V, dim) float32 with zeros where the file has no such word, and the number of words found.

    Raises:
        FeatureError: The file cannot be read, has vectors of another length, or numbers that are not finite.
    """
    if str(source) == MINILM:
        return _minilm_vectors(words, dim), len(words)
    path = Path(source)
    spellings: dict[str, int] = {}
    for spelled in (str, str.capitalize, str.upper):  # a word's own spelling is never another's capitals
        for number, word in enumerate(words):
            spellings.setdefault(spelled(word), number)
    vectors = np.zeros((len(words), dim), np.float32)
    found = np.zeros(len(words), bool)
    packed = path.suffix == ".gz"
    binary = path.name.removesuffix(".gz").endswith(".bin")
    try:
        with gzip.open(path) if packed else path.open("rb") as file:
            for spelling, vector in (_binary if binary else _text)(file, dim, spellings):
                row = spellings[spelling]
                if found[row] and spelling != words[row]:
                    continue
                if not np.isfinite(vector).all():
                    raise ValueError(f"the vector of {spelling!r} has a number that is not finite")
                vectors[row], found[row] = vector, True
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise FeatureError(f"{path}: cannot be read as word vectors: {error}") from error
    return vectors, int(found.sum())


def mean_words(source: Path | str, dim: int, texts: Iterable[str]) -> TextBackbone:
    """The mean of the vectors of a text's words; unlike those of other backbones, not brought to length 1.

    Words without a vector do not count, a text without any gives zeros.

    Args:
        source: word2vec or GloVe file, or ``minilm``.
        texts: All texts that will be encoded; only the vectors of their words are loaded.

    Raises:
        FeatureError: The file cannot be read.
    """
    words = sorted({word for text in texts for word in words_of(text)})
    vectors, _ = load_word_vectors(source, words, dim=dim)
    known = {word: vector for word, vector in zip(words, vectors, strict=True) if vector.any()}

    def encode(texts: Sequence[str]) -> FloatMatrix:
        means = np.zeros((len(texts), dim), np.float32)
        for row, text in enumerate(texts):
            if found := [known[word] for word in words_of(text) if word in known]:
                means[row] = np.mean(found, axis=0)
        return means

    return TextBackbone(f"mean-words/{source}", dim, encode)


def _minilm_vectors(words: Sequence[str], dim: int) -> FloatMatrix:
    """(V, dim): MiniLM's vector of each word as if it were a sentence, less the mean, its main components.

    Their scale is such that their numbers have the mean square of word2vec's GoogleNews vectors, about 0.12².

    Raises:
        FeatureError: ``dim`` is more than MiniLM's, or than there are words.
    """
    from iconotext.features import FeatureCache, cached_text, load_text_backbone

    backbone = cached_text(load_text_backbone(MINILM), FeatureCache())
    if dim > min(backbone.dim, len(words)):
        raise FeatureError(
            f"word vectors from {MINILM} have {min(backbone.dim, len(words))} numbers at most for {len(words)} words; "
            f"text.word_dim is {dim}"
        )
    vectors = backbone.encode(list(words))
    vectors = vectors - vectors.mean(0)
    axes = np.linalg.svd(vectors.T.astype(np.float64) @ vectors)[0][:, :dim]  # of the covariance
    axes = axes * np.sign(axes[np.abs(axes).argmax(0), np.arange(dim)])  # whose signs are free
    projected = vectors @ axes.astype(np.float32)
    return np.asarray(projected * (0.12 / max(float(np.sqrt((projected**2).mean())), 1e-12)), np.float32)


def _text(lines: Iterable[bytes], dim: int, wanted: Container[str]) -> Iterator[Entry]:
    """Lines of a word and its numbers; a word may have spaces itself, as some of GloVe's do."""
    length = None
    for number, line in enumerate(lines, 1):
        parts = line.split()
        if not parts or (number == 1 and len(parts) == 2 and parts[1].isdigit() and int(parts[1]) > 1):
            continue  # word2vec's first line: how many words, how long
        if length is None:
            length = len(parts) - 1
            _check(length, dim)
        if len(parts) <= length:
            raise ValueError(f"line {number} has {len(parts) - 1} numbers where {length} were")
        word = b" ".join(parts[: len(parts) - length]).decode("utf-8", "replace")
        if word in wanted:
            try:
                yield word, np.array(parts[-length:], np.float32)
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from error


def _binary(file: BufferedIOBase, dim: int, wanted: Container[str]) -> Iterator[Entry]:
    """The number of words and of dimensions; then each word, a space, and its numbers."""
    head = file.readline(LONGEST).split()
    if len(head) != 2 or not (head[0].isdigit() and head[1].isdigit()):
        raise ValueError("not a word2vec file: its first line is not two numbers")
    count, length = map(int, head)
    _check(length, dim)
    data, at = b"", 0
    for _ in range(count):
        while (space := data.find(b" ", at)) < 0 or len(data) - space - 1 < 4 * length:
            if space < 0 and len(data) - at > LONGEST:
                raise ValueError(f"a word of more than {LONGEST} bytes")
            more = file.read(BLOCK)
            if not more:
                raise ValueError(f"ends within a word or its vector; {count} words were announced")
            data, at = data[at:] + more, 0
        word = data[at:space].lstrip(b"\n").decode("utf-8", "replace")
        at = space + 1 + 4 * length
        if word in wanted:
            yield word, np.frombuffer(data, "<f4", length, space + 1)


def _check(length: int, dim: int) -> None:
    if length != dim:
        raise ValueError(f"vectors of {length} numbers, not the {dim} that are wanted (text.word_dim in a recipe)")
