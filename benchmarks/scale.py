"""How many documents a second `iconotext scale link` links, and whether its memory grows.

    python benchmarks/scale.py --documents 10000 --shard 5000 --workers 2
    python benchmarks/scale.py --documents 100 --shard 50 --cold

Documents are made up: by default 5 pictures and 20 sentences each, drawn from 200 pictures of noise, in a tar beside
each shard, and 2,000 sentences; the cache is filled before the clock starts. So the same sentences come again and
again, and what is remembered of words spares more work than it would in another collection.

With ``--cold`` every sentence and every picture is a new one, the cache is empty, and the bare encoders encode the same
sentences, captions and pictures in one process, 2,048 texts and 256 pictures at a time.

Prints a line of JSON: documents a second by the clock; processor time of a document, of the program and its workers
together, less what a run of one document a worker takes, which loads the models; what two free cores would do by that,
since other work on the machine changes the clock more; the largest resident memory in each tenth of the run, of the
program and of its largest worker.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import tarfile
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from costs import family, resident
from PIL import Image

from iconotext.adapters.datatrove import LinkPictures, ParquetLinks, ReadShards
from iconotext.decide.settings import LinkSettings
from iconotext.features import load_image_backbone, load_text_backbone
from iconotext.scale import ScaleSettings, link_shards

NOUNS = "dog cat tram tower bridge river cook baker garden tree mountain lake child teacher ship".split()
VERBS = "stands sleeps waits falls turns shines moves rests grows breaks".split()
PICTURES, SENTENCES = 200, 2000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--shard", type=int, default=1000, help="documents of a shard")
    parser.add_argument("--images", type=int, default=5, help="of a document")
    parser.add_argument("--sentences", type=int, default=20, help="of a document")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--cold", action="store_true", help="nothing is in the cache, and nothing comes again")
    given = parser.parse_args()
    linking = LinkSettings()
    work = ScaleSettings(workers=given.workers)
    of_each = given.images, given.sentences
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["ICONOTEXT_CACHE"] = str(folder / "cache")
        for shard in range(-(-given.documents // given.shard)):
            documents = min(given.shard, given.documents - shard * given.shard)
            write_shard(folder / "in", shard, documents, of_each, own=given.cold)
        if not given.cold:
            # All sentences and pictures.
            write_shard(
                folder / "warm", 0, max(-(-SENTENCES // given.sentences), -(-PICTURES // given.images)), of_each
            )
            in_this_process(linking, folder / "warm", folder / "warmed")
        for shard in range(given.workers):
            write_shard(folder / "one", shard, 1, of_each)
        loading = processor_time()
        link_shards([str(folder / "one")], str(folder / "nothing"), linking=linking, work=work)
        loading = processor_time() - loading
        memory: list[tuple[float, int, int]] = []
        threading.Thread(target=watch, args=(memory,), daemon=True).start()
        begun, used = time.monotonic(), processor_time()
        done = link_shards([str(folder / "in")], str(folder / "out"), linking=linking, work=work)
        seconds, used = time.monotonic() - begun, processor_time() - used - loading
        sizes = [path.stat().st_size for path in (folder / "out").glob("*.parquet")]
        bare = bare_encoders(folder / "in") if given.cold else None
    each = used / given.documents
    tenths: list[list[tuple[int, int]]] = [[] for _ in range(10)]
    for at, own, worker in memory:
        if begun <= at < begun + seconds:
            tenths[int(10 * (at - begun) / seconds)].append((own, worker))
    print(
        json.dumps(
            {
                **vars(given),
                "written": done["documents"]["written"],
                "seconds": round(seconds, 1),
                "documents_a_second": round(given.documents / seconds, 1),
                "processor_ms_a_document": round(1000 * each, 2),
                "documents_a_second_of_two_free_cores": round(2 / each),
                "share_of_bare_encoders": bare and round(bare / used, 2),
                "bytes_out_a_document": round(sum(sizes) / given.documents),
                "program_mib_in_tenths": [max((own for own, _ in some), default=0) >> 20 for some in tenths],
                "worker_mib_in_tenths": [max((worker for _, worker in some), default=0) >> 20 for some in tenths],
                "load": os.getloadavg()[0],
            }
        )
    )


def processor_time() -> float:
    """Seconds of this process and of the children that have ended."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def bare_encoders(folder: Path) -> float:
    """Seconds of processor time that the encoders need for the texts and pictures of shards, and nothing else."""
    texts: dict[str, None] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.open():
            row = json.loads(line)
            texts |= dict.fromkeys([*row["sentences"], *row["captions"]])
    pictures = [data for path in sorted(folder.glob("*.tar")) for data in members(path)]
    text, image = load_text_backbone(), load_image_backbone()
    text.encode(list(texts)[:1])
    image.encode(pictures[:1])
    begun = processor_time()
    for at in range(0, len(texts), 2048):
        text.encode(list(texts)[at : at + 2048])
    for at in range(0, len(pictures), 256):
        image.encode(pictures[at : at + 256])
    return processor_time() - begun


