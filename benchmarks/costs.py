"""What things cost: seconds where several take turns, and memory of processes."""

from __future__ import annotations

import contextlib
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

Row = dict[str, str | float]


def in_turns(works: Mapping[str, Callable[[], object]], turns: int) -> dict[str, tuple[float, float]]:
    """Median wall and CPU seconds of each, taking turns, after one turn that does not count."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
    for turn in range(turns + 1):
        for name, work in works.items():
            wall, cpu = time.perf_counter(), time.process_time()
            work()
            if turn:
                times[name].append((time.perf_counter() - wall, time.process_time() - cpu))
    return {
        name: (statistics.median(w for w, _ in taken), statistics.median(c for _, c in taken))
        for name, taken in times.items()
    }


def print_rows(title: str, rows: Sequence[Row]) -> None:
    """A table in Markdown."""
    print(f"\n**{title}**\n\n| {' | '.join(rows[0])} |\n|{' --- |' * len(rows[0])}")
    for row in rows:
        print("| " + " | ".join(v if isinstance(v, str) else f"{v:.3g}" for v in row.values()) + " |", flush=True)


def family(process: int) -> list[int]:
    """A process and those that it started, and so on (Linux)."""
    found = [process]
    with contextlib.suppress(OSError):  # it has ended
        for task in Path(f"/proc/{process}/task").glob("*/children"):
            for child in task.read_text().split():
                found += family(int(child))
    return found


def resident(process: int) -> int:
    """Bytes in memory; 0 of a process that has ended."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def peak() -> float:
    """Peak resident memory in MB: of this program alone, where the system tells it apart from what started it."""
    with contextlib.suppress(OSError):
        return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / (1 << 10)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / (1 << 20 if sys.platform == "darwin" else 1 << 10)  # bytes there, kilobytes elsewhere
