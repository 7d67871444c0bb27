"""What a dual encoder gains from one's own documents without a labelled link, from random weights to the end.

    python benchmarks/dual_encoder.py [--work FOLDER] [--epochs 15]

1. A CLIP of some 2 million random weights (64 × 64 pixels, three layers a side) is made, with a vocabulary of its own.
2. ``dual-pretrain`` trains it on pictures with captions: ``captions/open``, and every second training photograph of
   Flickr8k.
3. It is adapted to documents of the other training photographs, ten pictures and ten sentences of which five belong
   together, without their links: by layers behind it (``dual-adapter``), and with all its weights (``dual-fine-tune``,
   as the recipe is and with the objectives of the papers alone).
4. All are tested on 500 documents of the 1,000 official validation photographs, which no step has seen.

Needs the data folder (--data, $ICONOTEXT_DATA, or ../shared/data beside the checkout) and a folder for corpora and
models (--work); what is there already is not made again. The recipes and their rates for a tiny model were not chosen
by these figures: they are those that stand below, tried once.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from PIL import Image as Pillow

from iconotext.corpus.builders.captions import CaptionSettings
from iconotext.corpus.builders.photos import Photo, read_photos
from iconotext.corpus.store import write_corpus
from iconotext.encoders.stored_model import DUAL
from iconotext.evaluate import compare
from iconotext.recipe import load_recipe
from iconotext.train import train
from iconotext.types import Document, Image, Sentence

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fitting import ROOT
from fitting.captioned_documents import build_captions
from fitting.default_model import SOURCES, figures, measured

PIXELS, WIDTH, LAYERS, DIM, WORDS, LONGEST = 64, 128, 3, 128, 4000, 40
SIDE = 96
"""Pixels of the copies that are trained on; the model sees fewer."""

WAYS = {
    "layers behind it": ("dual-adapter", ["training.epochs=10"]),
    "all weights, dual-fine-tune": ("dual-fine-tune", []),
    "all weights, top-k of Hessel 2019": ("dual-fine-tune", ["objective.intra_document=0"]),
    "all weights, within and between of Li 2021": (
        "dual-fine-tune",
        ["objective.intra_document=1", "objective.kind=hinge", "objective.learn_scale=false", "similarity.k=min"],
    ),
}
TINY = ["training.batch=16", "training.epochs=6", "training.learning_rate=1e-4"]
"""The rate of a model of 2 million weights is higher than that of CLIP."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("ICONOTEXT_DATA", ROOT.parent / "shared" / "data"))
    parser.add_argument("--work", type=Path, default=Path("dual-encoder-benchmark"))
    parser.add_argument("--epochs", type=int, default=15, help="of pretraining")
    arguments = parser.parse_args()
    work: Path = arguments.work
    work.mkdir(parents=True, exist_ok=True)
    photos = list(read_photos(arguments.data / SOURCES["flickr8k"]))
    training = [photo for photo in photos if photo.split == "train"]
    known, own = training[::2], training[1::2]
    pairs = corpus(work / "pairs.jsonl", single([*known, *read_photos(arguments.data / SOURCES["open"])]), work)
    own = [replace(photo, split="validation" if n % 10 == 0 else "train") for n, photo in enumerate(own)]
    unlabelled = (replace(each, links=None) for each in build_captions(own, CaptionSettings(versions=1, shuffles=3)))
    documents = corpus(work / "documents.jsonl", unlabelled, work)
    test = list(build_captions([p for p in photos if p.split == "validation"], CaptionSettings(evaluation_shuffles=5)))

    random = work / "random"
    if not random.exists():
        make_random(random, (text for photo in known for text in photo.captions))
    start = trained("dual-pretrain", random, pairs, work / "pretrained", [f"training.epochs={arguments.epochs}"]) / DUAL

    print("| model | AUC | p@1 | p@5 | AUC more than before |\n|---|---|---|---|---|\n| random weights | ", end="")
    print(f"{figures(measured(str(random), test))} | |", flush=True)
    before = measured(str(start), test)
    print(f"| pretrained (zero-shot) | {figures(before)} | |", flush=True)
    for number, (way, (recipe, changes)) in enumerate(WAYS.items()):
        settings = [
            *(TINY if recipe == "dual-fine-tune" else []),
            f"objective.scale={learned_scale(start):.1f}",
            *changes,
        ]
        model = trained(recipe, start, documents, work / f"adapted-{number}", settings)
        after = measured(str(model), test)
        gain = compare(after, before)["auc"]
        more = f"{100 * gain.difference:+.1f} ({100 * gain.interval[0]:.1f}–{100 * gain.interval[1]:.1f})"
        print(f"| {way} | {figures(after)} | {more} |", flush=True)


