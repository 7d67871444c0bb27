"""Makes what ships, step by step, and a record of each step.

    python -m fitting                    lists the steps, with what each makes and when it was made
    python -m fitting all                runs every step, in this order
    python -m fitting STEP ...           runs some of them, in this order

They need the extra ``dev``, the data folder (--data, $ICONOTEXT_DATA, or ../shared/data beside the checkout) and a
folder for corpora and models (--work); what is there already is not made again. Features are cached; everything takes
hours. A step writes ``fitting/records/STEP.json``: the version of the program, the files that it made with their
digests, and its figures. By hand are added ``data``, if it was not the data folder of that day, and ``differs``: the
files that came out otherwise than they ship, each with the reason.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import signal
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

from fitting import DATA, PACKAGE, ROOT
from iconotext.errors import IconotextError

RECORDS = Path(__file__).parent / "records"


class Step(NamedTuple):
    """A step.

    Attributes:
        name: What it is called.
        function: Name of the function, called with the data folder and the folder for work, that returns its figures.
        files: What it makes, below ``src/iconotext``. Several steps write parts of ``coefficients.json``.
    """

    name: str
    function: str
    files: tuple[str, ...]


TRAINED = ("weights.safetensors", "recipe.toml", "metrics.json", "log.csv")
STEPS = (
    Step("text-encoder", "fitting.encoders:fit_text", ("models/minilm/weights.safetensors",)),
    Step("image-encoder", "fitting.encoders:fit_images", ("models/efficientnet-lite0/weights.safetensors",)),
    Step(
        "graphs",
        "fitting.encoders:write_graphs",
        (
            "models/minilm/network.onnx",
            "models/efficientnet-lite0/network.onnx",
            "models/efficientnet-lite0/classifier.onnx",
            "networks/product.onnx",
        ),
    ),
    Step(
        "multilingual-encoder",
        "fitting.multilingual_encoder:make",
        tuple(
            f"models/use/{file}"
            for file in ("tokenizer.json.gz", "weights.safetensors", "map.safetensors", "network.onnx")
        ),
    ),
    Step(
        "hundred-languages",
        "fitting.hundred_languages:make",
        tuple(
            f"models/e5/{file}"
            for file in ("tokenizer.json.gz", "weights.safetensors", "map.safetensors", "network.onnx")
        ),
    ),
    Step("class-names", "fitting.encoders:write_class_vectors", ("models/minilm/imagenet_classes.npy",)),
    Step("words", "fitting.evidence:count_words", ("evidence/word_counts.txt",)),
    Step(
        "models",
        "fitting.default_model:make",
        tuple(f"models/{model}/{file}" for model in ("default", "photographs") for file in TRAINED),
    ),
    Step("relations", "fitting.relation_model:make", tuple(f"models/relations/{file}" for file in TRAINED[:-1])),
    Step(
        "evidence",
        "fitting.evidence:make",
        ("evidence/matcher.safetensors", "evidence/habit.json", "decide/coefficients.json"),
    ),
    Step("words-in-pictures", "fitting.words_in_pictures:make", ("decide/coefficients.json",)),
    Step("context", "fitting.context:make", ("decide/coefficients.json",)),
    Step("confidence", "fitting.confidence:make", ("decide/confidence.json",)),
)
"""In the order in which they need each other."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m fitting", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [step.name for step in STEPS]
    parser.add_argument("steps", nargs="*", metavar="STEP", help=f"all, or some of {', '.join(names)}")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--work", type=Path, default=Path("default-model"))
    chosen = parser.parse_args(arguments)
    if unknown := [name for name in chosen.steps if name not in ("all", *names)]:
        parser.error(f"{', '.join(unknown)}: no such step; there are {', '.join(names)}")
    if not chosen.steps:
        for step in STEPS:
            print(f"{step.name:20} {made_at(step):24} {', '.join(step.files)}")
        return
    version = program_version()
    for step in STEPS:
        if step.name in chosen.steps or "all" in chosen.steps:
            print(f"{step.name} ...", flush=True)
            try:
                figures = resolve_name(step.function)(chosen.data, chosen.work)
            except IconotextError as error:
                parser.exit(1, f"{step.name}: {error}\n")
            write_record(step, figures, version)


def program_version() -> str:
    """The commit of the program, taken before the first step changes files; ``-dirty`` says that there were changes."""
    found = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True)
    return found.stdout.strip() or "unknown"


def write_record(step: Step, figures: Mapping[str, Any], version: str) -> None:
    """Write what a step has made, with the digests of its files."""
    record = {
        "step": step.name,
        "version": version,
        "date": datetime.now(UTC).date().isoformat(),
        "made": {name: digest(PACKAGE / name) for name in step.files},
        "figures": figures,
    }
    RECORDS.mkdir(exist_ok=True)
    text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
    (RECORDS / f"{step.name}.json").write_text(text, encoding="utf-8")


def made_at(step: Step) -> str:
    """When a step was run last, and with which version."""
    record = RECORDS / f"{step.name}.json"
    if not record.exists():
        return "no record yet"
    found = json.loads(record.read_text(encoding="utf-8"))
    return f"{found['date']} ({found['version']})"


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` may close the pipe early
    main()