def members(path: Path) -> Iterator[bytes]:
    with tarfile.open(path) as tar:
        for member in tar:
            if (file := tar.extractfile(member)) is not None:
                yield file.read()


def write_shard(folder: Path, number: int, documents: int, of_each: tuple[int, int], *, own: bool = False) -> None:
    """A shard and the tar of its pictures; documents take turns with sentences and pictures.

    Args:
        folder: Where to.
        number: Of the shard.
        documents: How many.
        of_each: Pictures and sentences of a document.
        own: Whether each document has sentences and pictures of its own instead.
    """
    folder.mkdir(exist_ok=True)
    chance = random.Random(number + 1 if own else 0)
    images, texts = of_each
    of_sentences, of_pictures = (documents * texts, documents * images) if own else (SENTENCES, PICTURES)
    first = 10**6 * number if own else 0
    sentences = [
        f"The {chance.choice(NOUNS)} {chance.choice(VERBS)} near the {chance.choice(NOUNS)} at {n + first}."
        for n in range(of_sentences)
    ]
    chance = random.Random(number + 1)
    with (folder / f"{number:05}.jsonl").open("w") as file:
        for n in range(documents):
            start = n * texts % of_sentences
            own_images = [(n * images + i) % of_pictures for i in range(images)]
            document = {
                "id": f"{number}-{n}",
                "sentences": sentences[start : start + texts],
                "images": [f"{image}.png" for image in own_images],
                "blocks": [i // 3 for i in range(texts)],
                "positions": sorted(chance.randrange(texts + 1) for _ in own_images),
                "captions": [sentences[(start + 7 * i) % of_sentences] for i in range(images)],
            }
            file.write(json.dumps(document) + "\n")
    with tarfile.open(folder / f"{number:05}.tar", "w") as tar:
        for n in range(of_pictures):
            pixels = np.random.default_rng((number, n) if own else n).integers(0, 256, (8, 8, 3), dtype=np.uint8)
            data = io.BytesIO()
            Image.fromarray(pixels).resize((128, 96)).save(data, "PNG")
            info = tarfile.TarInfo(f"{n}.png")
            info.size = len(data.getvalue())
            tar.addfile(info, io.BytesIO(data.getvalue()))


def in_this_process(linking: LinkSettings, shards: Path, output: Path) -> None:
    """What a task does."""
    links = LinkPictures(settings=linking).run(ReadShards([str(shards)]).run())
    for _ in ParquetLinks(str(output)).run(links):
        pass


def watch(memory: list[tuple[float, int, int]]) -> None:
    """Note the resident memory of this process and of its largest worker, twice a second."""
    while True:
        own, *workers = map(resident, family(os.getpid()))
        memory.append((time.monotonic(), own, max(workers, default=0)))
        time.sleep(0.5)


if __name__ == "__main__":
    main()