def trained(recipe: str, encoder: Path, corpus: Path, folder: Path, changes: Sequence[str]) -> Path:
    """A model by a recipe, if it is not there yet."""
    if not (folder / "metrics.json").exists():
        both = [f"features.text={encoder}", f"features.image={encoder}", f"dim={DIM}"]
        train(load_recipe(recipe, [*both, *changes]), [corpus], folder)
    return folder


def learned_scale(encoder: Path) -> float:
    """What the dual encoder multiplies its cosines with."""
    import numpy as np
    from safetensors.numpy import load_file

    return float(np.exp(load_file(encoder / "model.safetensors")["logit_scale"]))


def single(photos: Iterable[Photo]) -> Iterator[Document]:
    """A document of each picture and its captions."""
    for number, photo in enumerate(photos):
        sentences = tuple(map(Sentence, photo.captions))
        image = Image(source=Path(photo.image).as_posix(), file=Path(photo.image))
        yield Document(id=f"pair-{number}", sentences=sentences, images=(image,), links=())


def corpus(path: Path, documents: Iterable[Document], work: Path) -> Path:
    """The documents with small copies of their pictures, if they are not there yet."""
    if not path.exists():
        write_corpus((smaller(each, work / "pictures") for each in documents), path)
    return path


def smaller(document: Document, folder: Path) -> Document:
    folder.mkdir(exist_ok=True)
    images = []
    for image in document.images:
        assert isinstance(image.file, Path)
        copy = folder / f"{image.file.parent.name}-{image.file.stem}.png"
        if not copy.exists():
            with Pillow.open(image.file) as picture:
                shown = picture.convert("RGB")
                shown.thumbnail((2 * SIDE, 2 * SIDE))
                share = SIDE / min(shown.size)
                shown.resize((max(SIDE, round(shown.width * share)), max(SIDE, round(shown.height * share)))).save(copy)
        images.append(replace(image, source=copy.as_posix(), file=copy))
    return replace(document, images=tuple(images))


def make_random(folder: Path, texts: Iterable[str]) -> None:
    """A CLIP of random weights, whose vocabulary is learned from texts."""
    import torch
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<s>", "</s>", "<pad>", "<unk>"]
    tokenizer.train_from_iterator(
        (text.lower() for text in texts),
        trainers.BpeTrainer(
            vocab_size=WORDS, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
        ),
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    names = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    fast: Any = transformers.PreTrainedTokenizerFast
    fast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
    layers: dict[str, Any] = {
        "hidden_size": WIDTH,
        "intermediate_size": 4 * WIDTH,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": 4,
    }
    marks = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2}
    text = {**layers, **marks, "vocab_size": tokenizer.get_vocab_size(), "max_position_embeddings": LONGEST}
    vision = {**layers, "image_size": PIXELS, "patch_size": 16}
    torch.manual_seed(0)
    config = transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=DIM)
    transformers.CLIPModel(config).save_pretrained(folder)
    transformers.CLIPImageProcessor(size={"shortest_edge": PIXELS}, crop_size=PIXELS).save_pretrained(folder)


if __name__ == "__main__":
    main()
