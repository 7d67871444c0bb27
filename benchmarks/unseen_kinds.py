"""Kinds of documents that a model was never shown: what to train on, and what self-training adds. Picture alone.

    python benchmarks/unseen_kinds.py sources        Flickr8k, freely licensed pictures, or both; the genre left out
    python benchmarks/unseen_kinds.py genres         from Flickr8k to all genres but one, tested on that one
    python benchmarks/unseen_kinds.py halves         from Flickr8k to half of a genre, tested on the other half

They need the data folder (--data, $ICONOTEXT_DATA) and some ten minutes of one core each, features in the cache. Models
are those of recipes/default.toml without further views and with 15 epochs. Steps of adapting are those of
recipes/adapt.toml, except that captions come in batches of 64 beside every batch of 16 documents, 160 documents an
epoch.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.stats import rankdata
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, logsigmoid

from iconotext.corpus.builders.captions import CaptionSettings
from iconotext.corpus.builders.pairs import build_pairs
from iconotext.corpus.builders.photos import read_photos
from iconotext.corpus.store import read_corpus
from iconotext.decide.combine import weigh_evidence
from iconotext.encoders.bridge import centred, concept_vectors
from iconotext.evidence.caption import Reading
from iconotext.features import FeatureCache, cached_image, cached_text, load_image_backbone, load_text_backbone
from iconotext.networks.projection import Projection
from iconotext.objectives.within import posterior
from iconotext.similarity.sets import set_similarities
from iconotext.types import Document, Evidence

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fitting.captioned_documents import build_captions

IMAGES = cached_image(load_image_backbone("efficientnet-lite0"), FeatureCache())
TEXTS = cached_text(load_text_backbone("minilm"), FeatureCache())
CLASSES = TEXTS.encode(IMAGES.classes or ())
GENRES = {
    "build": "documents/build/documents.jsonl",
    "cooking": "documents/cooking/documents.jsonl",
    "garden_home": "documents/garden_home/documents.jsonl",
    "textbook": "documents/textbook/documents.jsonl",
    "cited": "documents/cited/cited.jsonl",
}
FOLDS = {"build": ["build"], "food": ["cooking", "garden_home"], "textbook": ["textbook"], "cited": ["cited"]}
LIKE = {  # publishers of captions/open that are of the same kind as a fold
    "build": ("sparkfun/", "tigoe/", "poppy-project/", "microsoft/IoT", "raspberrypilearning/"),
    "food": ("ronaldl29/",),
    "textbook": (),
}
METHODS: dict[str, tuple[Evidence, ...] | None] = {
    "documents": None,
    "documents, self-training": ("layout", "reference"),
    "documents and captions": None,
    "documents and captions, self-training": ("caption", "layout", "reference"),
}
BRIDGE, CENTRE = 0.15, 0.6
BATCH, DOCUMENTS, CAPTIONS = 512, 160, 64


class Pairs(NamedTuple):
    """Images, and the texts of each one after the other."""

    images: Any
    texts: Any
    offsets: Any

    def some(self, keep: Iterable[int]) -> Pairs:
        """Those of these numbers."""
        chosen = list(keep)
        texts = [self.texts[self.offsets[i] : self.offsets[i + 1]] for i in chosen]
        return Pairs(self.images[chosen], np.concatenate(texts), np.cumsum([0, *map(len, texts)]))


class Seen(NamedTuple):
    """A document as features; posteriors by the evidence that they are from."""

    id: str
    sentences: Any
    images: Any
    bridge: Any
    links: Sequence[tuple[int, int]]
    posteriors: dict[tuple[Evidence, ...], Any]


class Model(nn.Module):
    """The two encoders of the default model, with the scale and bias of their objective."""

    def __init__(self) -> None:
        super().__init__()
        self.text = Projection(384, dim=768, hidden=768, dropout=0.4, dropout_at="output", rescale=True)
        self.image = Projection(1280, dim=768, hidden=1024, dropout=0.5, dropout_at="output", rescale=True)
        self.scale = nn.Parameter(torch.tensor(math.log(20.0)))
        self.bias = nn.Parameter(torch.tensor(-10.0))


def looked_at(files: Sequence[Any]) -> tuple[Any, Any, Any]:
    """Features, concepts, and which can be read."""
    found = [IMAGES.encode(files[at : at + 512]) for at in range(0, len(files), 512)]
    good = np.array([problem is None for each in found for problem in each.problems])
    concepts = np.concatenate([concept_vectors(each, CLASSES) for each in found])
    return np.concatenate([each.pooled for each in found]), concepts, good


def pairs_of(documents: Iterable[Document]) -> Pairs:
    pairs = list(documents)
    texts = [[sentence.text for sentence in each.sentences] for each in pairs]
    vectors = TEXTS.encode([text for some in texts for text in some])
    images, _, _ = looked_at([each.images[0].file for each in pairs])
    return Pairs(images, vectors, np.cumsum([0, *map(len, texts)]))


def joined(parts: Sequence[Pairs]) -> Pairs:
    ends = np.cumsum([0, *(len(part.texts) for part in parts)])
    offsets = [part.offsets[:-1] + end for part, end in zip(parts, ends, strict=False)]
    images, texts = (np.concatenate([part[n] for part in parts]) for n in (0, 1))
    return Pairs(images, texts, np.append(np.concatenate(offsets), ends[-1]))


def seen(document: Document, teachers: Sequence[tuple[Evidence, ...]]) -> Seen:
    there = [j for j, image in enumerate(document.images) if image.file and not image.problem]
    images, concepts, good = looked_at([document.images[j].file for j in there])
    kept = [j for j, fine in zip(there, good, strict=True) if fine]
    vectors = TEXTS.encode([sentence.text for sentence in document.sentences])
    found = {
        kinds: weigh_evidence(document, None, Reading(TEXTS.encode, vectors), evidence=kinds).confidence[:, kept]
        for kinds in teachers
    }
    links = [(i, kept.index(j)) for i, j in document.links or () if j in kept]
    return Seen(document.id, vectors, images[good], centred(vectors) @ concepts[good].T, links, found)


def rate(top: float, step: int, warm: int, total: int) -> float:
    """A line up, and a half cosine down."""
    return top * (step / warm if step < warm else 0.5 * (1 + math.cos(math.pi * (step - warm) / max(total - warm, 1))))


def drawn(pairs: Pairs, rows: Any, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Images and one text of each."""
    texts = pairs.offsets[rows] + (rng.random(len(rows)) * np.diff(pairs.offsets)[rows]).astype(int)
    return torch.from_numpy(pairs.images[rows]), torch.from_numpy(pairs.texts[texts])


