"""What each stage of `iconotext scale link` costs, in processor time, and what millions of documents would.

    python benchmarks/scale_cost.py --documents 500

Every stage is done by itself, in one process, over one shard as ``scale_run.py`` makes them, of documents of 5 pictures
and 20 sentences; what counts is processor time of all threads, which other work on the machine changes less than the
time that passes. Decoding is what encoding pictures begins with, and is taken out of it. Linking is from warm features:
the cache is filled before. Prints a line of JSON a stage, then core-hours for such documents: cold, if no picture and
no sentence comes again, and warm, if all do; and before them the modules in which warm linking spends its time.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TypeVar

from data_folder import DATA
from scale_run import read_captions, write_shard

from iconotext.corpus.shards import Counts, find_shards, shard_documents
from iconotext.decide.settings import LinkSettings
from iconotext.errors import ImageError
from iconotext.features import load_image_backbone, load_text_backbone
from iconotext.images import decode
from iconotext.linker import Linker
from iconotext.report.as_parquet import write_parquet
from iconotext.types import Document, LinkedDocument

Result = TypeVar("Result")

SIDE = 224
"""Pixels of the shorter side for which encoders decode a picture."""

IMAGES, SENTENCES = 5, 20
"""Of the documents of the projection."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=500)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        captions = read_captions(DATA / "captions/open")
        path = write_shard(Path(folder) / "in", 0, given.documents, captions, images=IMAGES, others=SENTENCES - IMAGES)
        (shard,) = find_shards([str(path)])
        paths = [Path(each.address) for each in (shard.file, *shard.beside)]
        size = sum(path.stat().st_size for path in paths)
        os.environ["ICONOTEXT_CACHE"] = str(Path(folder) / "cache")
        documents, read = timed(lambda: list(shard_documents(shard, paths, Counts())))
        files = [image.file for each in documents for image in each.images if image.problem is None and image.file]
        files = [file for file in files if can_be_seen(file)]
        texts = [sentence.text for each in documents for sentence in each.sentences]
        _, decoding = timed(lambda: [decode(file, at_least=SIDE) for file in files])
        pictures, sentences = load_image_backbone(), load_text_backbone()
        pictures.encode(files[:8]), sentences.encode(texts[:64])
        _, seeing = timed(lambda: pictures.encode(files))
        _, reading = timed(lambda: sentences.encode(texts))
        costs = {}
        for relations in ("default", "none"):
            linker = Linker.load("default", LinkSettings(relations=relations))
            results(linker, documents)  # fills the cache
            linked, costs[relations] = timed(lambda linker=linker: results(linker, documents))  # type: ignore[misc]
        write_parquet(linked[:1], Path(folder) / "first.parquet")  # imports what it needs
        _, writing = timed(lambda: write_parquet(linked, Path(folder) / "table.parquet"))
        out = (Path(folder) / "table.parquet").stat().st_size
    number = len(documents)
    for module, share in modules_of(lambda: results(linker, documents)):
        print(json.dumps({"module": module, "share_of_linking_without_relations": round(share, 3)}))
    tell("read", read, documents=number, megabytes_in=size / 1e6)
    tell("decode", decoding, images=len(files))
    tell("encode pictures", seeing - decoding, images=len(files))
    tell("encode sentences", reading, sentences=len(texts))
    tell("link", costs["none"], documents=number)
    tell("link, with relations", costs["default"], documents=number)
    tell("write", writing, documents=number, megabytes_out=out / 1e6)
    new = IMAGES * seeing / len(files) + SENTENCES * reading / len(texts)
    each = (read + costs["default"] + writing) / number
    for documents_ in (10**6, 10**7, 10**8):
        print(
            json.dumps(
                {
                    "documents": documents_,
                    "core_hours_cold": round(documents_ * (each + new) / 3600),
                    "core_hours_warm": round(documents_ * each / 3600),
                }
            )
        )


def modules_of(work: Callable[[], object], runs: int = 5) -> list[tuple[str, float]]:
    """The modules of ours in which threads are met, every two milliseconds, while some work runs; waiting left out."""
    met: Counter[str] = Counter()
    done = threading.Event()

    def look() -> None:
        while not done.wait(0.002):
            for thread, frame in sys._current_frames().items():
                waits = frame.f_code.co_filename.endswith(("threading.py", "queue.py", "thread.py"))
                place: FrameType | None = frame
                while place is not None and "/iconotext/" not in place.f_code.co_filename:
                    place = place.f_back
                if place is not None and not waits and thread != threading.get_ident():
                    met[place.f_code.co_filename.rpartition("/iconotext/")[2]] += 1

    looker = threading.Thread(target=look)
    looker.start()
    for _ in range(runs):
        work()
    done.set()
    looker.join()
    return [(module, times / met.total()) for module, times in met.most_common(12)]


def timed(work: Callable[[], Result]) -> tuple[Result, float]:
    begun = time.process_time()
    return work(), time.process_time() - begun


def results(linker: Linker, documents: list[Document]) -> list[LinkedDocument]:
    return [each for each in linker.link_all(documents) if isinstance(each, LinkedDocument)]


def can_be_seen(file: Path | bytes) -> bool:
    try:
        decode(file, at_least=1)
    except ImageError:
        return False
    return True


def tell(stage: str, seconds: float, **amounts: float) -> None:
    found = {"stage": stage, "core_seconds": round(seconds, 2)}
    for name, amount in amounts.items():
        found |= {name: round(amount, 1), f"{name}_a_core_second": round(amount / seconds, 1)}
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
