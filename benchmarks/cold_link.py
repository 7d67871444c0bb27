"""What a person waits for: ``iconotext link`` on the demo article, cold and again, and the share of imports in it.

    python benchmarks/cold_link.py [--json]

Cold: a new process and an empty feature cache, 10 pictures and 63 sentences. Imports are the sum that Python itself
reports (``-X importtime``), which counts every module once. Medians of five runs.
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
from pathlib import Path

from iconotext.demo import write_demo

RUNS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        article = write_demo(Path(name) / "demo")
        cold = [run(article, Path(name), f"cold{number}") for number in range(RUNS)]
        warm = [run(article, Path(name), "cold0") for _ in range(RUNS)]
    seconds, imports = (statistics.median(column) for column in zip(*cold, strict=True))
    found = {
        "cold_s": seconds,
        "imports_s": imports,
        "import_share": imports / seconds,
        "again_s": statistics.median(seconds for seconds, _ in warm),
    }
    if arguments.json:
        print(json.dumps(found))
    else:
        print(f"cold {seconds:.2f} s, of it imports {imports:.2f} s ({imports / seconds:.0%})")
        print(f"again {found['again_s']:.2f} s")


def run(article: Path, folder: Path, cache: str) -> tuple[float, float]:
    """Seconds of one run, and of the imports in it."""
    command = [sys.executable, "-X", "importtime", "-m", "iconotext", "link", str(article), "--force"]
    environment = os.environ | {"ICONOTEXT_CACHE": str(folder / cache)}
    start = time.perf_counter()
    done = subprocess.run(
        [*command, "--output", str(folder / "pages")], env=environment, capture_output=True, text=True, check=True
    )
    seconds = time.perf_counter() - start
    own = [line.split(":", 1)[1].split("|")[0] for line in done.stderr.splitlines() if line.startswith("import time:")]
    return seconds, sum(int(microseconds) for microseconds in own[1:]) / 1e6  # the first line is the heading


if __name__ == "__main__":
    main()
