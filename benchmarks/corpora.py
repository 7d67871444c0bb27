"""How quickly corpora are checked, and with how much memory.

    python benchmarks/corpora.py [check ...] [--documents 1000000] [--folder TEMP] [--json]

Made-up input lies under TEMP while it is measured: about 0.7 GB for a million documents of five sentences. Printed are
documents, seconds, documents a minute, and the peak of memory of the program with its workers. Parts:

- check: ``corpus check`` of JSON lines whose documents have five of 3,000 small pictures each (``pictures``), and whose
  documents have ten images that occur once, named by addresses (``addresses``) or missing (``missing``).
"""

from __future__ import annotations

import argparse
import json
import os
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
from PIL import Image

SENTENCES, PICTURES, SIDE = 5, 3000, 128


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; default: all")
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="where the input lies meanwhile")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    for part in arguments.parts:
        if part not in PARTS:
            parser.error(f"no part {part}: there are {', '.join(PARTS)}")
    found: dict[str, dict[str, Any]] = {}
    for part in arguments.parts or PARTS:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            for name, values in PARTS[part](Path(folder), arguments.documents):
                found[f"{part} {name}"] = values
                if not arguments.json:
                    print(
                        f"{part} {name}: " + ", ".join(f"{key} {value:,}" for key, value in values.items()), flush=True
                    )
    if arguments.json:
        print(json.dumps(found, indent=1))
    return 0


def measure_check(folder: Path, documents: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Make corpora one after the other and check each with the command."""
    make_pictures(folder / "img")
    path = folder / "corpus.jsonl"
    kinds: dict[str, Callable[[int], list[str]]] = {
        "pictures": lambda i: [f"img/{(i % (PICTURES // 5)) * 5 + j:06}.jpg" for j in range(5)],
        "addresses": lambda i: [f"https://host{i % 97}.example/{10 * i + j:09}.jpg" for j in range(10)],
        "missing": lambda i: [f"gone/{i % 97}/{10 * i + j:09}.jpg" for j in range(10)],
    }
    for kind, images in kinds.items():
        write_documents(path, documents, images)
        yield kind, measured(documents, "corpus", "check", str(path))


def make_pictures(folder: Path) -> None:
    """Small pictures, all different."""
    folder.mkdir()
    draw = np.random.default_rng(0)
    for i in range(PICTURES):
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
                "split": ("train", "train", "validation", "test")[i % (PICTURES // 5) % 4],
                "sentences": draw.choices(pool, k=SENTENCES),
                "images": images(i),
                "links": [[j, j] for j in range(SENTENCES)],
            }
            file.write(json.dumps(row) + "\n")


def measured(documents: int, *command: str) -> dict[str, Any]:
    """Run ``iconotext`` and look at its clock and its memory, that of its workers included."""
    start = time.perf_counter()
    with subprocess.Popen([sys.executable, "-m", "iconotext", *command], stdout=subprocess.DEVNULL) as program:
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


def family(process: int) -> list[int]:
    """A process and those that it started, and so on."""
    found = [process]
    try:
        for task in os.listdir(f"/proc/{process}/task"):
            for child in Path(f"/proc/{process}/task/{task}/children").read_text().split():
                found += family(int(child))
    except OSError:  # it has ended
        pass
    return found


def own_bytes(process: int) -> int:
    """Memory of a process; what several share is divided among them."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


PARTS: dict[str, Callable[[Path, int], Iterator[tuple[str, dict[str, Any]]]]] = {"check": measure_check}

if __name__ == "__main__":
    sys.exit(main())
