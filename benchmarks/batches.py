"""Documents encoded many at a time: speed beside an older version, beside other work, and from the cache.

    python benchmarks/batches.py evaluate [--before SRC]   # 500 documents of 10 x 10, cold, through `evaluate`
    python benchmarks/batches.py load                      # pictures and sentences beside 0, 2 and 8 busy processes
    python benchmarks/batches.py link [--before SRC]       # processor time a document with all features at hand
    python benchmarks/batches.py cache [--before SRC]      # reading a document's features

``--before`` names the ``src`` of an older version, which takes turns with this one in the same run. Pictures and texts
are made up: photographs of noise of 500 x 375 pixels, sentences of 5 to 15 common words.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

SOURCE = Path(__file__).parents[1] / "src"
WORDS = """river bridge engine valve harbour meadow lantern copper needle orchard castle window street people water
stone summer winter child horse train garden kitchen mountain paper letter morning evening music table bread ship road
island shows stands under above between near large small old new red blue green and the a of in with on""".split()


def made_up(folder: Path, documents: int, sentences: int, images: int, different: int) -> Path:
    """A corpus of documents of made-up sentences and pictures, of which so many are different."""
    from PIL import Image as Pillow

    from iconotext.corpus.store import write_corpus
    from iconotext.types import Document, Image, Sentence

    rng = np.random.default_rng(0)
    coarse = rng.integers(0, 255, (different, 12, 16, 3), np.uint8)
    for n in range(different):
        Pillow.fromarray(coarse[n]).resize((500, 375), Pillow.Resampling.BICUBIC).save(folder / f"{n}.jpg", quality=90)
    texts = [" ".join(rng.choice(WORDS, rng.integers(5, 16))).capitalize() + "." for _ in range(different)]
    made = []
    for number in range(documents):
        some = rng.integers(0, different, sentences + images).tolist()
        blocks = sorted(rng.integers(0, sentences, images).tolist())
        shown = zip(some[sentences:], blocks, strict=True)
        pictures = [Image(f"{p}.jpg", folder / f"{p}.jpg", caption=texts[p], block=b, position=b) for p, b in shown]
        written = [Sentence(texts[t], i) for i, t in enumerate(some[:sentences])]
        gold = tuple((i, i) for i in range(min(sentences, images)))
        made.append(Document(f"book/{number}", tuple(written), tuple(pictures), links=gold))
    write_corpus(made, folder / "corpus.jsonl")
    return folder / "corpus.jsonl"


def measured(source: Path, arguments: list[str], cache: Path) -> tuple[float, float]:
    """Seconds and processor seconds of a program with one version of the package."""
    environment = os.environ | {"PYTHONPATH": str(source), "ICONOTEXT_CACHE": str(cache)}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *arguments], env=environment, check=True, stdout=subprocess.PIPE)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - start, used


def evaluate(versions: dict[str, Path], documents: int, evidence: str, turns: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        corpus = made_up(Path(folder), documents, 10, 10, different=documents * 2)
        for turn in range(turns):
            for name, source in versions.items():
                with tempfile.TemporaryDirectory() as cache:
                    arguments = [
                        "-m",
                        "iconotext",
                        "evaluate",
                        "default",
                        str(corpus),
                        "--json",
                        "--evidence",
                        evidence,
                    ]
                    wall, used = measured(source, arguments, Path(cache))
                    again, used_again = measured(source, arguments, Path(cache))
                print(
                    f"{name}, turn {turn}: {documents} documents cold {wall:.1f} s, {used:.1f} processor s; "
                    f"again with features {again:.1f} s, {used_again:.1f} processor s",
                    flush=True,
                )


LINK = """
import sys, time
from itertools import islice
from pathlib import Path
from iconotext.corpus.store import read_corpus
from iconotext.linker import Linker, LinkSettings
documents = list(islice(read_corpus(Path(sys.argv[1])), int(sys.argv[2])))
linker = Linker.load(settings=LinkSettings(relations="none"))
list(linker.link_all(documents))
for _ in range(3):
    start = time.process_time()
    list(linker.link_all(documents))
    middle = time.process_time()
    for document in documents:
        linker.link(document)
    end = time.process_time()
    together, alone = (middle - start) / len(documents), (end - middle) / len(documents)
    print(f"{1000 * together:.1f} ms a document together with their habit, {1000 * alone:.1f} ms alone", flush=True)
