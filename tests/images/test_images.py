import itertools
import os
import struct
import warnings
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import skimage
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow
from PIL import features as pillow_features

from iconotext import images
from iconotext.errors import ImageError
from iconotext.images import decode, inspect
from iconotext.images.file import decoder_of
from iconotext.types import Image
from tests.support.images import encoded, indexed, near, photo, rgba

SAMPLES = Path(skimage.__file__).parent / "data"
RASTER = ["JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP"] + (["AVIF"] if pillow_features.check("avif") else [])


@pytest.mark.parametrize("kind", RASTER)
def test_every_format_gives_the_same_picture(kind):
    picture = decode(encoded(photo(), kind))
    assert picture.mode == "RGB"
    assert picture.size == (96, 80)
    assert near(picture, (70, 70), (0, 0, 255))
    assert near(picture, (10, 60), (255, 0, 0))


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
@pytest.mark.parametrize("orientation", [*range(1, 9), 77])  # one that there is not is no rotation
def test_exif_rotation_puts_it_upright(orientation, kind):
    undo = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}  # Pillow's transpositions that a camera so held makes
    held = photo().transpose(undo[orientation]) if orientation in undo else photo()
    exif = Pillow.Exif()
    exif[0x0112] = orientation
    upright = decode(encoded(held, kind, exif=exif))
    assert upright.size == (96, 80)
    assert near(upright, (4, 4), (255, 255, 255))
    assert near(upright, (90, 70), (0, 0, 255))


@pytest.mark.parametrize(
    "garbage", [b"Exif\x00\x00", b"Exif\x00\x00MM\x00*", b"Exif\x00\x00" + b"\xff" * 60, b"\x00" * 9]
)
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_garbage_in_exif_costs_nothing_but_the_rotation(garbage, kind):
    assert decode(encoded(photo(), kind, exif=garbage)).size == (96, 80)


TRANSPARENT = {
    "RGBA": encoded(rgba(0)),
    "WebP": encoded(rgba(0), "WEBP", lossless=True),
    "LA": encoded(Pillow.new("LA", (96, 80), (0, 0))),
    "RGB+tRNS": encoded(Pillow.new("RGB", (96, 80), "black"), transparency=(0, 0, 0)),
    "L+tRNS": encoded(Pillow.new("L", (96, 80), 0), transparency=0),
    "P+tRNS": encoded(Pillow.new("P", (96, 80), 0), transparency=0),
    "P+bytes": encoded(indexed(2, [0, 0, 0, 9, 9, 9, 80, 80, 80]), transparency=bytes([255, 128, 0])),
    "GIF": encoded(Pillow.new("P", (96, 80), 0), "GIF", transparency=0),
    "1+tRNS": encoded(Pillow.new("1", (96, 80), 0), transparency=0),
}


@pytest.mark.parametrize("kind", TRANSPARENT)
def test_what_is_transparent_is_white(kind):
    picture = decode(TRANSPARENT[kind])
    assert (picture.mode, picture.getpixel((50, 50))) == ("RGB", (255, 255, 255))
    assert near(decode(encoded(rgba(128))), (10, 60), (255, 127, 127), 1)  # and half of it by half


@pytest.mark.parametrize("mode", ["1", "L", "P", "CMYK", "YCbCr"])
def test_colour_modes(mode):
    kind = {"CMYK": "JPEG", "YCbCr": "JPEG"}.get(mode, "PNG")
    picture = decode(encoded(photo().convert(mode), kind))
    expected = photo().convert(mode).convert("RGB").getpixel((10, 60))
    assert near(picture, (10, 60), expected, 16)


def test_16_bit_grey_is_scaled_not_clipped():
    ramp = np.linspace(0, 65_535, 96 * 80).reshape(80, 96).astype(np.uint16)
    for kind in ("PNG", "TIFF"):
        grey = np.asarray(decode(encoded(Pillow.fromarray(ramp), kind)))
        assert np.abs(grey[..., 0] - ramp / 257).max() <= 1


