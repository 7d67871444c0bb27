"""The sampling bias of Li 2021 (Fig. 2b), measured with features that built no document.

    python packages/iconotext-papers/benchmarks/bias.py dii.jsonl mscoco.jsonl [--data FOLDER]

The rule of Story-DII puts photographs into a document that are nearest neighbours in the features of
EfficientNet-Lite0, so that distances in these features differ by construction. Colours, and what people wrote about a
photograph, built nothing. Writes the record ``li-bias`` of the distances between the photographs of the test documents,
as ``iconotext papers analyze bias --split test`` computes them: by EfficientNet-Lite0, by the square roots of a
histogram of 4 × 4 × 4 colours, and by the mean MiniLM vector of the photograph's captions in ``captions/flickr8k``.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import iconotext
from iconotext.corpus.builders.photos import Photo, read_photos
from iconotext.corpus.store import read_corpus
from iconotext.features import FeatureCache, cached_image, cached_text, load_image_backbone, load_text_backbone
from iconotext.images import decode
from iconotext_papers.analyses.bias import Bias, ImageVectors, measure, negative_distances

sys.path.append(str(Path(__file__).parents[3] / "scripts"))
records: Any = import_module("records")


def histogram(photo: Photo) -> NDArray[np.float32]:
    """Return (64,) square roots of the shares of colours, four levels of each of red, green and blue."""
    colours = np.asarray(decode(photo.file)).reshape(-1, 3) // 64
    counts = np.bincount(colours @ np.array([16, 4, 1]), minlength=64)
    return np.asarray(np.sqrt(counts / counts.sum()), np.float32)


def features_of(photos: list[Photo]) -> dict[str, NDArray[np.float32]]:
    """Return the features of every photograph, by their name."""
    cache = FeatureCache()
    texts = [caption for photo in photos for caption in photo.captions]
    owners = np.repeat(np.arange(len(photos)), [len(photo.captions) for photo in photos])
    encoded = cached_text(load_text_backbone(), cache).encode(texts)
    captions = np.stack([encoded[owners == number].mean(0) for number in range(len(photos))])
    seen = cached_image(load_image_backbone(), cache).encode([photo.file for photo in photos]).pooled
    return {
        "EfficientNet-Lite0": seen,
        "histogram of colours": np.stack([histogram(photo) for photo in photos]),
        "MiniLM vectors of the captions": captions,
    }


def bias_of(corpus: Path, rows: Mapping[str, int], features: NDArray[np.float32]) -> Bias:
    """Measure the bias of the test documents of a corpus; ``rows`` has the row of each photograph, by its file name."""
    documents = []
    for document in read_corpus(corpus):
        if document.split == "test":
            places = tuple(rows[Path(image.source).name] for image in document.images)
            documents.append(ImageVectors(document.id, features[list(places)], places, tuple(document.links or ())))
    return measure(negative_distances(documents))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", type=Path, nargs="+")
    parser.add_argument("--data", type=Path, default=os.environ.get("ICONOTEXT_DATA"))
    arguments = parser.parse_args()
    if arguments.data is None:
        parser.error("where is the data? --data FOLDER, or set ICONOTEXT_DATA")
    photos = list(read_photos(Path(arguments.data) / "captions" / "flickr8k" / "captions.jsonl"))
    rows = {photo.file.name: number for number, photo in enumerate(photos)}
    measured = []
    for name, features in features_of(photos).items():
        for corpus in arguments.corpora:
            bias = bias_of(corpus, rows, features)
            low, high = bias.interval
            figures = {
                "training": f"{bias.training.mean:.3f}",
                "evaluation": f"{bias.evaluation.mean:.3f}",
                "D": f"{bias.ks:.3f}",
                "farther in training": f"{100 * bias.larger:.1f} %",
                "difference": f"{bias.difference:.3f} ({low:.3f} to {high:.3f})".replace("-", "−"),
            }
            print(name, corpus.name, figures)
            measured.append({"row": f"{corpus.name}: {name}", "key": None, "figures": figures})
    names = " ".join(path.name for path in arguments.corpora)
    found = {
        "command": f"python packages/iconotext-papers/benchmarks/bias.py {names}",
        "table": None,
        "dataset": None,
        "set": [],
        "corpus": None,
        "seeds": None,
        "version": f"{iconotext.__version__} ({records._commit()})",
        "machine": records.machine(),
        "date": datetime.now(UTC).date().isoformat(),
        "encoders": {name: records._encoder(name) for name in ("efficientnet-lite0", "minilm")},
        "recipe": {},
        "head": "corpus: features",
        "rows": measured,
    }
    (records.RECORDS / "li-bias.json").write_text(records.as_json(found), encoding="utf-8")


if __name__ == "__main__":
    main()
