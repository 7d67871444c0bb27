"""The words in images. All read with the real models, which are quick on pictures of this size."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow
from PIL import ImageDraw, ImageFont

from iconotext.features import FeatureCache, ocr
from iconotext.features.cached_backbones import cached_lines
from iconotext.features.ocr import LineReader, load_line_reader, with_lines
from iconotext.types import Document, Image, TextLine

pytest.importorskip("rapidocr", reason="the extra ocr is not installed")

SIGN = {"BAKERY": (40, 30), "Open until noon": (40, 120)}


@pytest.fixture(scope="module")
def reader() -> LineReader:
    return load_line_reader()


def drawn(texts=SIGN, size=(480, 200), *, letters=32, turned=0, background="white", form="PNG", **options) -> bytes:
    font = ImageFont.load_default(letters)
    picture = Pillow.new("RGB", size, background)
    for text, place in texts.items():
        ImageDraw.Draw(picture).text(place, text, "black", font=font)
    file = BytesIO()
    picture.rotate(turned, expand=True).save(file, form, **options)
    return file.getvalue()


def said(lines):
    return [line.text for line in lines]


@pytest.mark.slow
def test_words_are_read_with_their_places(reader):
    ((first, second),) = reader.read([drawn()])
    assert (first.text, second.text) == ("BAKERY", "Open until noon")
    assert first.confidence > 0.9
    left, top, right, bottom = first.box
    # Drawn from (40, 30) with letters of 32 pixels in a picture of 480 by 200.
    assert 0.05 < left < 0.1
    assert 0.1 < top < 0.25
    assert 0.3 < right < 0.45
    assert 0.25 < bottom < 0.45
    assert second.box[1] > bottom


def test_what_stands_upright_is_read_too(reader):
    (lines,) = reader.read([drawn({"Temperature": (20, 20)}, (280, 80), turned=90)])
    assert said(lines) == ["Temperature"]
    left, top, right, bottom = lines[0].box
    assert bottom - top > right - left


@pytest.mark.slow
def test_the_same_alone_and_among_others(reader):
    files = [drawn({f"Station {name}": (30, 40)}, (300, 120)) for name in ("Nord", "West", "Mitte")]
    together = reader.read(files)
    assert together == [reader.read([file])[0] for file in files] == reader.read(files)
    assert [said(lines) for lines in together] == [["Station Nord"], ["Station West"], ["Station Mitte"]]


def test_single_signs_and_guesses_are_no_words(reader, monkeypatch):
    (lines,) = reader.read([drawn({"A": (40, 30), "7": (300, 30), "Valve": (150, 100)})])
    assert said(lines) == ["Valve"]
    monkeypatch.setattr(ocr, "LEAST_CONFIDENCE", 1.01)
    assert reader.read([drawn()]) == [()]


@pytest.mark.slow
def test_no_more_is_read_than_a_picture_may_have(reader, monkeypatch):
    lines = {f"line number {n}": (20, 10 + 60 * n) for n in range(6)}
    (every,) = reader.read([drawn(lines, (480, 380))])
    assert len(every) == 6
    monkeypatch.setattr(ocr, "MOST_TEXT", 20)  # a line is some six times as long as high
    (some,) = reader.read([drawn(lines, (480, 380))])
    assert 1 <= len(some) <= 3
    assert set(some) < set(every)


@pytest.mark.parametrize("size", [(1, 1), (2, 700), (3000, 12), (64, 64), (5000, 40)])
def test_odd_sizes_have_no_words(reader, size):
    assert reader.read([drawn({}, size)]) == [()]


def test_noise_has_no_words(reader):
    noise = Pillow.fromarray(np.random.default_rng(0).integers(0, 256, (300, 300, 3), dtype=np.uint8))
    file = BytesIO()
    noise.save(file, "PNG")
    assert reader.read([file.getvalue()]) == [()]


def test_what_cannot_be_decoded_says_why_and_stops_nothing(reader, tmp_path):
    whole = drawn()
    bomb = b"BM" + bytes(16) + (100_000).to_bytes(4, "little") * 2 + bytes(28)
    cut, missing, huge, none, good = reader.read([whole[:200], tmp_path / "gone.png", bomb, b"", whole])
    assert "cut off or damaged" in cut
    assert "file not found" in missing
    assert isinstance(huge, str)
    assert "empty" in none
    assert said(good) == [*SIGN]


def test_of_an_animation_the_first_frame_is_read(reader):
    frames = [Pillow.open(BytesIO(drawn({word: (40, 60)}, form="GIF"))) for word in ("Monday", "Friday")]
    file = BytesIO()
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:])
    assert [said(lines) for lines in reader.read([file.getvalue()])] == [["Monday"]]


def test_what_was_read_is_kept(tmp_path):
    asked = []
    line = TextLine("Gebäck 面包", 0.9, (0.1, 0.2, 0.3, 0.4))

    def read(files):
        asked.append(len(files))
        return [(line,) if file == b"sign" else () if file == b"photo" else "damaged" for file in files]

    cached = cached_lines(LineReader("test", read), FeatureCache(tmp_path / "cache.sqlite"))
    files = [b"sign", b"photo", b"broken", b"sign"]
    assert cached.read(files) == [(line,), (), "damaged", (line,)] == cached.read(files)
    assert asked == [3, 1]  # what is broken is asked for again
    other = cached_lines(LineReader("another", read), FeatureCache(tmp_path / "cache.sqlite"))
    other.read([b"sign"])
    assert asked == [3, 1, 1]


def test_images_of_a_document_get_their_lines_and_problems():
    line = TextLine("Exit", 0.9, (0.0, 0.0, 1.0, 1.0))
    found: dict[Path | bytes, tuple[TextLine, ...] | str] = {Path("a.png"): (line,), b"b": "damaged", Path("c.png"): ()}
    reader = LineReader("test", lambda files: [found[file] for file in files])
    images = (
        Image("a.png", Path("a.png")),
        Image("b", b"b"),
        Image("gone.png"),
        Image("icon.png", Path("icon.png"), problem="an icon"),
        Image("c.png", Path("c.png")),
        Image("known.png", Path("known.png"), lines=(line, line)),
    )
    read = with_lines(Document("d", (), images), reader).images
    assert [image.lines for image in read] == [(line,), None, None, None, (), (line, line)]
    assert [image.problem for image in read] == [None, "damaged", None, "an icon", None, None]


def test_of_many_tiny_pictures_only_some_are_read(monkeypatch, caplog):
    monkeypatch.setattr(ocr, "MOST_READ", 3)
    asked: list[object] = []

    def read(files):
        asked.extend(files)
        return [(TextLine("Words", 1.0, (0, 0, 1, 1)),) for _ in files]

    tiny = tuple(Image(str(n), bytes([n]) * 100) for n in range(6))
    images = with_lines(Document("d", (), tiny), LineReader("test", read)).images
    assert asked == [image.file for image in tiny[:3]]
    assert [bool(image.lines) for image in images] == [True] * 3 + [False] * 3
    assert [image.problem for image in images] == [None] * 6
    assert "d: the words in 3 pictures are not read: more than 3 pictures" in caplog.text
    asked.clear()
    ordinary = tuple(Image(str(n), bytes([n]) * 4_000) for n in range(6))
    with_lines(Document("d", (), ordinary), LineReader("test", read))
    assert len(asked) == 6
