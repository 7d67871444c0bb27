"""Does a new version give the same results as an old one? Both run the same commands on the same inputs.

    python benchmarks/same_results.py OLD_TREE NEW_TREE [--only CASE ...] [--work FOLDER] [--data FOLDER]

A tree is a checkout of the sources (``git worktree add --detach ../old COMMIT`` makes one). What the commands print to
standard output and every file they write is compared: numbers to 1e-6, everything else exactly, except for what the
tables below list. With ``--work`` the outputs are kept there, and what a tree has run already is not run again. With
``--data`` (or $ICONOTEXT_DATA) real documents are linked and evaluated too. Ends with status 1 where anything differs
that is not listed.
"""

from __future__ import annotations

import argparse
import csv
import fnmatch
import json
import math
import os
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import made_up
import numpy as np
import pyarrow.parquet as pq

sys.path.append(str(Path(__file__).resolve().parents[1] / "packages/iconotext-papers/benchmarks"))

import published_sets

PAPERS = "packages/iconotext-papers"

# What each case runs, a command a line; {in} are the made-up inputs, {data} the real ones. Every command is
# `iconotext ...` and runs in a folder of its case. Those of the papers stand in their package.
COMMANDS = {
    "evaluate-default": "evaluate default {in}/linked/corpus.jsonl --json --results scores.parquet",
    "evaluate-split": "evaluate default {in}/linked/corpus.jsonl --split train --compare no-training --json",
    "evaluate-no-training": "evaluate no-training {in}/linked/corpus.jsonl --json --results scores.parquet",
    "evaluate-evidence": "evaluate default {in}/linked/corpus.jsonl --json --evidence picture,caption,layout,reference",
    "evaluate-random": "evaluate random {in}/linked/corpus.jsonl --json --seed 3",
    "link-json": "link {in}/articles --to json --output links.json",
    "link-explain": "link {in}/articles/0.md {in}/articles/page.html --explain --to json --output links.json",
    "link-settings": ("link {in}/articles --to jsonl --output links.jsonl --evidence picture,caption --k 3"),
    "link-parquet": "link {in}/articles --to parquet --output links.parquet",
    "link-markdown": "link {in}/articles/1.md --to markdown --output out.md",
    "link-html": "link {in}/articles --output pages",
    "search": """
        library add lib {in}/articles {in}/captions/photos --json
        search lib "a dog by the road" --json --anyway
        search lib "It was a long way to the tower" --relation story --json --anyway
        search lib --picture {in}/captions/photos/3.png --json --anyway
        library list lib
    """,
    "train-default": """
        train default --corpus {in}/linked/corpus.jsonl --output model --set training.epochs=3 --set dim=16 \
            --set training.average=1 --set training.warmup=1 --set training.batch=4
        evaluate model {in}/linked/corpus.jsonl --json
        link {in}/articles/0.md --model model --to json --output links.json
    """,
    "train-li": """
        train li2021/nostruct -c {in}/linked/corpus.jsonl -o model --set features.image=efficientnet-lite0 \
            --set dim=8 --set training.epochs=2 --set training.batch=4 --set training.warmup_steps=2
        evaluate model {in}/linked/corpus.jsonl --json
    """,
    "corpus": """
        corpus stats {in}/linked/corpus.jsonl {in}/related/pairs.jsonl --json
        corpus check {in}/linked/corpus.jsonl --json
        corpus split {in}/linked/corpus.jsonl --output split.jsonl --test 0.3
        corpus convert {in}/linked/corpus.jsonl c.parquet
        corpus convert {in}/mmc4/docs_no_face_shard_0_v3.jsonl.zip shard.jsonl
        corpus convert {in}/obelics/train-00000-of-01335.parquet pages.jsonl
    """,
    "build-folder": """
        corpus build folder -s {in}/articles -o folder.jsonl --test 0.3 --links
        corpus build folder -s {in}/articles -o captions.parquet --captions
    """,
    "build-captions": """
        corpus build captions -s {in}/captions/captions.jsonl -o captions.jsonl --validation 0.3 --test 0.3
        corpus build captions -s {in}/captions/captions.jsonl -o dii.jsonl --rule dii --seed 3
    """,
    "build-pairs": """
        corpus build pairs -s {in}/linked/corpus.jsonl -o pairs.jsonl
        corpus build pairs -s {in}/captions/captions.jsonl -o photos.jsonl
    """,
    "data-evaluate": (
        "evaluate default {data}/documents/cooking/documents.jsonl --json --evidence picture,caption,layout,reference"
    ),
    "data-link": "link {data}/originals --to json --output links.json",
}
ALL = COMMANDS | published_sets.COMMANDS

