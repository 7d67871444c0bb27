"""A library on disk: pictures with their vectors in LanceDB, and beside them a file that says what the library is.

    LIB/
        library.json      what it was made with, and how it is searched; its presence makes a folder a library
        pictures.lance/   a row for each picture: vector, places, date, folders, ...
        ledger.sqlite     what the writer knows about the files; readers never open it

Every commit of LanceDB is a new version of the table: whoever reads sees one version, whole, whatever a writer does
meanwhile and however it ends. There is one writer at a time; the ledger is its lock.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from iconotext.errors import LibraryError
from iconotext.retrieve.items import Item, Place, documents_of, folders_of, places_from, places_text
from iconotext.write import write_text

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix

FORMAT = 1
"""Of the files in the folder; another one is refused."""

SETTINGS = "library.json"
TABLE = "pictures"
LEDGER = "ledger.sqlite"

KEEP_VERSIONS = timedelta(minutes=15)
"""How long a version stays after a newer one has come: longer than any search takes."""

TOP = 10
"""An index is tried out on so many nearest pictures: that is what its probes are for."""

_INTERNAL = re.compile(r"^lance error: (?:LanceError\(\w+\): )?|,? *\S+\.rs:\d+.*", re.DOTALL)
"""What LanceDB's errors say of its own code: before the message, and behind it."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """How the approximate index is searched, and how well it finds.

    Attributes:
        pictures: How many it was made of.
        partitions: Into how many it is divided.
        probes: How many of them a search looks into.
        refine: How many times as many pictures as wanted are compared exactly in the end.
        recall: Of the ten nearest pictures, the share that is found: measured against exact search.
        queries: With how many queries.
    """

    pictures: int
    partitions: int
    probes: int
    refine: int
    recall: float
    queries: int


@dataclass(frozen=True, slots=True)
class LibrarySettings:
    """What a library is: the content of ``library.json``.

    Attributes:
        model: What ``load_space`` is given for it.
        space: Name of the space, which its vectors belong to.
        dim: Length of a vector.
        relation_model: Name of the relation model that its offsets come from; None without one.
        relations: Names of the relations, in the order of the offsets.
        relations_from: Where the relation model is: ``default``, a folder, or ``none``.
        roots: The files and folders that were added.
        asked: The settings of reading and linking that were asked for, by the path that they were asked for.
        index: Of the approximate index; None while search is exact.
        format: Of the files.
    """

    model: str
    space: str
    dim: int
    relation_model: str | None = None
    relations: tuple[str, ...] = ()
    relations_from: str = "default"
    roots: tuple[str, ...] = ()
    asked: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    index: IndexSettings | None = None
    format: int = field(default=FORMAT)


@dataclass(frozen=True, slots=True, eq=False)
class Near:
    """A picture that a search found.

    Attributes:
        digest: Names its content.
        similarity: Cosine with the query.
        places: Where it was found.
        date: When it was taken, local time.
        offsets: (R,) what it adds to the log-odds of each relation; None without a relation model.
        vector: (dim,) its own; None where nobody asked for it.
    """

    digest: str
    similarity: float
    places: tuple[Place, ...]
    date: datetime | None
    offsets: FloatMatrix | None
    vector: FloatMatrix | None = None


class Library:
    """An open library. Reading needs no lock; everything that writes is for the one who holds the ledger.

    Attributes:
        path: Its folder.
        settings: What it was made with, as it is on disk.
    """

    def __init__(self, path: Path, settings: LibrarySettings) -> None:
        self.path = path
        self.settings = settings

    @cached_property
    def table(self) -> Any:
        """The LanceDB table."""
        if not (self.path / f"{TABLE}.lance").is_dir():
            raise LibraryError(
                f"{self.path}: its pictures ({TABLE}.lance) are gone; delete this folder and add them again with:"
                f" iconotext library add {self.path} PATH... ({SETTINGS} in it names the paths as roots)"
            )
        return self._attempt(lambda: _connect(self.path).open_table(TABLE))

    def save(self, **changes: Any) -> None:
        """Write changed settings."""
        self.settings = replace(self.settings, **changes)
        _write_settings(self.path, self.settings)

    def refresh(self) -> None:
        """Read the newest version from now on."""
        self._attempt(lambda: self.table.checkout_latest())

    def count(self, where: str | None = None) -> int:
        """How many pictures there are, or how many satisfy a condition."""
        return int(self._attempt(lambda: self.table.count_rows(where)))

    def items(self, digests: Iterable[str]) -> dict[str, Item]:
        """The pictures of these names that are in the library."""
        wanted = sorted(set(digests))
        found: dict[str, Item] = {}
        for start in range(0, len(wanted), 1000):
            some = wanted[start : start + 1000]
            query = self.table.search().where(_one_of("digest", some)).limit(len(some))
            found |= {row["digest"]: _item(row) for row in self._attempt(query.to_arrow).to_pylist()}
        return found

    def insert(self, items: Sequence[Item]) -> None:
        """Store pictures that the library does not have."""
        if items:
            self._attempt(lambda: self.table.add(self._rows(items)))

    def update(self, items: Sequence[Item]) -> None:
        """Store pictures instead of what the library has under their names."""
        if items:
            rows = self._rows(items)
            self._attempt(lambda: self.table.merge_insert("digest").when_matched_update_all().execute(rows))

    def remove(self, digests: Iterable[str]) -> None:
        """Take pictures out."""
        gone = sorted(set(digests))
        for start in range(0, len(gone), 1000):
            self._attempt(partial(self.table.delete, _one_of("digest", gone[start : start + 1000])))

    def tidy(self) -> None:
        """Join what many commits have left in small pieces, put new pictures into the index, drop old versions."""
        self._attempt(lambda: self.table.optimize(cleanup_older_than=KEEP_VERSIONS))

    def create_index(self, column: str, config: Any) -> None:
        """Make an index of LanceDB on a column, instead of one that is there."""
        self._attempt(lambda: self.table.create_index(column, config=config, replace=True))

    def column(self, name: str, *, where: str | None = None) -> Iterator[list[Any]]:
        """One column of all pictures, a batch at a time."""
        for batch in self._batches([name], where):
            yield batch.column(0).to_pylist()

    def vectors(self) -> Iterator[tuple[list[str], FloatMatrix]]:
        """Names and (n, dim) vectors of all pictures, a batch at a time."""
        for batch in self._batches(["digest", "vector"]):
            flat = batch.column("vector").flatten().to_numpy(zero_copy_only=False)
            yield batch.column("digest").to_pylist(), flat.reshape(len(batch), self.settings.dim)

    def places(self) -> Iterator[tuple[str, tuple[Place, ...]]]:
        """Names of all pictures, and where each was found."""
        for batch in self._batches(["digest", "places"]):
            for row in batch.to_pylist():
                yield row["digest"], places_from(row["places"])

    def nearest(
        self,
        vector: FloatMatrix,
        n: int,
        *,
        where: str | None = None,
        exact: bool = False,
        index: IndexSettings | None = None,
        vectors: bool = False,
    ) -> list[Near]:
        """The n pictures nearest to a vector, best first; of two equally near the one whose name sorts first.

        Args:
            vector: (dim,) of length 1.
            n: At most so many.
            where: A condition in SQL, see ``search.condition``.
            exact: Compare with every picture, even where there is an index.
            index: How the index is searched; by default as the settings say. For more than ten pictures it looks into
                more partitions; with a condition into all, since the pictures that satisfy it may lie anywhere.
            vectors: Whether the vectors of what is found come along.
        """
        columns = ["digest", "places", "date", "relation_model", "offsets", "_distance"] + ["vector"] * vectors
        query = self.table.search(vector, vector_column_name="vector").distance_type("l2").select(columns)
        if where:
            query = query.where(where, prefilter=True)
        index = None if exact else index or self.settings.index
        if index is None:  # an index that was not tried out yet may be there already
            query = query.bypass_vector_index()
        else:
            probes = math.ceil(index.probes * math.sqrt(max(1, n / TOP)))
            query = query.nprobes(index.partitions if where else min(probes, index.partitions))
            query = query.refine_factor(index.refine)
        rows, asked = [], n
        while True:
            rows = self._attempt(query.limit(asked + 1).to_arrow).sort_by("_distance")
            distances = rows["_distance"].to_pylist()
            if len(rows) <= asked or distances[-1] > distances[n - 1]:
                break
            asked *= 2  # LanceDB takes any of those that are equally near: see them all, and choose by name
        if index is not None and len(rows) < n:
            return self.nearest(vector, n, where=where, exact=True, vectors=vectors)
        near = [self._near(row) for row in rows.to_pylist()]
        return sorted(near, key=lambda found: (-found.similarity, found.digest))[:n]

    def _batches(self, columns: list[str], where: str | None = None) -> Iterator[Any]:
        query = self.table.search().select(columns)
        if where:
            query = query.where(where)
        batches = iter(self._attempt(lambda: query.to_batches(4096)))
        while (batch := self._attempt(lambda: next(batches, None))) is not None:
            yield batch

    def _near(self, row: dict[str, Any]) -> Near:
        places, offsets = places_from(row["places"]), row["offsets"]
        if row["relation_model"] != (self.settings.relation_model or ""):  # a run that renews them is not through yet
            places, offsets = tuple(replace(place, relations=None) for place in places), None
        similarity = 1 - row["_distance"] / 2  # of unit vectors, the squared distance is 2 - 2 cos
        of_picture = None if offsets is None else np.asarray(offsets, np.float32)
        vector = np.asarray(row["vector"], np.float32) if "vector" in row else None
        return Near(row["digest"], similarity, places, row["date"], of_picture, vector)

    def thumbnail(self, digest: str) -> str | None:
        """The small picture that is kept for one without a file of its own."""
        rows = self._attempt(
            lambda: self.table.search().where(_one_of("digest", [digest])).select(["thumbnail"]).limit(1).to_arrow()
        )
        return rows["thumbnail"][0].as_py() if len(rows) else None

    def _rows(self, items: Sequence[Item]) -> Any:
        import pyarrow as pa

        vectors = np.stack([item.vector for item in items]).astype(np.float32)
        places = [item.places for item in items]
        columns = {
            "digest": [item.digest for item in items],
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), self.settings.dim),
            "places": [places_text(each) for each in places],
            "folders": [folders_of(each) for each in places],
            "documents": [documents_of(each) for each in places],
            "date": [item.date for item in items],
            "relation_model": [item.relation_model for item in items],
            "offsets": [None if item.offsets is None else item.offsets.tolist() for item in items],
            "thumbnail": [item.thumbnail for item in items],
        }
        return pa.table(columns, schema=_schema(self.settings.dim))

    def _attempt(self, work: Callable[[], T]) -> T:
        """Do something with LanceDB, whose errors are of many kinds and often a page long."""
        try:
            return work()
        except (OSError, RuntimeError, ValueError) as error:
            line = next(iter(_INTERNAL.sub("", str(error)).splitlines()), "").strip() or type(error).__name__
            raise LibraryError(f"{self.path}: the library cannot be read or written: {line[:300]}") from error


def open_library(path: Path) -> Library:
    """Open a library for searching, or, by whoever holds its ledger, for writing.

    Raises:
        LibraryError: There is none, or one of another format.
    """
    try:
        text = (path / SETTINGS).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        raise LibraryError(
            f"{path}: no library; make one with: iconotext library add {path} FOLDER-OF-PICTURES"
        ) from None
    except OSError as error:
        raise LibraryError(f"{path / SETTINGS}: cannot be read: {error.strerror or error}") from error
    try:
        values = json.loads(text)
        if values["format"] != FORMAT:
            raise LibraryError(f"{path}: a library of format {values['format']}, and this iconotext reads {FORMAT}")
        index = values.pop("index")
        values |= {name: tuple(values[name]) for name in ("relations", "roots")}
        settings = LibrarySettings(index=IndexSettings(**index) if index else None, **values)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LibraryError(f"{path / SETTINGS}: damaged ({error}); make the library again") from error
    return Library(path, settings)


def is_library(path: Path) -> bool:
    """Whether a folder is a library."""
    return (path / SETTINGS).is_file()


def create_library(path: Path, settings: LibrarySettings) -> Library:
    """Make an empty library, for whoever holds the ledger in that folder.

    Raises:
        LibraryError: The folder holds other things, or cannot be written.
    """
    library = Library(path, settings)
    library._attempt(lambda: _connect(path).create_table(TABLE, schema=_schema(settings.dim), mode="overwrite"))
    _write_settings(path, settings)  # last: from now on it is a library
    return library


def check_new(path: Path) -> None:
    """See that a folder may become a library: it does not exist, or holds nothing but what a killed program left.

    Raises:
        LibraryError: It holds other things.
    """
    ours = (f"{TABLE}.lance", LEDGER, ".iconotext-")
    try:
        others = [entry.name for entry in path.iterdir() if not entry.name.startswith(ours)] if path.exists() else []
    except OSError as error:
        raise LibraryError(f"{path}: cannot be a library: {error.strerror or error}") from error
    if others:
        raise LibraryError(
            f"{path}: a folder with other things in it ({min(others)}); name a new folder for the library,"
            " then the pictures: iconotext library add LIB PATH..."
        )


def quoted(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def _one_of(column: str, values: Sequence[str]) -> str:
    return f"{column} IN ({', '.join(map(quoted, values))})"


def _write_settings(path: Path, settings: LibrarySettings) -> None:
    write_text(path / SETTINGS, json.dumps(asdict(settings), indent=1, ensure_ascii=False) + "\n", force=True)


def _connect(path: Path) -> Any:
    os.environ.setdefault("LANCEDB_LOG", "error")  # its warnings speak of its own workings, thousands of lines of them
    import lancedb

    return lancedb.connect(path)


def _schema(dim: int) -> Any:
    import pyarrow as pa

    return pa.schema(
        [
            pa.field("digest", pa.string(), nullable=False),
            pa.field("vector", pa.list_(pa.float32(), dim), nullable=False),
            pa.field("places", pa.string(), nullable=False),  # JSON
            pa.field("folders", pa.list_(pa.string())),
            pa.field("documents", pa.list_(pa.string())),
            pa.field("date", pa.timestamp("s")),  # local time, as cameras write it
            pa.field("relation_model", pa.string()),
            pa.field("offsets", pa.list_(pa.float32())),
            pa.field("thumbnail", pa.string()),
        ]
    )


def _item(row: dict[str, Any]) -> Item:
    return Item(
        row["digest"],
        places_from(row["places"]),
        row["date"],
        np.asarray(row["vector"], np.float32),
        None if row["offsets"] is None else np.asarray(row["offsets"], np.float32),
        row["relation_model"],
        row["thumbnail"],
    )
