"""Fetch the images of a data set into a folder: politely, many hosts at once, and never the same one twice.

An image's file has the SHA-256 of its address as its name. ``fetched.jsonl`` in the folder says what became of every
address, a line for each as soon as it is known. A later run does not fetch what is there, and does not ask again for
what is gone for good. It tries again where a server did not answer.
"""

from __future__ import annotations

import hashlib
import queue
import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from iconotext.corpus.formats.json_lines import json_lines
from iconotext.errors import ImageError, UnreachableError
from iconotext.images import inspect
from iconotext.read.web.polite import PoliteFetcher, Politeness
from iconotext.strict_json import dump_json
from iconotext.types import Image
from iconotext.write import write_bytes, write_error

SIGNATURES = (
    (0, b"\xff\xd8\xff", ".jpg"),
    (0, b"\x89PNG", ".png"),
    (0, b"GIF8", ".gif"),
    (8, b"WEBP", ".webp"),
    (0, b"BM", ".bmp"),
    (0, b"II", ".tif"),
    (0, b"MM", ".tif"),
    (4, b"ftyp", ".avif"),
    (4, b"jP  ", ".jp2"),
    (0, b"\xff\x4f\xff\x51", ".j2k"),
)
"""Place and bytes by which an encoded picture is known, and the suffix of such files."""

OTHER = ".img"

SUFFIXES = tuple(dict.fromkeys([*(suffix for _, _, suffix in SIGNATURES), OTHER]))
"""All that ``suffix_of`` gives."""


def suffix_of(data: bytes) -> str:
    """The suffix that fits an encoded picture, another for one that is not known."""
    return next((suffix for start, mark, suffix in SIGNATURES if data.startswith(mark, start)), OTHER)


def saved_image(data: bytes, folder: Path) -> Path:
    """The file that has a picture, named by its SHA-256; what an earlier document or run wrote is used again.

    Raises:
        OutputError: It cannot be written.
    """
    path = folder / f"{hashlib.sha256(data).hexdigest()}{suffix_of(data)}"
    if not path.is_file() or path.stat().st_size != len(data):
        write_bytes(path, data, force=True)
    return path


LEDGER = "fetched.jsonl"
DIGEST = re.compile("[0-9a-f]{64}")

WORKERS = 16
"""Hosts that are asked at once."""

GIVE_UP = 5
"""Addresses of one host without an answer, one after the other, after which the others are left for another run."""

PARTING = 2.0
"""Seconds that requests under way have to end when the work is stopped."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What became of an address.

    Attributes:
        final: Whether there is no use in asking again.
        new: Whether it was found out now, not by an earlier run.
    """

    address: str
    file: Path | None
    problem: str | None = None
    final: bool = True
    new: bool = True


Results = queue.SimpleQueue[Fetched | BaseException | None]
"""From the threads: what became of an address, what went wrong in a thread, None where one has ended."""


def fetch_images(
    addresses: Iterable[str],
    folder: Path,
    *,
    interval: float = 1.0,
    make_fetcher: Callable[[Callable[[float], object]], Callable[[str], bytes]] | None = None,
    workers: int = WORKERS,
) -> Generator[Fetched, None, None]:
    """Fetch what is not in the folder yet, and say of every address what became of it, as soon as it is known.

    Hosts are asked side by side, the addresses of one host one after the other. Ending the generator early ends the
    work; what was reported is kept.

    Args:
        addresses: ``http`` and ``https``; each is fetched once however often it comes.
        make_fetcher: From what waits for some seconds to what fetches an address or raises
            ``ImageError``; for tests. None: ``PoliteFetcher``.
        workers: Hosts that are asked at once.

    Raises:
        OutputError: The folder cannot be written to.
    """
    wanted = list(dict.fromkeys(addresses))
    known = _known(folder)
    of_host: dict[str, list[str]] = defaultdict(list)
    for address in wanted:
        before = known(address)
        if before is not None and (before.file is not None or before.final):
            yield before
        else:
            of_host[_host(address)].append(address)
    if not of_host:
        return
    stop = threading.Event()

    def sleep(seconds: float) -> None:
        if stop.wait(seconds):
            raise UnreachableError("not fetched: stopped")

    polite = PoliteFetcher(Politeness(interval=interval), sleep=sleep)
    fetch = make_fetcher(sleep) if make_fetcher else polite.fetch
    hosts: queue.SimpleQueue[list[str]] = queue.SimpleQueue()
    for members in sorted(of_host.values(), key=len, reverse=True):  # the longest begins first
        hosts.put(members)
    results: Results = queue.SimpleQueue()
    with _ledger(folder) as ledger:
        threads = [
            threading.Thread(target=_work, args=(hosts, results, fetch, folder, stop), daemon=True)
            for _ in range(min(workers, len(of_host)))
        ]
        for thread in threads:
            thread.start()
        left = len(threads)
        try:
            while left:
                result = results.get()
                if result is None:
                    left -= 1
                elif isinstance(result, BaseException):
                    raise result
                else:
                    _note(ledger, result)
                    yield result
        finally:
            stop.set()
            latest = time.monotonic() + PARTING
            for thread in threads:
                thread.join(max(latest - time.monotonic(), 0.0))
            while not results.empty():
                if isinstance(result := results.get(), Fetched):
                    _note(ledger, result)


