"""Pairs of a text and a picture, and an encoder of random vectors for them."""

from __future__ import annotations

import numpy as np
import pytest

from iconotext.types import Document, Image, Sentence
from tests.support.encoders import MadeUpEncoder


def unit(seed, dim=8):
    vector = np.random.default_rng(seed).normal(size=dim)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def stand_in(asked=None):
    """An encoder of random vectors, by text and by file name; files called ``broken`` cannot be read."""

    def texts(given):
        return np.stack([unit(sum(text.encode())) for text in given])

    def pictures(files):
        if asked is not None:
            asked.extend(file.name for file in files)
        problems = tuple("cannot be decoded" if "broken" in file.name else None for file in files)
        rows = [unit(sum(file.read_bytes())) * (problem is None) for file, problem in zip(files, problems, strict=True)]
        return np.stack(rows).astype(np.float32), problems

    return MadeUpEncoder("stand-in", 8, texts, pictures)


@pytest.fixture
def image(tmp_path):
    def make(name, content=None):
        path = tmp_path / name
        path.write_bytes((content or name).encode())
        return Image(name, path)

    return make


def pair(identifier, text, picture, relations=None, links=((0, 0),)):
    meta = {} if relations is None else {"relations": relations}
    return Document(identifier, (Sentence(text),), (picture,), links=links, meta=meta)
