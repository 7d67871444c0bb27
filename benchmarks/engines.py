"""What the engines of `iconotext scale` themselves cost: 200 shards that need a tenth of a second each, without work.

    python benchmarks/engines.py

Prints a line of JSON for each engine: seconds until the first shard is done, and until all are. With two workers, there
cannot be fewer than 10 between the two.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import closing
from dataclasses import dataclass

from iconotext.scale.engine import Processes, worked
from iconotext.scale.on_ray import OnRay

SHARDS, SECONDS, WORKERS, MEMORY = 200, 0.1, 2, 4 * 10**9


@dataclass(frozen=True)
class Sleep:
    """Nothing but time."""

    def prepare(self) -> None:
        """Nothing."""

    def run(self, number: int, /) -> int:
        time.sleep(SECONDS)
        return number


def main() -> None:
    from engines import Sleep  # not as __main__, which other processes do not have

    for name in ("local", "ray"):
        begun = time.monotonic()
        first = 0.0
        if name == "ray":
            engine: OnRay[int] | Processes[int] = OnRay(Sleep(), address=None, workers=WORKERS, memory=MEMORY)
        else:
            engine = Processes(Sleep(), workers=WORKERS, memory=MEMORY)
        with closing(engine):
            for _ in worked(range(SHARDS), engine, tries=1):
                first = first or time.monotonic() - begun
            last = time.monotonic() - begun
        found = {"engine": name, "shards": SHARDS, "first_after": round(first, 2), "all_after": round(last, 2)}
        print(json.dumps(found | {"load": os.getloadavg()[0]}), flush=True)


if __name__ == "__main__":
    main()
