"""How many documents a second `iconotext scale link` links from warm features, and whether its memory grows.

    python benchmarks/scale.py --documents 10000 --shard 1000 --workers 2
    python benchmarks/scale.py --documents 2000 --profile

Documents are made up: 5 pictures and 20 sentences each, drawn from 200 pictures of noise, in a tar beside each
shard, and 2,000 sentences; the cache is filled before the clock starts. Prints a line of JSON: documents a second, and
the largest resident memory of the program and its workers, all together, in each tenth of the run (pages that several
share count for each of them).
"""

from __future__ import annotations

import argparse
import cProfile
import io
import json
import os
import pstats
import random
import tarfile
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from PIL import Image

from iconotext.links.settings import LinkSettings
from iconotext.scale.run import link_shards
from iconotext.scale.settings import EngineSettings, ShardSettings
from iconotext.scale.shards import find_shards
from iconotext.scale.stage import Stage

NOUNS = "dog cat tram tower bridge river cook baker garden tree mountain lake child teacher ship".split()
VERBS = "stands sleeps waits falls turns shines moves rests grows breaks".split()
PICTURES, SENTENCES, OF_IMAGES, OF_SENTENCES = 200, 2000, 5, 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--shard", type=int, default=1000, help="documents of a shard")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--to", choices=["parquet", "jsonl"], default="parquet")
    parser.add_argument("--relations", default="default", help="as for `iconotext link`; none leaves them out")
    parser.add_argument("--profile", action="store_true", help="link one shard here, and say what takes time")
    given = parser.parse_args()
    linking, settings = LinkSettings(relations=given.relations), ShardSettings(to=given.to)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for shard in range(-(-given.documents // given.shard)):
            write_shard(folder / "in", shard, min(given.shard, given.documents - shard * given.shard))
        write_shard(folder / "warm", 0, 400)  # has all sentences and pictures
        stage = Stage(str(folder / "warmed"), "", linking=linking, settings=settings)
        stage.run(find_shards([str(folder / "warm")])[0])
        if given.profile:
            profile(Stage(str(folder / "out"), "", linking=linking, settings=settings), folder / "in")
            return
        memory: list[tuple[float, int]] = []
        watched = threading.Thread(target=watch, args=(memory,), daemon=True)
        watched.start()
        begun = time.monotonic()
        engine = EngineSettings(workers=given.workers)
        done = link_shards([str(folder / "in")], str(folder / "out"), linking=linking, settings=settings, engine=engine)
        seconds = time.monotonic() - begun
        sizes = [path.stat().st_size for path in (folder / "out").glob(f"*.{given.to}")]
    print(
        json.dumps(
            {
                **vars(given),
                "written": done["documents"]["written"],
                "seconds": round(seconds, 1),
                "documents_a_second": round(given.documents / seconds, 1),
                "bytes_out_a_document": round(sum(sizes) / given.documents),
                "memory_in_tenths_mib": [
                    max((m for t, m in memory if int(10 * (t - begun) / seconds) == i), default=0) >> 20
                    for i in range(10)
                ],
                "load": os.getloadavg()[0],
            }
        )
    )


def write_shard(folder: Path, number: int, documents: int) -> None:
    """A shard and the tar of its pictures; documents take turns with sentences, so that 400 have all of them."""
    folder.mkdir(exist_ok=True)
    chance = random.Random(0)
    sentences = [
        f"The {chance.choice(NOUNS)} {chance.choice(VERBS)} near the {chance.choice(NOUNS)} at {n}."
        for n in range(SENTENCES)
    ]
    chance = random.Random(number + 1)
    with (folder / f"{number:05}.jsonl").open("w") as file:
        for n in range(documents):
            start = n * OF_SENTENCES % SENTENCES
            images = [(n * OF_IMAGES + i) % PICTURES for i in range(OF_IMAGES)]
            document = {
                "id": f"{number}-{n}",
                "sentences": sentences[start : start + OF_SENTENCES],
                "images": [f"{image}.png" for image in images],
                "blocks": [i // 3 for i in range(OF_SENTENCES)],
                "positions": sorted(chance.randrange(OF_SENTENCES + 1) for _ in images),
                "captions": [sentences[(start + 7 * i) % SENTENCES] for i in range(OF_IMAGES)],
            }
            file.write(json.dumps(document) + "\n")
    with tarfile.open(folder / f"{number:05}.tar", "w") as tar:
        for n in range(PICTURES):
            pixels = np.random.default_rng(n).integers(0, 256, (8, 8, 3), dtype=np.uint8)
            data = io.BytesIO()
            Image.fromarray(pixels).resize((128, 96)).save(data, "PNG")
            info = tarfile.TarInfo(f"{n}.png")
            info.size = len(data.getvalue())
            tar.addfile(info, io.BytesIO(data.getvalue()))


def profile(stage: Stage, folder: Path) -> None:
    """What takes time in the thread that links; the threads that read windows ahead are not in it."""
    _ = stage.linker
    shard = find_shards([str(folder)])[0]
    profiler = cProfile.Profile()
    begun = time.monotonic()
    profiler.enable()
    manifest = stage.run(shard)
    profiler.disable()
    seconds = time.monotonic() - begun
    print(f"{manifest.documents['written'] / seconds:.0f} documents a second under the profiler")
    pstats.Stats(profiler).sort_stats("tottime").print_stats(30)


def watch(memory: list[tuple[float, int]]) -> None:
    """Note the resident memory of this process and its children, twice a second."""
    own = os.getpid()
    while True:
        children = Path(f"/proc/{own}/task/{own}/children").read_text().split()
        found = 0
        for process in [str(own), *children]:
            try:
                found += int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
            except (OSError, IndexError):  # it has ended
                continue
        memory.append((time.monotonic(), found))
        time.sleep(0.5)


if __name__ == "__main__":
    main()
