"""A library on disk, and the operations on it: create, open, read, write, search by vector and by words, describe.

    LIB/
        library.json      the settings; a folder with this file is a library
        pictures.lance/   a LanceDB table with a row for each picture: vector, places, date, folders, words, ...
        ledger.sqlite     which files were added, and in what state; only the writer opens it
        sums.json         the digests of LanceDB's files

Every commit of LanceDB is a new version of the table. A reader sees one complete version, whatever a writer does
meanwhile, even if the writer is killed. There is one writer at a time; the ledger is its lock.

Begin with ``create_library``, ``open_library`` and the methods ``nearest`` and ``matching`` of ``Library``.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from pydantic import TypeAdapter

from iconotext.errors import LibraryError
from iconotext.extras import require
from iconotext.library.damage import SUMS, TABLE, check_sums, not_written
from iconotext.library.files import file_kind
from iconotext.library.items import Compared, Item, Near, Place, file_of, folders_of, words_of
from iconotext.library.settings import SETTINGS, IndexSettings, LibrarySettings, read_settings, write_settings

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix

_END = b"LANC"
"""The last bytes of every LanceDB file."""


def check_new(path: Path) -> None:
    """Check that a folder can become a library: it does not exist, or has only files that a killed run left there."""
    require("library", purpose="a library of pictures")
    library_files = (f"{TABLE}.lance", LEDGER, SUMS, ".iconotext-")
    try:
        names = [entry.name for entry in path.iterdir()] if path.exists() else []
        others = [name for name in names if not name.startswith(library_files)]
    except OSError as error:
        raise LibraryError(f"{path}: cannot be a library: {error.strerror or error}") from error
    if others:
        raise LibraryError(
            f"{path}: a folder with other things in it ({min(others)}); name a new folder for the library,"
            " then the pictures: iconotext library add LIB PATH..."
        )


def torn_versions(path: Path) -> list[Path]:
    """Return manifests of table versions that refer to a truncated file, for example because the disk was full.

    LanceDB does not always notice when it writes a truncated file, and then cannot read the table. The version before
    is complete.
    """
    table, torn = path / f"{TABLE}.lance", []
    for file in [*table.glob("data/*.lance"), *table.glob("_indices/*/*")]:
        if not _is_whole(file):
            index = file.parent.name.replace("-", "")
            torn.append(bytes.fromhex(index) if file.parent.parent.name == "_indices" else file.name.encode())
    versions = [(file, file.read_bytes()) for file in table.glob("_versions/*.manifest")]
    return [file for file, text in versions if text[-4:] != _END or any(name in text for name in torn)]


def _is_whole(file: Path) -> bool:
    with file.open("rb") as stream:
        stream.seek(max(0, file.stat().st_size - 4))
        return stream.read() == _END


LEDGER = "ledger.sqlite"

KEEP_VERSIONS = timedelta(minutes=15)
"""How long an old version is kept after a newer one: longer than any search takes."""

TOP = 10
"""``IndexSettings.probes`` is chosen for searches for this many pictures."""

MORE, MANY = 4, 64
"""A full-text search for n pictures first reads ``MORE`` * n matches, to include all that match equally well. If these
are still not all, it reads ``MANY`` * n, which takes a tenth of the time of a condition on the digests."""

_INTERNAL = re.compile(r"^lance error: (?:LanceError\(\w+\): )?|,? *\S+\.rs:\d+.*", re.DOTALL)
"""Prefix and suffix of LanceDB's error messages that name places in its own code."""

AMONG = 250
"""A search with a condition first filters the nearest pictures, at most 1 in ``AMONG`` of the library. Only then does
LanceDB check the condition for every picture, which takes as long as reading that many of the nearest."""

T = TypeVar("T")


