"""What holds for each encoder whose network begins with the embeddings of tokens."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iconotext.features.minilm import DIM
from iconotext.features.token_network import E5, TOKENS, USE, batches, load_others
from iconotext.system.threads import THREADS

HOSTILE = [
    "",
    "  spaces\tand\nlines  ",
    "Zürich, naïve café — “quoted” … 東京 😀",
    "half \ud800 a pair",
    "\x00\x07\x7f\u200b\ufeff\u202e",
    "👩‍👩‍👧‍👦 𓀀𓀁",
    "<s> </s> <unk> ▁",
    "word " * 300,
    "x" * 3000,
    "각" * 400,
]
SENTENCES = ["Eine rote Straßenbahn wartet.", "Červená tramvaj čeká.", "赤い路面電車が待っている。", "ترام أحمر ينتظر."]
TEXTS = [*SENTENCES, *HOSTILE, *(f"Satz {i} " + "und so weiter " * (i % 23) for i in range(24))]


@pytest.fixture(params=[USE, E5], ids=["use", "e5"])
def shipped(request):
    return request.param


def test_a_text_is_the_same_to_the_last_bit_in_every_batch(shipped, monkeypatch):
    encode = shipped.encode
    together = encode(TEXTS)
    assert together.shape == (len(TEXTS), DIM)
    assert together.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)
    for i, text in enumerate(TEXTS):
        np.testing.assert_array_equal(encode([text])[0], together[i])
    for threads in ("1", "3"):
        monkeypatch.setenv(THREADS, threads)
        np.testing.assert_array_equal(encode(TEXTS[::-1])[::-1], together)


@pytest.mark.parametrize(
    ("text", "same"),
    [("", " \t\n"), ("\u200b", ""), ("\ud800", "?"), ("word " * 300, "word " * 400)],
)
def test_texts_that_are_the_same(shipped, text, same):
    np.testing.assert_array_equal(*shipped.encode([text, same]))


def test_control_pieces_in_a_text_are_text(shipped):
    tokenizer = shipped.tokenizer
    begin, end = tokenizer.encode("").ids
    ids = tokenizer.encode("<s> a </s> <unk>").ids
    assert (ids[0], ids[-1]) == (begin, end)
    assert not {begin, end} & set(ids[1:-1])
    assert len(tokenizer.encode("word " * 300)) == shipped.longest


def test_no_texts(shipped):
    assert shipped.encode([]).shape == (0, DIM)


def test_the_name_has_a_digest_of_the_weights(shipped):
    contents = [(shipped.folder / f"{name}.safetensors").read_bytes() for name in ("weights", "map")]
    digest = hashlib.sha256(b"".join(contents)).hexdigest()[:8]
    assert f"{shipped.folder.name}-{digest}" in (load_others().name, load_others().other.name)


@given(st.lists(st.integers(2, 256), max_size=300))
def test_batches_hold_every_text_once_with_others_of_its_length(lengths):
    found = batches(lengths)
    assert sorted(row for batch in found for row in batch) == list(range(len(lengths)))
    for batch in found:
        assert len({lengths[row] for row in batch}) == 1
        assert len(batch) == 1 or len(batch) * lengths[batch[0]] <= TOKENS
