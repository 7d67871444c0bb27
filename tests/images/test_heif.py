from __future__ import annotations

import io
import random

import numpy as np
import pillow_heif
import pytest
from PIL import Image as Pillow

from iconotext.errors import ImageError
from iconotext.images import decode, inspect
from iconotext.types import Image
from tests.support.images import near, photo


def encoded(picture, **settings):
    buffer = io.BytesIO()
    pillow_heif.from_pillow(picture).save(buffer, **settings)
    return buffer.getvalue()


def test_a_photograph_of_a_telephone(tmp_path):
    file = tmp_path / "IMG_0001.HEIC"
    file.write_bytes(encoded(photo(), quality=95))
    picture = decode(file, at_least=64)
    assert picture == decode(file.read_bytes(), at_least=64)
    assert (picture.mode, picture.size) == ("RGB", (96, 80))
    assert near(picture, (10, 60), (255, 0, 0), 30)
    assert near(picture, (90, 70), (0, 0, 255), 30)
    assert [image.problem for image in inspect([Image("a", file)])] == [None]


def test_it_is_upright():
    exif = Pillow.Exif()
    exif[0x0112] = 6
    held = photo().transpose(Pillow.Transpose.ROTATE_90)
    picture = decode(encoded(held, quality=95, exif=exif.tobytes()))
    assert picture.size == (96, 80)
    assert near(picture, (90, 70), (0, 0, 255), 30)


def test_what_is_transparent_is_white():
    picture = photo().convert("RGBA")
    picture.putalpha(0)
    assert near(decode(encoded(picture, quality=95)), (50, 50), (255, 255, 255))


def test_more_than_eight_bits():
    ramp = np.linspace(0, 65_535, 96 * 80).reshape(80, 96, 1).repeat(3, axis=2).astype(np.uint16)
    buffer = io.BytesIO()
    pillow_heif.encode("RGB;16", (96, 80), np.ascontiguousarray(ramp).tobytes(), buffer, quality=95)
    assert np.abs(np.asarray(decode(buffer.getvalue()), float) - ramp / 257).mean() < 4


def test_the_limits_of_pictures_hold():
    data = encoded(photo())
    with pytest.raises(ImageError, match="96 × 80 are more than 7,679 pixels"):
        decode(data, max_pixels=96 * 80 - 1)
    assert inspect([Image("a", data)], min_side=90)[0].problem == "smaller than 90 px (96 × 80): an icon or a spacer"


def test_damaged_ones_give_a_picture_or_one_of_our_errors():
    data = encoded(photo(), quality=50)
    chance = random.Random(0)
    mutants = [data[: len(data) * tenth // 10] for tenth in range(1, 10)]
    for _ in range(150):
        mutant = bytearray(data)
        for _ in range(chance.choice((1, 1, 4, 30))):
            mutant[chance.randrange(8, len(mutant))] = chance.randrange(256)
        mutants.append(bytes(mutant))
    refusals = []
    for mutant in mutants:
        try:
            assert decode(mutant).mode == "RGB"
        except ImageError as error:
            refusals.append(str(error))
    assert len(refusals) > 20
    assert "\n" not in "".join(refusals)
