"""Read mutants of documents and report whatever is not a document or one of our errors.

    python -m tests.fuzz.run [--count 27750 | --minutes 120] [--seed 0] [--real FOLDER] [--keep FOLDER]

Every mutant is read under a limit of CPU time and memory. Reported are exceptions that are not ours or that no reader
foresaw, mutants that take too long or too much memory, and ends of the process. Each is kept as a file; its number and
the seed make it again: ``--only html:1234``. The exit status is 1 where there was anything.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from iconotext.errors import IconotextError
from iconotext.read import read
from iconotext.read.format import FORMATS
from iconotext.system.worker import LimitError
from tests.fuzz.mutation import mutant
from tests.fuzz.seeds import real_seeds, seeds

SUFFIXES = {row.name: row.suffixes for row in FORMATS if row.name != "pdf"}  # for PDFs pdfium has fuzzers of its own


def here(function: Callable[..., Any], _memory: int, _seconds: float, /, *arguments: Any) -> Any:
    """Call a function in this process, where the limits are ours, instead of ``run_isolated`` from it."""
    return function(*arguments)


def outcome(path: Path) -> str | None:
    """What is wrong with how a file is read; None where it gives a document or one of our errors."""
    try:
        read(path)
    except IconotextError as error:
        return type(error.__cause__).__name__ if isinstance(error.__cause__, MemoryError | LimitError) else None
    except MemoryError:
        return "MemoryError"
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {error} ({Path(frame.filename).name}:{frame.lineno})"
    return None


def make(format_: str, number: int, seed: int, originals: list[bytes]) -> bytes:
    """Mutant ``number``; the same for the same seed and originals."""
    return mutant(format_, originals, random.Random(f"{seed}/{format_}/{number}"))


def work(
    pipe: Connection, jobs: list[tuple[str, int]], seed: int, originals: dict[str, list[bytes]], limits: tuple[int, int]
) -> None:
    """Read mutants one after the other and say what came of each; in a process of its own, which a limit may end."""
    module = import_module("iconotext.read")
    vars(module).update(run_isolated=here, _unforeseen=lambda _path, error: error)  # what nobody foresaw shows as it is
    seconds, megabytes = limits
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + megabytes * 2**20,) * 2)
    with tempfile.TemporaryDirectory() as folder:
        for format_, number in jobs:
            path = Path(folder, "mutant" + SUFFIXES[format_][0])
            path.write_bytes(make(format_, number, seed, originals[format_]))
            used = time.process_time()
            resource.setrlimit(resource.RLIMIT_CPU, (int(used) + seconds + 1, resource.RLIM_INFINITY))
            pipe.send((format_, number, outcome(path), time.process_time() - used))


def run(
    jobs: list[tuple[str, int]], seed: int, originals: dict[str, list[bytes]], limits: tuple[int, int]
) -> Iterator[tuple[str, int, str | None, float]]:
    """(format, number, what is wrong or None, seconds) of every job; a process that ends is followed by a new one."""
    fork = multiprocessing.get_context("fork")
    done = 0
    while done < len(jobs):
        mine, theirs = fork.Pipe(duplex=False)
        process = fork.Process(target=work, args=(theirs, jobs[done:], seed, originals, limits))
        process.start()
        theirs.close()
        with contextlib.suppress(EOFError):
            while True:
                yield mine.recv()
                done += 1
        process.join()
        if done < len(jobs):
            end = signal.Signals(-process.exitcode).name if (process.exitcode or 0) < 0 else f"exit {process.exitcode}"
            yield (
                *jobs[done],
                f"takes more than {limits[0]} s" if end == "SIGXCPU" else f"the process ended: {end}",
                float(limits[0]),
            )
            done += 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2_000, help="mutants altogether")
    parser.add_argument("--minutes", type=float, help="go on for so long, whatever --count says")
    parser.add_argument("--formats", nargs="+", choices=list(SUFFIXES), default=list(SUFFIXES))
    parser.add_argument("--first", type=int, default=0, help="number of the first mutant of each format")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="one mutant, such as html:1234")
    parser.add_argument("--real", type=Path, help="folder of real documents to mutate too")
    parser.add_argument("--keep", type=Path, default=Path("mutants"), help="folder for the mutants that are reported")
    parser.add_argument("--seconds", type=int, default=120, help="CPU time after which a mutant counts as endless")
    parser.add_argument("--megabytes", type=int, default=1_500, help="address space of one mutant")
    choices = parser.parse_args()
    originals = {f: seeds(f) + (real_seeds(choices.real, SUFFIXES[f]) if choices.real else []) for f in choices.formats}
    start, found, read_, slowest = time.monotonic(), Counter[str](), Counter[str](), (0.0, "")
    first = choices.first
    while True:
        step = max(1, min(choices.count, 2_000) // len(choices.formats))
        jobs = [(f, number) for f in choices.formats for number in range(first, first + step)]
        if choices.only:
            format_, _, number = choices.only.partition(":")
            jobs = [(format_, int(number))]
        for format_, number, wrong, seconds in run(jobs, choices.seed, originals, (choices.seconds, choices.megabytes)):
            read_[format_] += 1
            slowest = max(slowest, (seconds, f"{format_}:{number}"))
            if wrong is not None:
                found[f"{format_}: {wrong}"] += 1
                choices.keep.mkdir(parents=True, exist_ok=True)
                kept = choices.keep / f"{format_}-{choices.seed}-{number}{SUFFIXES[format_][0]}"
                kept.write_bytes(make(format_, number, choices.seed, originals[format_]))
                print(f"{format_}:{number} {wrong} → {kept}", flush=True)
        first += step
        late = choices.minutes is not None and time.monotonic() - start > choices.minutes * 60
        if choices.only or late or (choices.minutes is None and read_.total() >= choices.count):
            break
    print(
        f"{read_.total()} mutants read ({', '.join(f'{name} {n}' for name, n in read_.items())}) in {time.monotonic() - start:.0f} s,"
    )
    print(f"the slowest {slowest[1]} in {slowest[0]:.2f} s of CPU; {found.total()} wrong")
    for wrong, count in found.most_common():
        print(f"{count:6} {wrong}")
    return 1 if found else 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
