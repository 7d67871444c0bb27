"""How long it takes to find near hashes, and how much memory.

    python benchmarks/near_duplicates.py 10000000

Hashes are random, and one in ten is a copy of an earlier one with up to 3 bits changed. They and the result lie in
files that are mapped into memory, as `iconotext scale duplicates` has them. Prints a line of JSON; memory is what the
process holds besides pages of those files (``RssAnon``), at its largest.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from iconotext.images.near_duplicates import BLOCK_SIZE, near_duplicates

BITS = 64


def main() -> None:
    total = int(sys.argv[1])
    copies = total // 10
    chance = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        hashes = np.memmap(Path(folder) / "hashes", np.uint64, "w+", shape=(total,))
        for start in range(0, total, BLOCK_SIZE):
            hashes[start : start + BLOCK_SIZE] = chance.integers(
                0, 2**BITS, len(hashes[start : start + BLOCK_SIZE]), np.uint64
            )
        originals = chance.integers(0, total - copies, copies)
        changed = np.bitwise_or.reduce(np.uint64(1) << chance.integers(0, BITS, (3, copies)).astype(np.uint64), axis=0)
        hashes[total - copies :] = hashes[originals] ^ changed
        partner = np.memmap(Path(folder) / "partner", np.int64, "w+", shape=(total,))
        most = [0]
        threading.Thread(target=watch, args=(most,), daemon=True).start()
        begun = time.monotonic()
        near_duplicates(hashes, 3, partner=partner)
        seconds = time.monotonic() - begun
        found = int(((partner >= 0) & (partner < np.arange(total))).sum())
        right = int((partner[total - copies :] <= originals).sum())
        print(
            json.dumps(
                {
                    "hashes": total,
                    "copies": copies,
                    "copies_found": right,
                    "like_an_earlier_one": found,
                    "seconds": round(seconds, 1),
                    "memory_mib": most[0] >> 10,
                    "load": os.getloadavg()[0],
                }
            )
        )


def watch(most: list[int]) -> None:
    while True:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("RssAnon"):
                most[0] = max(most[0], int(line.split()[1]))
        time.sleep(0.1)


if __name__ == "__main__":
    main()
