"""Whatever a picture is, decoding it takes no more memory than is stated."""

from __future__ import annotations

import io
import struct
import subprocess
import sys
import threading
import zlib
from importlib import import_module

import numpy as np
import pytest
from PIL import Image as Pillow

from iconotext.errors import ImageError
from iconotext.features.decoding import run_network
from iconotext.images import decode, inspect, raster
from iconotext.images.raster import rows_to_rgb, within_memory
from iconotext.types import Image
from tests.support.images import encoded, indexed, near, photo, rgba

PEAK = """
import resource, sys
from pathlib import Path
import numpy, PIL.Image
from iconotext.images import decode
from iconotext.system.worker import close_worker
def highest():  # of this program: what getrusage says includes that of whoever started it
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
before = highest()
for name in sys.argv[1:]:
    print(decode(Path(name), at_least=256).size)
close_worker()
print(highest() - before)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_nine_megapixels_take_a_few_bytes_a_pixel(tmp_path):
    side = 3000  # 9 million pixels of 4 bytes are 34 MiB
    floats = Pillow.fromarray(np.ones((side, side), np.float32))
    transparent = Pillow.new("RGBA", (side, side), (200, 30, 60, 128))
    transparent.save(tmp_path / "a.png", compress_level=1)
    floats.save(tmp_path / "a.tif", compression="tiff_deflate")
    names = [str(tmp_path / name) for name in ("a.png", "a.tif")]
    ran = subprocess.run([sys.executable, "-c", PEAK, *names], capture_output=True, text=True, check=True)
    *sizes, here, apart = ran.stdout.splitlines()
    assert sizes == ["(3000, 3000)"] * 2
    assert 2**10 < int(here) < 125 * 2**10  # KiB; with four copies of the transparent one it was 172 MiB
    assert 2**10 < int(apart) < 160 * 2**10  # with its result to be sent; with floats of 8 bytes it was 275 MiB


def lossless_webp(width, height):
    data = bytearray(encoded(photo(), "WEBP", lossless=True))
    at = data.index(b"VP8L") + 9  # after the signature: 14 bits of width less 1, then as many of height
    bits = int.from_bytes(data[at : at + 4], "little") & ~(2**28 - 1)
    data[at : at + 4] = (bits | (width - 1) | (height - 1) << 14).to_bytes(4, "little")
    return bytes(data)


def avif(width, height):
    data = bytearray(encoded(photo(), "AVIF"))
    at = data.index(b"ispe") + 8
    data[at : at + 8] = struct.pack(">II", width, height)
    return bytes(data)


@pytest.mark.parametrize("made", [lossless_webp, avif])
def test_formats_that_take_much_memory_have_a_lower_limit(made):
    message = r"9999 × 9999 pixels take 1,\d\d\d MiB to decode, more than 576: scale it down"
    with pytest.raises(ImageError, match=message):
        decode(made(9999, 9999), at_least=256)


def tiled_tiff(side, tile):
    """A TIFF whose only tile is larger than it says to be."""
    body = zlib.compress(bytes(1000))
    tags = {256: side, 257: side, 258: 8, 259: 8, 262: 1, 277: 1, 322: tile, 323: tile, 324: 1000, 325: len(body)}
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags.items())
    head = b"II*\x00" + struct.pack("<IH", 8, len(tags)) + entries + bytes(4)
    return head.ljust(1000, b"\0") + body


def test_a_tiff_that_says_it_is_small():
    with pytest.raises(ImageError, match="pixels take 858 MiB to decode"):
        decode(tiled_tiff(100, 30_000))


def test_photographs_of_many_megapixels_come_smaller():
    data = encoded(photo(6000, 4200), "JPEG", quality=40)
    assert inspect([Image("a", data)])[0].problem is None
    picture = decode(data)
    assert picture.size == (3000, 2100)
    assert near(picture, (2900, 2000), (0, 0, 255))
    assert decode(data, at_least=256).size == (375, 263)


def test_the_first_of_several_jpegs_in_a_file_is_as_any_other(monkeypatch):
    settings = {"append_images": [photo()], "progressive": True, "subsampling": "4:4:4"}
    data = encoded(photo(1600, 1200), "MPO", save_all=True, **settings)
    assert Pillow.open(io.BytesIO(data)).format == "MPO"
    picture = decode(data, at_least=256)
    assert picture.size == (400, 300)
    assert near(picture, (390, 290), (0, 0, 255))
    monkeypatch.setattr(raster, "MAX_DECODED", 20_000_000)  # pixels before and after: 15 MB; coefficients: 12 MB
    with pytest.raises(ImageError, match="1600 × 1200 pixels take 26 MiB"):
        decode(data)


@pytest.mark.parametrize("kind", ["PNG", "GIF", "BMP", "TIFF", "WEBP"])
def test_very_large_pictures_are_shrunk_by_whole_numbers(kind, monkeypatch):
    monkeypatch.setattr(raster, "MAX_RESULT", 2_000)
    if kind == "TIFF":  # in this process, which knows of the lower limit
        monkeypatch.setattr(import_module("iconotext.images"), "image_decoder", lambda file: "plain")
    picture = decode(encoded(photo(), kind))
    assert picture.size == (48, 40)  # 7,680 pixels at a half are 1,920
    assert near(picture, (40, 30), (0, 0, 255))
    assert near(picture, (2, 2), (255, 255, 255))
    assert decode(encoded(photo(), kind), at_least=20).size == (24, 20)
    assert decode(encoded(photo(), kind), at_least=79).size == (48, 40)


def test_jpeg_2000_is_decoded_at_a_lower_resolution(monkeypatch):
    monkeypatch.setattr(raster, "MAX_DECODED", 2 * 96 * 80 * 20 // 3)
    monkeypatch.setattr(import_module("iconotext.images"), "image_decoder", lambda file: "plain")
    picture = decode(encoded(photo(), "JPEG2000"))
    assert picture.size == (48, 40)
    assert near(picture, (40, 30), (0, 0, 255))


ramp = np.arange(96 * 80).reshape(80, 96)


@pytest.mark.parametrize(
    "picture",
    [
        photo(),
        rgba(128),
        photo().convert("LA"),
        indexed(2, [0, 0, 0, 9, 9, 9, 80, 80, 80]),
        photo().convert("CMYK"),
        photo().convert("1"),
        Pillow.fromarray(ramp.astype(np.uint16)),
        Pillow.fromarray(ramp.astype(np.int32)),
        Pillow.fromarray(ramp.astype(np.float32) / 96),
    ],
    ids=lambda picture: picture.mode,
)
def test_some_rows_at_a_time_are_as_good_as_all(picture, monkeypatch):
    def converted(by):
        return rows_to_rgb(lambda top, end: picture.crop((0, top, 96, end)), (96, 80), by)

    whole = converted(1), converted(3)
    monkeypatch.setattr(raster, "BAND", 96 * 7)
    assert converted(1) == whole[0]
    assert converted(3) == whole[1]


def test_all_threads_together_keep_to_the_limit(monkeypatch):
    monkeypatch.setattr(raster, "MAX_DECODED", 100)
    monkeypatch.setattr(raster, "_free", 100)
    at_once, most, lock = 0, 0, threading.Lock()
    two = threading.Barrier(2, timeout=300)

    def work():
        nonlocal at_once, most
        with within_memory(40, (1, 1)):
            with lock:
                at_once += 1
                most = max(most, at_once)
            two.wait()  # only if two are let in at once does anybody get on
            with lock:
                at_once -= 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 2
    assert raster._free == 100
    with pytest.raises(ImageError, match="to decode"), within_memory(101, (5, 5)):
        pass


def test_threads_wait_for_each_other_and_errors_give_back(monkeypatch):
    def noise(seed: int) -> bytes:
        return encoded(Pillow.fromarray(np.random.default_rng(seed).integers(0, 256, (100, 150, 3), np.uint8)))

    monkeypatch.setattr(raster, "MAX_DECODED", 200_000)
    monkeypatch.setattr(raster, "_free", 200_000)
    files = [noise(n) if n % 3 else noise(n)[:900] for n in range(30)]
    found = list(run_network(files, lambda picture: picture.size, list, at_least=1, batch_size=4, threads=8))
    assert sum(isinstance(each, str) for each in found) == 10
    assert len(found) == 30
    assert raster._free == 200_000


RAW = {
    "a.NEF": encoded(photo(), "TIFF"),
    "a.arw": encoded(photo(), "TIFF"),
    "a.dng": b"II*\x00 whatever",
    "a.CR2": b"II*\x00\x10\x00\x00\x00CR\x02\x00",
    "a.raf": b"FUJIFILMCCD-RAW 0201",
    "a.orf": b"IIRO\x08\x00\x00\x00",
    "a.rw2": b"IIU\x00\x18\x00\x00\x00",
}


@pytest.mark.parametrize("name", RAW)
def test_raw_files_of_cameras_are_named(name, tmp_path):
    file = tmp_path / name
    file.write_bytes(RAW[name])
    message = rf"a camera's raw file \({name[2:].upper()}\), which iconotext does not develop: export it as JPEG"
    with pytest.raises(ImageError, match=message):
        decode(file)
    if not RAW[name].startswith(b"II*\x00") or b"CR" in RAW[name]:  # the others only their names show
        with pytest.raises(ImageError, match=message):
            decode(RAW[name])
    (tmp_path / "b.nef").write_bytes(encoded(photo(), "JPEG"))
    assert decode(tmp_path / "b.nef").size == (96, 80)  # whatever its name says


@pytest.mark.parametrize(
    ("tags", "kind"), [({50706: b"\x01\x04\x00\x00"}, "DNG"), ({254: 1, 330: 8}, "NEF, ARW or the like")]
)
def test_raw_files_that_look_like_tiff(tags, kind):
    data = encoded(photo(), "TIFF", tiffinfo=tags)
    assert f"raw file ({kind})" in inspect([Image("a", data)])[0].problem