class Library:
    """An open library. Reading needs no lock; a method that writes may be called only while the ledger is held.

    Attributes:
        settings: The settings, as they are on disk.
    """

    def __init__(self, path: Path, settings: LibrarySettings) -> None:
        self.path = path
        self.settings = settings
        self._one_model: bool | None = (
            None  # whether all rows have the settings' relation model; None if not counted yet
        )

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
        """Change settings, and write them if they differ from the old ones."""
        if (changed := replace(self.settings, **changes)) != self.settings:
            self.settings, self._one_model = changed, None
            write_settings(self.path, changed)

    def count(self, where: str | None = None) -> int:
        """Return the number of pictures, or of those that satisfy an SQL condition."""
        return int(self._attempt(lambda: self.table.count_rows(where)))

    def items(self, digests: Iterable[str]) -> dict[str, Item]:
        """Look up pictures by digest; digests that are not in the library are missing from the result."""
        return self._where(one_of("digest", batch) for batch in _thousands(digests))

    def items_of_owners(self, files: Iterable[str]) -> dict[str, Item]:
        """Look up the pictures that came from any of these added files, by digest."""
        return self._where(f"array_has_any(owners, [{listed(batch)}])" for batch in _thousands(files))

    def sample(self, n: int) -> list[Item]:
        """Return a random sample of about n pictures, or all if there are not many more; random because digests are."""
        share = n / max(n, self.count())
        return list(self._where(["true" if share == 1 else first_names(share)]).values())

    def _where(self, conditions: Iterable[str]) -> dict[str, Item]:
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
        for batch in _thousands(digests):
            self._attempt(partial(self.table.delete, one_of("digest", batch)))

    def tidy(self) -> None:
        """Join the small fragments that many commits leave, add new pictures to the index, delete old versions."""
        self._attempt(lambda: self.table.optimize(cleanup_older_than=KEEP_VERSIONS))

    def create_index(self, column: str, config: Any) -> None:
        """Create a LanceDB index on a column, replacing an existing one."""
        self._attempt(lambda: self.table.create_index(column, config=config, replace=True))

    def index_parts(self, column: str) -> int:
        """Return the number of parts of the index on a column; 0 without an index."""
        statistics = self._attempt(lambda: self.table.index_stats(f"{column}_idx"))
        return 0 if statistics is None else int(statistics.num_indices)

    def column(self, name: str) -> Iterator[Any]:
        """Yield the values of one column, for all pictures."""
        for batch in self._batches([name]):
            yield from batch.column(0).to_pylist()

    def vectors(self) -> Iterator[tuple[list[str], FloatMatrix]]:
        """Yield digests and (n, dim) vectors of all pictures, in batches."""
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
        """Return the n pictures nearest to a vector, nearest first, ties by digest.

        Args:
            vector: (dim,) unit vector.
            where: SQL condition, see ``Filters.condition``.
            exact: Compare with every picture, even if there is an index.
            few: If at most this many pictures satisfy the condition, all of them are compared.
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
        rows, wanted_rows = [], n
        while True:
            rows = self._attempt(query.limit(wanted_rows + 1).to_arrow).sort_by("_distance")
            distances = rows["_distance"].to_pylist()
            if len(rows) <= wanted_rows or distances[-1] > distances[n - 1]:
                break
            wanted_rows *= 2  # of equally near pictures LanceDB returns any: read them all, and choose by digest
        if index is not None and len(rows) < n:
            return self.nearest(vector, n, where=where, exact=True)
        # Of unit vectors, the squared distance is 2 - 2 cos.
        pairs = zip(compared_of(rows, self.settings.dim), distances, strict=True)
        near = [Near(picture, 1 - distance / 2) for picture, distance in pairs]
        return sorted(near, key=lambda item: (-item.similarity, item.digest))[:n]

    def _near(self, vector: FloatMatrix, columns: list[str]) -> Any:
        query = self.table.search(vector, vector_column_name="vector").distance_type("l2")
        return query.select(columns).with_row_id(True)

    def _among_nearest(
        self, vector: FloatMatrix, n: int, where: str, index: IndexSettings, few: int
    ) -> list[Near] | None:
        """Return the n nearest pictures that satisfy a condition, from the nearest of all; None if too few do."""
        needed, scanned, count = n * index.refine, MORE * n * index.refine, self.count()
        nearest_rows: Any = ()
        while len(nearest_rows) <= needed:
            if scanned * AMONG > count:
                return None
            query = self._near(vector, ["_distance"]).nprobes(_probes(index, scanned // index.refine))
            query = query.where(where, prefilter=False).limit(scanned)
            nearest_rows = self._attempt(query.to_arrow).sort_by([("_distance", "ascending"), ("_rowid", "ascending")])
            # By their share among these, at most ``few`` of all pictures satisfy the condition.
            if len(nearest_rows) * count <= few * scanned:
                return None
            scanned = math.ceil(scanned * 1.5 * needed / max(1, len(nearest_rows)))
        compared = compared_of(self._rows(nearest_rows["_rowid"][:needed].to_pylist(), COMPARED), self.settings.dim)
        near = [Near(picture, float(picture.vector @ vector)) for picture in compared]
        near.sort(key=lambda item: (-item.similarity, item.digest))
        return near[:n] if near[n - 1].similarity > near[-1].similarity else None  # or more may be equally near

    def matching(self, words: str, n: int, *, where: str | None = None) -> list[tuple[Compared, float]]:
        """Return the n pictures whose words match best, with their BM25 scores; ties by row number.

        Args:
            words: Stems from ``query_stems``; if empty, nothing matches.
            n: Upper limit; somewhat fewer are returned if many more pictures match equally well.
        """
        # With a condition and many pictures: first the best of all, of which the condition may leave enough.
        rows = self._by_words(words, 2 * MORE * n, where, prefilter=False) if where and self.settings.index else []
        scored, least = rows, _nth_score(rows, n)
        # Of equally good matches LanceDB returns any. So read until all that are as good as the n-th have come: more
        # rows, then only pictures whose digests come first, one in ``share``.
        attempts = (MORE * n, 1), (MANY * n, 1), *((MANY * n, MANY * MORE**step) for step in range(14))
        for most, share in attempts if not least or rows[-1][1] == least else ():
            conditions = [
                condition for condition in (where, first_names(1 / share) if share > 1 else None) if condition
            ]
            rows = self._by_words(words, most, " AND ".join(conditions) or None)
            if share == 1:
                scored, least = rows, _nth_score(rows, n)
            if len(rows) < most or rows[-1][1] != least:
                break
        equal = [(row, score) for row, score in rows if score == least]
        # For pictures that are not in the index yet, BM25 depends on the condition: then take any.
        equal = equal or [(row, score) for row, score in scored if score == least]
        best = dict([*((row, score) for row, score in scored if score > least), *sorted(equal)][:n])
        pictures = compared_of(self._rows(best, COMPARED), self.settings.dim)
        return sorted(((picture, best[picture.row]) for picture in pictures), key=lambda pair: (-pair[1], pair[0].row))

    def relevance(self, words: str, digests: Iterable[str]) -> dict[str, float]:
        """Return digest to BM25 score, for those of the given pictures that match; ``words`` as in ``matching``."""
        distinct = sorted(set(digests))
        return dict(self._by_words(words, len(distinct), one_of("digest", distinct), column="digest"))

    def details(self, pictures: Iterable[Compared]) -> dict[str, Item]:
        """Read the full records, without thumbnails, of pictures that a search with this object returned; by digest."""
        compared = {picture.digest: picture for picture in pictures}
        numbers = [picture.row for picture in compared.values()]
        if not numbers:
            return {}
        if self._one_model is None:
            self._one_model = self.count(f"relation_model != {quoted(self.settings.relation_model or '')}") == 0
        if not self._one_model:
            rows = self._rows(numbers, DETAILS)
        else:  # a column with one value throughout takes longer to read than all others: 0.25 ms a row
            rows = self._rows(numbers, [name for name in DETAILS if name != "relation_model"])
            rows = rows.append_column("relation_model", [[self.settings.relation_model or ""] * len(rows)])
        return {item.digest: item for item in detailed(rows, compared)}

    def _rows(self, numbers: Iterable[int], columns: Iterable[str]) -> Any:
        query = self.table.take_row_ids(list(numbers)).select(list(columns)).with_row_id()
        return self._attempt(query.to_arrow)

    def _by_words(
        self, words: str, n: int, where: str | None, column: str = "_rowid", *, prefilter: bool = True
    ) -> list[tuple[Any, float]]:
        """Return row numbers (or another column) and BM25 scores of the n best matches, best first.

        Args:
            prefilter: False applies the condition to the n best rows of all, so that fewer than n may be left.
        """
        if not words or not n:
            return []
        query = self.table.search(words, query_type="fts", fts_columns="words").select([column, "_score"])
        rows = self._attempt((query.where(where, prefilter=prefilter) if where else query).limit(n).to_arrow)
        scored = zip(rows[column].to_pylist(), rows["_score"].to_pylist(), strict=True)
        return sorted(scored, key=lambda pair: -pair[1])

    def _batches(self, columns: list[str]) -> Iterator[Any]:
        batches = iter(self._attempt(lambda: self.table.search().select(columns).to_batches(4096)))
        while (batch := self._attempt(lambda: next(batches, None))) is not None:
            yield batch

    def _attempt(self, work: Callable[[], T]) -> T:
        """Call LanceDB, and turn its errors into ``LibraryError``; they are of many kinds and often a page long."""
        try:
            return work()
        except BaseException as error:
            if not isinstance(error, OSError | RuntimeError | ValueError) and type(error).__name__ != "PanicException":
                raise
            check_sums(self.path, whole=True)
            line = next(iter(_INTERNAL.sub("", str(error)).splitlines()), "").strip() or type(error).__name__
            raise LibraryError(not_written(self.path, line[:300])) from error


def open_library(path: Path) -> Library:
    """Open a library; to write, hold its ledger, too.

    Raises:
        LibraryError: The folder is not a library, or has another format.
    """
    return Library(path, read_settings(path))


def create_library(path: Path, settings: LibrarySettings) -> Library:
    """Create an empty library; the caller holds the folder's ledger. ``LibraryError`` if it cannot be written."""
    library = Library(path, settings)
    library._attempt(lambda: _connect(path).create_table(TABLE, schema=schema(settings.dim), mode="overwrite"))
    from lancedb.index import FTS, BTree, LabelList

    stems = FTS(base_tokenizer="whitespace", stem=False, remove_stop_words=False, with_position=False)
    library.create_index("words", stems)
    # Every run looks up new pictures by digest, and the pictures of a changed file by owner.
    library.create_index("digest", BTree())
    library.create_index("owners", LabelList())
    write_settings(path, settings)  # last, since this file makes the folder a library
    return library


