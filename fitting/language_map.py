"""Learns the map from the vectors of an encoder of other languages to the vectors of MiniLM, the encoder of English.

``learn_map`` is a part of ``python -m fitting multilingual-encoder hundred-languages``. It needs two packages of facts
beside the data folder, unpacked in the folder for work:

    apt-get download wordnet-base && dpkg -x wordnet-base_*.deb WORK/wordnet
    npm pack cldr-annotations-full && tar xzf cldr-annotations-full-*.tgz -C WORK    (makes WORK/package)

The map learns what MiniLM makes of English texts: sentences and captions of the data folder whose licences allow it
(Flickr8k and ``cited`` are left out: figures are measured on them), words and examples of WordNet, and
captions of photographs that nobody took (``made_up_captions``). So that it holds in other languages, it learns what
MiniLM makes of English captions and of the English names of signs ("grinning face") from their translations: ours
(``translated_captions``), and Unicode's CLDR. And since a translation lies beside its original, it sees English texts
with the difference between two names of a sign added, so that it does not learn what no translation keeps.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from fitting.encoder_graphs import FLOAT, OURS, Graph
from fitting.made_up_captions import made_up_captions
from fitting.translated_captions import translated_captions
from iconotext.features import FeatureCache, cached_text, load_text_backbone

DOCUMENTS = ("textbook/documents", "build/documents", "cited_text/openstax")
CAPTIONS = ("open", "openstax")
OTHER_CODES = {"nb": "no", "tl": "fil"}
"""Of languages in the CLDR."""

HIDDEN, LARGEST = 1536, 127
STEPS, BATCH, RATE, DECAY = 4000, 512, 1e-3, 0.02
SHARES = {"captions": 0.35, "names": 0.2}
"""Of a batch; the rest are texts of all kinds."""
WITH_TRANSLATED = {"captions": 0.2, "names": 0.15, "translated": 0.3}
"""The same with translated captions."""
SHIFT = 0.7
"""Largest share of the difference between two names that is added to an English text."""
SHARPNESS, RELATIVE = 20.0, 0.1
"""How sharply the texts of a batch are told apart, and how much it counts beside each text's own cosine."""


