"""Captioned photographs as a retrieval set with relations, to compare the models of Alikhani 2021 (Table 3) on it.

    python packages/iconotext-papers/benchmarks/coherence.py OUTPUT.jsonl [--data FOLDER]

What to run on it then stands in ``packages/iconotext-papers/docs/results/papers.md``.

Writes one document for each photograph of ``captions/flickr8k`` (in $ICONOTEXT_DATA, or --data), with its first
caption. Nobody labelled how these captions relate to their photographs, so the relation model that ships says it: of
each relation, as many pairs are positive as the model expects in all (the sum of its probabilities), those with the
highest probability. Only Clue's relations are taken, which are of captions. The official validation photographs are the
test set; a tenth of the others validates.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np

from iconotext.corpus.builders.photos import read_photos
from iconotext.corpus.store import write_corpus
from iconotext.encoders.relation_model import load_relation_model
from iconotext.features import FeatureCache, cached_image, load_image_backbone
from iconotext.relations import CLUE
from iconotext.types import Document, Image, Sentence


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--data", type=Path, default=os.environ.get("ICONOTEXT_DATA"))
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.data is None:
        parser.error("where is the data? --data FOLDER, or set ICONOTEXT_DATA")
    photos = list(read_photos(arguments.data / "captions" / "flickr8k" / "captions.jsonl"))
    texts = [photo.captions[0] for photo in photos]
    cache = FeatureCache()
    model = load_relation_model(cache=cache)
    pooled = cached_image(load_image_backbone(), cache).encode([photo.file for photo in photos]).pooled
    odds = model.text_logits(texts) + model.image_offsets(pooled)
    probabilities = 1 / (1 + np.exp(-odds.astype(np.float64)))
    labels: dict[str, np.ndarray[tuple[int], np.dtype[np.bool_]]] = {}
    for relation in CLUE:
        own = probabilities[:, model.relations.index(relation)]
        expected = round(float(own.sum()))
        print(f"{relation}: {expected} of {len(photos)} are positive")
        labels[relation] = np.zeros(len(photos), np.bool_)
        labels[relation][np.argsort(-own, kind="stable")[:expected]] = True
    training = [number for number, photo in enumerate(photos) if photo.split == "train"]
    drawn = np.random.default_rng(arguments.seed).permutation(training)[: len(training) // 10]
    validation = set(drawn.tolist())
    documents = (
        Document(
            id=photo.file.stem,
            sentences=(Sentence(text),),
            images=(Image(photo.file.name, photo.file),),
            links=((0, 0),),
            split="test" if photo.split != "train" else "validation" if number in validation else "train",
            meta={"relations": {name: bool(holds[number]) for name, holds in labels.items()}},
        )
        for number, (photo, text) in enumerate(zip(photos, texts, strict=True))
    )
    print(f"{arguments.output}: {write_corpus(documents, arguments.output, force=True)} pairs")


if __name__ == "__main__":
    main()
