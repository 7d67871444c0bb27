"""How quickly whole training steps are done: forward, loss, backward, update.

    nice python benchmarks/training.py [--turns 9] [--only steps,padded,transformer,start,memory,evaluation]

Prints Markdown tables. One thread; documents per second of CPU time, medians over the turns, of things that are
compared taking turns in one process. Sentences are of random words out of a vocabulary of 10,000, caption-like (5 to 20
words, mean 11) or 20 words each; images are random vectors of 1,280 numbers. Batches are read from memory, so that
reading the corpus is no part of it, as in training, where a thread does it meanwhile.

1. Steps, with the floor: the step's matrix products alone, those of the GRU over all word positions and of the image
   projection, forward and backward, on ready matrices of the same shapes.
2. Ragged documents, 5 to 40 sentences of 5 to 20 words, against a reference step that pads everything to the maximum:
   ``torch.nn.GRU`` over (B · 40, 20) words and set similarities over (B, B, 40, 40) cells.
3. Steps of the Transformer recipe of Li 2021, 11 documents of 5 × 5, 36 regions an image or 10 to 36: operations of its
   matrix products a second, against those of one large square product; and rows that the layers compute against tokens
   that are there, counted where they are computed.
4. Time from the start of a new process to the end of its first step.
5. Peak memory of a new process that does three steps.
6. Evaluation of 5,000 documents whose sentences and images are encoded.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from costs import Row, in_turns, peak, print_rows
from torch import Tensor, nn
from torch.nn.functional import normalize

from iconotext.encoders.joint_model import JointModel
from iconotext.evaluate.results import Scored, evaluate
from iconotext.networks.transformer import RegionBatch
from iconotext.recipe import Recipe, make_recipe
from iconotext.recipe.encoders import Inputs
from iconotext.train.batches import Batch
from iconotext.train.loop import best_device, make_optimizer, placed, training_step

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.feature_tables import write_feature_table

WORDS, FEATURES, TOKENS = 10_000, 1280, 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--only", default="steps,padded,transformer,start,memory,evaluation")
    parser.add_argument("--memory-of", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.memory_of is not None:
        print_peak(arguments.memory_of)
        return
    tables: Mapping[str, Callable[[int], list[Row]]] = {
        "steps": steps,
        "padded": padded,
        "transformer": transformer,
        "start": start,
        "memory": memory,
        "evaluation": evaluation,
    }
    for name in arguments.only.split(","):
        rows = tables[name](arguments.turns)
        print_rows(f"{name}, load of the machine {os.getloadavg()[0]:.1f}", rows)


def cpu_in_turns(works: Mapping[str, Callable[[], object]], turns: int) -> dict[str, float]:
    return {name: cpu for name, (_, cpu) in in_turns(works, turns).items()}


def recipe_of(kind: str, *, dim: int = 1024, precision: str = "32") -> Recipe:
    values = {"name": "x", "dim": dim, "similarity": {"kind": kind}, "training": {"precision": precision}}
    return make_recipe(values, source="benchmark")


def caption_lengths(rng: np.random.Generator, count: int) -> Any:
    return np.clip(np.round(rng.normal(11, 3.2, count)), 5, TOKENS).astype(np.int64)


def batch_of(rng: np.random.Generator, sentences: list[int], images: list[int], lengths: Any) -> Batch:
    """Random documents; words are as unevenly frequent as in a language."""
    documents = len(sentences)
    words = np.minimum(rng.zipf(1.2, int(lengths.sum())), WORDS - 1)
    return Batch(
        np.arange(documents),
        documents,
        sentences,
        images,
        None,
        torch.from_numpy(words),
        torch.from_numpy(lengths),
        torch.randn(sum(images), FEATURES),
        ~torch.eye(documents, dtype=torch.bool),
    )


def step_of(recipe: Recipe, batches: list[Batch]) -> Callable[[], object]:
    torch.manual_seed(0)
    return step_with(JointModel(recipe, Inputs(WORDS, 0, FEATURES)).train(), recipe, batches)


def step_with(model: JointModel, recipe: Recipe, batches: list[Batch]) -> Callable[[], object]:
    device, optimizer = best_device(), make_optimizer(model, recipe)
    encode = placed(model, recipe.training, device)
    done = 0

    def work() -> None:
        nonlocal done
        training_step(device, encode, optimizer, batches[done % len(batches)], recipe, epoch=0, step=done, rate=1e-4)
        done += 1

    return work


def floor_of(batch: Batch, dim: int, *, half: bool) -> Callable[[], object]:
    """The matrix products of a step alone: of the GRU, per word position, and of the images' projection."""
    kind = torch.bfloat16 if half else torch.float32
    lengths = np.sort(np.asarray(batch.lengths))[::-1]
    active = [int((lengths > place).sum()) for place in range(int(lengths[0]))]
    assert batch.words is not None
    distinct, later = len(torch.unique(batch.words)), int(lengths.sum()) - len(lengths)
    w_input, w_hidden = torch.randn(3 * dim, 300, dtype=kind), torch.randn(3 * dim, dim, dtype=kind)
    words, gates = torch.randn(distinct, 300, dtype=kind), torch.randn(distinct, 3 * dim, dtype=kind)
    states, d_gates = torch.randn(later, dim, dtype=kind), torch.randn(later, 3 * dim, dtype=kind)
    assert isinstance(batch.images, torch.Tensor)
    images, w_image = batch.images.to(kind), torch.randn(dim, FEATURES, dtype=kind)
    d_images = torch.randn(len(images), dim, dtype=kind)

    def work() -> None:
        words @ w_input.t()
        for count in active[1:]:
            states[:count] @ w_hidden.t()
            d_gates[:count] @ w_hidden
        gates.t() @ words
        gates @ w_input
        d_gates.t() @ states
        images @ w_image.t()
        d_images.t() @ images

    return work


