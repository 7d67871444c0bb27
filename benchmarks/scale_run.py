"""Link shards undisturbed, with another number of workers, on Ray, and killed three times; compare the results.

    python benchmarks/scale_run.py /tmp/run --documents 8000 --shard 200

Documents are made of the captions and pictures of ``captions/open`` in the data folder (``ICONOTEXT_DATA``): 2
pictures, a caption of each, and 6 captions of other pictures in any order. Every picture comes again in many documents,
under another name. Two in a thousand pictures are broken, and two are missing. Each shard is a ``.jsonl`` with a tar
of its pictures beside it. Shards and cache of an earlier run in the folder are used again. Prints a line of JSON after
each step.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from data_folder import DATA

IMAGES, OTHERS = 2, 6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=int, default=8_000)
    parser.add_argument("--shard", type=int, default=200, help="documents of a shard")
    parser.add_argument("--kills", type=int, default=3)
    given = parser.parse_args()
    os.environ["ICONOTEXT_CACHE"] = str(given.folder / "cache")
    captions = read_captions(DATA / "captions/open")
    shards = -(-given.documents // given.shard)
    for number in range(shards):
        write_shard(given.folder / "in", number, given.shard, captions)
    wanted: dict[str, str] = {}
    for name, options in (
        ("two workers, cold", ["--workers", "2"]),
        ("two workers", ["--workers", "2"]),
        ("one worker", ["--workers", "1"]),
        ("Ray", ["--workers", "2", "--executor", "ray"]),
    ):
        shutil.rmtree(given.folder / "out", ignore_errors=True)
        begun = time.monotonic()
        said = finished(given.folder, start(given.folder, options))
        found = contents(given.folder / "out")
        wanted = wanted or found
        tell(name, begun, same=found == wanted, **{key: said[key] for key in ("documents", "images", "links")})
    shutil.rmtree(given.folder / "out")
    begun, chance = time.monotonic(), random.Random(0)
    for kill in range(given.kills):
        process = start(given.folder, ["--workers", "2"])
        done = given.folder / "out/_logs/completions"
        while process.poll() is None and len(list(done.glob("*"))) < (kill + 1) * shards // (given.kills + 1):
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.5))
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        tell(f"kill {kill + 1}", begun, completed=len(list(done.glob("*"))), of=shards)
    finished(given.folder, start(given.folder, ["--workers", "2"]))
    tell("killed, and gone on", begun, same=contents(given.folder / "out") == wanted)


def start(folder: Path, options: list[str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "iconotext", "scale", "link", str(folder / "in"), "--output", str(folder / "out")]
    with (folder / "log").open("ab") as log, (folder / "said.json").open("wb") as said:
        return subprocess.Popen(
            [*command, "--relations", "none", "--json", *options], stdout=said, stderr=log, start_new_session=True
        )


def finished(folder: Path, process: subprocess.Popen[bytes]) -> dict[str, Any]:
    if process.wait() != 0:
        raise SystemExit(f"it ended with {process.returncode}: see the log")
    found: dict[str, Any] = json.loads((folder / "said.json").read_bytes())
    return found


def contents(folder: Path) -> dict[str, str]:
    """A digest of each result."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.parquet")}


def read_captions(folder: Path) -> list[tuple[bytes, list[str]]]:
    lines = [json.loads(line) for line in (folder / "captions.jsonl").read_text().splitlines()]
    return [((folder / each["image"]).read_bytes(), each["captions"]) for each in lines]


def write_shard(
    folder: Path,
    number: int,
    documents: int,
    captions: list[tuple[bytes, list[str]]],
    *,
    images: int = IMAGES,
    others: int = OTHERS,
) -> Path:
    """A shard and the tar of its pictures, unless they are there."""
    folder.mkdir(parents=True, exist_ok=True)
    path, tar = folder / f"{number:05}.jsonl", folder / f"{number:05}.tar"
    if path.exists():
        return path
    chance = random.Random(number)
    with tarfile.open(tar, "w") as archive, path.with_suffix(".new").open("w") as file:
        for n in range(documents):
            chosen = chance.sample(range(len(captions)), images + others)
            sentences = [chance.choice(captions[each][1]) for each in chosen]
            order = chance.sample(range(len(sentences)), len(sentences))
            names = [f"{number}-{n}-{i}.jpg" for i in range(images)]
            for name, each in zip(names, chosen, strict=False):
                fate, data = chance.random(), captions[each][0]
                if fate < 0.002:
                    continue
                data = data[: len(data) // 2] if fate < 0.004 else data
                info = tarfile.TarInfo(name)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
            row = {
                "id": f"{number}-{n}",
                "sentences": [sentences[each] for each in order],
                "images": names,
                "links": [[order.index(i), i] for i in range(images)],
            }
            file.write(json.dumps(row) + "\n")
    path.with_suffix(".new").rename(path)
    return path


def tell(step: str, begun: float, **found: Any) -> None:
    print(json.dumps({"step": step, "seconds": round(time.monotonic() - begun, 1), **found}), flush=True)


if __name__ == "__main__":
    main()
