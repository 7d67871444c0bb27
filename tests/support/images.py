"""Pictures for tests: of noise, and some whose colours show how they were decoded."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image as Pillow


def encoded(picture, kind="PNG", **settings):
    stream = io.BytesIO()
    picture.save(stream, kind, **settings)
    return stream.getvalue()


def noise(seed=0, size=(80, 72), kind="PNG"):
    """An encoded picture of noise, different for every seed."""
    width, height = size
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    return encoded(Pillow.fromarray(pixels), kind)


def photo(width=96, height=80):
    """Left half red, right half blue, top left corner white: one can see how it is turned."""
    picture = Pillow.new("RGB", (width, height), "red")
    picture.paste("blue", (width // 2, 0, width, height))
    picture.paste("white", (0, 0, width // 4, height // 4))
    return picture


def near(picture, place, colour, tolerance=12):
    return np.abs(np.subtract(picture.getpixel(place), colour)).max() <= tolerance


def rgba(alpha):
    picture = photo().convert("RGBA")
    picture.putalpha(alpha)
    return picture


def indexed(value, palette):
    picture = Pillow.new("P", (96, 80), value)
    picture.putpalette(palette)
    return picture
