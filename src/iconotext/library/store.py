"""A library on disk: pictures with their vectors in LanceDB, and beside them a file that says what the library is.

    LIB/
        library.json      the settings; a folder with this file is a library
        pictures.lance/   a row for each picture: vector, places, date, folders, words, ...
        ledger.sqlite     which files were added, and in what state; only the writer opens it
        sums.json         the digests of LanceDB's files

Every commit of LanceDB is a new version of the table. A reader sees one complete version, whatever a writer does
meanwhile, even if the writer is killed. There is one writer at a time; the ledger is its lock.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from iconotext.errors import LibraryError
from iconotext.extras import require
from iconotext.library.conditions import first_names, listed, one_of, quoted
from iconotext.library.damage import TABLE, check_sums, not_written
from iconotext.library.items import Compared, Item, Near
from iconotext.library.rows import COMPARED, TOLD, compared_of, items_of, schema, table_of, told_of
from iconotext.library.settings import SETTINGS, IndexSettings, LibrarySettings, read_settings, write_settings

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix

LEDGER = "ledger.sqlite"

KEEP_VERSIONS = timedelta(minutes=15)
"""How long an old version is kept after a newer one: longer than any search takes."""

TOP = 10
"""``IndexSettings.probes`` is chosen for searches for this many pictures."""

MORE, MANY = 4, 64
"""A full-text search for n pictures first reads ``MORE`` * n matches, to see all that match equally well. If these are
still not all it reads ``MANY`` * n, which takes a tenth of the time of a condition on the names."""

_INTERNAL = re.compile(r"^lance error: (?:LanceError\(\w+\): )?|,? *\S+\.rs:\d+.*", re.DOTALL)
"""Prefix and suffix of LanceDB's error messages that name places in its own code."""

AMONG = 250
"""A search with a condition first filters the nearest pictures, at most 1 in ``AMONG`` of the library. Only then does
LanceDB check the condition for every picture, which takes as long as reading that many of the nearest."""

T = TypeVar("T")


