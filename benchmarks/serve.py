"""A server under load: errors, throughput beside the command line's, memory, and how soon pages come.

    python benchmarks/serve.py [--minutes 10] [--clients 20] [--documents 40] [--workers 1]

CLIENTS programs send documents to ``POST /v1/link`` for MINUTES, each the next one as soon as it has its answer. Every
document is made up (twelve pictures of drawn shapes, eighty sentences) and sent once, so that no cache helps. The
command line links DOCUMENTS others before and after that, and a single one: the difference is what its start costs,
which does not count. Each has an empty cache of its own and as many threads as there are cores.

Prints the answers by status, documents a second of both, the resident memory of the server and all its processes in
each tenth of the time (MB; pages that they share count once for each), and the milliseconds of ``/`` and of a reading
view: the first, without load, and under load, the median and the slowest.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import httpx
from costs import family, resident
from PIL import Image, ImageDraw

WORDS = (
    "red green blue old small boat tram house tree bridge river stone road table lamp window garden kitchen engine "
    "wheel stands lies moves turns holds carries shows leads begins ends near under behind above slowly again"
).split()
PICTURES, SENTENCES = 12, 80


def made_up(seed: int) -> dict[str, bytes]:
    """The files of a document that is like no other."""
    chance = random.Random(seed)
    lines = [f"# Notes {seed}"]
    files: dict[str, bytes] = {}
    for number in range(SENTENCES):
        lines.append(" ".join(chance.choices(WORDS, k=chance.randint(6, 16))).capitalize() + ".")
        if number % (SENTENCES // PICTURES) == 3 and len(files) < PICTURES:
            image = Image.new("RGB", (480, 360), tuple(chance.choices(range(256), k=3)))
            draw = ImageDraw.Draw(image)
            for _ in range(30):
                x, y = chance.randrange(440), chance.randrange(320)
                box = (x, y, x + chance.randint(10, 200), y + chance.randint(10, 200))
                chance.choice((draw.ellipse, draw.rectangle))(box, fill=tuple(chance.choices(range(256), k=3)))
            packed = io.BytesIO()
            image.save(packed, "JPEG")
            name = f"{len(files)}.jpg"
            files[name] = packed.getvalue()
            lines.append(f"![]({name})\n\n*{' '.join(chance.choices(WORDS, k=5))}*")
    return {"article.md": "\n\n".join(lines).encode(), **files}


def command_line(folder: Path, documents: range) -> float:
    """Seconds that one command takes for so many documents."""
    for seed in documents:
        for name, data in made_up(seed).items():
            (folder / str(seed)).mkdir(parents=True, exist_ok=True)
            (folder / str(seed) / name).write_bytes(data)
    words = ["link", str(folder), "--to", "json", "--quiet", "--output", str(folder / "links.json")]
    begin = time.perf_counter()
    environment = {**os.environ, "ICONOTEXT_CACHE": str(folder / "cache")}
    subprocess.run([sys.executable, "-m", "iconotext", *words], check=True, env=environment)
    return time.perf_counter() - begin


def seconds_of(client: httpx.Client, path: str) -> float:
    """Until a page is there."""
    begin = time.perf_counter()
    client.get(path).raise_for_status()
    return time.perf_counter() - begin


def told(name: str, seconds: list[float]) -> None:
    """Median and slowest."""
    print(f"{name}: {statistics.median(seconds) * 1000:.0f} ms, slowest {max(seconds) * 1000:.0f} ms")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--documents", type=int, default=40)
    parser.add_argument("--workers", type=int, default=1, help="processes of the server")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        measure(Path(temporary), chosen.minutes * 60, chosen.clients, chosen.documents, chosen.workers)


def measure(folder: Path, seconds: float, clients: int, documents: int, workers: int) -> None:
    """All of it."""
    own = [command_line(folder / "before", range(documents))]
    start = command_line(folder / "one", range(-1, 0))
    begin = time.perf_counter()
    command = [sys.executable, "-m", "iconotext", "serve", "--data", str(folder / "data"), "--port", "0"]
    server = subprocess.Popen(
        [*command, "--no-browser", "--workers", str(workers)],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "ICONOTEXT_CACHE": str(folder / "cache")},
    )
    try:
        assert server.stderr is not None
        address = re.search(r"http://[^/]+", server.stderr.readline())[0]  # type: ignore[index]
        ready = time.perf_counter() - begin
        key = {"authorization": f"Bearer {(folder / 'data' / 'key').read_text().strip()}"}
        client = httpx.Client(base_url=address, headers=key, timeout=600)
        print(f"start until the address is printed: {ready:.1f} s; then /: {seconds_of(client, '/') * 1000:.0f} ms")
        view = opened(client)
        for path in ("/", view):
            told(f"{path}, idle", [seconds_of(client, path) for _ in range(20)])
        under_load(client, server.pid, seconds, clients, view)
    finally:
        server.terminate()
        server.wait(20)
    own.append(command_line(folder / "after", range(documents, 2 * documents)))
    each = (documents - 1) / (sum(own) / 2 - start)
    print(f"command line: {each:.2f} documents a second ({own[0]:.0f} and {own[1]:.0f} s, its start {start:.1f} s)")


def opened(client: httpx.Client) -> str:
    """The address of a reading view."""
    sent = [("files", (name, data)) for name, data in made_up(-2).items()]
    made = client.post("/v1/collections", files=sent).raise_for_status().json()
    while (found := client.get(f"/v1/collections/{made['id']}").json())["state"] != "done":
        time.sleep(0.2)
    return f"/documents/{found['documents'][0]['id']}"


def under_load(client: httpx.Client, server: int, seconds: float, clients: int, view: str) -> None:
    """Send documents and look at pages meanwhile."""
    statuses: Counter[str] = Counter()
    numbers, end = count(10_000), time.monotonic() + seconds
    sampled: list[tuple[float, float]] = []
    pages: dict[str, list[float]] = {"/": [], view: []}
    lock = threading.Lock()

    def send() -> None:
        while time.monotonic() < end:
            with lock:
                number = next(numbers)
            sent = [("files", (name, data)) for name, data in made_up(number).items()]
            try:
                answer = client.post("/v1/link", files=sent)
                good = answer.status_code == 200 and len(answer.json()[0]["links"]) > 0
                status = str(answer.status_code) if good else f"{answer.status_code}: {answer.text[:100]}"
            except httpx.HTTPError as error:
                status = repr(error)
            with lock:
                statuses[status] += 1

    def look() -> None:
        while (left := end - time.monotonic()) > 0:
            sampled.append((1 - left / seconds, sum(map(resident, family(server))) / 2**20))
            for path, found in pages.items():
                found.append(seconds_of(client, path))
            time.sleep(max(0, min(left, seconds / 40)))

    begin = time.perf_counter()
    with ThreadPoolExecutor(clients + 1) as threads:
        for each in [threads.submit(look), *(threads.submit(send) for _ in range(clients))]:
            each.add_done_callback(lambda done: done.result())
    took = time.perf_counter() - begin
    print(f"server: {statuses.total()} requests in {took:.0f} s, {clients} at once: {dict(statuses)}")
    print(f"server: {statuses['200'] / took:.2f} documents a second")
    tenths = [[size for at, size in sampled if int(at * 10) == tenth] for tenth in range(10)]
    print("memory, MB:", *(f"{statistics.mean(sizes):.0f}" if sizes else "-" for sizes in tenths))
    for path, found in pages.items():
        told(f"{path}, under load", found)


if __name__ == "__main__":
    main()
