"""Link 200,000 documents on both engines, kill what works on them fifty times, and compare the bytes.

    python benchmarks/scale_run.py /tmp/run --documents 200000 --kills 50 | tee table.json

Documents are made of the captions and pictures of ``captions/open`` in the data folder (``ICONOTEXT_DATA``): 2
pictures, a caption of each, and 6 captions of other pictures in any order. Every picture comes again in many documents,
under another name. Two in a thousand pictures are broken, and two are missing. Each shard is a ``.jsonl`` with a tar
of its pictures beside it.

Shards and cache of an earlier run in the folder are used again. Steps: the local engine; Ray; then each engine again
over some shards while it is killed at random moments, workers and program in turn. Prints a line of JSON after each.
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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

IMAGES, OTHERS = 2, 6
LOCK = ".iconotext.lock"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--shard", type=int, default=1000, help="documents of a shard")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--killed-shards", type=int, default=20, help="shards of the runs that are killed")
    parser.add_argument("--engines", default="local,ray")
    given = parser.parse_args()
    os.environ["ICONOTEXT_CACHE"] = str(given.folder / "cache")
    shards = -(-given.documents // given.shard)
    tell("machine", cores=os.cpu_count(), load=os.getloadavg()[0], **{k: str(v) for k, v in vars(given).items()})
    begun = time.monotonic()
    captions = read_captions(Path(os.environ.get("ICONOTEXT_DATA", "../shared/data")) / "captions/open")
    paths = [write_shard(given.folder / "in", n, given.shard, captions) for n in range(shards)]
    tell("shards", shards=shards, seconds=time.monotonic() - begun, gigabytes=sum(map(size_with_tar, paths)) / 1e9)
    engines = given.engines.split(",")
    digests: dict[str, dict[str, str]] = {}
    took: dict[str, float] = {}
    for engine in engines:
        output = given.folder / engine
        shutil.rmtree(output, ignore_errors=True)
        begun = time.monotonic()
        said = finished(given, start(given, [given.folder / "in"], output, engine))
        seconds = took[engine] = time.monotonic() - begun
        digests[engine] = contents(output)
        out = sum(path.stat().st_size for path in output.glob("*.parquet"))
        tell(
            engine,
            seconds=seconds,
            documents_a_second=said["documents"]["read"] / seconds,
            gigabytes_out=out / 1e9,
            load=os.getloadavg()[0],
            same_bytes=digests[engine] == digests[engines[0]],
            **{key: said[key] for key in ("documents", "images", "links", "reasons", "lost", "damaged")},
        )
    some = paths[: given.killed_shards]
    names = {path.stem for path in some}
    wanted = {name: digest for name, digest in digests[engines[0]].items() if Path(name).stem in names}
    for number, engine in enumerate(engines):
        kills = given.kills // len(engines) + (number < given.kills % len(engines))
        tell(
            f"{engine}, killed", **killed(given, some, engine, kills, wanted, 3 * given.workers * took[engine] / shards)
        )


def killed(
    given: argparse.Namespace, shards: list[Path], engine: str, kills: int, wanted: dict[str, str], longest: float
) -> dict[str, Any]:
    """Kill until it has been done so often, after some seconds each time; begun anew whenever all is done before."""
    output = given.folder / f"{engine}-killed"
    shutil.rmtree(output, ignore_errors=True)
    chance, done = random.Random(0), {"worker": 0, "program": 0}
    runs, begun, wrong, resumed = 0, time.monotonic(), 0, 0
    process = None
    while sum(done.values()) < kills:
        if process is None or process.poll() is not None:
            if process is not None and process.returncode == 0:  # all is done: look, and again from nothing
                wrong += compared(output, wanted)
                shutil.rmtree(output)
            resumed += any(output.glob("*.parquet"))
            process, runs = start(given, shards, output, engine), runs + 1
            wait_for_workers(process, engine)
        time.sleep(chance.uniform(0, longest))
        found = workers(process.pid, engine)
        if process.poll() is not None:
            continue
        if len(found) and done["worker"] <= done["program"]:
            os.kill(chance.choice(found), signal.SIGKILL)
            done["worker"] += 1
        else:
            process.kill()
            process.wait()
            done["program"] += 1
    if process is not None:
        process.wait()
    said = finished(given, start(given, shards, output, engine))
    wrong += compared(output, wanted)
    return {
        "killed": done,
        "runs": runs + 1,
        "runs_that_went_on_from_finished_shards": resumed,
        "files_that_differ": wrong,
        "seconds": time.monotonic() - begun,
        **{key: said[key] for key in ("documents", "lost")},
    }


def compared(output: Path, wanted: dict[str, str]) -> int:
    """Files that are missing, too many, or not of the bytes that they should be; ``_run.json`` belongs to no shard."""
    found = {name: digest for name, digest in contents(output).items() if name != "_run.json"}
    return len(set(found.items()) ^ set(wanted.items()))


def wait_for_workers(process: subprocess.Popen[bytes], engine: str) -> None:
    while process.poll() is None and not workers(process.pid, engine):
        time.sleep(0.05)


def start(given: argparse.Namespace, shards: list[Path], output: Path, engine: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "iconotext", "scale", "link", *map(str, shards), "--output", str(output)]
    command += ["--engine", engine, "--workers", str(given.workers), "--tries", "9", "--relations", "none", "--json"]
    with (given.folder / "log").open("ab") as log, said_by(given.folder).open("wb") as said:
        return subprocess.Popen(command, stdout=said, stderr=log)


def said_by(folder: Path) -> Path:
    return folder / "said.json"


def finished(given: argparse.Namespace, process: subprocess.Popen[bytes]) -> dict[str, Any]:
    if process.wait() != 0:
        raise SystemExit(f"it ended with {process.returncode}: see the log")
    found: dict[str, Any] = json.loads(said_by(given.folder).read_bytes())
    return found


def contents(folder: Path) -> dict[str, str]:
    """A digest of each file but the lock."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != LOCK and ".tmp" not in path.name]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def descendants(process: int) -> Iterator[int]:
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            children = [int(each) for each in path.read_text().split()]
        except OSError:
            continue
        for child in children:
            yield child
            yield from descendants(child)


def workers(process: int, engine: str) -> list[int]:
    """Processes that link, or are about to."""
    mark = b"ray::_answered" if engine == "ray" else b"spawn_main"
    found = []
    for each in descendants(process):
        try:
            if mark in Path(f"/proc/{each}/cmdline").read_bytes():
                found.append(each)
        except OSError:
            continue
    return found


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


def size_with_tar(path: Path) -> int:
    return path.stat().st_size + path.with_suffix(".tar").stat().st_size


def tell(step: str, **found: Any) -> None:
    said = {key: round(value, 3) if isinstance(value, float) else value for key, value in found.items()}
    print(json.dumps({"step": step, **said}), flush=True)


if __name__ == "__main__":
    main()