@pytest.mark.parametrize(
    ("values", "expected"),
    [  # low, high → their grey
        (np.array([0, 1], np.float32), (0, 255)),
        (np.array([0, 255], np.float32), (0, 255)),
        (np.array([-2, 5], np.float32), (0, 255)),
        (np.array([0.25, 0.5], np.float32), (64, 128)),
        (np.array([np.nan, 1], np.float32), (0, 255)),
        (np.array([0, 200], np.int32), (0, 200)),
        (np.array([0, 65_535], np.int32), (0, 255)),
        (np.array([-7, 1_000_000], np.int32), (0, 255)),
        (np.array([-7, -7], np.int32), (0, 0)),
        (np.array([-3e38, 3e38], np.float32), (0, 255)),
    ],
)
def test_wide_grey_of_unknown_range(values, expected):
    picture = decode(encoded(Pillow.fromarray(np.repeat(values, 64 * 32).reshape(64, 64)), "TIFF"))
    assert (picture.getpixel((0, 0))[0], picture.getpixel((63, 63))[0]) == expected


def test_first_frame_of_an_animation():
    data = encoded(photo(), "GIF", save_all=True, append_images=[Pillow.new("RGB", (96, 80), "lime")] * 3)
    assert near(decode(data), (70, 70), (0, 0, 255))


def test_at_least_makes_large_jpegs_quick_and_keeps_the_shorter_side():
    data = encoded(photo(1600, 1200), "JPEG")
    assert decode(data).size == (1600, 1200)
    assert decode(data, at_least=256).size == (400, 300)
    assert decode(data, at_least=1200).size == (1600, 1200)
    assert decode(data, at_least=5000).size == (1600, 1200)  # never enlarged


@pytest.mark.parametrize("kind", RASTER)
def test_cut_off_at_every_tenth(kind):
    noise = np.random.default_rng(0).integers(0, 256, (80, 96, 3), np.uint8)
    data = encoded(Pillow.fromarray(noise), kind)
    for tenth in range(10):
        with pytest.raises(ImageError) as error:
            decode(data[: len(data) * tenth // 10])
        assert "\n" not in str(error.value)


def test_a_file_and_its_bytes_are_the_same_and_the_message_of_a_file_says_where(tmp_path):
    file = tmp_path / "whole.png"
    file.write_bytes(encoded(photo()))
    assert decode(file) == decode(file.read_bytes())
    file = tmp_path / "cut.png"
    file.write_bytes(encoded(photo())[:-100])
    with pytest.raises(ImageError, match=r"cut\.png: cut off or damaged: save or download it again"):
        decode(file)
    with pytest.raises(ImageError, match=r"^cut off or damaged"):
        decode(file.read_bytes())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty"),
        (b'<svg xmlns="http://www.w3.org/2000/svg"/>', "an SVG with nothing to be seen in it"),
        (b'\xef\xbb\xbf<?xml version="1.0"?>\n<!-- c --><svg><g></svg>', "a damaged SVG"),
        (b"<!DOCTYPE html><title>404</title>", "a web page where a picture should be"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0", "git lfs pull"),
        (b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00", "cut off or damaged"),
        (b"\x00\x00\x00\x18ftypcrx \x00\x00\x00\x00", r"a camera's raw file \(CR3\).*export it as JPEG"),
        (b"%PDF-1.7", "a PDF"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "not a picture"),
        (b"hello", "not a picture, or damaged: iconotext reads JPEG"),
    ],
)
def test_what_is_no_picture_is_named(data, message, tmp_path):
    with pytest.raises(ImageError, match=message):
        decode(data)
    (tmp_path / "f").write_bytes(data)
    with pytest.raises(ImageError, match=message):
        decode(tmp_path / "f")


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(ImageError, match="file not found"):
        decode(tmp_path / "none.png")
    with pytest.raises(ImageError, match="cannot be read: Is a directory"):
        decode(tmp_path)
    with pytest.raises(ImageError, match="cannot be read"):
        decode(Path("a\0b"))


def png_header(width, height):
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"\0" * 1000)) + chunk(b"IEND", b"")


@pytest.mark.parametrize("size", [(10_001, 10_000), (12_000, 12_000), (60_000, 60_000), (2**31 - 1, 2**31 - 1)])
def test_bombs_are_refused_by_their_header(size):
    with pytest.raises(ImageError, match="pixels"):
        decode(png_header(*size))
    assert "pixels" in inspect([Image("bomb", png_header(*size))])[0].problem
    decode(encoded(photo()), max_pixels=96 * 80)
    with pytest.raises(ImageError, match="96 × 80 are more than 7,679 pixels: scale it down"):
        decode(encoded(photo()), max_pixels=96 * 80 - 1)