def from_captions(parts: Sequence[Pairs], seed: int, epochs: int = 15) -> Model:
    """The default model on other pictures: the mean of its last six epochs."""
    torch.manual_seed(seed)
    rng, model, pairs = np.random.default_rng(seed), Model(), joined(parts)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)
    steps, done, kept = max(1, round(len(pairs.images) / BATCH)), 0, []
    for epoch in range(epochs):
        model.train()
        for rows in np.array_split(rng.permutation(len(pairs.images)), steps):
            done += 1
            optimizer.param_groups[0]["lr"] = rate(1e-3, done, 2 * steps, epochs * steps)
            images, texts = drawn(pairs, rows, rng)
            scores = model.text(texts) @ model.image(images).T * model.scale.exp() + model.bias
            loss = -logsigmoid((2 * torch.eye(len(rows)) - 1) * scores).sum(1).mean()
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        if epoch >= epochs - 6:
            kept.append({name: tensor.detach().clone() for name, tensor in model.state_dict().items()})
    model.load_state_dict({name: torch.stack([each[name] for each in kept]).mean(0) for name in kept[0]})
    return model.eval()


def adapted(
    start: Model, documents: Sequence[Seen], parts: Sequence[Pairs], method: str, seed: int, epochs: int
) -> Model:
    """Another model, that has gone on from one with the documents, and their captions if the method says so."""
    torch.manual_seed(seed)
    rng, model, teacher = np.random.default_rng(seed), Model(), METHODS[method]
    model.load_state_dict(start.state_dict())
    model.scale.data.fill_(math.log(20.0))
    captions = joined(parts) if "captions" in method else None
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4, weight_decay=0.01)
    steps, done = len(batches(documents, rng)), 0
    for _ in range(epochs):
        model.train()
        for batch in batches(documents, rng):
            done += 1
            optimizer.param_groups[0]["lr"] = rate(2e-4, done, steps, epochs * steps)
            loss = of_documents(model, batch, teacher, rng)
            if captions is not None:
                rows = rng.permutation(len(captions.images))[:CAPTIONS]
                images, texts = drawn(captions, rows, rng)
                loss = loss + both_ways(model.text(texts) @ model.image(images).T * model.scale.exp())
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    return model.eval()


