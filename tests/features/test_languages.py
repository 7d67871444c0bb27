from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from iconotext.features import FeatureCache, cached_text
from iconotext.features.backbone import TextBackbone
from iconotext.features.cached_backbones import encoded_once
from iconotext.features.languages import encode_texts, english_share

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


def test_english_documents_are_read_as_before_unless_the_letters_are_others():
    assert english_share("Der Hund", "en") == 1.0
    assert english_share("犬が走る", "en") == 0.0


def along(axis: int, name: str, languages: set[str] | None = None) -> tuple[TextBackbone, list[str]]:
    """A backbone whose vectors all lie along one axis, and the texts that it was asked for."""
    asked: list[str] = []

    def encode(texts):
        asked.extend(texts)
        vectors = np.zeros((len(texts), 2), np.float32)
        vectors[:, axis] = 1
        return vectors

    return TextBackbone(name, 2, encode, None if languages is None else frozenset(languages)), asked


@pytest.fixture
def both():
    (english, read), (others, also_read) = along(0, "english", {"en"}), along(1, "others", {"de", "ja"})
    return replace(english, other=others), read, also_read


def test_each_text_goes_to_its_encoder(both):
    backbone, read, also_read = both
    vectors = encode_texts(backbone, [ENGLISH[0], OTHERS["de"][0], OTHERS["ja"][0]])
    np.testing.assert_array_equal(vectors, [[1, 0], [0, 1], [0, 1]])
    assert (read, also_read) == ([ENGLISH[0]], [OTHERS["de"][0], OTHERS["ja"][0]])
    assert encode_texts(backbone, []).shape == (0, 2)
    assert [backbone.knows(language) for language in ("en", "de", "ja", "fr")] == [True, True, True, False]


def test_a_text_in_doubt_lies_between_both(both):
    backbone, read, also_read = both
    assert english_share("Hotel", None) == 0.5
    np.testing.assert_allclose(encode_texts(backbone, ["Hotel"]), [[0.5**0.5, 0.5**0.5]], rtol=1e-6)
    assert read == also_read == ["Hotel"]


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
    np.testing.assert_array_equal(encode_texts(once, [OTHERS["de"][0]], "de"), [[0, 1]])
    np.testing.assert_array_equal(encode_texts(once, [OTHERS["de"][0]], "en"), [[1, 0]])
    assert len(read) == 2
    encode_texts(once, ["One more sentence of the same document."], "de")
    assert read[2:] == ["One more sentence of the same document."]