def _nth_score(rows: Sequence[tuple[Any, float]], n: int) -> float:
    """The score of the n-th best match; 0 if there are at most n, all of which are taken."""
    return rows[n - 1][1] if len(rows) > n else 0.0


def _probes(index: IndexSettings, n: int) -> int:
    return min(index.partitions, math.ceil(index.probes * math.sqrt(max(1, n / TOP))))


def _thousands(values: Iterable[str]) -> Iterator[list[str]]:
    """Divide the different values, sorted, into lists of 1000: longer ones are too long for an SQL condition."""
    different = sorted(set(values))
    return (different[start : start + 1000] for start in range(0, len(different), 1000))


def _connect(path: Path) -> Any:
    os.environ.setdefault("LANCEDB_LOG", "error")  # its warnings are thousands of lines about its internals
    require("library", purpose="a library of pictures")
    import lancedb

    return lancedb.connect(path)


def describe(library: Library) -> dict[str, Any]:
    """Describe a library, for people and programs.

    Returns:
        ``library`` (its folder), ``pictures``, ``documents`` (files with at least one picture, without those in
        shards), ``shards``, ``folders`` (added folders and documents: objects with ``path`` and ``pictures``),
        ``single_pictures`` (number of pictures that were added as single files), ``model``, ``space``, ``dim``,
        ``relation_model``, ``relations``, ``bytes`` (on disk), ``index`` (None if search is exact; else ``pictures``
        when it was built, ``partitions``, ``probes``, ``refine``, ``recall``, ``queries``).

    Raises:
        LibraryError: The library cannot be read.
    """
    settings = library.settings
    singles = {root for root in settings.roots if file_kind(Path(root)) == "picture" and not Path(root).is_dir()}
    folders = [root for root in settings.roots if root not in singles]
    owners = {owner for batch in library.column("owners") for owner in batch}
    kinds = Counter(file_kind(Path(file)) for file in {file_of(owner) for owner in owners})
    return {
        "library": str(library.path),
        "pictures": library.count(),
        "documents": kinds["document"],
        "shards": kinds["shard"],
        "folders": [{"path": root, "pictures": _count(library, root)} for root in folders],
        "single_pictures": len(singles),
        "model": settings.model,
        "space": settings.space,
        "dim": settings.dim,
        "relation_model": settings.relation_model,
        "relations": list(settings.relations),
        "bytes": sum(_size(file) for file in library.path.rglob("*") if file.is_file()),
        "index": None if settings.index is None else asdict(settings.index),
    }


