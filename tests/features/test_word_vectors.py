from __future__ import annotations

import gzip
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iconotext.errors import FeatureError, MissingPackageError
from iconotext.features import word_vectors
from iconotext.features.word_vectors import (
    UNKNOWN,
    Vocabulary,
    load_vocabulary,
    load_word_vectors,
    most_frequent,
    train_word2vec,
    words_of,
)

ENTRIES = {"dog": [1, 2, 3], "Paris": [4, 5, 6], "NASA": [7, 8, 9], "the": [0.5, -1, 1e-3], "The": [9, 9, 9]}
WORDS = ["<unknown>", "the", "paris", "nasa", "dog", "zebra"]
WANTED = [[0, 0, 0], [0.5, -1, 1e-3], [4, 5, 6], [7, 8, 9], [1, 2, 3], [0, 0, 0]]


def glove(entries):
    return "".join(f"{word} {' '.join(map(str, numbers))}\n" for word, numbers in entries.items()).encode()


def text(entries):
    return f"{len(entries)} 3\n".encode() + glove(entries)


def binary(entries, end=b"\n"):
    rows = [word.encode() + b" " + np.array(v, "<f4").tobytes() + end for word, v in entries.items()]
    return f"{len(entries)} 3\n".encode() + b"".join(rows)


KINDS = {"a.txt": glove, "b.txt": text, "c.vec": text, "d.bin": binary, "e.bin": lambda e: binary(e, b"")}


@pytest.mark.parametrize("block", [1, 7, 1 << 20])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_file_gives_the_same_vectors(tmp_path, monkeypatch, kind, packed, block):
    monkeypatch.setattr(word_vectors, "BLOCK", block)
    data = KINDS[kind](ENTRIES)
    path = tmp_path / (kind + ".gz" if packed else kind)
    path.write_bytes(gzip.compress(data) if packed else data)
    vectors, found = load_word_vectors(path, WORDS, dim=3)
    assert (vectors.dtype.name, found) == ("float32", 4)
    np.testing.assert_array_equal(vectors, np.array(WANTED, np.float32))


def test_a_words_own_spelling_counts_wherever_it_stands(tmp_path):
    path = tmp_path / "v.txt"
    path.write_bytes(glove({"The": [1, 1, 1], "the": [2, 2, 2], "THE": [3, 3, 3]}))
    assert load_word_vectors(path, ["the"], dim=3)[0].tolist() == [[2, 2, 2]]
    path.write_bytes(glove({"US": [1, 1, 1]}))
    assert load_word_vectors(path, ["us", "US"], dim=3)[0].tolist() == [[0, 0, 0], [1, 1, 1]]


