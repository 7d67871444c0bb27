"""The encoder of some seventy more languages, against what its files say when they are read in the slowest way."""

import math
from functools import cache

import numpy as np
import pytest
from safetensors.numpy import load_file

from iconotext.features.minilm import MiniLM
from iconotext.features.token_network import E5, E5_LANGUAGES, USE_LANGUAGES
from tests.support.pieces import split_into_pieces

FOLDER, LONGEST, PREFIX = E5.folder, E5.longest, E5.prefix
encode, unmapped = E5.encode, E5.unmapped

SENTENCES = {
    "cs": "Červená tramvaj čeká na zastávce.",
    "da": "En rød sporvogn venter ved stoppestedet.",
    "de": "Eine rote Straßenbahn wartet an der Haltestelle.",
    "el": "Ένα κόκκινο τραμ περιμένει στη στάση.",
    "en": "A red tram waits at the stop.",
    "he": "חשמלית אדומה מחכה בתחנה.",
    "hi": "एक लाल ट्राम स्टॉप पर इंतज़ार कर रही है।",
    "hu": "Egy piros villamos vár a megállóban.",
    "id": "Sebuah trem merah menunggu di halte.",
    "ro": "Un tramvai roșu așteaptă în stație.",
    "sv": "En röd spårvagn väntar vid hållplatsen.",
    "uk": "Червоний трамвай чекає на зупинці.",
    "vi": "Một chiếc tàu điện màu đỏ đang đợi ở trạm dừng.",
}
OTHERS = [
    "The recipe needs two eggs and a cup of flour.",
    "Počet obyvatel v zimě klesl.",
    "Cells divide in two.",
    "Håll knappen intryckt i tre sekunder.",
]
stored = cache(lambda: load_file(FOLDER / "weights.safetensors") | load_file(FOLDER / "map.safetensors"))


def slow_tokens(text):
    return split_into_pieces(PREFIX + text, FOLDER, ends=(0, 2), unknown=3)


def slow_embedding(token):
    groups = stored()["groups"].astype(float)
    return np.concatenate([groups[place, code] for place, code in enumerate(stored()["codes"][token])])


def product(row, name):
    """Number by number: each byte holds two weights, counted from -8 in steps of 32."""
    packed, steps = stored()[f"{name}.weight"], stored()[f"{name}.weight.step"].astype(float)
    whole = np.stack([packed & 15, packed >> 4], -1).reshape(*steps.shape, 32).astype(float) - 8
    return (whole * steps[..., None]).reshape(len(packed), -1) @ row + stored()[f"{name}.bias"]


def norm(row, name):
    row = row - row.mean()
    return row / math.sqrt((row**2).mean() + 1e-12) * stored()[f"{name}.weight"] + stored()[f"{name}.bias"]


def gelu(row):
    return np.array([x * (1 + math.erf(x / math.sqrt(2))) / 2 for x in row])


def slow_vector(tokens):
    """Token by token, in 64 bits."""
    places = stored()["places"].astype(float)
    rows = [norm(slow_embedding(token) + places[at], "norm") for at, token in enumerate(tokens)]
    for layer in range(12):
        query, key, value = (
            [product(row, f"{layer}.attention.{part}") for row in rows] for part in ("query", "key", "value")
        )
        seen = []
        for at in range(len(rows)):
            parts = []
            for head in range(12):
                of_head = slice(32 * head, 32 * head + 32)
                odds = np.exp([query[at][of_head] @ other[of_head] / math.sqrt(32) for other in key])
                parts.append(sum(odd * row[of_head] for odd, row in zip(odds / odds.sum(), value, strict=True)))
            seen.append(np.concatenate(parts))
        rows = [
            norm(row + product(more, f"{layer}.attention.out"), f"{layer}.attention.norm")
            for row, more in zip(rows, seen, strict=True)
        ]
        inner = [gelu(product(row, f"{layer}.inner")) for row in rows]
        rows = [
            norm(row + product(more, f"{layer}.outer"), f"{layer}.norm") for row, more in zip(rows, inner, strict=True)
        ]
    mean = np.mean(rows, 0)
    return mean / np.linalg.norm(mean)


def slow_map(vector):
    def matrix(name):
        return stored()[f"{name}.weight"].astype(float) * stored()[f"{name}.weight.step"]

    inner = gelu(vector @ matrix("map.hidden") + stored()["map.hidden.bias"])
    mapped = vector @ matrix("map.linear") + stored()["map.linear.bias"] + inner @ matrix("map.out")
    return mapped / np.linalg.norm(mapped)


@pytest.mark.parametrize("text", [*SENTENCES.values(), *OTHERS, "a  b ", "①ﬁ １２３ x", "𓀀𓀁 𓀂"])
def test_tokens_are_the_best_split_of_each_word(text):
    assert E5.tokenizer.encode(PREFIX + text).ids == slow_tokens(text)


def test_a_vector_is_that_of_the_files():
    vector = slow_vector(slow_tokens(SENTENCES["cs"]))
    np.testing.assert_allclose(unmapped([SENTENCES["cs"]])[0], vector, atol=2e-4)
    np.testing.assert_allclose(encode([SENTENCES["cs"]])[0], slow_map(vector), atol=1e-3)


def test_pieces_are_unpacked():
    tokens = [0, 1, 2, 3, 4, 77_777, len(stored()["codes"]) - 1]
    found = E5.table(np.array([tokens]))
    np.testing.assert_array_equal(found, [[slow_embedding(token) for token in tokens]])
    assert E5.tokenizer.get_vocab_size() == len(stored()["codes"])


def test_a_sentence_is_nearest_to_the_same_one_in_english():
    assert set(SENTENCES) <= E5_LANGUAGES
    assert not {"ja", "ko", "th", "zh"} & E5_LANGUAGES
    assert {"ja", "ko", "th", "zh"} <= USE_LANGUAGES
    cosines = encode(list(SENTENCES.values())) @ encode([SENTENCES["en"], *OTHERS]).T
    assert (cosines.argmax(1) == 0).all()


def test_every_language_lies_near_what_the_encoder_of_english_makes_of_it():
    english = MiniLM().encode([SENTENCES["en"], OTHERS[0], OTHERS[2]])
    cosines = encode(list(SENTENCES.values())) @ english.T
    assert (cosines.argmax(1) == 0).all()
    assert np.median(cosines[:, 0]) > 0.4
