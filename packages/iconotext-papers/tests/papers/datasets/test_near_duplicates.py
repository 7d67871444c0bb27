"""The DCT hash against a slow one written pixel by pixel, and near hashes against the comparison of all with all."""

from __future__ import annotations

import io
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow

from iconotext_papers.datasets.near_duplicates import near_duplicates, perceptual_hash


def slow_hash(picture):
    """The same by its definition, one pixel and one coefficient after the other."""
    width, height = picture.size

    def luminance(x, y):
        red, green, blue = picture.getpixel((min(max(x, 0), width - 1), min(max(y, 0), height - 1)))
        return (66 * red + 129 * green + 25 * blue + 128) // 256

    def point(i, j):
        x, y = i * width // 32, j * height // 32
        return sum(luminance(x + dx, y + dy) for dx in range(-3, 4) for dy in range(-3, 4)) / 49

    points = [[point(i, j) for i in range(32)] for j in range(32)]

    def coefficient(v, u):
        return sum(
            points[y][x] * math.cos(math.pi * u * (2 * x + 1) / 64) * math.cos(math.pi * v * (2 * y + 1) / 64) / 16
            for x in range(32)
            for y in range(32)
        )

    values = [round(coefficient(v, u), 6) for v in range(1, 9) for u in range(1, 9)]
    middle = sorted(values)[31:33]
    return sum(1 << place for place, value in enumerate(values) if value > sum(middle) / 2)


def photograph(seed, width=320, height=240):
    """Soft blobs of colour: something like a photograph out of focus."""
    rng = np.random.default_rng(seed)
    small = Pillow.fromarray(rng.integers(0, 256, (6, 8, 3), np.uint8))
    return small.resize((width, height), Pillow.Resampling.BICUBIC)


@pytest.mark.parametrize(("seed", "size"), [(1, (64, 48)), (2, (33, 90)), (3, (5, 7)), (4, (1, 1)), (5, (200, 1))])
def test_it_is_the_hash_of_its_definition(seed, size):
    picture = photograph(seed, *size)
    assert perceptual_hash(picture) == slow_hash(picture)


@pytest.mark.slow
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 10**6), width=st.integers(1, 60), height=st.integers(1, 60))
def test_it_is_the_hash_of_its_definition_for_any_noise(seed, width, height):
    noise = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    picture = Pillow.fromarray(noise)
    assert (perceptual_hash(picture) ^ slow_hash(picture)).bit_count() <= 2  # rounding at the median


def test_a_flat_picture_and_a_wave_along_one_side_have_no_pattern():
    for colour in ("white", "black", "#123456"):
        assert perceptual_hash(Pillow.new("RGB", (300, 200), colour)) == 0
    column = (128 + 100 * np.cos(np.pi * (2 * np.arange(224) + 1) / 448)).astype(np.uint8)
    assert perceptual_hash(Pillow.fromarray(np.repeat(column[:, None], 224, 1)).convert("RGB")) == 0


@pytest.mark.parametrize("seed", range(8))
def test_smaller_and_recompressed_copies_are_near_and_other_pictures_far(seed):
    picture = photograph(seed, 640, 480)
    packed = io.BytesIO()
    picture.resize((512, 384)).save(packed, "JPEG", quality=70)
    copy = Pillow.open(packed).convert("RGB")
    assert (perceptual_hash(picture) ^ perceptual_hash(copy)).bit_count() <= 3
    assert (perceptual_hash(picture) ^ perceptual_hash(photograph(seed + 100, 640, 480))).bit_count() > 10
    assert perceptual_hash(picture).bit_count() == 32  # of 64, above their median


def by_comparing_all(hashes, distance):
    """For each the first other one that is near, else -1."""
    return [
        next((j for j, b in enumerate(hashes) if j != i and (a ^ b).bit_count() <= distance), -1)
        for i, a in enumerate(hashes)
    ]


@st.composite
def crowds(draw):
    """Hashes, many of them a few bits from others."""
    centres = draw(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=4))
    member = st.tuples(st.sampled_from(centres), st.lists(st.integers(0, 63), max_size=6))
    hashes = []
    for centre, flips in draw(st.lists(member, max_size=25)):
        for bit in flips:
            centre ^= 1 << bit
        hashes.append(centre)
    return hashes


@given(hashes=crowds(), distance=st.integers(0, 15))
def test_finds_what_comparing_all_with_all_finds(hashes, distance):
    found = near_duplicates(np.array(hashes, np.uint64), distance)
    assert found.tolist() == by_comparing_all(hashes, distance)


def test_no_hashes_one_hash_and_nearness_that_is_not_handed_on():
    assert near_duplicates(np.array([], np.uint64), 3).tolist() == []
    assert near_duplicates(np.array([7], np.uint64), 3).tolist() == [-1]
    # 0 and 2 differ in four bits, each of them in two from 1
    assert near_duplicates(np.array([0b0000, 0b0011, 0b1111], np.uint64), 2).tolist() == [1, 0, 1]
    assert near_duplicates(np.array([0b0000, 0b0111, 0b1111_1111], np.uint64), 3).tolist() == [1, 0, -1]


@pytest.mark.parametrize("distance", [-1, 16, 64])
def test_refuses_distances_that_it_cannot_search(distance):
    with pytest.raises(ValueError, match=r"give one of 0 to 15"):
        near_duplicates(np.array([1], np.uint64), distance)


def test_of_three_hundred_thousand_hashes_few_pairs_are_compared(monkeypatch):
    rng = np.random.default_rng(0)
    hashes = rng.integers(0, 2**64, 300_000, np.uint64)
    hashes[1000:1200] = hashes[:200] ^ np.uint64(0b1001 << 30)
    hashes[5000:9000] = 0  # flat pictures
    compared, counted_bits = [], np.bitwise_count

    def counting(bits):
        compared.append(len(bits))
        return counted_bits(bits)

    monkeypatch.setattr(np, "bitwise_count", counting)
    found = near_duplicates(hashes, 3)
    assert 0 < sum(compared) < 10 * len(hashes)  # of 45,000 million
    assert (found[:200] == np.arange(1000, 1200)).all()
    assert (found[1000:1200] == np.arange(200)).all()
    assert found[5000] == 5001
    assert (found[5001:9000] == 5000).all()
    assert (found >= 0).sum() == 4400
