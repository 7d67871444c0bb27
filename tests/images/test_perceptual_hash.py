"""The DCT hash: equal to a slow one written pixel by pixel, and steady where pictures look the same."""

from __future__ import annotations

import io
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow

from iconotext.images.near_duplicates import perceptual_hash


def slow_hash(picture):
    """The same by its definition, one pixel and one coefficient after the other."""
    width, height = picture.size

    def luminance(x, y):
        red, green, blue = picture.getpixel((min(max(x, 0), width - 1), min(max(y, 0), height - 1)))
        return (66 * red + 129 * green + 25 * blue + 128) // 256

    points = [
        [
            sum(luminance(i * width // 32 + dx, j * height // 32 + dy) for dx in range(-3, 4) for dy in range(-3, 4))
            / 49
            for i in range(32)
        ]
        for j in range(32)
    ]

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


@pytest.mark.parametrize("colour", ["white", "black", "#123456"])
def test_a_flat_picture_has_no_pattern(colour):
    assert perceptual_hash(Pillow.new("RGB", (300, 200), colour)) == 0


def test_a_wave_along_one_side_is_no_pattern_of_the_frequencies_that_count():
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


def test_half_of_the_bits_are_set():
    assert {perceptual_hash(photograph(seed)).bit_count() for seed in range(5)} == {32}
