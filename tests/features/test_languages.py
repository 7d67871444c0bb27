from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from iconotext.features import FeatureCache, cached_text
from iconotext.features.backbone import TextBackbone
from iconotext.features.cached_backbones import encoded_once
from iconotext.features.languages import LATIN, encode_texts, english_share, is_english, readers_of
from iconotext.features.token_network import E5_LANGUAGES, USE_LANGUAGES

ENGLISH = (
    "A dog runs along the beach.",
    "Open the settings and choose Network.",
    "Figure 3 shows how the two plates are connected.",
    "red bicycle",
)
OTHERS = {
    "de": ("Ein Hund läuft am Strand entlang.", "Öffnen Sie die Einstellungen und wählen Sie Netzwerk."),
    "fr": ("Un chien court le long de la plage.", "Ouvrez les réglages et choisissez Réseau."),
    "cs": ("Pes běží po pláži.", "Otevřete nastavení a vyberte síť."),
    "nl": ("Een hond rent langs het strand.", "Een jongen gooit stenen in het water."),
    "tr": ("Bir köpek sahilde koşuyor.",),
    "ja": ("犬が浜辺を走っている。", "設定"),
    "ar": ("كلب يركض على الشاطئ.",),
    "ru": ("Собака бежит по пляжу.",),
}


def test_english_is_told_from_other_languages_without_a_document():
    assert [english_share(text, None) for text in ENGLISH] == [1.0] * len(ENGLISH)
    assert {
        text: english_share(text, None) for texts in OTHERS.values() for text in texts if english_share(text, None)
    } == {}


@pytest.mark.parametrize("language", OTHERS)
def test_a_document_decides_about_its_short_texts(language):
    assert [english_share(text, language) for text in OTHERS[language]] == [0.0] * len(OTHERS[language])
    # Longer English stays English, and in another script a short one does, too.
    assert english_share("The board lies on the table beside the battery", language) == 1.0
    assert english_share("red bicycle", language) == float(language in ("ja", "ar", "ru"))
    assert english_share("WLAN", "de") == 0.0
    assert english_share("2 + 3", language) == 1.0  # nothing to read


def test_a_question_of_few_words_is_english_by_its_pieces_or_letters():
    assert all(map(is_english, (*ENGLISH, "red boat", "screenshot of the login dialog")))
    assert not any(map(is_english, ("Hund am Strand", "Katze", "ein roter Hund", "perro rojo grande", "犬", "собака")))


def test_every_language_has_its_letters():
    others = "am ar as be bg bn el fa gu he hi hy ja ka kk km kn ko ky lo mk ml mn mr my ne or pa ps ru sd si sr ta te th ug uk ur zh"
    assert set(others.split()) | LATIN == E5_LANGUAGES | USE_LANGUAGES | LATIN
    assert not set(others.split()) & LATIN


def test_english_documents_are_read_as_before_unless_the_letters_are_others():
    assert english_share("Der Hund", "en") == 1.0
    assert english_share("犬が走る", "en") == 0.0


def along(axis: int, name: str, languages: set[str], *, cosine: float = 0.0) -> tuple[TextBackbone, list[str]]:
    """A backbone whose vectors all lie along one axis, or near the next one; and the texts that it was asked for."""
    asked: list[str] = []

    def encode(texts):
        asked.extend(texts)
        vectors = np.zeros((len(texts), 3), np.float32)
        vectors[:, axis], vectors[:, (axis + 1) % 3] = (1 - cosine**2) ** 0.5, cosine
        return vectors

    return TextBackbone(name, 3, encode, frozenset(languages)), asked


@pytest.fixture
def both():
    (english, read), (others, also_read) = along(0, "english", {"en"}), along(1, "others", {"de", "ja"})
    return replace(english, other=others), read, also_read


def test_each_text_goes_to_its_encoder(both):
    backbone, read, also_read = both
    vectors = encode_texts(backbone, [ENGLISH[0], OTHERS["de"][0], OTHERS["ja"][0]])
    np.testing.assert_array_equal(vectors, [[1, 0, 0], [0, 1, 0], [0, 1, 0]])
    assert (read, also_read) == ([ENGLISH[0]], [OTHERS["de"][0], OTHERS["ja"][0]])
    assert encode_texts(backbone, []).shape == (0, 3)
    assert [backbone.knows(language) for language in ("en", "de", "ja", "fr")] == [True, True, True, False]


