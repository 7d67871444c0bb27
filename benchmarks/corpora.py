"""How quickly corpora are built, checked and counted, and with how much memory.

    python benchmarks/corpora.py [check stats captions folder] [--documents 1000000] [--folder TEMP]

Made-up input lies under TEMP while it is measured: several GB for a million documents. Printed are documents, seconds,
documents a minute, and the peak of memory of the program with its workers. Parts:

- captions: ``corpus build captions`` of photographs with five captions, named by addresses.
- folder: ``corpus build folder`` of Markdown pages of 50 sentences with three pictures; a hundredth of the documents.
- stats: ``corpus stats`` of the same corpus as the first of ``check``.
- check: ``corpus check`` of JSON lines whose documents have five of 3,000 small pictures each (``pictures``), and whose
  documents have ten images that occur once, named by addresses (``addresses``) or missing (``missing``).
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from costs import family
from PIL import Image

SENTENCES, IMAGES, SIDE = 5, 3000, 128

WORDS = (
    "a man woman dog cat red blue green on the of in with sitting standing table street train two some near large "
    "small young old holding playing field water sky horse boat kitchen bowl plate wearing shirt"
).split()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; default: all")
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="where the input lies meanwhile")
    arguments = parser.parse_args()
    for part in arguments.parts:
        if part not in PARTS:
            parser.error(f"no part {part}: there are {', '.join(PARTS)}")
    for part in arguments.parts or PARTS:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            for name, values in PARTS[part](Path(folder), arguments.documents):
                print(f"{part} {name}: " + ", ".join(f"{key} {value:,}" for key, value in values.items()), flush=True)
    return 0


def measure_check(folder: Path, documents: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Make corpora one after the other and check each with the command."""
    make_images(folder / "img")
    path = folder / "corpus.jsonl"
    kinds: dict[str, Callable[[int], list[str]]] = {
        "pictures": five_images,
        "addresses": lambda i: [f"https://host{i % 97}.example/{10 * i + j:09}.jpg" for j in range(10)],
        "missing": lambda i: [f"gone/{i % 97}/{10 * i + j:09}.jpg" for j in range(10)],
    }
    for kind, images in kinds.items():
        write_documents(path, documents, images)
        yield kind, measured(documents, "corpus", "check", str(path))


def five_images(i: int) -> list[str]:
    """Those of a document."""
    return [f"img/{(i % (IMAGES // 5)) * 5 + j:06}.jpg" for j in range(5)]


def measure_stats(folder: Path, documents: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Count a corpus with the command."""
    path = folder / "corpus.jsonl"
    write_documents(path, documents, five_images)
    yield "pictures", measured(documents, "corpus", "stats", str(path))


def measure_captions(folder: Path, documents: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Ten photographs make five documents for training."""
    source = folder / "captions.jsonl"
    draw = random.Random(0)
    with source.open("w") as file:
        for i in range(2 * documents):
            image = f"https://pictures.example/{i % 1000:03}/{i:09}.jpg"
            file.write(json.dumps({"image": image, "captions": captions_of(draw)}) + "\n")
    command = ("captions", "--source", str(source), "--validation", "0.01", "--test", "0.01")
    yield "addresses", built(folder / "corpus.jsonl", *command)


def measure_folder(folder: Path, documents: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Pages in folders of a thousand; pictures are shared, so that documents hang together."""
    source = folder / "pages"
    source.mkdir()
    make_images(source / "img")
    draw = random.Random(0)
    for i in range(documents // 100):
        place = source / f"part{i // 1000:04}"
        place.mkdir(exist_ok=True)
        parts = [f"# Page {i}"]
        for paragraph in range(10):
            parts.append(" ".join(text.capitalize() for text in captions_of(draw)))
            if paragraph % 4 == 0:
                parts.append(f"![A picture](../img/{draw.randrange(IMAGES):06}.jpg)")
        (place / f"page{i:08}.md").write_text("\n\n".join(parts) + "\n")
    yield "Markdown", built(folder / "corpus.jsonl", "folder", "--source", str(source), "--validation", "0")


def captions_of(draw: random.Random) -> list[str]:
    """Five captions of eight to thirteen words."""
    return [" ".join(draw.choices(WORDS, k=draw.randrange(8, 14))) + "." for _ in range(5)]


def built(output: Path, *command: str) -> dict[str, Any]:
    """Build a corpus with the command; the number of documents is that of the report."""
    values = measured(0, "corpus", "build", *command, "--output", str(output))
    values["documents"] = json.loads(output.with_suffix(".report.json").read_text())["documents"]
    values["documents_a_minute"] = round(values["documents"] / values["seconds"] * 60)
    return values


def make_images(folder: Path) -> None:
    """Small pictures, all different."""
    folder.mkdir()
    draw = np.random.default_rng(0)
    for i in range(IMAGES):
        blocks = draw.integers(0, 256, (8, 8, 3), dtype=np.uint8)
        pixels = np.kron(blocks, np.ones((SIDE // 8, SIDE // 8, 1), np.uint8))
        Image.fromarray(pixels).save(folder / f"{i:06}.jpg", quality=80)


def write_documents(path: Path, documents: int, images: Callable[[int], list[str]]) -> None:
    """Documents with links and splits; those with the same five pictures are in the same split."""
    draw = random.Random(0)
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 9))) for _ in range(5000)]
    pool = [" ".join(draw.choices(words, k=draw.randint(6, 16))).capitalize() + "." for _ in range(20_000)]
    with path.open("w") as file:
        for i in range(documents):
            row = {
                "id": f"document-{i:08}",
                "split": ("train", "train", "validation", "test")[i % (IMAGES // 5) % 4],
                "sentences": draw.choices(pool, k=SENTENCES),
                "images": images(i),
                "links": [[j, j] for j in range(SENTENCES)],
            }
            file.write(json.dumps(row) + "\n")


def measured(documents: int, *command: str) -> dict[str, Any]:
    """Run ``iconotext`` and look at its clock and its memory, that of its workers included."""
    start = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "iconotext", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as program:
        peak = Peak(program.pid)
        program.wait()
        seconds = time.perf_counter() - start
    return {
        "documents": documents,
        "seconds": round(seconds, 1),
        "documents_a_minute": round(documents / seconds * 60),
        "peak_MB": round(peak.stop() / 1e6),
    }


class Peak:
    """The most memory that a process and its children have together, looked at several times a second (Linux)."""

    def __init__(self, process: int) -> None:
        self._peak = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, args=(process,), daemon=True)
        self._thread.start()

    def stop(self) -> int:
        """Bytes."""
        self._ended.set()
        self._thread.join()
        return self._peak

    def _watch(self, process: int) -> None:
        while not self._ended.wait(0.2):
            self._peak = max(self._peak, sum(map(own_bytes, family(process))))


def own_bytes(process: int) -> int:
    """Memory of a process; what several share is divided among them."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


PARTS: dict[str, Callable[[Path, int], Iterator[tuple[str, dict[str, Any]]]]] = {
    "check": measure_check,
    "stats": measure_stats,
    "captions": measure_captions,
    "folder": measure_folder,
}

if __name__ == "__main__":
    sys.exit(main())
