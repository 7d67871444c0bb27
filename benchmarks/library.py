"""How quickly a large library is searched, how much of what is nearest it finds, and what adding costs.

    python benchmarks/library.py [--count 1000000] [--dim 1152] [--images FOLDER] [--serve 3000] [--add 512]
        [--grow 0] [--folder TEMP]

FOLDER holds pictures, by default ``captions/flickr8k/images`` in $ICONOTEXT_DATA, else in shared/data beside the
checkout; without pictures, only searching is measured. Printed:

- search: a library of ``count`` made-up pictures (default: a million; with 1,152 numbers each 10 GB under TEMP while
  it runs) of shards of 25,000, each with a caption of 3 to 20 words out of 20,736, as common and rare as in captions
  of photographs, its vector, the odds of 13 relations, and dates of nine years in no order. Vectors are a mixture of
  2,000 clusters of unequal size and width on 160 of the ``dim`` dimensions, with noise on all of them. Queries are such
  vectors with more noise, moved away from the pictures in a direction of their own, as sentences are: their nearest
  picture has a cosine of about 0.5. Seconds, and seconds of the processor, to draw and write (all in one go, with exact
  search by brute force beside it), to bring in order, to index and try out, and to add 10,000 more. Then, in a
  process of its own, once with nothing of the files in memory and once with all of them: the first search; time and
  recall against exact search (of queries that the index was not tuned on) of the 10 and of the 100 nearest, and of
  the ten nearest of the newer half, of the newest tenth and in one shard; the time of full-text search for five
  words, and for one; of a whole search by picture, text and words with ten results and their relations (without
  encoding the sentence), of one that a relation is wanted in, and of both with dates; the same from 20 threads at
  once; and the peak of its memory, with and without the models that encode a sentence;
- grow: a library of an eighth of ``grow`` made-up pictures is indexed and grows to all of them, with pictures of the
  same clusters, or of others only: recall with the index it began with, and seconds of the processor, for queries near
  either; then the index made anew, and 24 runs more that add 500 pictures each;
- serve: a library of ``serve`` of these pictures behind ``iconotext serve --library``, asked for sentences by one
  client and by twenty at once: times of ``POST /v1/search`` for 24 pictures, of the page, and of its small pictures;
  how many searches a second twenty get; how long the processor works for one, and the memory of the process;
- add: ``library add`` of pictures that no cache knows, against the bare encoder on the same files, in turns.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlencode

import numpy as np
import pyarrow as pa
from costs import peak
from data_folder import DATA
from numpy.typing import NDArray

from iconotext.encoders.encoder import Encoder
from iconotext.encoders.load import load_encoder
from iconotext.encoders.relation_model import RelationModel
from iconotext.features import imagenet_classes, load_image_backbone
from iconotext.library.candidates import WITH_WORDS, Filters, query_stems
from iconotext.library.index import ABOVE, build_index, exact_nearest, recall
from iconotext.library.search import Query, search
from iconotext.library.settings import Background, IndexSettings, LibrarySettings
from iconotext.library.store import create_library, open_library, schema
from iconotext.library.update import add_paths
from iconotext.relations import RELATIONS

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.encoders import MadeUpEncoder
from tests.support.server import Running

TOP, MOST = 10, 100
MORE = 10_000
QUERIES = 200
CHUNK = 10_000
SHARD = 25_000
BEGIN, MINUTES = datetime(2010, 1, 1), 5_000_000
FILTERED = 10
CLUSTERS, RANK = 2000, 160
RELATED = tuple(relation.name for relation in RELATIONS)
_WORDS = [
    "".join(pair)
    for pair in itertools.product(["ba", "du", "ki", "lo", "me", "no", "pa", "ru", "so", "ti", "vo", "zu"], repeat=4)
]
_STEMS = [query_stems(word) for word in _WORDS]
SUFFIXES = {".jpg", ".jpeg", ".png", ".webp"}


class Mixture:
    """Made-up vectors; see the head of this file."""

    def __init__(self, dim: int) -> None:
        draw = np.random.default_rng(0)
        self.dim, rank = dim, min(RANK, dim)
        self.spectrum = (np.arange(rank) + 1.0) ** -0.4
        self.centres = draw.standard_normal((CLUSTERS, rank)) * self.spectrum
        self.widths = draw.uniform(0.3, 0.9, (CLUSTERS, 1))
        self.basis = np.linalg.qr(draw.standard_normal((dim, rank)))[0].T.astype(np.float32)
        shares = (np.arange(CLUSTERS) + 1.0) ** -0.7
        self.shares = shares / shares.sum()
        gap = draw.standard_normal(dim).astype(np.float32)
        self.gap = gap / np.linalg.norm(gap)

    def draw(self, n: int, draw: np.random.Generator, *, query: bool = False) -> NDArray[np.float32]:
        """Some unit vectors, of pictures or of queries."""
        cluster, shape = draw.choice(CLUSTERS, n, p=self.shares), (n, len(self.spectrum))
        latent = self.centres[cluster] + self.widths[cluster] * draw.standard_normal(shape) * self.spectrum
        if query:
            latent += 0.5 * draw.standard_normal(shape) * self.spectrum
        rows = _unit(np.asarray(latent @ self.basis, np.float32))
        rows += np.float32(0.3 / np.sqrt(self.dim)) * draw.standard_normal((n, self.dim), dtype=np.float32)
        if query:
            rows = np.asarray(rows + 0.8 * self.gap, np.float32)
        return _unit(rows)


class _Relations:
    """A relation model that knows nothing of a sentence, beside what the library knows of the pictures."""

    name, relations = "made-up", RELATED

    @staticmethod
    def text_logits(texts: Sequence[str]) -> NDArray[np.float32]:
        return np.zeros((len(texts), len(RELATED)), np.float32)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=1_000_000, help="made-up pictures; 0 for none")
    parser.add_argument("--grow", type=int, default=0, help="made-up pictures of a library that grows; 0 for none")
    parser.add_argument("--dim", type=int, default=1152)
    parser.add_argument("--images", type=Path, default=DATA / "captions" / "flickr8k" / "images")
    parser.add_argument("--add", type=int, default=512, help="pictures that are added; 0 for none")
    parser.add_argument("--serve", type=int, default=3000, help="pictures that are served; 0 for none")
    parser.add_argument("--folder", type=Path, help="where the made-up library lies meanwhile")
    parser.add_argument("--ask", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.ask:
        print(json.dumps(ask(arguments.ask)))
        return 0
    if arguments.count:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            for name, values in measure_search(Path(folder), arguments.count, arguments.dim):
                _show(name, values)
    if arguments.grow:
        for name, values in measure_growth(arguments.folder, arguments.grow, arguments.dim):
            _show(name, values)
    every = sorted(f for f in arguments.images.rglob("*") if f.suffix.lower() in SUFFIXES)
    if served := every[: arguments.serve]:
        _show("serve", measure_server(served, arguments.folder))
    if files := every[: arguments.add]:
        _show("add", measure_add(files))
    return 0


def measure_search(folder: Path, count: int, dim: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Make a library, index it, add to it, and have another process search it."""
    mixture, draw = Mixture(dim), np.random.default_rng(1)
    library = create_library(folder / "lib", LibrarySettings("default", "made-up", dim, _Relations.name, RELATED))
    queries = mixture.draw(QUERIES, np.random.default_rng(3), query=True)
    nearest = Nearest(queries, MOST)

    def batches() -> Iterator[Any]:
        for first in range(0, count, CHUNK):
            vectors = mixture.draw(min(CHUNK, count - first), draw)
            nearest.look(first, vectors)
            yield from rows(first, vectors).to_batches()

    clock = Clock()
    library.table.add(pa.RecordBatchReader.from_batches(schema(dim), batches()))
    yield "written", {"pictures": count} | clock.lap() | {"peak_MB": peak()}
    library.tidy()
    yield "tidied", clock.lap() | {"peak_MB": peak(), "bytes": _size(folder)}
    index = build_index(library, mixture.draw(QUERIES, np.random.default_rng(2), query=True))
    settings = {"partitions": index.partitions, "probes": index.probes, "refine": index.refine}
    yield "indexed", clock.lap() | {"peak_MB": peak(), "bytes": _size(folder), **settings, "recall": index.recall}
    more = mixture.draw(MORE, draw)
    nearest.look(count, more)
    clock = Clock()
    library.table.add(rows(count, more))
    library.tidy()
    yield f"{MORE:,} more", clock.lap() | {"bytes": _size(folder)}
    np.savez(folder / "queries.npz", queries=queries, nearest=nearest.numbers)
    command = [sys.executable, __file__, "--ask", str(folder)]
    for state, make in (("cold", _forget), ("warm", _remember)):
        make(folder)
        answered = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        yield from ((f"{state}: {name}", values) for name, values in answered.items())


