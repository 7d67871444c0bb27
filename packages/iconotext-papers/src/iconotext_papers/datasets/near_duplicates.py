"""Pictures that look alike: a perceptual hash, and a search for near hashes among hundreds of thousands.

The hash is the DCT hash of pHash, 64 bits. Hessel 2019 looks for duplicates with findimagedupes, in the version in Go,
whose fingerprint is of this kind, if not the same bit for bit; ``-t 3`` there is a Hamming distance of 3 among 64
bits. (The older findimagedupes in Perl has a fingerprint of its own.) Written after the description of pHash
(https://phash.org/docs/design.html) and of that program's parameters.

Not all pairs are compared: two numbers that differ in at most d bits agree in at least one of d + 1 parts of their bits
(the pigeonhole principle; Norouzi et al. 2012, "Fast search in Hamming space with multi-index hashing"). So only
numbers that agree in a part are compared, and no near pair is missed.
"""

from __future__ import annotations

from array import array
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PIL import Image as Pillow

SIDE = 32  # number of points on each side at which a picture is sampled
REACH = 3  # pixels on each side of a point that are averaged: a square of 7 by 7

LUMA = np.array((66, 129, 25), np.int32)
"""Weights of red, green and blue, in 256ths: luminance of ITU-R BT.601 in television range."""

DIGITS = 6  # digits of a coefficient; smaller values come from rounding a flat picture


WAVES = np.cos(np.pi / SIDE * np.outer(np.arange(1, 9), np.arange(SIDE) + 0.5)) * np.sqrt(2 / SIDE)
"""(8, 32): the lowest frequencies of a DCT, without the constant one."""


def perceptual_hash(image: Pillow.Image) -> int:
    """Return the hash of an upright picture of mode RGB, of any size: 0 to 2**64 - 1.

    The luminance, averaged over squares of 7 by 7 pixels, is sampled at 32 by 32 points, evenly spaced from the upper
    left corner, and transformed by a two-dimensional DCT. For each of the 8 by 8 lowest frequencies that are not
    constant in either direction, a bit says whether the coefficient is above their median.
    """
    pixels = np.asarray(image)
    height, width = pixels.shape[:2]
    rows, columns = _places(height), _places(width)
    red, green, blue = np.moveaxis(pixels.take(rows, axis=0).take(columns, axis=1).astype(np.int32), 2, 0)
    luminance = (LUMA[0] * red + LUMA[1] * green + LUMA[2] * blue + 128) >> 8
    side = 2 * REACH + 1
    points = luminance.reshape(SIDE, side, SIDE * side).sum(axis=1).reshape(SIDE, SIDE, side).sum(axis=2)
    low = (WAVES @ (points / side**2) @ WAVES.T).round(DIGITS)
    bits = (low > np.median(low)).ravel()
    return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")


def _places(length: int) -> NDArray[np.int64]:
    """Return (32 * 7,) positions in a row or column: each point with its neighbours, clamped to the edge."""
    points = np.arange(SIDE) * length // SIDE
    places: NDArray[np.int64] = np.clip(points[:, None] + np.arange(-REACH, REACH + 1), 0, length - 1).ravel()
    return places


BITS = 64
MAX_DISTANCE = 15
"""Maximum distance: the parts then have four bits each; with smaller parts nearly all pairs would be compared."""


def near_duplicates(hashes: NDArray[np.uint64], distance: int) -> NDArray[np.int64]:
    """Return for each hash the first other one that is near.

    Args:
        hashes: (n,)
        distance: Maximum number of different bits, 0 to 15.

    Returns:
        (n,) the smallest number of another hash within the distance; -1 if there is none.
    """
    if not 0 <= distance <= MAX_DISTANCE:
        raise ValueError(f"a distance of {distance}: give one of 0 to {MAX_DISTANCE}")
    total = len(hashes)
    different, first, same_as = np.unique(hashes, return_index=True, return_inverse=True)
    nearest = np.full(len(different), total, np.int64)  # for each different hash, the first hash of another near one
    for shift, mask in _parts(distance + 1):
        _compare(different, first, (different >> shift) & mask, distance, nearest)
    repeats = np.flatnonzero(first[same_as] != np.arange(total))
    second = np.full(len(different), total, np.int64)  # the second hash that is equal
    np.minimum.at(second, same_as[repeats], repeats)
    twin = second[same_as]  # the first equal hash; for that one itself, the second
    twin[repeats] = first[same_as[repeats]]
    partner = np.minimum(nearest[same_as], twin)
    return np.where(partner == total, -1, partner)


def lookalikes(hashes: array[int], usable: bytearray, distance: int) -> NDArray[np.int64]:
    """Return (n,) for each picture the number of another picture that looks the same, -1 if there is none."""
    numbers = np.flatnonzero(np.frombuffer(usable, np.uint8))
    other = near_duplicates(np.frombuffer(hashes, np.uint64)[numbers], distance)
    partners = np.full(len(usable), -1, np.int64)
    partners[numbers] = np.where(other < 0, -1, numbers[other])
    return partners


def _parts(number: int) -> list[tuple[np.uint64, np.uint64]]:
    """Return shift and mask of ``number`` parts of 64 bits, as equal in size as possible."""
    edges = [BITS * part // number for part in range(number + 1)]
    return [(np.uint64(low), np.uint64((1 << (high - low)) - 1)) for low, high in pairwise(edges)]


def _compare(
    hashes: NDArray[np.uint64],
    first: NDArray[np.int64],
    keys: NDArray[np.uint64],
    distance: int,
    nearest: NDArray[np.int64],
) -> None:
    """Compare hashes with equal keys; set ``nearest`` to the smallest ``first`` among those that are near."""
    order = np.argsort(keys, kind="stable")
    keys, hashes, first = keys[order], hashes[order], first[order]
    # Hashes with equal keys are neighbours now. Each is compared with the next one, then with the one after that, ...,
    # until no group of equal keys has so many members.
    begins = np.arange(max(len(keys) - 1, 0))
    step = 1
    while len(begins):
        begins = begins[begins + step < len(keys)]
        begins = begins[keys[begins] == keys[begins + step]]
        near = begins[np.bitwise_count(hashes[begins] ^ hashes[begins + step]) <= distance]
        np.minimum.at(nearest, order[near], first[near + step])
        np.minimum.at(nearest, order[near + step], first[near])
        step += 1