def batches(documents: Sequence[Seen], rng: np.random.Generator) -> list[list[Seen]]:
    chosen = rng.permutation(len(documents))[:DOCUMENTS]
    return [[documents[i] for i in part] for part in np.array_split(chosen, max(1, -(-len(chosen) // 16)))]


def of_documents(
    model: Model, batch: Sequence[Seen], teacher: tuple[Evidence, ...] | None, rng: np.random.Generator
) -> Tensor:
    """Documents against each other, and with a teacher, each image against what that says of its sentences."""
    rows = [rng.permutation(n)[:40] if (n := len(each.sentences)) > 40 else np.arange(n) for each in batch]
    columns = [rng.permutation(len(each.images))[:12] for each in batch]
    if teacher is not None:
        likely = [
            np.flatnonzero(d.posteriors[teacher][:, v].max(1) > 0.05) for d, v in zip(batch, columns, strict=True)
        ]
        rows = [np.union1d(own, more) for own, more in zip(rows, likely, strict=True)]
    sentences = np.concatenate([each.sentences[own] for each, own in zip(batch, rows, strict=True)])
    images = np.concatenate([each.images[own] for each, own in zip(batch, columns, strict=True)])
    cosines = model.text(torch.from_numpy(sentences)) @ model.image(torch.from_numpy(images)).T
    counts = [len(own) for own in rows], [len(own) for own in columns]
    sets = set_similarities(cosines, *counts, kind="dense", k="min", links="at-most", directions="sum")
    loss = both_ways(sets * model.scale.exp())
    if teacher is not None:
        blocks = [d.posteriors[teacher][s][:, v] for d, s, v in zip(batch, rows, columns, strict=True)]
        targets = torch.from_numpy(np.concatenate([block.ravel() for block in blocks]))
        loss = loss + posterior(cosines, targets, *counts, scale=model.scale.exp()).mean()
    return loss


def both_ways(scores: Tensor) -> Tensor:
    right = torch.arange(len(scores))
    return (cross_entropy(scores, right) + cross_entropy(scores.T, right)) / 2


@torch.inference_mode()
def measured(model: Model, documents: Sequence[Seen]) -> Any:
    """(2, documents) AUC and p@1, as linking by the picture alone has them; NaN where nothing is to be told apart."""
    figures = np.full((2, len(documents)), np.nan)
    for number, document in enumerate(documents):
        s, v = model.text(torch.from_numpy(document.sentences)), model.image(torch.from_numpy(document.images))
        s, v = (each - CENTRE * (1 - 1 / len(each)) * each.mean(0) for each in (s, v))
        scores = ((1 - BRIDGE) * (s @ v.T).numpy() + BRIDGE * document.bridge).ravel()
        gold = np.zeros(len(scores), bool)
        gold[[sentence * len(v) + image for sentence, image in document.links]] = True
        if gold.any() and not gold.all():
            right = gold.sum()
            ranks = rankdata(scores)[gold].sum() - right * (right + 1) / 2
            figures[:, number] = ranks / (right * (~gold).sum()), gold[np.argsort(-scores, kind="stable")[0]]
    return figures


def interval(values: Any) -> str:
    """Mean over documents of what is the mean over seeds already, with a 95 % bootstrap interval; in percent."""
    known = 100 * values[~np.isnan(values)]
    means = known[np.random.default_rng(0).integers(0, len(known), (10_000, len(known)))].mean(1)
    low, high = np.percentile(means, [2.5, 97.5])
    return f"{known.mean():.1f} ({low:.1f} to {high:.1f})"


def table(results: dict[str, dict[str, list[Any]]], pairs: Sequence[tuple[str, str]]) -> None:
    """Results by kind and method, one array of figures a seed; then differences of methods."""
    print("| kind (documents) | method | AUC | p@1 |\n|---|---|---|---|")
    for kind, methods in results.items():
        for method, runs in methods.items():
            mean = np.mean(runs, axis=0)
            print(f"| {kind} ({mean.shape[1]}) | {method} | {interval(mean[0])} | {interval(mean[1])} |")
    for first, second in pairs:
        kinds = [kind for kind, methods in results.items() if first in methods and second in methods]
        more = [np.mean(results[kind][second], axis=0) - np.mean(results[kind][first], axis=0) for kind in kinds]
        cells = [*zip(kinds, more, strict=True), ("all", np.concatenate(more, 1))]
        for kind, each in cells:
            print(f"| {kind} | {second}, more than {first} | {interval(each[0])} | {interval(each[1])} |")


def half(document: Seen, seed: int) -> int:
    """Parts of one page stay together."""
    return hashlib.sha256(f"{seed} {document.id.split('#')[0]}".encode()).digest()[0] % 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["sources", "genres", "halves"])
    parser.add_argument("--data", type=Path, default=os.environ.get("ICONOTEXT_DATA", "../shared/data"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=list(FOLDS), choices=list(FOLDS))
    arguments = parser.parse_args()
    data: Path = arguments.data
    torch.set_num_threads(1)
    flickr = pairs_of(build_pairs([data / "captions/flickr8k/captions.jsonl"], only="train"))
    sources = {name: data / path for name, path in GENRES.items()}
    teachers = [] if arguments.what == "sources" else [kinds for kinds in METHODS.values() if kinds]
    documents = {name: [seen(each, teachers) for each in read_corpus(path)] for name, path in sources.items()}
    documents = {name: [each for each in some if len(each.images)] for name, some in documents.items()}
    captions = {name: pairs_of(build_pairs([path], only="train")) for name, path in sources.items() if name != "cited"}
    captions["textbook"] = pairs_of(build_pairs([data / "captions/openstax/captions.jsonl"], only="train"))
    captions["cited"] = pairs_of(build_pairs([sources["cited"]]))
    run: Callable[..., None] = {"sources": by_source, "genres": by_genre, "halves": by_half}[arguments.what]
    run(arguments, flickr, documents, captions)


def by_source(arguments: Any, flickr: Pairs, documents: dict[str, list[Seen]], captions: dict[str, Pairs]) -> None:
    path = arguments.data / "captions/open/captions.jsonl"
    free = pairs_of(build_pairs([path], only="train"))
    publishers = [json.loads(line)["source"] for line in path.read_text(encoding="utf-8").splitlines()]
    photos = [p for p in read_photos(arguments.data / "captions/flickr8k/captions.jsonl") if p.split == "validation"]
    documents["Flickr8k"] = [seen(each, ()) for each in build_captions(photos, CaptionSettings(evaluation_shuffles=2))]
    results: dict[str, dict[str, list[Any]]] = {}

    def add(model: Model, method: str, kinds: Iterable[str]) -> None:
        for kind in kinds:
            results.setdefault(kind, {}).setdefault(method, []).append(measured(model, documents[kind]))

    for seed in range(arguments.seeds):
        add(from_captions([flickr], seed), "Flickr8k", documents)
        for fold in (fold for fold in arguments.only if fold in LIKE):
            own = [captions[n] for n in ("textbook", "build", "cooking", "garden_home") if n not in FOLDS[fold]]
            free_part = free.some(i for i, name in enumerate(publishers) if not name.startswith(LIKE[fold] or "-"))
            tests = [*FOLDS[fold], *(["cited"] if fold == "textbook" else [])]
            for method, parts in {"free": [*own, free_part], "both": [*own, flickr, free_part]}.items():
                model = from_captions(parts, seed)
                add(model, method, tests)
                add(model, f"{method}, without {fold}", ["Flickr8k"])
    table(results, [("Flickr8k", "free"), ("Flickr8k", "both")])


def by_genre(arguments: Any, flickr: Pairs, documents: dict[str, list[Seen]], captions: dict[str, Pairs]) -> None:
    results: dict[str, dict[str, list[Any]]] = {}
    for seed in range(arguments.seeds):
        start = from_captions([flickr], seed)
        for fold in arguments.only:
            names = [name for name in GENRES if name not in FOLDS[fold]]
            others, parts = [each for name in names for each in documents[name]], [captions[name] for name in names]
            models = {"Flickr8k": start}
            models |= {method: adapted(start, others, parts, method, seed, 6) for method in METHODS}
            for kind in FOLDS[fold]:
                for method, model in models.items():
                    results.setdefault(kind, {}).setdefault(method, []).append(measured(model, documents[kind]))
    table(results, _with_and_without())


def by_half(arguments: Any, flickr: Pairs, documents: dict[str, list[Seen]], captions: dict[str, Pairs]) -> None:
    results: dict[str, dict[str, list[Any]]] = {}
    for seed in range(arguments.seeds):
        start = from_captions([flickr], seed)
        for kind in (kind for kind in ("build", "cited", "textbook") if kind in arguments.only):
            place = {each.id: number for number, each in enumerate(documents[kind])}
            found = {method: np.full((2, len(place)), np.nan) for method in ("Flickr8k", *METHODS)}
            for part in (0, 1):
                own = [each for each in documents[kind] if half(each, seed) != part]
                rest = [each for each in documents[kind] if half(each, seed) == part]
                mine = {image.tobytes() for each in own for image in each.images}
                few = captions[kind].some(i for i, v in enumerate(captions[kind].images) if v.tobytes() in mine)
                more = own * 2 if kind == "build" else own  # as many steps as elsewhere
                models = {"Flickr8k": start} | {m: adapted(start, more, [few], m, seed, 10) for m in METHODS}
                for method, model in models.items():
                    found[method][:, [place[each.id] for each in rest]] = measured(model, rest)
            for method, figures in found.items():
                results.setdefault(kind, {}).setdefault(method, []).append(figures)
    table(results, _with_and_without())


def _with_and_without() -> list[tuple[str, str]]:
    return [(method, f"{method}, self-training") for method in METHODS if f"{method}, self-training" in METHODS]


if __name__ == "__main__":
    main()