class Library:
    """An open library. Reading needs no lock; methods that write may be called only while holding the ledger.

    Attributes:
        settings: As they are on disk.
    """

    def __init__(self, path: Path, settings: LibrarySettings) -> None:
        self.path = path
        self.settings = settings
        self._one_model: bool | None = None  # not known yet

    @cached_property
    def table(self) -> Any:
        """The LanceDB table."""
        if not (self.path / f"{TABLE}.lance").is_dir():
            raise LibraryError(
                f"{self.path}: its pictures ({TABLE}.lance) are gone; delete this folder and add them again with:"
                f" iconotext library add {self.path} PATH... ({SETTINGS} in it names the paths as roots)"
            )
        check_sums(self.path)
        return self._attempt(lambda: _connect(self.path).open_table(TABLE))

    def save(self, **changes: Any) -> None:
        """Write settings, where they change."""
        if (changed := replace(self.settings, **changes)) != self.settings:
            self.settings, self._one_model = changed, None
            write_settings(self.path, changed)

    def count(self, where: str | None = None) -> int:
        """How many pictures there are, or how many satisfy a condition."""
        return int(self._attempt(lambda: self.table.count_rows(where)))

    def items(self, digests: Iterable[str]) -> dict[str, Item]:
        """Digest to picture, for the digests that are in the library."""
        return self._where(one_of("digest", some) for some in _some(digests))

    def brought_by(self, files: Iterable[str]) -> dict[str, Item]:
        """Digest to picture, for the pictures that came from any of these added files."""
        return self._where(f"array_has_any(owners, [{listed(some)}])" for some in _some(files))

    def some(self, n: int) -> list[Item]:
        """About n pictures, or all if there are not many more; a random sample, since digests are random."""
        share = n / max(n, self.count())
        return list(self._where(["true" if share == 1 else first_names(share)]).values())

    def _where(self, conditions: Iterable[str]) -> dict[str, Item]:
        """Digest to picture, for the pictures that satisfy one of the SQL conditions."""
        queries = (self.table.search().where(condition) for condition in conditions)
        tables = (self._attempt(query.to_arrow) for query in queries)
        return {item.digest: item for table in tables for item in items_of(table, self.settings.dim)}

    def insert(self, items: Sequence[Item]) -> None:
        """Store pictures that are not in the library yet."""
        self._one_model = None
        if items:
            self._attempt(lambda: self.table.add(table_of(items, self.settings.dim)))

    def update(self, items: Sequence[Item]) -> None:
        """Replace pictures that have the same digests."""
        self._one_model = None
        if items:
            rows = table_of(items, self.settings.dim)
            self._attempt(lambda: self.table.merge_insert("digest").when_matched_update_all().execute(rows))

    def remove(self, digests: Iterable[str]) -> None:
        """Remove pictures."""
        for some in _some(digests):
            self._attempt(partial(self.table.delete, one_of("digest", some)))

    def tidy(self) -> None:
        """Join the small fragments that many commits leave, put new pictures into the index, drop old versions."""
        self._attempt(lambda: self.table.optimize(cleanup_older_than=KEEP_VERSIONS))

    def create_index(self, column: str, config: Any) -> None:
        """Create a LanceDB index on a column, replacing an existing one."""
        self._attempt(lambda: self.table.create_index(column, config=config, replace=True))

    def pieces(self, column: str) -> int:
        """How many pieces the index on a column has; 0 without an index."""
        found = self._attempt(lambda: self.table.index_stats(f"{column}_idx"))
        return 0 if found is None else int(found.num_indices)

    def column(self, name: str) -> Iterator[Any]:
        """One column of all pictures."""
        for batch in self._batches([name]):
            yield from batch.column(0).to_pylist()

    def vectors(self) -> Iterator[tuple[list[str], FloatMatrix]]:
        """Digests and (n, dim) vectors of all pictures, in batches."""
        for batch in self._batches(["digest", "vector"]):
            flat = batch.column("vector").flatten().to_numpy(zero_copy_only=False)
            yield batch.column("digest").to_pylist(), flat.reshape(len(batch), self.settings.dim)

    def nearest(
        self,
        vector: FloatMatrix,
        n: int,
        *,
        where: str | None = None,
        exact: bool = False,
        few: int = 0,
        index: IndexSettings | None = None,
    ) -> list[Near]:
        """The n pictures nearest to a vector, nearest first, ties by digest.

        Args:
            vector: (dim,) unit vector.
            where: SQL condition, see ``Filters.condition``.
            exact: Compare with every picture, even if there is an index.
            few: If no more pictures than this satisfy the condition, all of them are compared.
            index: How to search the index; by default as in the settings. A search for more than ``TOP`` pictures looks
                into more partitions, and into all if few of the nearest pictures satisfy the condition.
        """
        index = None if exact else index or self.settings.index
        if where and index is not None:
            if (near := self._among_nearest(vector, n, where, index, few)) is not None:
                return near
            index = index if self.count(where) > few else None
        query = self._near(vector, [*COMPARED, "_distance"])
        if where:
            query = query.where(where, prefilter=True)
        if index is None:  # an index that was not tried out yet may be there already
            query = query.bypass_vector_index()
        else:
            query = query.nprobes(index.partitions if where else _probes(index, n)).refine_factor(index.refine)
        rows, asked = [], n
        while True:
            rows = self._attempt(query.limit(asked + 1).to_arrow).sort_by("_distance")
            distances = rows["_distance"].to_pylist()
            if len(rows) <= asked or distances[-1] > distances[n - 1]:
                break
            asked *= 2  # LanceDB takes any of those that are equally near: see them all, and choose by name
        if index is not None and len(rows) < n:
            return self.nearest(vector, n, where=where, exact=True)
        # Of unit vectors, the squared distance is 2 - 2 cos.
        found = zip(compared_of(rows, self.settings.dim), distances, strict=True)
        near = [Near(picture, 1 - distance / 2) for picture, distance in found]
        return sorted(near, key=lambda each: (-each.similarity, each.digest))[:n]

    def _near(self, vector: FloatMatrix, columns: list[str]) -> Any:
        query = self.table.search(vector, vector_column_name="vector").distance_type("l2")
        return query.select(columns).with_row_id(True)

    def _among_nearest(
        self, vector: FloatMatrix, n: int, where: str, index: IndexSettings, few: int
    ) -> list[Near] | None:
        """The n nearest pictures that satisfy a condition, filtered from the nearest of all; None if too few do."""
        wanted, looked, count = n * index.refine, MORE * n * index.refine, self.count()
        found: Any = ()
        while len(found) <= wanted:
            if looked * AMONG > count:
                return None
            query = self._near(vector, ["_distance"]).nprobes(_probes(index, looked // index.refine))
            query = query.where(where, prefilter=False).limit(looked)
            found = self._attempt(query.to_arrow).sort_by([("_distance", "ascending"), ("_rowid", "ascending")])
            if len(found) * count <= few * looked:
                return None
            looked = math.ceil(looked * 1.5 * wanted / max(1, len(found)))
        compared = compared_of(self._rows(found["_rowid"][:wanted].to_pylist(), COMPARED), self.settings.dim)
        near = [Near(picture, float(picture.vector @ vector)) for picture in compared]
        near.sort(key=lambda each: (-each.similarity, each.digest))
        return near[:n] if near[n - 1].similarity > near[-1].similarity else None  # or more may be equally near

    def matching(self, words: str, n: int, *, where: str | None = None) -> list[tuple[Compared, float]]:
        """The n pictures whose words match best, with their BM25 score; ties by place in the library.

        Args:
            words: From ``ranking.asked_words``; if empty, nothing matches.
            n: Upper limit; somewhat fewer come back if many more pictures match equally well.
            where: SQL condition.
        """
        read = found = (
            self._by_words(words, 2 * MORE * n, where, prefilter=False) if where and self.settings.index else []
        )
        least = read[n - 1][1] if len(read) > n else 0.0
        # LanceDB takes any of those that match equally well: see all of them, or all whose names come first.
        several = (MORE * n, 1), (MANY * n, 1), *((MANY * n, MANY * MORE**step) for step in range(14))
        for most, share in several if not least or read[-1][1] == least else ():
            names = [first_names(1 / share)] if share > 1 else []
            read = self._by_words(words, most, " AND ".join([*([where] if where else []), *names]) or None)
            if share == 1:
                found, least = read, read[n - 1][1] if len(read) > n else 0.0
            if len(read) < most or read[-1][1] != least:
                break
        equal = [(row, score) for row, score in read if score == least]
        # Of pictures that are not in the index yet, BM25 is another with another condition: then take any.
        equal = equal or [(row, score) for row, score in found if score == least]
        best = dict([*((row, score) for row, score in found if score > least), *sorted(equal)][:n])
        pictures = compared_of(self._rows(best, COMPARED), self.settings.dim)
        return sorted(((each, best[each.row]) for each in pictures), key=lambda pair: (-pair[1], pair[0].row))

    def relevance(self, words: str, digests: Iterable[str]) -> dict[str, float]:
        """Digest to BM25 score, for those of the given pictures that match; ``words`` as in ``matching``."""
        several = sorted(set(digests))
        return dict(self._by_words(words, len(several), one_of("digest", several), column="digest"))

    def told(self, pictures: Iterable[Compared]) -> dict[str, Item]:
        """Digest to full record, without the thumbnail, of pictures that a search of this object found."""
        compared = {each.digest: each for each in pictures}
        numbers = [each.row for each in compared.values()]
        if not numbers:
            return {}
        if self._one_model is None:
            self._one_model = self.count(f"relation_model != {quoted(self.settings.relation_model or '')}") == 0
        if not self._one_model:
            rows = self._rows(numbers, TOLD)
        else:  # a column of one value takes longer to read than all others: a quarter of a millisecond a row
            rows = self._rows(numbers, [name for name in TOLD if name != "relation_model"])
            rows = rows.append_column("relation_model", [[self.settings.relation_model or ""] * len(rows)])
        return {item.digest: item for item in told_of(rows, compared)}

    def _rows(self, numbers: Iterable[int], columns: Iterable[str]) -> Any:
        query = self.table.take_row_ids(list(numbers)).select(list(columns)).with_row_id()
        return self._attempt(query.to_arrow)

    def _by_words(
        self, words: str, n: int, where: str | None, column: str = "_rowid", *, prefilter: bool = True
    ) -> list[tuple[Any, float]]:
        """Row numbers (or values of another column) and BM25 scores of the n best matches, best first.

        Args:
            prefilter: False applies the condition to the n best rows of all, so that fewer than n may be left.
        """
        if not words or not n:
            return []
        query = self.table.search(words, query_type="fts", fts_columns="words").select([column, "_score"])
        found = self._attempt((query.where(where, prefilter=prefilter) if where else query).limit(n).to_arrow)
        each = zip(found[column].to_pylist(), found["_score"].to_pylist(), strict=True)
        return sorted(each, key=lambda one: -one[1])

    def _batches(self, columns: list[str]) -> Iterator[Any]:
        batches = iter(self._attempt(lambda: self.table.search().select(columns).to_batches(4096)))
        while (batch := self._attempt(lambda: next(batches, None))) is not None:
            yield batch

    def _attempt(self, work: Callable[[], T]) -> T:
        """Call LanceDB, and turn its errors, which are of many kinds and often a page long, into ``LibraryError``."""
        try:
            return work()
        except BaseException as error:
            if not isinstance(error, OSError | RuntimeError | ValueError) and type(error).__name__ != "PanicException":
                raise
            check_sums(self.path, whole=True)
            line = next(iter(_INTERNAL.sub("", str(error)).splitlines()), "").strip() or type(error).__name__
            raise LibraryError(not_written(self.path, line[:300])) from error


def open_library(path: Path) -> Library:
    """Open a library; for writing, hold its ledger.

    Raises:
        LibraryError: The folder is no library, or one of another format.
    """
    return Library(path, read_settings(path))


def create_library(path: Path, settings: LibrarySettings) -> Library:
    """Create an empty library while holding the folder's ledger; ``LibraryError`` if it cannot be written."""
    library = Library(path, settings)
    library._attempt(lambda: _connect(path).create_table(TABLE, schema=schema(settings.dim), mode="overwrite"))
    from lancedb.index import FTS, BTree, LabelList

    stems = FTS(base_tokenizer="whitespace", stem=False, remove_stop_words=False, with_position=False)
    library.create_index("words", stems)
    library.create_index("digest", BTree())  # what comes is looked up by its name, and what a file brought in
    library.create_index("owners", LabelList())
    write_settings(path, settings)  # last: from now on it is a library
    return library


def _probes(index: IndexSettings, n: int) -> int:
    """How many partitions of the index a search for n pictures looks into."""
    return min(index.partitions, math.ceil(index.probes * math.sqrt(max(1, n / TOP))))


def _some(values: Iterable[str]) -> Iterator[list[str]]:
    """The different values, sorted, in lists of at most 1000: longer ones are too much for an SQL condition."""
    different = sorted(set(values))
    return (different[start : start + 1000] for start in range(0, len(different), 1000))


def _connect(path: Path) -> Any:
    os.environ.setdefault("LANCEDB_LOG", "error")  # its warnings speak of its own workings, thousands of lines of them
    require("library", purpose="a library of pictures")
    import lancedb

    return lancedb.connect(path)