def steps(turns: int) -> list[Row]:
    rows: list[Row] = []
    rng = np.random.default_rng(0)
    shapes = [(1024, 10, "caption"), (1024, 5, "caption"), (1024, 10, "20 words"), (1024, 5, "20 words")]
    for dim, size, kind in [*shapes, (256, 10, "caption"), (256, 5, "caption")]:
        count = 11 * size
        batches = [
            batch_of(
                rng,
                [size] * 11,
                [size] * 11,
                caption_lengths(rng, count) if kind == "caption" else np.full(count, TOKENS, np.int64),
            )
            for _ in range(3)
        ]
        for half in (False, True):
            precision = "bf16" if half else "32"
            works = {
                "dense": step_of(recipe_of("dense", dim=dim, precision=precision), batches),
                "assignment": step_of(recipe_of("assignment", dim=dim, precision=precision), batches),
                "floor": floor_of(batches[0], dim, half=half),
            }
            taken = cpu_in_turns(works, turns)
            rows.append(
                {
                    "GRU": f"{dim}-d",
                    "documents": f"{size}×{size}",
                    "sentences": kind,
                    "precision": precision,
                    "dense": 11 / taken["dense"],
                    "assignment": 11 / taken["assignment"],
                    "floor": 11 / taken["floor"],
                    "dense : floor": taken["floor"] / taken["dense"],
                }
            )
    return rows


