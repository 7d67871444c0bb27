"""How much memory decoding takes: pictures of 100 megapixels (HEIC: 48) in every format, each in a process of its own.

    python benchmarks/image_memory.py          (Linux)

"here" is the process itself, "apart" the one that decodes strange formats for it, 0 where it was not needed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image as Pillow

SIDE = 9_990
DECODE = """
import resource, sys, time
from pathlib import Path
from iconotext.errors import ImageError
from iconotext.images import decode
from iconotext.system.worker import close_worker
start = time.perf_counter()
try:
    what = "{} × {}".format(*decode(Path(sys.argv[1]), at_least=256).size)
except ImageError as error:
    what = str(error).removeprefix(f"{sys.argv[1]}: ")
seconds = time.perf_counter() - start
close_worker()
# What getrusage says of this process itself includes that of the one that started it.
here = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) >> 10
apart = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
print(f"{here:5} MiB {apart:5} MiB {seconds:5.1f} s  {what}")
"""


def write_images(folder: Path) -> None:
    plain = Pillow.new("RGB", (SIDE, SIDE), (200, 30, 60))
    plain.paste((10, 200, 10), (SIDE // 2, 0, SIDE, SIDE))
    plain.save(folder / "baseline.jpg")
    plain.save(folder / "progressive.jpg", progressive=True)
    plain.save(folder / "plain.png", compress_level=1)
    plain.convert("RGBA").save(folder / "transparent.png", compress_level=1)
    plain.convert("P").save(folder / "plain.gif")
    plain.save(folder / "plain.webp", method=0)
    plain.save(folder / "plain.avif", speed=10)
    plain.save(folder / "plain.jp2")
    Pillow.fromarray(np.ones((SIDE, SIDE), np.float32)).save(folder / "float.tif", compression="tiff_deflate")
    try:
        import pillow_heif
    except ImportError:
        return
    pillow_heif.from_pillow(plain.resize((8_000, 6_000))).save(folder / "48-megapixels.heic", quality=50)


def main() -> None:
    print(f"{'':20} {'here':>9} {'apart':>9}")
    with tempfile.TemporaryDirectory() as name:
        write_images(Path(name))
        for file in sorted(Path(name).iterdir()):
            ran = subprocess.run([sys.executable, "-c", DECODE, str(file)], capture_output=True, text=True, check=True)
            print(f"{file.name:20} {ran.stdout}", end="", flush=True)


if __name__ == "__main__":
    main()
