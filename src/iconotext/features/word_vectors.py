"""Words, vocabularies and word vectors.

``load_word_vectors`` reads word vectors from word2vec and GloVe files, or makes them with MiniLM; ``train_word2vec``
learns them. ``Vocabulary`` has the words of a model, ``mean_words`` encodes a text as the mean of its word vectors.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from io import BufferedIOBase
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from iconotext.errors import FeatureError
from iconotext.extras import require
from iconotext.features.backbone import TextBackbone
from iconotext.system.files import write_text

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix

UNKNOWN = "<unknown>"
"""The word that stands for every word outside the vocabulary, and for a sentence without words; its id is 0."""

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|[^\w\s]")


def words_of(text: str) -> list[str]:
    """Split a sentence into words in lower case; a punctuation mark is a separate word."""
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
        """Return the ids of the first words of a sentence: at least one, at most ``max_tokens``."""
        return self.numbers(words_of(text)[:max_tokens]) or [0]

    def numbers(self, words: Iterable[str]) -> list[int]:
        """Return the id of each word; 0 for an unknown one."""
        return [self._ids.get(word, 0) for word in words]

    def save(self, path: Path) -> None:
        """Write one word per line."""
        write_text(path, (f"{word}\n" for word in self.words), force=True)


def most_frequent(counts: Mapping[str, int], *, max_words: int, besides: Sequence[str] = ()) -> Vocabulary:
    """Make a vocabulary of the ``max_words`` most frequent words (ties: alphabetical) and all words of ``besides``."""
    frequent = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:max_words]
    more = (word for text in besides for word in words_of(text))
    return Vocabulary(list(dict.fromkeys([UNKNOWN, *(word for word, _ in frequent), *more])))


def load_vocabulary(path: Path) -> Vocabulary:
    """Read a file written by ``Vocabulary.save``."""
    try:
        return Vocabulary(path.read_text(encoding="utf-8").splitlines())
    except (OSError, UnicodeDecodeError, FeatureError) as error:
        raise FeatureError(f"{path}: cannot be read as a vocabulary: {error}") from error


BLOCK = 1 << 20
"""Bytes of a binary file that are read at a time."""

LONGEST = 10_000
"""Longest vector, and longest word in bytes; a file with longer ones is not a file of word vectors."""

MINILM = "minilm"
"""Name of MiniLM as a source of word vectors, instead of a file."""

Entry = tuple[str, "FloatMatrix"]


def load_word_vectors(source: Path | str, words: Sequence[str], *, dim: int) -> tuple[FloatMatrix, int]:
    """Load the vectors of the given words.

    Args:
        source: ``minilm``, or a file, of which only these words are kept in memory: text (``.txt``, ``.vec``, GloVe's,
            or word2vec's with its first line), or word2vec's binary (``.bin``); each also compressed (``.gz``). A word
            is also looked up capitalised and in capitals, as in GoogleNews.

    Returns:
        (V, dim) float32, zeros for words that are not in the file, and the number of words that are in it.
    """
    if str(source) == MINILM:
        return _minilm_vectors(words, dim), len(words)
    path = Path(source)
    spellings: dict[str, int] = {}
    for spelled in (str, str.capitalize, str.upper):  # a word's own spelling always comes first
        for number, word in enumerate(words):
            spellings.setdefault(spelled(word), number)
    vectors = np.zeros((len(words), dim), np.float32)
    has_vector = np.zeros(len(words), bool)
    packed = path.suffix == ".gz"
    binary = path.name.removesuffix(".gz").endswith(".bin")
    try:
        with gzip.open(path) if packed else path.open("rb") as file:
            for spelling, vector in (_binary if binary else _text)(file, dim, spellings):
                row = spellings[spelling]
                if has_vector[row] and spelling != words[row]:
                    continue
                if not np.isfinite(vector).all():
                    raise ValueError(f"the vector of {spelling!r} has a number that is not finite")
                vectors[row], has_vector[row] = vector, True
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise FeatureError(f"{path}: cannot be read as word vectors: {error}") from error
    return vectors, int(has_vector.sum())


def mean_words(source: Path | str, dim: int, texts: Iterable[str]) -> TextBackbone:
    """Make a backbone that gives the mean vector of a text's words; unlike others, it is not scaled to length 1.

    Words without a vector are skipped; a text in which no word has a vector gives zeros.

    Args:
        texts: All texts that will be encoded; only the vectors of their words are loaded.
    """
    words = sorted({word for text in texts for word in words_of(text)})
    vectors, _ = load_word_vectors(source, words, dim=dim)
    vector_of = {word: vector for word, vector in zip(words, vectors, strict=True) if vector.any()}

    def encode(texts: Sequence[str]) -> FloatMatrix:
        means = np.zeros((len(texts), dim), np.float32)
        for row, text in enumerate(texts):
            if word_rows := [vector_of[word] for word in words_of(text) if word in vector_of]:
                means[row] = np.mean(word_rows, axis=0)
        return means

    return TextBackbone(f"mean-words/{source}", dim, encode)


def _minilm_vectors(words: Sequence[str], dim: int) -> FloatMatrix:
    """Compute (V, dim): MiniLM's vector of each word as a sentence, centred, projected on the main components.

    They are scaled to the mean square of word2vec's GoogleNews vectors, about 0.12².
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
    axes = np.linalg.svd(vectors.T.astype(np.float64) @ vectors)[0][:, :dim]  # of the covariance matrix
    axes = axes * np.sign(axes[np.abs(axes).argmax(0), np.arange(dim)])  # make arbitrary signs deterministic
    projected = vectors @ axes.astype(np.float32)
    return np.asarray(projected * (0.12 / max(float(np.sqrt((projected**2).mean())), 1e-12)), np.float32)


def _text(lines: Iterable[bytes], dim: int, words: Container[str]) -> Iterator[Entry]:
    """Read lines of a word and its numbers; some words of GloVe have spaces in them."""
    length = None
    for number, line in enumerate(lines, 1):
        parts = line.split()
        if not parts or (number == 1 and len(parts) == 2 and parts[1].isdigit() and int(parts[1]) > 1):
            continue  # word2vec's first line: number of words, length of vectors
        if length is None:
            length = len(parts) - 1
            _check(length, dim)
        if len(parts) <= length:
            raise ValueError(f"line {number} has {len(parts) - 1} numbers, the lines before {length}")
        word = b" ".join(parts[: len(parts) - length]).decode("utf-8", "replace")
        if word in words:
            try:
                yield word, np.array(parts[-length:], np.float32)
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from error


def _binary(file: BufferedIOBase, dim: int, words: Container[str]) -> Iterator[Entry]:
    """Read word2vec's binary format: number of words and dimensions; then each word, a space, and its numbers."""
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
        if word in words:
            yield word, np.frombuffer(data, "<f4", length, space + 1)


def _check(length: int, dim: int) -> None:
    if length != dim:
        raise ValueError(f"vectors of {length} numbers, not the {dim} that are wanted (text.word_dim in a recipe)")


WORD2VEC = "word2vec"
"""The name in a recipe, instead of a file, to learn word vectors from the training texts."""

WINDOW = 10
"""Size of the context on each side of a word (Alikhani 2021, appendix A)."""


def train_word2vec(sentences: Iterable[Sequence[int]], words: int, *, dim: int, seed: int) -> FloatMatrix:
    """Train word2vec (window 10, minimum frequency 1, as in Alikhani 2021; else gensim's defaults, so CBOW).

    It uses one thread, since with more the vectors would differ between runs.

    Args:
        sentences: Word ids of each sentence, 0 for an unknown word; iterated several times, so not a generator.

    Returns:
        (words, dim) float32, zeros for words that do not occur.
    """
    require("word2vec", purpose='text.word_vectors = "word2vec"')
    from gensim.models import Word2Vec

    vectors = np.zeros((words, dim), np.float32)
    if not any(len(sentence) for sentence in sentences):
        raise FeatureError("word2vec: there is no word to learn from")
    trained = Word2Vec(
        _Texts(sentences),
        vector_size=dim,
        window=WINDOW,
        min_count=1,
        workers=1,
        seed=seed,
        hashfxn=_digest,
        sorted_vocab=1,
    ).wv
    for word in trained.index_to_key:
        vectors[int(word)] = trained[word]
    vectors[0] = 0  # the unknown word keeps its random start
    return vectors


class _Texts:
    """The sentences in gensim's form, made one at a time to save memory."""

    def __init__(self, sentences: Iterable[Sequence[int]]) -> None:
        self._sentences = sentences

    def __iter__(self) -> Iterator[list[str]]:
        return ([str(word) for word in sentence] for sentence in self._sentences)


def _digest(text: str) -> int:
    """Compute a hash that is the same in every process, unlike ``hash``."""
    return zlib.crc32(text.encode())