def texts_of(data: Path, work: Path, count: int) -> list[str]:
    """Sentences and captions of the data folder, and words, explanations and examples of WordNet; in random order."""
    found: list[str] = []
    for name in DOCUMENTS:
        for line in (data / "documents" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            found += json.loads(line)["sentences"]
    for name in CAPTIONS:
        for line in (data / "captions" / name / "captions.jsonl").read_text(encoding="utf-8").splitlines():
            found += json.loads(line)["captions"]
    for part in ("noun", "verb", "adj", "adv"):
        path = work / "wordnet/usr/share/wordnet" / f"data.{part}"
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            if not line.startswith("  "):  # the licence
                words, _, explained = line.partition("|")
                found += [words.split()[4].replace("_", " "), *explained.replace('"', "").split(";")]
    texts = sorted({text for each in found if 2 < len(text := " ".join(each.split())) < 600})
    random.Random(0).shuffle(texts)
    return texts[:count]


def signs_of(work: Path, language: str) -> dict[str, dict[str, list[str]]]:
    """What Unicode's CLDR has of signs in a language: name (``tts``) and keywords (``default``); maybe nothing."""
    path = work / "package" / "annotations" / OTHER_CODES.get(language, language) / "annotations.json"
    if not path.is_file():
        return {}
    signs: dict[str, dict[str, list[str]]] = json.loads(path.read_text(encoding="utf-8"))["annotations"]["annotations"]
    return signs


def names_of(work: Path, languages: Set[str], count: int | None) -> tuple[list[str], list[str]]:
    """Names of signs in these languages, all of them or as many, and the English name of each."""

    def names(language: str) -> dict[str, str]:
        return {sign: about["tts"][0] for sign, about in signs_of(work, language).items() if about.get("tts")}

    english = names("en")
    pairs = [
        (name, english[sign])
        for language in sorted(languages - {"en"})
        for sign, name in names(language).items()
        if sign in english
    ]
    if count is not None:
        pairs = random.Random(0).sample(pairs, count)
    return [name for name, _ in pairs], [name for _, name in pairs]


def learn_map(
    data: Path,
    work: Path,
    encode: Callable[[Sequence[str]], NDArray[np.float32]],
    languages: Set[str],
    *,
    texts: int = 200_000,
    captions: int = 120_000,
    names: int | None = None,
    translated: int = 0,
) -> dict[str, NDArray[Any]]:
    """Learn the map: a linear one, and a hidden layer beside it.

    Args:
        encode: Texts to (n, d) unit vectors before the map.
        texts: Number of texts of all kinds.
        captions: Number of captions that are made up.
        names: Number of names of signs; default: all.
        translated: Number of captions that are made up in each language with phrases; the encoder of sixteen languages
            has none, since with them it compared captions of a textbook in Korean less well.

    Returns:
        Matrices in 8 bits, see ``rounded``, and biases, by their names in the graph.
    """
    torch.manual_seed(0)
    in_english = {"texts": texts_of(data, work, texts), "captions": list(made_up_captions(captions))}
    others = {"names": names_of(work, languages, names)}
    if translated:
        others["translated"] = translated_captions(languages, translated)
    shares = WITH_TRANSLATED if translated else SHARES
    sets = in_english | {name: texts for name, (texts, _) in others.items()}
    originals = in_english | {name: english for name, (_, english) in others.items()}
    target = cached_text(load_text_backbone(), FeatureCache()).encode
    given = {name: torch.from_numpy(encode(texts)) for name, texts in sets.items()}
    wanted = {name: torch.from_numpy(target(texts)) for name, texts in originals.items()}
    mean, spread = given["texts"].mean(0), given["texts"].std(0)
    given = {name: (rows - mean) / spread for name, rows in given.items()}
    shifts = given["names"] - (torch.from_numpy(encode(originals["names"])) - mean) / spread
    x, y = given["texts"], wanted["texts"]
    width, dim = x.shape[1], y.shape[1]
    linear = torch.linalg.solve(x.T @ x + 0.003 * len(x) * torch.eye(width), x.T @ (y - y.mean(0)))
    hidden = torch.empty(width, HIDDEN).uniform_(-(width**-0.5), width**-0.5)
    parameters = [linear, y.mean(0), hidden, torch.zeros(HIDDEN), torch.zeros(HIDDEN, dim)]
    for parameter in parameters:
        parameter.requires_grad_()
    optimizer = torch.optim.AdamW(parameters, RATE, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=STEPS, pct_start=0.1)
    sizes = {name: int(BATCH * shares.get(name, 1 - sum(shares.values()))) for name in sets}
    for _ in range(STEPS):
        rows = {name: torch.randint(len(given[name]), (size,)) for name, size in sizes.items()}
        x = torch.cat([given[name][each] for name, each in rows.items()])
        y = torch.cat([wanted[name][each] for name, each in rows.items()])
        first = sum(sizes[name] for name in in_english)
        x[:first] += SHIFT * torch.rand(first, 1) * shifts[torch.randint(len(shifts), (first,))]
        loss = _loss(_mapped(x, parameters), y)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()
    linear, bias, hidden, hidden_bias, out = (parameter.detach() for parameter in parameters)
    # The encoder's vectors are mapped as they are: mean and spread go into the matrices.
    matrices = {"map.linear": linear / spread[:, None], "map.hidden": hidden / spread[:, None], "map.out": out}
    biases = {
        "map.linear.bias": bias - (mean / spread) @ linear,
        "map.hidden.bias": hidden_bias - (mean / spread) @ hidden,
    }
    whole = rounded({name: matrix.numpy() for name, matrix in matrices.items()})
    return whole | {name: tensor.numpy() for name, tensor in biases.items()}


def rounded(matrices: Mapping[str, NDArray[np.float32]]) -> dict[str, NDArray[Any]]:
    """Matrices (inputs, outputs) as whole numbers of 8 bits, with a step for each output."""
    made: dict[str, NDArray[Any]] = {}
    for name, matrix in matrices.items():
        step = np.maximum(np.abs(matrix).max(0) / LARGEST, 1e-12).astype(np.float32)
        whole = np.rint(matrix / step).astype(np.int8)
        # safetensors writes the bytes as they lie, and a matrix that was solved for lies by columns.
        made |= {f"{name}.weight": np.ascontiguousarray(whole), f"{name}.weight.step": step}
    return made


def add_map(graph: Graph) -> None:
    """Add the map to a graph, from its vectors ``unmapped`` to ``vectors``, of any length."""
    inner = graph.add(
        "Gelu", graph.add("Add", rounded_product(graph, "unmapped", "map.hidden"), "map.hidden.bias"), domain=OURS
    )
    straight = graph.add("Add", rounded_product(graph, "unmapped", "map.linear"), "map.linear.bias")
    graph.add("Add", straight, rounded_product(graph, inner, "map.out"), out="vectors")


def rounded_product(graph: Graph, x: str, name: str) -> str:
    """Add the product with a matrix that ``rounded`` made."""
    whole = graph.add("Cast", f"{name}.weight", to=FLOAT)
    return graph.add("MatMul", x, graph.add("Mul", whole, f"{name}.weight.step"))


def _mapped(x: Tensor, parameters: Sequence[Tensor]) -> Tensor:
    linear, bias, hidden, hidden_bias, out = parameters
    return functional.normalize(x @ linear + bias + functional.gelu(x @ hidden + hidden_bias) @ out)


def _loss(ours: Tensor, theirs: Tensor) -> Tensor:
    """One minus the cosine of each text; and how far the cosines among the texts are from those among MiniLM's."""
    among = functional.log_softmax(SHARPNESS * ours @ theirs.T, 1), functional.softmax(SHARPNESS * theirs @ theirs.T, 1)
    return (1 - (ours * theirs).sum(1)).mean() + RELATIVE * functional.kl_div(*among, reduction="batchmean")