def test_huge_files_are_refused_before_they_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(images, "content_digest", lambda file: pytest.fail("read"))
    files = [tmp_path / "a.png", tmp_path / "b.png"]
    for file in files:
        file.write_bytes(encoded(photo()))
        os.truncate(file, 2**32)  # holes: no disk holds them
    assert problems([Image("x", file) for file in files]) == ["4,096 MiB are more than 512: scale it down"] * 2
    with pytest.raises(ImageError, match=r"a\.png: 4,096 MiB are more than 512"):
        decode(files[0])


def of_scans(number, between=b"", quality=60):
    """A progressive JPEG whose last scan is repeated."""
    data = encoded(photo(), "JPEG", progressive=True, quality=quality)
    last = data.rindex(b"\xff\xda")
    return data[:last] + (between + data[last:-2]) * number + data[-2:]


NOTE = b"\xff\xfe\x00\x04"  # and its two bytes


@pytest.mark.parametrize("between", [b"", NOTE + b"\xff\xd9", b"\xff\x01", b"\xff" * 9, NOTE[:3] + b"\x03 " + bytes(9)])
def test_jpegs_of_endless_scans_are_refused(between):
    with pytest.raises(ImageError, match=r"^a JPEG of more than 100 scans, which no program makes: save it again$"):
        decode(of_scans(20_000, between))


def test_jpegs_of_endless_parts_are_refused():
    with pytest.raises(ImageError, match="a JPEG of more than 10,000 parts"):
        decode(of_scans(1, (NOTE + b"..") * 20_000))


@pytest.mark.parametrize("kind", ["JPEG", "MPO"])
@pytest.mark.parametrize("progressive", [False, True])
def test_jpegs_with_much_that_looks_like_scans_are_read(kind, progressive):
    notes = b"\xff\xda" * 10_000
    more = {"save_all": True, "append_images": [photo()]} if kind == "MPO" else {}
    data = encoded(photo(), kind, progressive=progressive, comment=notes, restart_marker_blocks=1, **more)
    assert decode(data + notes).size == (96, 80)  # telephones put a film there
    assert decode(of_scans(80, NOTE + b"\xff\xda")).size == (96, 80)


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


@pytest.mark.parametrize("before", [b"IDAT", b"IEND"])
def test_a_png_of_endless_parts_is_refused(before):
    data = encoded(photo())
    at = data.index(before) - 4
    texts = chunk(b"tEXt", b"k\0v") * 200_000
    with pytest.raises(ImageError, match="of more and smaller parts than any program makes"):
        decode(data[:at] + texts + data[at:])


def test_pictures_of_many_parts_are_read(tmp_path):
    data = encoded(photo())
    at = data.index(b"IDAT") - 4
    length = int.from_bytes(data[at : at + 4])
    pieces = b"".join(chunk(b"IDAT", data[n : n + 1]) for n in range(at + 8, at + 8 + length))
    assert decode(data[:at] + pieces + data[at + 12 + length :]) == photo()
    head = b"BM" + struct.pack("<IIIIiiHHIIIIII", 0, 0, 1078, 40, 400, 400, 1, 8, 1, 0, 0, 0, 256, 0)
    (tmp_path / "a.bmp").write_bytes(head + bytes(range(256)) * 4 + (b"\x01\x09" * 400 + b"\0\0") * 400 + b"\0\x01")
    assert decode(tmp_path / "a.bmp").getpixel((399, 0)) == (38, 37, 36)


def test_zero_size():
    bitmap = bytearray(encoded(photo(), "BMP"))
    bitmap[18:26] = bytes(8)  # width and height
    with pytest.raises(ImageError, match="damaged"):
        decode(bytes(bitmap))


def decoded_or_refused(data):
    try:
        return decode(data, max_pixels=1_000_000).mode == "RGB"
    except ImageError as error:
        return "\n" not in str(error)


HEADS = [encoded(photo(8, 8), kind)[:n] for kind in RASTER for n in (4, 12, 40)]


@settings(max_examples=200, deadline=None)
@given(head=st.sampled_from(HEADS), tail=st.binary(max_size=300))
def test_random_bytes_give_a_picture_or_a_picture_error(head, tail):
    assert decoded_or_refused(head + tail)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(kind=st.sampled_from(RASTER), place=st.integers(0, 10_000), value=st.integers(0, 255))
def test_one_changed_byte_gives_a_picture_or_a_picture_error(kind, place, value):
    data = bytearray(encoded(photo(16, 16), kind))
    data[place % len(data)] = value
    assert decoded_or_refused(bytes(data))


