"""How fast, and in how much memory, corpora are built out of captioned photographs: `captions` and `mscoco`.

    python benchmarks/caption_corpora.py --photographs 2000000 --workers 2

The photographs are made up: five captions each out of a small vocabulary; for `captions` images named by addresses,
for `mscoco` annotations in the original layout and empty files for the pictures, which are not looked into. Printed are
documents, minutes, documents a minute, and the largest sum of memory over the program and its workers: RSS, in which
pages that processes share count once for each, and PSS, in which they count once.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from iconotext.corpus.builders.captions import CaptionsSettings, captions_rows
from iconotext.corpus.builders.frame.build import Build, Values, build_corpus
from iconotext.corpus.builders.mscoco import MscocoSettings, mscoco_rows

WORDS = (
    "a man woman dog cat red blue green on the of in with sitting standing table street train two some near large "
    "small young old holding playing field water sky horse boat kitchen bowl plate wearing shirt"
).split()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photographs", type=int, default=2_000_000)
    parser.add_argument("--coco-photographs", type=int, default=123_287)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="Where the files are made; they are removed in the end.")
    arguments = parser.parse_args()
    print("| builder | photographs | documents | minutes | documents a minute | peak RSS, MB | peak PSS, MB |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        source = Path(folder, "captions.jsonl")
        write_lines(source, arguments.photographs)
        rows = partial(captions_rows, source=source, settings=CaptionsSettings(validation=0.01, test=0.01))
        measure("captions", rows, source, arguments.photographs, arguments.workers)
        source.unlink()
        source = Path(folder, "coco")
        write_coco(source, arguments.coco_photographs)
        rows = partial(mscoco_rows, source=source, settings=MscocoSettings(photographs="all", verify=False))
        measure("mscoco", rows, source, arguments.coco_photographs, arguments.workers)


def captions_of(rng: random.Random) -> list[str]:
    return [" ".join(rng.choices(WORDS, k=rng.randrange(8, 14))) + "." for _ in range(5)]


def write_lines(path: Path, count: int) -> None:
    """Photographs as our lines of JSON."""
    rng = random.Random(0)
    with path.open("w") as file:
        for i in range(count):
            image = f"https://pictures.example/{i % 1000:03}/{i:09}.jpg"
            file.write(json.dumps({"image": image, "captions": captions_of(rng)}) + "\n")


def write_coco(folder: Path, count: int) -> None:
    """Photographs as MSCOCO has them, all in the part for training."""
    rng = random.Random(0)
    (folder / "annotations").mkdir(parents=True)
    (folder / "train2017").mkdir()
    for i in range(count):
        (folder / "train2017" / f"{i:012}.jpg").touch()
    with (folder / "annotations" / "captions_train2017.json").open("w") as file:
        file.write('{"info": {"year": 2017}, "images": [')
        for i in range(count):
            file.write((", " if i else "") + json.dumps({"id": i, "file_name": f"{i:012}.jpg", "license": 1}))
        file.write('], "annotations": [')
        for i in range(count):
            for number, text in enumerate(captions_of(rng)):
                entry = {"image_id": i, "id": 5 * i + number, "caption": text}
                file.write((", " if i or number else "") + json.dumps(entry))
        file.write("]}")


def measure(name: str, rows: Callable[[Build], Iterator[Values]], source: Path, photographs: int, workers: int) -> None:
    output = source.parent / f"{name}-corpus.jsonl"
    peak, done = [0, 0], threading.Event()

    def watch() -> None:
        while not done.wait(0.2):
            for i, field in enumerate(("Rss:", "Pss:")):
                peak[i] = max(peak[i], memory(field))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    start = time.perf_counter()
    report = build_corpus(name, rows, output, sources=[source], workers=workers)
    minutes = (time.perf_counter() - start) / 60
    done.set()
    watcher.join()
    assert report.stats is not None
    count = report.stats.documents
    cells = (name, f"{photographs:,}", f"{count:,}", f"{minutes:.2f}", f"{count / minutes:,.0f}", *map(str, peak))
    print(f"| {' | '.join(cells)} |", flush=True)
    output.unlink()


def memory(field: str) -> int:
    """MB of this process and its workers, as Linux counts them."""
    total = 0
    for process in ["self", *(str(child.pid) for child in multiprocessing.active_children())]:
        try:
            lines = Path("/proc", process, "smaps_rollup").read_text().splitlines()
        except OSError:  # it has just ended
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith(field))
    return total // 1024


if __name__ == "__main__":
    main()
