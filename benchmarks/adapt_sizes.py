"""How many pictures ``iconotext train adapt`` needs until it lowers the validation loss.

    python benchmarks/adapt_sizes.py [--data FOLDER] [--seeds 3]

Documents are drawn from the build logs and learned from as docs/train-your-own.md says, captions as pairs beside them.
One in ten validates, or as many as have 50 pictures, but at most a quarter. Prints a line for each draw: documents,
training pictures of both corpora, the validation loss before and after.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from data_folder import parser_with_data

SIZES = (10, 25, 50)


def main() -> None:
    """Train on every draw."""
    parser = parser_with_data(__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    source = arguments.data / "documents" / "build"
    rows = [json.loads(line) for line in (source / "documents.jsonl").read_text(encoding="utf-8").splitlines()]
    for size in SIZES:
        for seed in range(arguments.seeds):
            with tempfile.TemporaryDirectory() as folder:
                print(size, *trained(random.Random(seed).sample(rows, size), source, Path(folder)), flush=True)


def trained(rows: list[dict[str, Any]], source: Path, folder: Path) -> tuple[int, float, float]:
    """The number of training pictures, and the validation loss before and after."""
    validation = 0
    for number, row in enumerate(rows):
        validates = number < max(len(rows) // 10, 1) or (validation < 50 and number < len(rows) // 4)
        validation += validates * len(row["images"])
        row |= {"split": "validation" if validates else "train", "links": None}
        row["images"] = [str((source / image).resolve()) for image in row["images"]]
    corpus, pairs, model = folder / "corpus.jsonl", folder / "pairs.jsonl", folder / "model"
    corpus.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    iconotext("corpus", "build", "pairs", "--source", corpus, "--output", pairs)
    iconotext("train", "adapt", "--corpus", pairs, "--corpus", corpus, "--output", model)
    learned = [json.loads(line) for path in (corpus, pairs) for line in path.read_text(encoding="utf-8").splitlines()]
    pictures = sum(len(row["images"]) for row in learned if row["split"] == "train")
    metrics = json.loads((model / "metrics.json").read_text(encoding="utf-8"))
    return pictures, metrics["before"]["validation_loss"], metrics["validation_loss"]


def iconotext(*words: object) -> None:
    """Run a command."""
    subprocess.run([sys.executable, "-m", "iconotext", *map(str, words)], check=True, capture_output=True)


if __name__ == "__main__":
    main()