# Differences that are meant: "case/file: place" as this script prints it, with * and ?, and why. It is emptied when the
# version that is compared with changes.
LISTED: dict[str, str] = {}

# Fields that are never the same, and files that are for the program alone.
CHANGING = {"seconds", "date", "written", "version", "digest", "versions", "setup"}
SKIPPED = ["*/lib/*", "*/tensorboard/*", "*/prepared/*", "*/logs/*", "*.lock", "*/reproduce.json", "*.log"]

TOLERANCE = 1.1e-6
"""Six digits are written: numbers that are equal to 1e-6 may be rounded to neighbours."""

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--only", action="append", help="cases to run, with * and ?")
    parser.add_argument("--work", type=Path, help="folder to keep the outputs in")
    parser.add_argument("--data", default=os.environ.get("ICONOTEXT_DATA"), help="folder with real documents")
    arguments = parser.parse_args()
    cases = [name for name in ALL if arguments.data or not name.startswith("data-")]
    if arguments.only:
        cases = [name for name in cases if any(fnmatch.fnmatch(name, each) for each in arguments.only)]
    with tempfile.TemporaryDirectory() as temporary:
        work = (arguments.work or Path(temporary)).resolve()
        made_up.write_all(work / "in")
        published_sets.write_all(work / "in")
        unlisted = 0
        for case in cases:
            outputs = [run(case, tree.resolve(), work, arguments.data) for tree in (arguments.old, arguments.new)]
            unlisted += report(case, list(differences(case, *outputs)), outputs)
    sys.exit(1 if unlisted else 0)


