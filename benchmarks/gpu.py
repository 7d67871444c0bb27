"""What a GPU is worth: encoding, training, precision, and the tests that need one, in one table.

    python benchmarks/gpu.py                                            on a machine with a GPU
    python benchmarks/gpu.py --documents 60 --images 16 --epochs 1      tries the script on any machine

1. Pictures (JPEG, 640 × 480, decoding included) and sentences (11 words) a second through the encoders that ship, and
   the share of what the bare network does with batches that lie ready.
2. Training as large as MSCOCO in Hessel 2019: 25,000 documents of ten images (a table of 1,280 numbers each) and ten
   sentences, a GRU of 1,024; seconds an epoch, validation included, without the first epoch, and what 50 take.
3. The same in bfloat16: seconds, and how far the validation loss is from that of float32 after the same epochs.
4. ``pytest -m gpu``.

Pictures are noise, sentences random words: speed is all that is measured. It has not run on a GPU yet.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path

os.environ["ICONOTEXT_RUNTIME"] = "torch"

import numpy as np
import torch
from PIL import Image

from iconotext.corpus.store import write_corpus
from iconotext.features import load_image_backbone, load_text_backbone
from iconotext.features.efficientnet import FOLDER
from iconotext.features.eight_bits import Bert, load_weights, network_of
from iconotext.features.feature_table import write_feature_table
from iconotext.features.minilm import EPSILON, HEADS, LAYERS
from iconotext.features.minilm import FOLDER as TEXT_FOLDER
from iconotext.features.runtime import WEIGHTS, best_device, full_precision
from iconotext.networks.image_network import SIDE
from iconotext.recipe import load_recipe
from iconotext.train import train
from iconotext.types import Document, Sentence
from iconotext.types import Image as DocumentImage

ROOT = Path(__file__).resolve().parents[1]
FEATURES, EACH, WORDS, TOKENS = 1280, 10, 10_000, 16


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=25_000)
    parser.add_argument("--images", type=int, default=4096, help="pictures, and as many sentences, to encode")
    parser.add_argument("--epochs", type=int, default=4)
    given = parser.parse_args()
    device = best_device()
    name = torch.cuda.get_device_name() if device.type == "cuda" else "no GPU: the CPU"
    print(f"{name}, PyTorch {torch.__version__}\n\n| what | figure |\n|---|---|")
    for what, figure in chain(encoding(given.images, device), training(given.documents, given.epochs)):
        print(f"| {what} | {figure} |", flush=True)
    tests = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-m", "gpu"], cwd=ROOT, capture_output=True, text=True
    )
    print(f"| pytest -m gpu | {tests.stdout.strip().splitlines()[-1]} |")
    return tests.returncode


def encoding(count: int, device: torch.device) -> Iterator[tuple[str, str]]:
    rng, batch = np.random.default_rng(0), min(count, 256)
    files = [jpeg(rng) for _ in range(min(count, 64))]
    files = [files[n % len(files)] for n in range(count)]
    words = [f"w{number}" for number in range(WORDS)]
    texts = [" ".join(rng.choice(words, 11)) for _ in range(count)]
    lite = network_of(load_weights(FOLDER / WEIGHTS)).to(device)
    pixels = torch.randint(0, 256, (batch, SIDE, SIDE, 3), dtype=torch.uint8, device=device)
    bert = Bert(
        {name: each.to(device) for name, each in load_weights(TEXT_FOLDER / WEIGHTS).items()}, LAYERS, HEADS, EPSILON
    )
    ids = torch.randint(1000, 2000, (batch, TOKENS), device=device, dtype=torch.int32)
    mask = torch.ones_like(ids).bool()
    parts: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "pictures": (lambda: load_image_backbone().encode(files), lambda: lite(pixels)),
        "sentences": (lambda: load_text_backbone().encode(texts), lambda: bert.layer_means(ids, mask)),
    }
    for what, (ours, bare) in parts.items():
        ours()
        rate = count / seconds(ours, device)
        with full_precision(device):
            bare()
            floor = 8 * batch / seconds(lambda bare=bare: [bare() for _ in range(8)], device)  # type: ignore[misc]
        yield f"{what} a second", f"{rate:,.0f}; bare network {floor:,.0f}; share {100 * rate / floor:.0f} %"


def training(documents: int, epochs: int) -> Iterator[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        corpus, table = made_up(folder, documents)
        losses = {}
        for precision in ("32", "bf16"):
            settings = [f"features.image={table}", f"training.epochs={epochs + 1}", f"training.precision={precision}"]
            model = train(
                load_recipe("hessel2019/top-k-half", settings),
                [corpus],
                folder / precision,
                prepared=folder / "prepared",
            )
            rows = list(csv.DictReader((model / "log.csv").read_text().splitlines()))
            took = sum(float(row["seconds"]) for row in rows[1:]) / max(len(rows) - 1, 1)
            losses[precision] = float(rows[-1]["validation_loss"])
            yield (
                f"training, {documents:,} documents, {precision} bits" if precision == "32" else "training, bf16",
                (f"{took:.1f} s an epoch; 50 epochs {50 * took / 60:.1f} minutes (aim: 5)"),
            )
        yield "validation loss, float32 and bfloat16", f"{losses['32']:.4f} and {losses['bf16']:.4f}"


def made_up(folder: Path, documents: int) -> tuple[Path, Path]:
    """A corpus, and a table of its images' features."""
    rng = np.random.default_rng(1)
    sources = [f"{number}.jpg" for number in range(2 * documents)]
    chunks = (rng.standard_normal((len(part), FEATURES)).astype(np.float32) for part in cut(sources, 4096))
    write_feature_table(folder / "features.npy", sources, chunks, dim=FEATURES)

    def drawn() -> Iterator[Document]:
        for number in range(documents):
            images = tuple(DocumentImage(source=sources[n]) for n in rng.integers(len(sources), size=EACH))
            lengths = rng.integers(5, 18, EACH)
            sentences = tuple(
                Sentence(" ".join(f"w{word}" for word in rng.integers(WORDS, size=length))) for length in lengths
            )
            split = "validation" if number % 25 == 0 else "train"
            yield Document(id=str(number), sentences=sentences, images=images, split=split)

    write_corpus(drawn(), folder / "corpus.jsonl")
    return folder / "corpus.jsonl", folder / "features.npy"


def cut(items: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (items[at : at + size] for at in range(0, len(items), size))


def seconds(run: Callable[[], object], device: torch.device) -> float:
    began = time.perf_counter()
    run()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - began


def jpeg(rng: np.random.Generator) -> bytes:
    file = io.BytesIO()
    Image.fromarray(rng.integers(0, 256, (480, 640, 3), dtype=np.uint8)).save(file, "JPEG")
    return file.getvalue()


if __name__ == "__main__":
    sys.exit(main())