def test_warning_filters_are_as_before_even_with_many_threads():
    before = list(warnings.filters)
    data = [encoded(photo(), "JPEG"), b"no picture", encoded(photo(), "JPEG")[:-300]]

    def try_one(i):
        try:
            decode(data[i % 3])
        except ImageError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(try_one, range(120))) == 40
    assert list(warnings.filters) == before


def problems(images, **settings):
    return [image.problem for image in inspect(images, **settings)]


def test_inspect_names_what_takes_no_part(tmp_path):
    small, whole = encoded(Pillow.new("RGB", (32, 16))), encoded(photo())
    (tmp_path / "a.jpg").write_bytes(encoded(photo(), "JPEG"))
    expected = {
        Image("gone.png"): "file not found",
        Image("gone.png", tmp_path / "gone.png"): "file not found",
        Image("icon.png", small): "smaller than 64 px (32 × 16): an icon or a spacer",
        Image("icon2.png", small): "smaller than 64 px (32 × 16): an icon or a spacer",  # not that it is a repeat
        Image("a.svg", b"<svg>"): "a damaged SVG",
        Image("cut.png", whole[:20]): "cut off or damaged",
        Image("kept", whole, problem="turned away at the door"): "turned away at the door",
        Image("other", whole): "None",  # a repeat only of a picture with a problem of its own
        Image("a.jpg", tmp_path / "a.jpg", alt="A", position=3): "None",
        Image("b.jpg", encoded(photo(100, 90), "JPEG")[:-50]): "None",  # that its end is missing shows in decoding
    }
    found = inspect(list(expected))
    wrong = [
        (i.problem, start)
        for i, start in zip(found, expected.values(), strict=True)
        if not str(i.problem).startswith(start)
    ]
    assert wrong == []
    assert found[-2:] == tuple(expected)[-2:]
    assert problems([Image("dot.png", small)], min_side=16) == [None]


def test_inspect_finds_repeats_across_files_and_bytes(tmp_path):
    one, turned = encoded(photo(), "BMP"), encoded(photo().transpose(Pillow.Transpose.ROTATE_180), "BMP")
    assert len(one) == len(turned)
    (tmp_path / "copy.bmp").write_bytes(one)
    copies = [Image("b", turned), Image("c", tmp_path / "copy.bmp"), Image("d", one)]
    assert problems([Image("a", one), *copies]) == [None, None, "the same picture as a", "the same picture as a"]
    data = Image("data:image/bmp;base64,AAAA", one)  # has no name that could be shown
    assert problems([data, *copies])[2:] == ["the same picture as an earlier picture"] * 2


def test_pictures_of_a_document_have_a_budget_of_pixels(monkeypatch):
    monkeypatch.setattr(images, "ALL_PIXELS", 10_000_000)
    flat = [Image(f"{n}.png", encoded(Pillow.new("L", (2000, 2000), n))) for n in range(4)]
    rich = [Image(f"{n}.jpg", encoded(photo(500 + n, 400), "JPEG", quality=95)) for n in range(40)]
    problem = "not decoded: the pictures of the document have too many pixels together: scale them down"
    assert problems(flat) == [None, None, None, problem]
    assert problems(rich) == [None] * 40  # 8 megapixels, but of as many bytes as pictures have
    assert (
        problems([Image(f"{n}.tif", encoded(Pillow.new("L", (80, 80), n), "TIFF")) for n in range(2)]) == [problem] * 2
    )


def test_a_file_that_is_named_often_is_read_once(picture, monkeypatch):
    files = [picture("a.png"), picture("b.png", seed=1)]
    while len({file.stat().st_size for file in files}) > 1:  # only equal sizes are read at all
        shorter = min(files, key=lambda file: file.stat().st_size)
        shorter.write_bytes(shorter.read_bytes() + b"\0")
    digests: dict[tuple[Path, int], bytes] = {}
    monkeypatch.setattr(
        images, "content_digest", lambda file: digests.setdefault((file, len(digests)), file.name.encode())
    )
    found = inspect([Image("x", files[number % 2]) for number in range(50)])
    assert sorted(file for file, _ in digests) == sorted(files)
    assert [image.problem for image in found[:3]] == [None, None, "the same picture as x"]