def _work(
    hosts: queue.SimpleQueue[list[str]],
    results: Results,
    fetch: Callable[[str], bytes],
    folder: Path,
    stop: threading.Event,
) -> None:
    """Take host after host until there is none."""
    try:
        while not stop.is_set():
            try:
                addresses = hosts.get_nowait()
            except queue.Empty:
                break
            silent = 0
            for address in addresses:
                if stop.is_set():
                    break
                if silent >= GIVE_UP:
                    why = f"not fetched: {_host(address)} did not answer {GIVE_UP} times in a row: left for another run"
                    results.put(Fetched(address, None, why, final=False))
                    continue
                result = _one(address, fetch, folder)
                if stop.is_set() and not result.final:
                    break  # its server was not given the time to answer
                silent = 0 if result.final else silent + 1
                results.put(result)
    except BaseException as error:  # the thread that waits for results raises it
        results.put(error)
    finally:
        results.put(None)


def _one(address: str, fetch: Callable[[str], bytes], folder: Path) -> Fetched:
    """Fetch and keep one image."""
    try:
        data = fetch(address)
    except UnreachableError as error:
        return Fetched(address, None, str(error), final=False)
    except ImageError as error:
        return Fetched(address, None, str(error))
    problem = inspect([Image(address, data)], min_side=1)[0].problem
    if problem is not None:
        return Fetched(address, None, problem)
    path = folder / f"{name_of(address)}{suffix_of(data)}"
    write_bytes(path, data, force=True)
    return Fetched(address, path)


def name_of(address: str) -> str:
    """The name of a fetched image's file, without its suffix."""
    return hashlib.sha256(address.encode("utf-8", "surrogatepass")).hexdigest()


def fetched_file(address: str, folder: Path) -> Path | None:
    """The file of an address in a folder that images were fetched into; None where there is none."""
    stem = folder / name_of(address)
    return next((file for suffix in SUFFIXES if (file := stem.with_suffix(suffix)).is_file()), None)


def _known(folder: Path) -> Callable[[str], Fetched | None]:
    """What earlier runs found out about an address. A line that a kill cut off counts for nothing.

    A kill may also come between an image and its line, so the images in the folder count, not what is said of them.
    """
    files: dict[str, Path] = {}
    if folder.is_dir():
        files = {path.stem: path for path in sorted(folder.iterdir()) if DIGEST.fullmatch(path.stem)}
    problems: dict[str, Fetched] = {}
    if (folder / LEDGER).is_file():
        for _, value, broken in json_lines(folder / LEDGER):
            if broken is not None or not isinstance(value, dict):
                continue
            address, why = value.get("address"), value.get("problem")
            if isinstance(address, str) and isinstance(why, str):
                problems[address] = Fetched(address, None, why, final=value.get("final") is True, new=False)

    def known(address: str) -> Fetched | None:
        file = files.get(name_of(address))
        return Fetched(address, file, new=False) if file is not None else problems.get(address)

    return known


@contextmanager
def _ledger(folder: Path) -> Iterator[IO[bytes]]:
    """The ledger, to be written on; a line that was cut off is ended first."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / LEDGER).open("a+b") as ledger:
            ledger.seek(0, 2)
            if ledger.tell():
                ledger.seek(-1, 2)
                if ledger.read(1) != b"\n":
                    ledger.write(b"\n")
            yield ledger
    except OSError as error:
        raise write_error(folder / LEDGER, error) from error


def _note(ledger: IO[bytes], result: Fetched) -> None:
    line: dict[str, object] = {"address": result.address}
    line |= {"file": result.file.name} if result.file else {"problem": result.problem, "final": result.final}
    ledger.write(f"{dump_json(line)}\n".encode())
    ledger.flush()


def _host(address: str) -> str:
    try:
        return (urlsplit(address).hostname or "").casefold()
    except ValueError:
        return ""
