"""Vocabularies: words and their ids, for encoders that read words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from iconotext.errors import FeatureError
from iconotext.write import write_text

UNKNOWN = "<unknown>"
"""Stands for every word that is not in the vocabulary, and for a sentence without any; its id is 0."""

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|[^\w\s]")


def words_of(text: str) -> list[str]:
    """The words of a sentence in lower case; a punctuation mark is a word of its own."""
    return _WORD.findall(text.lower().replace("’", "'"))


class Vocabulary:
    """Words in the order of their ids; id 0 is the unknown word."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self._ids = {word: number for number, word in enumerate(self.words)}
        if not self.words or self.words[0] != UNKNOWN or len(self._ids) != len(self.words):
            raise FeatureError(f"a vocabulary begins with {UNKNOWN} and has no word twice")

    def __len__(self) -> int:
        return len(self.words)

    def ids(self, text: str, *, max_tokens: int) -> list[int]:
        """The ids of the first words of a sentence: at least one, at most ``max_tokens``."""
        return self.numbers(words_of(text)[:max_tokens]) or [0]

    def numbers(self, words: Iterable[str]) -> list[int]:
        """The id of each word; 0 for an unknown one."""
        return [self._ids.get(word, 0) for word in words]

    def save(self, path: Path) -> None:
        """Write one word per line."""
        write_text(path, (f"{word}\n" for word in self.words), force=True)


def most_frequent(counts: Mapping[str, int], *, max_words: int, besides: Sequence[str] = ()) -> Vocabulary:
    """The ``max_words`` most frequent words; ties in alphabetical order.

    Args:
        counts: Word to number of occurrences.
        besides: Texts, such as names of concepts, whose words are always included.
    """
    frequent = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:max_words]
    more = (word for text in besides for word in words_of(text))
    return Vocabulary(list(dict.fromkeys([UNKNOWN, *(word for word, _ in frequent), *more])))


def load_vocabulary(path: Path) -> Vocabulary:
    """Read a file from ``Vocabulary.save``.

    Raises:
        FeatureError: The file is missing or is not a vocabulary.
    """
    try:
        return Vocabulary(path.read_text(encoding="utf-8").splitlines())
    except (OSError, UnicodeDecodeError, FeatureError) as error:
        raise FeatureError(f"{path}: cannot be read as a vocabulary: {error}") from error
