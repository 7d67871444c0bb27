"""Fetching the images of a data set into a folder: politely, from many hosts in parallel, each image once.

An image's file has the SHA-256 of its address as its name. ``fetched.jsonl`` in the folder, the ledger, has a line with
the outcome for every address, written as soon as it is known. A later run does not fetch existing images, and does not
ask again for images that are gone for good. It tries again if a server did not answer.
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
from iconotext.images.file import HEAD, IMAGE_FORMATS, image_format
from iconotext.read.web.polite import PoliteFetcher, Politeness
from iconotext.system.files import write_bytes, write_error
from iconotext.system.strict_json import dump_json
from iconotext.system.threads import in_background
from iconotext.types import Image

OTHER = ".img"  # suffix of a picture in an unknown format

SUFFIXES = (*(suffix for row in IMAGE_FORMATS for suffix in row.suffixes), OTHER)
"""Suffixes that the file of an address may have; earlier runs gave other suffixes of the same formats."""


def suffix_of(data: bytes) -> str:
    """Return the suffix that fits an encoded picture."""
    row = image_format(data[:HEAD])
    return OTHER if row is None else row.suffixes[0]


def saved_image(data: bytes, folder: Path) -> Path:
    """Return the file of a picture, named by its SHA-256; an existing file is used again."""
    path = folder / f"{hashlib.sha256(data).hexdigest()}{suffix_of(data)}"
    if not path.is_file() or path.stat().st_size != len(data):
        write_bytes(path, data, force=True)
    return path


LEDGER = "fetched.jsonl"
DIGEST = re.compile("[0-9a-f]{64}")

WORKERS = 16  # number of hosts that are asked in parallel

GIVE_UP = 5
"""Number of consecutive addresses of a host without an answer after which its other addresses are left for
another run.
"""

PARTING = 2.0  # seconds within which current requests must end when the work is stopped


@dataclass(frozen=True, slots=True)
class Fetched:
    """The outcome for an address.

    Attributes:
        final: Whether it is useless to ask again.
        new: Whether this run determined the outcome, not an earlier one.
    """

    address: str
    file: Path | None
    problem: str | None = None
    final: bool = True
    new: bool = True


Results = queue.SimpleQueue[Fetched | BaseException | None]
"""Messages from the threads: the outcome for an address, an error in a thread, None when a thread has ended."""


def fetch_images(
    addresses: Iterable[str],
    folder: Path,
    *,
    interval: float = 1.0,
    make_fetcher: Callable[[Callable[[float], object]], Callable[[str], bytes]] | None = None,
    workers: int = WORKERS,
) -> Generator[Fetched, None, None]:
    """Fetch the images that are not in the folder yet; yields the outcome for every address as soon as it is known.

    Hosts are asked in parallel, the addresses of one host one after the other. Closing the generator early stops the
    work; reported images stay.

    Args:
        addresses: ``http`` and ``https``; each is fetched once however often it occurs.
        make_fetcher: Takes a function that waits for some seconds, and returns a function that fetches an address or
            raises ``ImageError``; for tests. None: ``PoliteFetcher``.
    """
    distinct = list(dict.fromkeys(addresses))
    stored = _stored_pictures(folder)
    of_host: dict[str, list[str]] = defaultdict(list)
    for address in distinct:
        before = stored(address)
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
    for members in sorted(of_host.values(), key=len, reverse=True):  # begin with the host that takes longest
        hosts.put(members)
    results: Results = queue.SimpleQueue()
    with _ledger(folder) as ledger:
        # Not in_threads: a host has many results, they come out of order, and no silent host may hold up the end.
        threads = [in_background(_work, hosts, results, fetch, folder, stop) for _ in range(min(workers, len(of_host)))]
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
                result = _fetch_one(address, fetch, folder)
                if stop.is_set() and not result.final:
                    break  # its server was not given the time to answer
                silent = 0 if result.final else silent + 1
                results.put(result)
    except BaseException as error:  # the thread that waits for results raises it
        results.put(error)
    finally:
        results.put(None)


def _fetch_one(address: str, fetch: Callable[[str], bytes], folder: Path) -> Fetched:
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
    """Return the name of a fetched image's file, without its suffix."""
    return hashlib.sha256(address.encode("utf-8", "surrogatepass")).hexdigest()


def fetched_file(address: str, folder: Path) -> Path | None:
    """Return the file of an address in a folder into which images were fetched; None if there is none."""
    stem = folder / name_of(address)
    return next((file for suffix in SUFFIXES if (file := stem.with_suffix(suffix)).is_file()), None)


def _stored_pictures(folder: Path) -> Callable[[str], Fetched | None]:
    """Return a function that gives the outcome of earlier runs for an address. A line that a kill truncated is ignored.

    A kill may also come between an image and its line, so the images in the folder count, not their lines.
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

    def lookup(address: str) -> Fetched | None:
        file = files.get(name_of(address))
        return Fetched(address, file, new=False) if file is not None else problems.get(address)

    return lookup


@contextmanager
def _ledger(folder: Path) -> Iterator[IO[bytes]]:
    """Open the ledger for appending; a truncated line is ended first."""
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