def _count(library: Library, root: str) -> int:
    return library.count(f"array_has(folders, {quoted(Path(root).as_posix())}) OR array_has(owners, {quoted(root)})")


def _size(file: Path) -> int:
    try:
        return int(file.stat().st_size)
    except OSError:  # a writer has just replaced it
        return 0


def quoted(text: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def first_names(share: float) -> str:
    """Return the SQL condition that a digest is in the first ``share`` (0 to below 1) of all possible digests."""
    return f"digest < '{int(share * 16**8):08x}'"


def one_of(column: str, values: Iterable[str]) -> str:
    """Return the SQL condition that a column has one of the values."""
    return f"{column} IN ({listed(values)})"


def listed(values: Iterable[str]) -> str:
    """Return values as SQL literals, separated by commas."""
    return ", ".join(map(quoted, values))


COMPARED = ("digest", "vector", "said", "words", "own")
"""Columns that a search reads for all candidates; reading them takes longer than finding the candidates."""

DETAILS = ("digest", "places", "date", "relation_model", "offsets", "taken")
"""Further columns that a search reads for its results."""

PLACES = TypeAdapter(tuple[Place, ...])


def schema(dim: int) -> Any:
    """Return the schema of the table."""
    import pyarrow as pa

    return pa.schema(
        [
            pa.field("digest", pa.string(), nullable=False),
            pa.field("vector", pa.list_(pa.float32(), dim), nullable=False),
            pa.field("places", pa.string(), nullable=False),  # JSON
            pa.field("owners", pa.list_(pa.string())),  # files that brought it in
            pa.field("folders", pa.list_(pa.string())),
            pa.field("date", pa.timestamp("s")),  # local time, as cameras write it
            pa.field("relation_model", pa.string()),
            pa.field("offsets", pa.list_(pa.float32())),
            pa.field("thumbnail", pa.string()),
            pa.field("words", pa.string()),  # stems: its own, then those of the text around it
            pa.field("own", pa.int32()),  # how many are its own
            pa.field("said", pa.list_(pa.float16())),  # vectors of its texts, one after the other
            pa.field("taken", pa.bool_()),  # whether the date is the camera's
        ]
    )


def items_of(table: Any, dim: int) -> list[Item]:
    """Return pictures from rows of an Arrow table."""
    compared = compared_of(table.append_column("_rowid", [range(len(table))]), dim)
    return detailed(table.select([*DETAILS, "thumbnail"]), {picture.digest: picture for picture in compared})


def detailed(table: Any, compared: Mapping[str, Compared]) -> list[Item]:
    """Return full records from an Arrow table with the columns ``DETAILS``, and the compared columns by digest."""
    return [
        Item(
            row["digest"],
            PLACES.validate_json(row["places"]),
            row["date"],
            compared[row["digest"]].vector,
            None if row["offsets"] is None else np.asarray(row["offsets"], np.float32),
            row["relation_model"],
            row.get("thumbnail"),
            compared[row["digest"]].text_vectors,
            row["taken"],
            compared[row["digest"]].words,
            compared[row["digest"]].own,
        )
        for row in table.to_pylist()
    ]


def compared_of(table: Any, dim: int) -> list[Compared]:
    """Return the compared columns of pictures, from an Arrow table."""
    vectors, texts = (_vectors(table[name], dim) for name in ("vector", "said"))  # lists would be slow
    digests, words, own, rows = (table[name].to_pylist() for name in ("digest", "words", "own", "_rowid"))
    cells = zip(digests, vectors, texts, words, own, rows, strict=True)
    return [
        Compared(digest, vector[0], text_vector, text or "", count or 0, row)
        for digest, vector, text_vector, text, count, row in cells
    ]


def _vectors(column: Any, dim: int) -> list[Any]:
    """Return the (n, dim) vectors of each row; None for a row without any."""
    values = (value.values.to_numpy(zero_copy_only=False) if value.is_valid else None for value in column)
    return [None if value is None else np.asarray(value, np.float32).reshape(-1, dim) for value in values]


def table_of(items: Sequence[Item], dim: int) -> Any:
    """Return pictures as an Arrow table."""
    import pyarrow as pa

    vectors = np.stack([item.vector for item in items]).astype(np.float32)
    places = [item.places for item in items]
    words, own = zip(*map(words_of, places), strict=True)
    columns = {
        "digest": [item.digest for item in items],
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), dim),
        "places": [PLACES.dump_json(item_places, exclude_defaults=True).decode() for item_places in places],
        "owners": [sorted({place.owner for place in item_places}) for item_places in places],
        "folders": [folders_of(item_places) for item_places in places],
        "date": [item.date for item in items],
        "relation_model": [item.relation_model for item in items],
        "offsets": [None if item.offsets is None else item.offsets.tolist() for item in items],
        "thumbnail": [item.thumbnail for item in items],
        "words": words,
        "own": own,
        "said": [None if item.text_vectors is None else item.text_vectors.astype(np.float16).ravel() for item in items],
        "taken": [item.taken for item in items],
    }
    return pa.table(columns, schema=schema(dim))