def test_a_file_is_looked_at_once_whatever_it_is_called(tmp_path, monkeypatch):
    (tmp_path / "a.png").write_bytes(encoded(photo()))
    (tmp_path / "b.png").symlink_to("a.png")
    (tmp_path / "c").mkdir()
    looked: dict[tuple[Path, int], str] = {}
    monkeypatch.setattr(images, "image_decoder", lambda file: looked.setdefault((file, len(looked)), "plain"))
    monkeypatch.setattr(images, "content_digest", lambda file: pytest.fail("nothing to compare it with"))
    names = ["a.png", "a.png", "c/../a.png", "b.png"] * 6
    found = inspect([Image(name, tmp_path / name) for name in names])
    assert list(looked) == [(tmp_path / "a.png", 0)]
    assert [image.problem for image in found] == [None] + ["the same picture as a.png"] * 23
    assert [image.file for image in found] == [tmp_path / name for name in names]  # as they were


def test_samples_of_skimage_are_read():
    for name, at_least in itertools.product(["chelsea.png", "rocket.jpg", "camera.png", "multipage.tif"], [None, 64]):
        assert decode(SAMPLES / name, at_least=at_least).mode == "RGB"


def scene(seed=1, size=(640, 480)):
    """Patches of colours, which look the same at every size."""
    patches = np.random.default_rng(seed).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    return Pillow.fromarray(patches).resize(size, Pillow.Resampling.BICUBIC)


def problems_of(pictures, **settings):
    return problems([Image(name, data) for name, data in pictures.items()], **settings)


def test_small_thumbnails_of_pictures_that_are_there_are_copies():
    thumbnail = scene().resize((200, 150), Pillow.Resampling.LANCZOS)
    pictures = {
        "img/lake-200x150.jpg": encoded(thumbnail, "JPEG"),
        "img/lake.jpg": encoded(scene(), "JPEG"),
        "img/lake.webp": encoded(scene(), "WEBP"),
        "img/thumbs/lake.png": encoded(scene().resize((120, 90))),
        "img/lake_small.png": encoded(scene(2).resize((200, 150))),  # another picture
        "img/lake-100x100.jpg": encoded(scene().resize((100, 100)), "JPEG"),  # of another shape
        "img/shore.png": encoded(thumbnail),  # of another name
        "data:image/png;base64,lake": encoded(thumbnail.rotate(1)),
    }
    copy = "a copy of a picture that is there as large or larger: img/lake.jpg"
    assert problems_of(pictures) == [copy, None, copy, copy, None, None, None, None]
    assert images.is_harmless(copy)
    assert images.copied_from(copy) == "img/lake.jpg"
    assert images.copied_from("smaller than 64 px: an icon") is None
    assert problems_of(pictures, min_side=1) == [None] * 8
    large = {"b.png": encoded(scene(size=(1600, 1200))), "b-800x600.png": encoded(scene(size=(800, 600)))}
    assert problems_of(large) == [None, None]
    damaged = {"a.png": encoded(scene()), "a-small.png": encoded(scene().resize((64, 48)))[:60]}
    assert problems_of(damaged, min_side=16)[0] is None


@pytest.mark.parametrize(
    ("name", "size", "named"),
    [
        ("favicon-196x196.png", (196, 196), True),
        ("apple-touch-icon.png", (180, 180), True),
        ("android-chrome-512x512.png", (512, 512), True),
        ("site/img/Logo.svg.png", (300, 120), True),
        ("my_logo2.png?v=3", (300, 120), True),
        ("logo.png", (1200, 600), False),
        ("iconography.png", (300, 120), False),
        ("logos/harbour.png", (300, 120), False),
        ("data:image/png;base64,logo", (300, 120), False),
    ],
)
def test_icons_and_logos_are_known_by_name_up_to_a_size(name, size, named):
    (problem,) = problems_of({name: encoded(scene(size=size))})
    assert problem == (f"named as an icon or a logo ({size[0]} × {size[1]})" if named else None)
    assert problems_of({name: encoded(scene(size=size))}, min_side=1) == [None]


@pytest.mark.parametrize(
    ("head", "decoder"),
    [
        (b"\xff\xd8\xff\xe0", "plain"),
        (b"MM\x00*", "isolated"),
        (b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic", "heif"),
        (b"\x00\x00\x00\x1cftypmif1\x00\x00\x00\x00mif1avif", "isolated"),
        (b"BM\x00\x00ftypavif", "isolated"),  # whatever it begins with, Pillow may take it for AVIF
        (b"\x00\x00\x00\x18ftypGIF8", "isolated"),
        (b"\xef\xbb\xbf<svg", "svg"),
        (b"<!doctype html><svg>", "plain"),
        (b"words", "plain"),
    ],
)
def test_the_first_bytes_say_how_a_picture_is_decoded(head, decoder):
    assert decoder_of(head) == decoder