def measure_growth(place: Path | None, count: int, dim: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """What is found, and what it costs, when a library grows eightfold beside its index, and in many small runs."""
    for kind in ("same", "other"):
        first, later, draw = Mixture(dim), Mixture(dim), np.random.default_rng(1)
        if kind == "other":
            mine = np.random.default_rng(9).permutation(CLUSTERS) < CLUSTERS // 2
            first.shares, later.shares = (_share(first.shares * some) for some in (mine, ~mine))
        with tempfile.TemporaryDirectory(dir=place) as folder:
            library = create_library(Path(folder) / "lib", LibrarySettings("default", "made-up", dim))
            for name, mixture, to, anew in _growing(count):
                for start in range(library.count(), to, CHUNK):
                    vectors = (later if mixture else first).draw(min(CHUNK, to - start), draw)
                    library.table.add(rows(start, vectors))
                clock = Clock()
                library.tidy()
                asked = [m.draw(QUERIES, np.random.default_rng(2), query=True) for m in (first, later)]
                if anew:
                    build_index(library, np.vstack([asked[0], asked[mixture]])[:: 1 + mixture])
                if not name:
                    continue
                found = clock.lap() | {"pieces": library.index_parts("vector")}
                for what, mix in (("first", first), ("later", later)):
                    queries = mix.draw(QUERIES, np.random.default_rng(5), query=True)
                    index, exact = cast(IndexSettings, library.settings.index), exact_nearest(library, queries, TOP)
                    found[f"recall, {what}"] = recall(library, index, queries, exact)
                    clock.lap()
                    _timed(partial(library.nearest, n=MOST), queries)
                    found[f"nearest {MOST}, {what}, processor_ms"] = 1000 * clock.lap()["processor_s"] / QUERIES
                yield f"{kind} kind, {name}", found


def _growing(count: int) -> Iterator[tuple[str, bool, int, bool]]:
    """Steps of a library's growth: what they are called if they are measured, of what, to how many, index made anew."""
    yield "at first", False, count // 8, True
    for times in (2, 4, 8):
        yield f"{times} times as many", True, times * count // 8, False
    yield "made anew", True, count, True
    for run in range(1, 25):
        yield f"{run} runs more" if run % 8 == 0 else "", True, count + 500 * run, False


def _share(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(weights / weights.sum())


class Nearest:
    """Exact search by brute force: the numbers of the vectors nearest to each query, among all that it looks at."""

    def __init__(self, queries: NDArray[np.float32], most: int) -> None:
        self.queries, self.most = queries, most
        self.numbers = np.zeros((len(queries), 0), np.int64)
        self._cosines = np.zeros((len(queries), 0), np.float32)

    def look(self, first: int, vectors: NDArray[np.float32]) -> None:
        """Look at vectors, the first of which has this number."""
        here = self.queries @ vectors.T
        best = np.argpartition(-here, min(self.most, len(vectors)) - 1, axis=1)[:, : self.most]
        cosines = np.hstack([self._cosines, np.take_along_axis(here, best, 1)])
        numbers = np.hstack([self.numbers, best + first])
        keep = np.argsort(-cosines, axis=1, kind="stable")[:, : self.most]
        self._cosines, self.numbers = np.take_along_axis(cosines, keep, 1), np.take_along_axis(numbers, keep, 1)


class Clock:
    """Seconds, and seconds of the processor, since the lap before."""

    def __init__(self) -> None:
        self._before = time.perf_counter(), time.process_time()

    def lap(self) -> dict[str, float]:
        """How long something took."""
        now = time.perf_counter(), time.process_time()
        wall, processor = now[0] - self._before[0], now[1] - self._before[1]
        self._before = now
        return {"s": wall, "processor_s": processor}


def ask(folder: Path) -> dict[str, Any]:
    """Search a library; what the other process does."""
    with np.load(folder / "queries.npz") as file:
        queries, numbers = file["queries"], file["nearest"]
    found: dict[str, Any] = {}
    clock = Clock()
    library = open_library(folder / "lib")
    library.nearest(queries[-1], TOP)
    found["first search"] = clock.lap()
    for query in queries[:20]:  # the index is read from disk when it is first used
        library.nearest(query, TOP)
    for n in (TOP, MOST):
        clock, times, hits = Clock(), [], 0
        for query, exact in zip(queries, numbers[:, :n].tolist(), strict=True):
            start = time.perf_counter()
            near = library.nearest(query, n)
            times.append(time.perf_counter() - start)
            hits += len({int(each.digest[::-1], 16) for each in near} & set(exact))
        processor = 1000 * clock.lap()["processor_s"] / len(queries)
        found[f"nearest {n}"] = {**_milliseconds(times), "recall": hits / (n * len(queries)), "processor_ms": processor}
    half, tenth = (Filters(since=BEGIN + timedelta(minutes=share * MINUTES)) for share in (0.5, 0.9))
    shard = Filters(f"/shards/{library.count() // SHARD // 2}.parquet")
    for name, filters in (("newer half", half), ("newest tenth", tenth), ("one shard", shard)):
        near_to = partial(library.nearest, n=TOP, where=filters.condition, few=ABOVE)
        found[name] = _milliseconds(_timed(near_to, queries[:50]))
        shares = []
        for query in queries[:FILTERED]:
            names = {each.digest for each in library.nearest(query, TOP, where=filters.condition, exact=True)}
            shares.append(len({each.digest for each in near_to(query)} & names) / TOP)
        found[name]["recall"] = statistics.mean(shares)
    draw = np.random.default_rng(4)
    sentences, single = (captions(draw, np.full(QUERIES, words))[0] for words in (5, 1))
    for name, texts in (("five words", sentences), ("one word", single)):
        times = _timed(lambda text: library.matching(query_stems(text), WITH_WORDS), texts)
        found[name] = _milliseconds(times)
    library.save(background=Background((0.0, 0.1), (0.0, 0.1)))
    asked = dict(zip(sentences, queries, strict=True))
    made_up = MadeUpEncoder("made-up", queries.shape[1], lambda texts: np.stack([asked[t] for t in texts]), _none)
    encoder = cast(Encoder, made_up)

    def whole(sentence: str, relation: str | None = None, filters: Filters | None = None) -> None:
        query = Query(sentence, relation=relation, filters=filters or Filters(), anyway=True)
        results = search(library, query, encoder, cast(RelationModel, _Relations))
        assert [len(result.relations) for result in results] == [len(RELATED)] * TOP

    for name, relation, within in (
        ("whole search", None, None),
        ("a relation wanted", RELATED[0], None),
        ("whole, newer half", None, half),
        ("whole, newest tenth", None, tenth),
        ("relation, newer half", RELATED[0], half),
    ):
        clock = Clock()
        found[name] = _milliseconds(_timed(partial(whole, relation=relation, filters=within), sentences))
        found[name]["processor_ms"] = 1000 * clock.lap()["processor_s"] / QUERIES
    with ThreadPoolExecutor(20) as clients:
        for name, work, asks in (("nearest 10", partial(library.nearest, n=TOP), queries), ("whole", whole, sentences)):
            start = time.perf_counter()
            times = list(clients.map(lambda ask, work=work: _timed(work, [ask])[0], asks))
            found[f"20 clients, {name}"] = _milliseconds(times) | {"a_second": QUERIES / (time.perf_counter() - start)}
    found["memory"] = {"peak_MB": peak(), "load": os.getloadavg()[0]}
    load_encoder().encode_sentences(["A dog on a beach."])
    library.nearest(queries[0], TOP)
    found["memory"]["with_models_MB"] = peak()
    return found


def measure_server(files: list[Path], place: Path | None) -> dict[str, Any]:
    """Milliseconds of searches, of pages and of their pictures; see the head of this file."""
    with tempfile.TemporaryDirectory(dir=place) as folder:
        add_paths(Path(folder) / "lib", files)
        with closing(Running(Path(folder) / "data", "--library", str(Path(folder) / "lib"))) as server:
            return {"pictures": len(files), **ask_server(server)}


def ask_server(server: Running) -> dict[str, Any]:
    """Ask a server that has just begun."""
    names = [name.split(",")[0] for name in imagenet_classes()]
    np.random.default_rng(5).shuffle(names)
    sentences = iter(f"A photograph of a {name}." for name in names)
    begun = time.perf_counter()
    server.ask("GET", "/search")
    found: dict[str, Any] = {"first_page_s": time.perf_counter() - begun}
    ids: list[str] = []

    def ask(sentence: str) -> float:
        start = time.perf_counter()
        answer = server.ask("POST", "/v1/search", {"sentence": sentence, "top": 24})
        seconds = time.perf_counter() - start
        ids.extend(each["id"] for each in answer.json["results"])
        return seconds

    def get(path: str) -> float:
        start = time.perf_counter()
        assert server.ask("GET", path).status == 200
        return time.perf_counter() - start

    for sentence in itertools.islice(sentences, 20):
        ask(sentence)
    cpu = _processes(server)[0]
    found |= _called("one client", [ask(sentence) for sentence in itertools.islice(sentences, 100)])
    found["processor_ms"] = 1000 * (_processes(server)[0] - cpu) / 100
    pages = [f"/search?{urlencode({'sentence': sentence})}" for sentence in itertools.islice(sentences, 50)]
    found |= _called("page", [get(page) for page in pages])
    some = list(dict.fromkeys(ids))[:100]
    found |= _called("picture", [get(f"/v1/search/pictures/{digest}?size=small") for digest in some])
    with ThreadPoolExecutor(20) as clients:
        start = time.perf_counter()
        found |= _called("20 clients", list(clients.map(ask, itertools.islice(sentences, 200))))
        found["20 clients, searches a second"] = 200 / (time.perf_counter() - start)
    found["memory_MB"] = _processes(server)[1]
    found["load"] = os.getloadavg()[0]
    return found


def _called(name: str, times: list[float]) -> dict[str, float]:
    return {f"{name} {key}": value for key, value in _milliseconds(times).items()}


def _processes(server: Running) -> tuple[float, float]:
    """Seconds of the processor that the process that searches has taken, and its memory in MB (Linux)."""
    tasks = Path(f"/proc/{server.process.pid}/task").glob("*/children")  # a thread starts each
    children = [child for task in tasks for child in task.read_text().split()]
    known = [(Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split(), child) for child in children]
    values, _ = max(known, key=lambda each: int(each[0][21]))  # the largest: the other one linked nothing
    return (int(values[11]) + int(values[12])) / os.sysconf("SC_CLK_TCK"), int(values[21]) * 4096 / 1e6


def measure_add(files: list[Path]) -> dict[str, Any]:
    """Pictures a second of ``library add``, of the bare encoder, and their ratio: medians over three turns."""
    bare = load_image_backbone()
    bare.encode(files[:16])
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(4):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["ICONOTEXT_CACHE"] = folder
            encoder = load_encoder()
            encoder.encode_images(files[:1])
            start = time.perf_counter()
            given: Any = {"load": partial(_given, encoder), "load_relations": lambda *_: None, "link": lambda *_: ()}
            report = add_paths(Path(folder) / "lib", files, **given)
            middle = time.perf_counter()
            bare.encode(files)
            end = time.perf_counter()
            assert report.added == len(files)
        if turn:
            times[0].append(middle - start)
            times[1].append(end - middle)
    added, encoded = (statistics.median(each) for each in times)
    return {
        "pictures": len(files),
        "a_second": len(files) / added,
        "bare": len(files) / encoded,
        "ratio": encoded / added,
    }


def rows(first: int, vectors: NDArray[np.float32]) -> Any:
    """Made-up pictures of shards as rows of a library: one place each, with a caption whose vector is the picture's."""
    count, dim = vectors.shape
    vary = np.random.default_rng((first, 1))
    texts, words = captions(np.random.default_rng(first), vary.integers(3, 21, (count,)))
    numbers = range(first, first + count)
    shards = [f"/shards/{number // SHARD}.parquet" for number in numbers]
    ends = pa.array(np.arange(count + 1, dtype=np.int32))

    def each(values: Any, many: int = 1) -> Any:
        return pa.ListArray.from_arrays(pa.array(np.arange(count + 1, dtype=np.int32) * many), values)

    places = [
        f'[{{"document":"{shard}","id":"d{number}","part":{number % SHARD >> 8},"number":0,"source":"{number:08}.jpg",'
        f'"caption":"{text}","relations":{odds},"member":["{shard}.tar",{number << 14},16384]}}]'
        for number, shard, text, odds in zip(
            numbers,
            shards,
            texts,
            itertools.cycle(vary.normal(0, 2, (997, len(RELATED))).round(4).tolist()),
            strict=False,
        )
    ]
    folders = [name for shard in shards for name in ("/", "/shards", shard)]
    columns = {
        "digest": [f"{number:032x}"[::-1] for number in numbers],  # whose beginnings are as good as random
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), dim),
        "places": places,
        "owners": pa.ListArray.from_arrays(
            ends, pa.array([f"{shard}#{n % SHARD >> 8}" for n, shard in zip(numbers, shards, strict=True)])
        ),
        "folders": each(pa.array(folders), 3),
        "date": pa.array(np.datetime64(BEGIN, "s") + np.arange(first, first + count) * 7919 % MINUTES * 60),
        "relation_model": ["made-up"] * count,
        "offsets": each(pa.array(vary.normal(0, 1, len(RELATED) * count).astype(np.float32)), len(RELATED)),
        "thumbnail": pa.nulls(count, pa.string()),
        "words": words,
        "said": each(pa.array(vectors.astype(np.float16).ravel()), dim),
        "taken": pa.array(vary.random(count) < 0.5),
    }
    return pa.table(columns, schema=schema(dim))