@pytest.mark.parametrize(("cosine", "share"), [(0.3, 0), (0.4, 0), (0.45, 0.25), (0.6, 1), (0.9, 1)])
def test_a_text_in_doubt_is_read_by_all_who_may_know_it_as_far_as_they_agree(monkeypatch, cosine, share):
    monkeypatch.setattr("iconotext.features.languages.language_probabilities", lambda text: {"en": 0.1, "fi": 0.9})
    (english, read), (others, also_read) = along(0, "english", {"en"}, cosine=cosine), along(1, "others", {"de"})
    assert english_share("giraffe", None) == english_share("Hotel", None) == 0.5
    share = max(share, 0.1)
    vector = np.array([share * (1 - cosine**2) ** 0.5, share * cosine + 1 - share, 0])
    found = encode_texts(replace(english, other=others), ["giraffe"])
    np.testing.assert_allclose(found, [vector / np.linalg.norm(vector)], rtol=1e-6)
    assert read == also_read == ["giraffe"]


def test_the_first_encoder_that_knows_a_language_reads_it_and_the_last_one_all_that_nobody_knows():
    (english, _), (some, _), (many, _) = along(0, "1", {"en"}), along(1, "2", {"de", "ja"}), along(2, "3", {"de", "cs"})
    some = replace(some, other=many)
    backbone = replace(english, other=some)
    german, czech, japanese = OTHERS["de"][0], OTHERS["cs"][0], OTHERS["ja"][0]
    for text, language, readers in (
        (german, "de", [some]),
        (czech, "cs", [many]),
        (czech, "xx", [many]),
        (japanese, "en", [some, many]),
        (japanese, "cs", [some, many]),  # the document's language says nothing about other letters
        (german, None, [some, many]),
        ("giraffe", None, [backbone, some, many]),
        (ENGLISH[0], None, [backbone]),
    ):
        assert readers_of(backbone, text, language) == readers, (text, language)
    found = encode_texts(backbone, [czech, german, ENGLISH[0]])
    np.testing.assert_allclose(found, [[0, 0, 1], [0, 1, 0], [1, 0, 0]], atol=0.01)


def test_an_encoder_alone_reads_everything():
    backbone, read = along(0, "english", {"en"})
    encode_texts(backbone, [OTHERS["ja"][0]], "ja")
    assert read == [OTHERS["ja"][0]]


def test_the_cache_keeps_both_apart(both, tmp_path):
    backbone, read, also_read = both
    cached = cached_text(backbone, FeatureCache(tmp_path / "cache.sqlite"))
    texts = [ENGLISH[0], OTHERS["de"][0]]
    first = encode_texts(cached, texts, "de")
    np.testing.assert_array_equal(encode_texts(cached, texts, "de"), first)
    assert (read, also_read) == ([ENGLISH[0]], [OTHERS["de"][0]])
    # As a text of an English document, the German one is a text that the English encoder has not read yet.
    encode_texts(cached, texts, "en")
    assert read == texts


def test_a_batch_is_encoded_once_by_both(both):
    backbone, read, also_read = both
    once = encoded_once(
        backbone, [(ENGLISH[0], "en"), (OTHERS["de"][0], "de"), (OTHERS["de"][0], "en"), (ENGLISH[0], "en")]
    )
    assert (read, also_read) == ([ENGLISH[0], OTHERS["de"][0]], [OTHERS["de"][0]])
    np.testing.assert_array_equal(encode_texts(once, [OTHERS["de"][0]], "de"), [[0, 1, 0]])
    np.testing.assert_array_equal(encode_texts(once, [OTHERS["de"][0]], "en"), [[1, 0, 0]])
    assert len(read) == 2
    encode_texts(once, ["One more sentence of the same document."], "de")
    assert read[2:] == ["One more sentence of the same document."]