def run(case: str, tree: Path, work: Path, data: str | None) -> Path:
    """Run the commands of a case with the sources of a tree; the folder with all they printed and wrote."""
    commit = subprocess.run(
        ["git", "-C", str(tree), "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    folder = work / commit / case
    done = folder / "commands.log"
    commands = [" ".join(each.split()) for each in ALL[case].strip().splitlines()]
    commands = [each.replace("{in}", str(work / "in")).replace("{data}", str(data)) for each in commands]
    if done.exists() and done.read_text() == "\n".join(commands):
        return folder
    if folder.exists():
        subprocess.run(["rm", "-r", str(folder)], check=True)
    folder.mkdir(parents=True)
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join((str(tree / "src"), str(tree / PAPERS / "src"))),
        "ICONOTEXT_CACHE": str(work / commit / "cache"),
        "ICONOTEXT_CONFIG": os.devnull,
        "OMP_NUM_THREADS": "1",
        "COLUMNS": "200",
    }
    for number, command in enumerate(commands):
        ran = subprocess.run(
            [sys.executable, "-m", "iconotext", *shlex.split(command)],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        (folder / f"stdout-{number}.txt").write_text(f"status {ran.returncode}\n{ran.stdout}")
        (folder / f"stderr-{number}.log").write_text(ran.stderr)
        if ran.returncode:
            last_line = (ran.stderr.strip().splitlines() or ["nothing"])[-1]
            print(f"{case}: {tree.name}: `iconotext {command}` ended with {ran.returncode}: {last_line}")
    done.write_text("\n".join(commands))
    return folder


def report(case: str, different: list[str], outputs: list[Path]) -> int:
    """Print a line for a case and for each difference, ten of a file at most; return the number of unlisted ones."""
    reasons = {
        line: next((why for each, why in LISTED.items() if fnmatch.fnmatch(line, each)), None) for line in different
    }
    unlisted = sum(why is None for why in reasons.values())
    result = f"{unlisted} differences" + (f", {len(different) - unlisted} listed" * (unlisted < len(different)))
    print(f"{case:28} {len(files(outputs[1])):4} files  {result if different else 'equal'}", flush=True)
    shown: Counter[str] = Counter()
    for line, why in reasons.items():
        shown[key := why or line.split(":")[0]] += 1
        if shown[key] <= 10:
            print(f"    {line[:300]}" + (f"  [listed: {why}]" if why else ""))
    return unlisted


def files(folder: Path) -> dict[str, Path]:
    """Return the files that are compared, by their paths in the folder of a case."""
    paths = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {name: path for name, path in paths.items() if not any(fnmatch.fnmatch(f"/{name}", e) for e in SKIPPED)}


def differences(case: str, old: Path, new: Path) -> Iterator[str]:
    before, after = files(old), files(new)
    for name in sorted(before.keys() | after.keys()):
        place = f"{case}/{name}"
        if name not in after or name not in before:
            yield f"{place}: only in the {'old' if name in before else 'new'} tree"
        else:
            yield from compared(place, value_of(before[name], old), value_of(after[name], new))


def value_of(path: Path, folder: Path) -> Any:
    """The content of a file as plain values; paths into the tree's own folder are made alike."""
    match path.suffix:
        case ".parquet":
            return pq.read_table(path).to_pylist()
        case ".npy":
            return np.load(path, allow_pickle=False).tolist()
        case ".safetensors":
            from safetensors.numpy import load_file

            return {name: values.tolist() for name, values in load_file(path).items()}
    text = (
        path.read_text(encoding="utf-8", errors="replace")
        .replace(str(folder), "CASE")
        .replace(str(folder.parent), "TREE")
    )
    match path.suffix:
        case ".json":
            return json.loads(text)
        case ".jsonl":
            return [json.loads(line) for line in text.splitlines()]
        case ".toml":
            return tomllib.loads(text)
        case ".csv":
            return list(csv.DictReader(text.splitlines()))
        case ".html" | ".svg":
            return re.sub(r">\s*<", ">\n<", text).split("\n")
        case ".md":
            return [line for line in text.splitlines() if line.strip()]
    status, _, rest = text.partition("\n") if path.name.startswith("stdout-") else ("", "", text)
    try:
        return [status, json.loads(rest)] if status else text.splitlines()
    except ValueError:
        return text.splitlines()


def compared(place: str, old: Any, new: Any) -> Iterator[str]:
    """Each place where two values differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted((old.keys() | new.keys()) - CHANGING, key=str):
            if name not in new or name not in old:
                value = old.get(name, new.get(name))
                yield f"{place}: {name}: only in the {'old' if name in old else 'new'} tree ({str(value)[:80]})"
            else:
                yield from compared(joined(place, name), old[name], new[name])
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield f"{place}: {len(old)} entries, now {len(new)}"
        for number, pair in enumerate(zip(old, new, strict=False)):
            yield from compared(joined(place, number), *pair)
    elif not same(old, new):
        yield f"{place}: {old!r:.120}, now {new!r:.120}"


def joined(place: str, name: object) -> str:
    return f"{place}{'.' if ': ' in place else ': '}{name}"


def same(old: Any, new: Any) -> bool:
    """Equal, where numbers, those in texts too, may differ by 1e-6."""
    if isinstance(old, bool) or isinstance(new, bool) or old is None or new is None:
        return old is new
    if isinstance(old, int | float) and isinstance(new, int | float):
        return math.isclose(old, new, rel_tol=1e-6, abs_tol=TOLERANCE) or (math.isnan(old) and math.isnan(new))
    if isinstance(old, str) and isinstance(new, str):
        return old == new or (
            NUMBER.sub("#", old) == NUMBER.sub("#", new)
            and all(
                math.isclose(float(a), float(b), rel_tol=1e-6, abs_tol=TOLERANCE)
                for a, b in zip(NUMBER.findall(old), NUMBER.findall(new), strict=True)
            )
        )
    return bool(old == new)


if __name__ == "__main__":
    main()
