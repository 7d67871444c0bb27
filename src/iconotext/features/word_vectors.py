"""Word vectors that others trained: word2vec and GloVe files."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from iconotext.errors import FeatureError

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix


def load_word_vectors(path: Path, words: Sequence[str], *, dim: int) -> tuple[FloatMatrix, int]:
    """Vectors of the words that a file knows; only those are kept in memory.

    Args:
        path: Text (``.txt``, ``.vec``; GloVe's, or word2vec's with its first line), or word2vec's binary (``.bin``);
            each also packed (``.gz``). A word is also looked for with a capital and in capitals, as GoogleNews has it.
        words: V words.
        dim: Length of a vector.

    Returns:
        (V, dim) float32 with zeros where the file has no such word, and the number of words found.

    Raises:
        FeatureError: The file cannot be read, or has vectors of another length.
    """
    spellings: dict[str, int] = {}
    for number, word in enumerate(words):
        for spelling in (word, word.capitalize(), word.upper()):
            spellings.setdefault(spelling, number)
    vectors = np.zeros((len(words), dim), np.float32)
    found = np.zeros(len(words), bool)
    try:
        for spelling, vector in _entries(path):
            row = spellings.get(spelling)
            if row is None or (found[row] and spelling != words[row]):
                continue
            if len(vector) != dim:
                raise FeatureError(f"{path}: vectors of {len(vector)} numbers; the recipe's text.word_dim is {dim}")
            vectors[row], found[row] = vector, True
    except (OSError, ValueError) as error:
        raise FeatureError(f"{path}: cannot be read as word vectors: {error}") from error
    return vectors, int(found.sum())


def _entries(path: Path) -> Iterator[tuple[str, FloatMatrix]]:
    name = path.name.removesuffix(".gz")
    if name.endswith(".bin"):
        yield from _binary(path)
        return
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8", errors="replace") as lines:
        yield from _text(lines)


def _text(lines: Iterable[str]) -> Iterator[tuple[str, FloatMatrix]]:
    for number, line in enumerate(lines):
        parts = line.rstrip().split(" ")
        if number == 0 and len(parts) == 2:  # word2vec: how many words, how long
            continue
        yield parts[0], np.array(parts[1:], np.float32)


def _binary(path: Path) -> Iterator[tuple[str, FloatMatrix]]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rb") as file:
        head = file.readline().split()
        if len(head) != 2:
            raise ValueError("no word2vec file: its first line is not two numbers")
        count, length = map(int, head)
        if not 1 <= length <= 100_000:
            raise ValueError(f"vectors of {length} numbers")
        for _ in range(count):
            word = bytearray()
            while (letter := file.read(1)) != b" ":
                if not letter:
                    raise ValueError("ends in the middle of a word")
                word += letter
            data = file.read(4 * length)
            if len(data) < 4 * length:
                raise ValueError("ends in the middle of a vector")
            yield word.decode("utf-8", "replace").lstrip("\n"), np.frombuffer(data, "<f4")