def test_words_with_spaces_and_windows_line_ends(tmp_path):
    path = tmp_path / "v.txt"
    path.write_bytes(b"dog 1 2 3\r\n. . . 4 5 6\r\nat name@domain.com 7 8 9\r\n")
    vectors, found = load_word_vectors(path, ["dog", ". . .", "."], dim=3)
    assert (vectors.tolist(), found) == ([[1, 2, 3], [4, 5, 6], [0, 0, 0]], 2)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.txt", b"dog 1 2\n", r"vectors of 2 numbers, not the 3 that are wanted \(text.word_dim"),
        ("a.txt", b"dog 1 2 3\ncat 1 2\n", "line 2 has 2 numbers, the lines before 3"),
        ("a.txt", b"cat 1 2 3\ndog 1 x 3\n", "line 2: could not convert"),
        ("a.txt", b"dog 1 nan 3\n", "vector of 'dog' has a number that is not finite"),
        ("a.txt.gz", b"dog 1 2 3\n", "Not a gzipped file"),
        ("a.txt.gz", gzip.compress(glove(ENTRIES), mtime=0)[:-12], "ended before"),
        ("a.bin", b"dog\n", "first line is not two numbers"),
        ("a.bin", b"-3 3\n", "first line is not two numbers"),
        ("a.bin", b"9 4\n", "vectors of 4 numbers"),
        ("a.bin", binary(ENTRIES)[:-3], "ends within a word or its vector; 5 words were announced"),
        ("a.bin", b"1 3\n" + b"x" * 20000, "a word of more than 10000 bytes"),
    ],
)
def test_broken_files_are_told(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(FeatureError, match=rf"{name}: cannot be read as word vectors: .*{message}"):
        load_word_vectors(tmp_path / name, WORDS, dim=3)


def test_a_missing_file_is_told_and_an_empty_one_knows_no_word(tmp_path):
    with pytest.raises(FeatureError, match=r"v.txt: cannot be read"):
        load_word_vectors(tmp_path / "v.txt", WORDS, dim=3)
    (tmp_path / "v.txt").write_bytes(b"")
    assert load_word_vectors(tmp_path / "v.txt", WORDS, dim=3)[1] == 0


def test_minilm_gives_words_its_vectors_turned_to_their_main_directions():
    words = ["<unknown>", *"dog puppy cat kitten car lorry red blue green run walk sleep house tower bridge".split()]
    vectors, found = load_word_vectors("minilm", words, dim=8)
    assert found == len(words)
    assert vectors.shape == (16, 8)
    assert vectors.dtype == np.float32
    assert np.sqrt((vectors**2).mean()) == pytest.approx(0.12)
    spread = vectors.var(0)
    assert (np.diff(spread) <= 1e-6).all()  # the main direction first
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    alike = unit @ unit.T
    at = words.index
    assert alike[at("dog"), at("puppy")] > alike[at("dog"), at("bridge")]
    assert alike[at("car"), at("lorry")] > alike[at("car"), at("kitten")]
    np.testing.assert_array_equal(load_word_vectors("minilm", words, dim=8)[0], vectors)


def test_minilm_has_no_more_numbers_than_words_or_its_own():
    with pytest.raises(FeatureError, match=r"have 2 numbers at most for 2 words; text.word_dim is 3"):
        load_word_vectors("minilm", ["dog", "cat"], dim=3)


SENTENCES = [[1, 2, 3], [1, 2, 4], [5, 6], [0, 5, 6, 7]] * 30


def test_words_that_occur_have_vectors_and_the_unknown_word_and_others_have_none():
    vectors = train_word2vec(SENTENCES, 10, dim=8, seed=0)
    assert vectors.shape == (10, 8)
    assert vectors.dtype == np.float32
    assert np.flatnonzero(np.abs(vectors).sum(1)).tolist() == [1, 2, 3, 4, 5, 6, 7]


def test_words_that_stand_in_the_same_places_are_similar():
    rng = np.random.default_rng(0)
    sentences = [
        [int(rng.integers(1, 3)), 5, 6, 7] if number % 2 else [int(rng.integers(3, 5)), 8, 9, 10]
        for number in range(4000)
    ]
    vectors = train_word2vec(sentences, 11, dim=16, seed=0)
    unit = vectors[1:] / np.linalg.norm(vectors[1:], axis=1, keepdims=True)
    cosines = unit @ unit.T
    assert cosines[0, 1] > cosines[0, 2] + 0.2
    assert cosines[2, 3] > cosines[2, 1] + 0.2


def test_the_same_seed_gives_the_same_vectors():
    first, again = (train_word2vec(SENTENCES, 10, dim=8, seed=3) for _ in range(2))
    assert (first == again).all()
    assert (first != train_word2vec(SENTENCES, 10, dim=8, seed=4)).any()


def test_without_a_word_there_is_an_error():
    with pytest.raises(FeatureError, match="no word"):
        train_word2vec([[], []], 10, dim=8, seed=0)


def test_without_gensim_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim", None)
    with pytest.raises(MissingPackageError, match=r'pip install "iconotext\[word2vec\]"'):
        train_word2vec(SENTENCES, 10, dim=8, seed=0)


def test_words_by_hand():
    assert words_of("A dog's bone, don’t-touch: 3.5 €!") == [
        "a", "dog's", "bone", ",", "don't", "-", "touch", ":", "3", ".", "5", "€", "!",
    ]  # fmt: skip
    assert words_of("snake_case Ünïcode 東京") == ["snake", "case", "ünïcode", "東京"]
    assert words_of(" \t\n") == []


def test_the_most_frequent_words_ties_in_alphabetical_order():
    vocabulary = most_frequent({"d": 1, "b": 2, "a": 2, "c": 1}, max_words=3)
    assert vocabulary.words == (UNKNOWN, "a", "b", "c")
    assert len(vocabulary) == 4
    assert vocabulary.ids("a d b", max_tokens=9) == [1, 0, 2]
    assert vocabulary.ids("a b c a", max_tokens=2) == [1, 2]
    assert vocabulary.ids("", max_tokens=5) == [0]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=5), st.integers(1, 50))
def test_a_saved_vocabulary_is_read_as_it_was(tmp_path_factory, texts, max_words):
    path = tmp_path_factory.mktemp("vocabulary") / "vocabulary.txt"
    vocabulary = most_frequent(Counter(word for text in texts for word in words_of(text)), max_words=max_words)
    vocabulary.save(path)
    assert load_vocabulary(path).words == vocabulary.words
    for text in texts:
        assert all(0 <= number <= max_words for number in vocabulary.ids(text, max_tokens=4))


@pytest.mark.parametrize("words", [[], ["a"], [UNKNOWN, "a", "a"]])
def test_what_is_no_vocabulary_is_refused_with_its_file(tmp_path, words):
    with pytest.raises(FeatureError, match="no word twice"):
        Vocabulary(words)
    path = tmp_path / "vocabulary.txt"
    path.write_text("".join(f"{word}\n" for word in words))
    with pytest.raises(FeatureError, match=r"vocabulary.txt: cannot be read as a vocabulary"):
        load_vocabulary(path)
    with pytest.raises(FeatureError, match=r"nowhere.txt"):
        load_vocabulary(tmp_path / "nowhere.txt")
    path.write_bytes(b"\xff")
    with pytest.raises(FeatureError, match=r"vocabulary.txt"):
        load_vocabulary(path)


def test_words_of_concepts_are_known_however_rare():
    vocabulary = most_frequent({"cat": 1, "a": 3, "dog": 2}, max_words=2, besides=["tennis racket", "dog"])
    assert vocabulary.words == (UNKNOWN, "a", "dog", "tennis", "racket")
