from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iconotext.errors import FeatureError
from iconotext.features.word_vectors import UNKNOWN, Vocabulary, load_vocabulary, most_frequent, words_of


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