def transformer(turns: int) -> list[Row]:
    rows: list[Row] = []
    rng = np.random.default_rng(5)
    for dim in (1024, 256, 128):
        for least in (36, 10):
            values = {"dim": dim, "text": {"kind": "transformer", "dropout": 0.1}}
            values |= {"image": {"kind": "regions", "dropout": 0.1}, "similarity": {"kind": "top-k"}}
            values |= {"objective": {"intra_document": 1.0, "sub_document": 1.0}}
            recipe = make_recipe({"name": "x", **values}, source="benchmark")
            batch = batch_of(rng, [5] * 11, [5] * 11, caption_lengths(rng, 55))
            counts = rng.integers(least, 37, 55)
            regions = int(counts.sum())
            concepts = torch.from_numpy(rng.integers(0, 1000, regions))
            images = RegionBatch(torch.randn(regions, FEATURES), torch.from_numpy(counts), concepts)
            batch = replace(batch, images=images)
            assert batch.lengths is not None
            words = int(batch.lengths.sum())
            torch.manual_seed(0)
            model = JointModel(recipe, Inputs(WORDS, 0, FEATURES, concepts=1000, concept_words=1000)).train()
            model.set_concepts([[n] for n in range(1000)])
            computed = rows_of_layers(model)
            # Multiplications and additions; forward once, backward twice.
            layers = 3 * (2 * regions + words) * 24 * dim**2
            attention = 3 * 4 * dim * (int((4 * counts**2).sum()) + int((batch.lengths**2).sum()))
            inward = 2 * dim * (regions * FEATURES + words * 300)
            square = torch.randn(2048, 2048)
            taken = cpu_in_turns(
                {"step": step_with(model, recipe, [batch]), "square": partial(torch.matmul, square, square)},
                max(3, turns // 3) if dim == 1024 else turns,
            )
            rate, best = 3 * (layers + attention + inward) / taken["step"], 2 * 2048**3 / taken["square"]
            tokens = 3 * (2 * regions + words) * computed["steps"]
            rows.append(
                {
                    "dimensions": str(dim),
                    "regions an image": "36" if least == 36 else "10 to 36",
                    "documents a second": 11 / taken["step"],
                    "GFLOP/s": rate / 1e9,
                    "one product, GFLOP/s": best / 1e9,
                    "share": rate / best,
                    "rows computed : tokens": computed["rows"] / tokens,
                }
            )
    return rows


def rows_of_layers(model: JointModel) -> dict[str, int]:
    """Counts the rows that go through the feed-forward parts of all layers, and the steps that are done."""
    counted = {"rows": 0, "steps": 0}

    def count(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        counted["rows"] += output.shape[0]

    def step(module: nn.Module, inputs: object, output: object) -> None:
        counted["steps"] += 1

    for name, module in model.named_modules():
        if name.endswith(".wide"):
            module.register_forward_hook(count)
    model.text.register_forward_hook(step)
    return counted


def padded(turns: int) -> list[Row]:
    rng = np.random.default_rng(1)
    rows: list[Row] = []

    def sizes(skewed: bool) -> list[int]:
        drawn = np.exp(rng.uniform(np.log(5), np.log(40.999), 11)) if skewed else rng.uniform(5, 41, 11)
        return list(map(int, drawn))

    for skewed in (False, True):
        sentences, images = sizes(skewed), sizes(skewed)
        count = sum(sentences)
        lengths = caption_lengths(rng, count) if skewed else rng.integers(5, TOKENS + 1, count)
        batch = batch_of(rng, sentences, images, lengths)
        works = {
            "ours": step_of(recipe_of("dense"), [batch]),
            "ours, bf16": step_of(recipe_of("dense", precision="bf16"), [batch]),
            "padded": padded_step(batch),
        }
        taken = cpu_in_turns(works, max(3, turns // 3))
        rows.append(
            {
                "sizes": "many small, few large (log-uniform), captions" if skewed else "uniform",
                "words there : padded": float(lengths.sum()) / (11 * 40 * TOKENS),
                **{name: 11 / seconds for name, seconds in taken.items()},
                "ours : padded": taken["padded"] / taken["ours"],
                "ours, bf16 : padded": taken["padded"] / taken["ours, bf16"],
            }
        )
    return rows


def padded_step(batch: Batch, most: int = 40) -> Callable[[], object]:
    """The same step with every document padded to ``most`` sentences and images, every sentence to ``TOKENS`` words."""
    documents = len(batch.documents)
    assert batch.words is not None
    assert batch.lengths is not None
    ids = torch.zeros(documents, most, TOKENS, dtype=torch.int64)
    features = torch.zeros(documents, most, FEATURES)
    there_s, there_v = torch.zeros(documents, most, dtype=torch.bool), torch.zeros(documents, most, dtype=torch.bool)
    sentences = list(batch.words.split(batch.lengths.tolist()))  # type: ignore[no-untyped-call]
    assert isinstance(batch.images, torch.Tensor)
    pictures = list(batch.images.split(batch.image_counts))  # type: ignore[no-untyped-call]
    for number, count in enumerate(batch.sentence_counts):
        for place in range(count):
            words = sentences.pop(0)
            ids[number, place, TOKENS - len(words) :] = words  # in front, as Keras pads
        there_s[number, :count] = True
        features[number, : batch.image_counts[number]] = pictures[number]
        there_v[number, : batch.image_counts[number]] = True
    torch.manual_seed(0)
    embedding, gru, project = nn.Embedding(WORDS, 300), nn.GRU(300, 1024, batch_first=True), nn.Linear(FEATURES, 1024)
    parameters = [*embedding.parameters(), *gru.parameters(), *project.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=1e-4, fused=True)
    dropout = nn.Dropout(0.4)

    def work() -> None:
        states = gru(embedding(ids.flatten(0, 1)))[1][0]
        s = normalize(dropout(states), dim=-1).view(documents, most, -1)
        v = normalize(dropout(project(features)), dim=-1)
        cosines = torch.einsum("isd,jvd->ijsv", s, v)
        allowed = there_s[:, None, :, None] & there_v[None, :, None, :]
        masked = cosines.masked_fill(~allowed, -2.0)
        by_sentence = mean_where(masked.amax(3), there_s[:, None, :].expand(-1, documents, -1))
        by_image = mean_where(masked.amax(2), there_v[None].expand(documents, -1, -1))
        similarity = by_sentence + by_image
        own = similarity.diagonal()
        others = similarity.masked_fill(torch.eye(documents, dtype=torch.bool), -9.0)
        loss = (0.2 - own + others.amax(1)).relu() + (0.2 - own + others.amax(0)).relu()
        optimizer.zero_grad()
        loss.mean().backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return work


def mean_where(values: Tensor, there: Tensor) -> Tensor:
    return (values * there).sum(2) / there.sum(2)


FIRST = """
import json, os, sys
from pathlib import Path
from iconotext.recipe import make_recipe
from iconotext.train import train

class First:
    def step(self, *_):
        print(sum(os.times()[:2]), flush=True)
        os._exit(0)

values = {"name": "x", "features": {"image": "features.npy"}}
train(make_recipe(values, source="benchmark"), [Path(sys.argv[1])], Path(sys.argv[2]), watcher=First())
"""


def start(turns: int) -> list[Row]:
    """A corpus of 60 documents of 10 × 10 caption-like sentences and images whose features lie in a table."""
    rng = np.random.default_rng(2)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = []
        for number in range(60):
            texts = [
                " ".join(f"w{word}" for word in rng.zipf(1.2, length) % WORDS) for length in caption_lengths(rng, 10)
            ]
            images = [f"{number}-{place}" for place in range(10)]
            split = "validation" if number % 6 == 0 else "train"
            lines.append(json.dumps({"id": str(number), "split": split, "sentences": texts, "images": images}) + "\n")
        (folder / "corpus.jsonl").write_text("".join(lines))
        ids = [f"{number}-{place}" for number in range(60) for place in range(10)]
        chunks = [rng.normal(size=(600, FEATURES)).astype(np.float32)]
        write_feature_table(folder / "features.npy", ids, chunks, dim=FEATURES)
        walls, cpus = [], []
        for turn in range(max(3, turns // 2) + 1):
            command = [sys.executable, "-c", FIRST, folder / "corpus.jsonl", folder / f"model-{turn}"]
            before = time.perf_counter()
            said = subprocess.run(
                list(map(str, command)),
                env={**os.environ, "OMP_NUM_THREADS": "1"},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            if turn:
                walls.append(time.perf_counter() - before)
                cpus.append(float(said))
    return [
        {
            "from the start of the process": "to the end of the first step, B = 11, 10×10, 1024-d",
            "CPU seconds": statistics.median(cpus),
            "seconds": statistics.median(walls),
            "quickest": min(walls),
        }
    ]


def memory(turns: int) -> list[Row]:
    rows: list[Row] = []
    for documents in (11, 31, 101):
        command = [sys.executable, __file__, "--memory-of", str(documents)]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        rows.append({"B": str(documents), "peak memory, MB": float(told)})
    return rows


def print_peak(documents: int) -> None:
    rng = np.random.default_rng(3)
    sizes = [10] * documents
    work = step_of(recipe_of("dense"), [batch_of(rng, sizes, sizes, caption_lengths(rng, 10 * documents))])
    for _ in range(3):
        work()
    print(peak())


def evaluation(turns: int) -> list[Row]:
    """5,000 documents of 10 × 10, from vectors of 1024 numbers to all metrics and their intervals."""
    rng = np.random.default_rng(4)
    vectors = normalize(torch.randn(1000, 2, 10, 1024), dim=-1).numpy()
    links = [tuple((place, place) for place in rng.permutation(10)[:5].tolist()) for _ in range(5000)]

    def work() -> None:
        pairs = (vectors[number % 1000] for number in range(5000))
        scored = (Scored(str(i), s @ v.T, links[i]) for i, (s, v) in enumerate(pairs))
        found = evaluate(scored)
        assert found.means["auc"] is not None
        assert found.intervals["auc"] is not None

    return [{"evaluation of 5,000 documents, CPU seconds": cpu_in_turns({"all": work}, 3)["all"]}]


if __name__ == "__main__":
    main()