"""

CACHE = """
import hashlib, sys, tempfile, time
from pathlib import Path
import numpy as np
from iconotext.features import FeatureCache
from iconotext.features.backbone import ImageBackbone, ImageFeatures, TextBackbone
from iconotext.features.cached_backbones import cached_image, cached_text
rng = np.random.default_rng(0)
def read(texts): return rng.random((len(texts), 384), np.float32)
def look(files, *, regions=False):
    n = len(files)
    return ImageFeatures(rng.random((n, 1280), np.float32), rng.random((n, 1000), np.float32), problems=(None,) * n)
with tempfile.TemporaryDirectory() as folder:
    cache = FeatureCache(Path(folder) / "c.sqlite")
    text = cached_text(TextBackbone("t", 384, read), cache)
    image = cached_image(ImageBackbone("i", 1280, look, ("c",) * 1000), cache)
    documents = [([f"{d} {i}" for i in range(50)], [b"%d %d" % (d, j) for j in range(5)]) for d in range(400)]
    for texts, files in documents:
        text.encode(texts), image.encode(files)
    for _ in range(3):
        start = time.process_time()
        for texts, files in documents:
            text.encode(texts), image.encode(files)
        spent = 1000 * (time.process_time() - start) / len(documents)
        print(f"{spent:.2f} ms a document of 50 sentences and 5 pictures", flush=True)
"""


def program(versions: dict[str, Path], code: str, *arguments: str) -> None:
    for name, source in versions.items():
        with tempfile.TemporaryDirectory() as cache:
            environment = os.environ | {"PYTHONPATH": str(source), "ICONOTEXT_CACHE": cache}
            told = subprocess.run(
                [sys.executable, "-c", code, *arguments], env=environment, check=True, capture_output=True, text=True
            ).stdout
        print(name, told, sep="\n", flush=True)


def _busy(stop: float) -> None:
    while time.time() < stop:
        sum(range(10_000))


def load(seconds: float) -> None:
    """Throughput alone and beside busy processes; the share of the processor is what a fair scheduler would leave."""
    from iconotext.features import load_image_backbone, load_text_backbone
    from iconotext.system.threads import usable_cores

    with tempfile.TemporaryDirectory() as folder:
        made_up(Path(folder), 1, 1, 1, different=256)
        files = sorted(Path(folder).glob("*.jpg"))
        image, text = load_image_backbone(), load_text_backbone()
        rng = np.random.default_rng(1)
        texts = [" ".join(rng.choice(WORDS, rng.integers(5, 16))) for _ in range(512)]
        works: dict[str, tuple[Any, list[Any]]] = {
            "pictures": (image.encode, list(files)),
            "sentences": (text.encode, texts),
        }
        for work, some in works.values():
            work(some[:64])
        rates: dict[tuple[str, int], list[float]] = {}
        shares: dict[int, list[float]] = {}
        for _ in range(3):
            for busy in (0, 2, 8):
                others = [multiprocessing.Process(target=_busy, args=(time.time() + 600,)) for _ in range(busy)]
                for other in others:
                    other.start()
                time.sleep(1.0)
                for name, (work, some) in works.items():
                    done, start, used = 0, time.perf_counter(), time.process_time()
                    while time.perf_counter() - start < seconds:
                        work(some)
                        done += len(some)
                    wall = time.perf_counter() - start
                    rates.setdefault((name, busy), []).append(done / wall)
                    shares.setdefault(busy, []).append((time.process_time() - used) / wall)
                for other in others:
                    other.terminate()
                    other.join()
        threads = usable_cores()
        print(f"{threads} threads")
        for (name, busy), found in rates.items():
            rate, alone = statistics.median(found), statistics.median(rates[name, 0])
            had = statistics.median(shares[busy]) / statistics.median(shares[0])
            print(
                f"{name}, {busy} busy processes: {rate:.0f} a second, {rate / alone:.2f} of that alone, with {had:.2f} "
                "of the processor time that it had alone",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("evaluate", "load", "link", "cache"))
    parser.add_argument("--before", type=Path, help="the src folder of an older version")
    parser.add_argument("--documents", type=int, default=500)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--evidence", default="picture,caption,layout,reference")
    parser.add_argument("--seconds", type=float, default=8.0)
    chosen = parser.parse_args()
    versions = {"before": chosen.before} if chosen.before else {}
    versions["now"] = SOURCE
    if chosen.what == "load":
        load(chosen.seconds)
    elif chosen.what == "evaluate":
        evaluate(versions, chosen.documents, chosen.evidence, chosen.turns)
    elif chosen.what == "cache":
        program(versions, CACHE)
    else:
        with tempfile.TemporaryDirectory() as folder:
            corpus = made_up(Path(folder), 60, 100, 5, different=2000)
            program(versions, LINK, str(corpus), "60")


if __name__ == "__main__":
    main()