def captions(draw: np.random.Generator, lengths: NDArray[np.int64]) -> tuple[list[str], list[str]]:
    """Texts of so many made-up words each, and their stems.

    The n-th word is as common as 1 / (n + 5): among captions of 3 to 20 words, the first stands in a quarter and the
    hundredth in 1.3 %, as in captions of photographs and of textbooks.
    """
    shares = np.cumsum(1 / (np.arange(len(_WORDS)) + 5.0))
    ranks = np.searchsorted(shares, draw.random(int(lengths.sum())) * shares[-1])
    ends = np.cumsum(lengths).tolist()
    texts = [ranks[start:end].tolist() for start, end in itertools.pairwise([0, *ends])]
    return [" ".join([_WORDS[rank] for rank in some]) for some in texts], [
        " ".join([_STEMS[rank] for rank in some]) for some in texts
    ]


def _forget(folder: Path) -> None:
    """Have the system drop what it keeps of the files in memory, so that the next one who asks finds them cold."""
    for file in folder.rglob("*"):
        if file.is_file() and hasattr(os, "posix_fadvise"):
            with file.open("rb") as stream:
                os.fsync(stream.fileno())
                os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _remember(folder: Path) -> None:
    """Have the system read all files, as it has of a library that was searched for a while, where memory is enough."""
    for file in folder.rglob("*"):
        if file.is_file():
            with file.open("rb") as stream:
                while stream.read(1 << 24):
                    pass


def _none(_: Any) -> Any:
    raise AssertionError("nobody searches by picture")


def _given(encoder: Encoder, _: str) -> Encoder:
    return encoder


def _timed(work: Any, queries: Iterable[Any]) -> list[float]:
    times = []
    for query in queries:
        start = time.perf_counter()
        work(query)
        times.append(time.perf_counter() - start)
    return times


def _milliseconds(times: list[float]) -> dict[str, float]:
    return {f"p{share}_ms": 1000 * float(np.quantile(times, share / 100)) for share in (50, 95, 99)}


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _show(name: str, values: dict[str, Any]) -> None:
    print(f"{name:12}", "  ".join(f"{key} {value:,.4g}" for key, value in values.items()), flush=True)


if __name__ == "__main__":
    sys.exit(main())
