"""What takes TK of Hessel 2019's own configuration off its start: one thing changed at a time, AUC by steps.

    iconotext corpus build captions --source flickr8k/captions.jsonl --output few.jsonl --validation 0.1 \
        --test-on-validation --evaluation-shuffles 5
    iconotext corpus build captions ... --output many.jsonl --shuffles 9
    python packages/iconotext-papers/benchmarks/plateau.py few.jsonl many.jsonl --only "no dropout" --steps 1000

After every 250 steps of training on the documents of ``many.jsonl`` (of ``few.jsonl`` where a change says so) it prints
the last loss, the mean AUC of the validation documents, and the mean cosine of two of their sentences and of two of
their images. ``--dim 1024`` has the dimensions of the paper; arrays are kept beside the corpora.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from iconotext.encoders.joint_model import JointModel
from iconotext.evaluate.metrics import auc
from iconotext.recipe import Recipe
from iconotext.train.batches import epoch_batches, load_batch
from iconotext.train.loop import make_optimizer, new_model, placed, training_step
from iconotext.train.prepare import prepare
from iconotext.train.prepared import Prepared
from iconotext_papers.tables.rows import find_table, table_rows

WORDS = "text.word_vectors=word2vec"
DROPOUT = ("text.dropout", "image.dropout")
CHANGES = {
    "dropout on the joint vectors, 32-bit numbers": [WORDS, "training.precision=32"],
    "16-bit numbers, as in all rows below": [WORDS],
    "no dropout": [WORDS, *(f"{key}=0" for key in DROPOUT)],
    "dropout at the inputs, as in the recipe": [WORDS, *(f"{key}_at=input" for key in DROPOUT)],
    "a rate of 1e-3": [WORDS, "training.learning_rate=1e-3"],
    "the start of Keras": [WORDS],
    "words of MiniLM": ["text.word_vectors=minilm"],
    "word2vec of a ninth of the documents": [WORDS],
}


def start_as_keras(model: JointModel) -> None:
    """Draw kernels as Keras does: Glorot's uniform ones, orthogonal ones between states; biases are zero."""
    torch.manual_seed(1)
    gru: Any = model.text.gru
    out: Any = model.image.out
    limit = math.sqrt(6 / sum(gru.weight_ih_l0.shape))  # of the kernel of all three gates
    nn.init.uniform_(gru.weight_ih_l0, -limit, limit)
    nn.init.orthogonal_(gru.weight_hh_l0)
    nn.init.xavier_uniform_(out.weight)
    for bias in (gru.bias_ih_l0, gru.bias_hh_l0, out.bias):
        nn.init.zeros_(bias)


def figures(model: JointModel, prepared: Prepared, recipe: Recipe) -> dict[str, float]:
    """Measure the model on the validation documents."""
    areas: list[float | None] = []
    sides: tuple[list[torch.Tensor], list[torch.Tensor]] = ([], [])
    model.eval()
    with torch.no_grad():
        for document in prepared.documents("validation"):
            batch = load_batch(prepared, recipe, np.array([document]), 1, training=False, seed=[0])
            sentences, images, *_ = model(batch.images, sentences=None, words=batch.words, lengths=batch.lengths)
            links = np.zeros((len(sentences), len(images)), np.bool_)
            for sentence, image in prepared.links_of(int(document)):
                links[sentence, image] = True
            areas.append(auc((sentences @ images.T).numpy(), links))
            sides[0].append(sentences)
            sides[1].append(images)
    model.train()
    alike = [float(torch.cat(side)[:1000].mean(0).square().sum()) for side in sides]
    area = 100 * float(np.mean([area for area in areas if area is not None]))
    return {"AUC": area, "sentences alike": alike[0], "images alike": alike[1]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("few", type=Path)
    parser.add_argument("many", type=Path)
    parser.add_argument("--only", action="append", choices=list(CHANGES))
    parser.add_argument("--dim", type=int, default=256)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--row", default="top-k", help="Key of a row of Table 2")
    parser.add_argument("--one-batch", action="store_true", help="Train on the first batch of FEW alone")
    given = parser.parse_args()
    for name in given.only or CHANGES:
        at_output = [f"{key}_at=output" for key in DROPOUT]
        overrides = [f"dim={given.dim}", "training.precision=bf16", *at_output, *CHANGES[name]]
        rows = table_rows(find_table("2"), overrides, dataset="MSCOCO")
        recipes = {row.key: row.recipe for row in rows if row.recipe is not None}
        recipe, whole = recipes[given.row], recipes["top-k"]  # NoStruct's reads single pairs, never whole documents
        corpus = given.few if given.one_batch or "ninth" in name else given.many
        prepared = prepare(recipe, [corpus], corpus.with_suffix(".arrays"))
        model = new_model(recipe, prepared).model
        if "Keras" in name:
            start_as_keras(model)
        device = torch.device("cpu")
        encode, optimizer = placed(model, recipe.training, device), make_optimizer(model, recipe)
        losses: list[float] = []
        planned = [(0, *batch) for batch in epoch_batches(prepared, recipe, "train", 0)]
        while len(planned) < given.steps:
            epoch = planned[-1][0] + 1
            planned += [(epoch, *batch) for batch in epoch_batches(prepared, recipe, "train", epoch)]
        if given.one_batch:
            planned = planned[:1] * given.steps
        model.train()
        for step, (epoch, documents, positives) in enumerate(planned[: given.steps]):
            if step % 250 == 0:
                print(name, step, losses[-1:], figures(model, prepared, whole), flush=True)
            seed = [recipe.seed, epoch, 2, 0, 0 if given.one_batch else step]
            batch = load_batch(prepared, recipe, documents, positives, training=True, seed=seed)
            rate = recipe.training.learning_rate
            found = training_step(device, encode, optimizer, batch, recipe, epoch=epoch, step=step, rate=rate)
            losses.append(float(found.mean()))
        print(name, given.steps, losses[-1:], figures(model, prepared, whole), flush=True)


if __name__ == "__main__":
    main()
