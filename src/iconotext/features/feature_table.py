"""Tables with the features of a corpus's images: ``features.npy``, with ``id2row.json`` beside it.

``load_feature_table`` opens a table, ``write_feature_table`` writes one, ``copy_feature_table`` copies it to another
folder.
"""

from __future__ import annotations

import contextlib
import filecmp
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, StrictInt, TypeAdapter, ValidationError

from iconotext.errors import CorpusError, OutputError
from iconotext.features.model_folder import digest_of
from iconotext.system.files import check_overwrite, open_atomic, write_text
from iconotext.system.strict_json import dump_json, parse_json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TABLE_FILE = "features.npy"
ROWS_FILE = "id2row.json"
"""Name of the second file; both names are from the README of the released code of Hessel 2019."""


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """A row of numbers for each image, on disk; only requested rows are read.

    Attributes:
        array: (rows, dim) float16, float32 or float64, memory-mapped.
        row_of: The row of each image, by its id (its ``source`` in the corpus).
    """

    path: Path
    array: NDArray[Any]
    row_of: Mapping[str, int]

    @property
    def dim(self) -> int:
        """Length of a row."""
        return int(self.array.shape[1])

    @cached_property
    def fingerprint(self) -> str:
        """A digest of both files, 16 hexadecimal digits; computed when first needed, in about a second per GB."""
        return digest_of(self.path, self.path.with_name(ROWS_FILE)).hex()[:16]

    def look_up(self, sources: Sequence[str]) -> tuple[NDArray[np.float32], tuple[str | None, ...]]:
        """Return (n, dim) float32 features of n images, and for each image None, or the reason why it has no features.

        An image has no features if it is not in the table, or if its row has a number that is not finite; its row in
        the result is zero.
        """
        import numpy as np

        rows = np.array([self.row_of.get(source, -1) for source in sources], dtype=np.intp)
        features = np.zeros((len(rows), self.dim), np.float32)
        with np.errstate(over="ignore"):  # a float64 beyond float32 becomes infinite, and is refused below
            features[rows >= 0] = self.array[rows[rows >= 0]]
        finite = np.asarray(np.isfinite(features).all(axis=1))
        features[~finite] = 0
        problems: list[str | None] = [None] * len(rows)
        for number in np.flatnonzero((rows < 0) | ~finite).tolist():
            name = f"{sources[number]!r}"
            if rows[number] < 0:
                problem = f"not in the table of features: {self.path.with_name(ROWS_FILE)} has no image {name}"
            else:
                place = f"{self.path}, row {rows[number]}, of {name}"
                problem = f"features that are not all finite numbers: {place}; compute them again"
            problems[number] = problem
        return features, tuple(problems)


def load_feature_table(path: Path) -> FeatureTable:
    """Open a table of features without reading it.

    Args:
        path: The ``.npy`` file, (rows, dim) floating point, with ``id2row.json`` beside it.
    """
    import numpy as np

    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError as error:
        raise CorpusError(
            f"{path}: not found; features lie beside the corpus, as {TABLE_FILE} and {ROWS_FILE}"
        ) from error
    except (OSError, ValueError, EOFError, SyntaxError) as error:
        raise CorpusError(
            f"{path}: not an array of numbers that NumPy can map ({error}); write it with numpy.save"
        ) from error
    if not isinstance(array, np.ndarray) or array.ndim != 2 or array.dtype.kind != "f":
        contents = f"{array.dtype} of shape {array.shape}" if isinstance(array, np.ndarray) else "an archive of arrays"
        raise CorpusError(f"{path}: holds {contents}; a matrix (images, features) of floating-point numbers is needed")
    if array.shape[1] == 0:
        raise CorpusError(f"{path}: its rows are empty; a matrix (images, features) is needed")
    rows_file = path.with_name(ROWS_FILE)
    rows = read_rows(rows_file)
    for source, row in rows.items():
        if row >= len(array):
            raise CorpusError(f"{rows_file}, field {source}: row {row}, but {path.name} has {len(array)} rows")
    return FeatureTable(path, array, rows)


def read_rows(path: Path) -> dict[str, int]:
    """Read the row of every image in the table, by the image's id."""
    try:
        return _ROWS.validate_python(parse_json(path.read_text(encoding="utf-8-sig")))
    except OSError as error:
        raise CorpusError(
            f"{path}: cannot be read: {error.strerror}; it says which row belongs to which image"
        ) from error
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(map(str, problem["loc"]))
        raise CorpusError(f"{path}: an object of rows is needed, field {where}: {problem['msg']}") from error
    except ValueError as error:  # bad JSON, bad UTF-8
        raise CorpusError(f"{path}: {error}") from error


_ROWS: TypeAdapter[dict[str, int]] = TypeAdapter(dict[str, Annotated[StrictInt, Field(ge=0)]])


def write_feature_table(
    path: Path, sources: Sequence[str], chunks: Iterable[NDArray[np.float32]], *, dim: int, force: bool = False
) -> None:
    """Write a table of features, and ``id2row.json`` beside it.

    Args:
        chunks: Arrays of (any number, dim), in all one row for each image; one array is in memory at a time.
    """
    import numpy as np

    check_overwrite(path.with_name(ROWS_FILE), force)
    count = 0
    with open_atomic(path, force=force) as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (len(sources), dim)}
        np.lib.format.write_array_header_1_0(file, header)
        for chunk in chunks:
            if chunk.ndim != 2 or chunk.shape[1] != dim:
                raise CorpusError(f"{path}: features of shape {chunk.shape} where rows of {dim} are needed")
            file.write(np.ascontiguousarray(chunk, dtype="<f4").tobytes())
            count += len(chunk)
        if count != len(sources):
            raise CorpusError(f"{path}: {count} rows of features for {len(sources)} images")
    rows = {source: row for row, source in enumerate(sources)}
    write_text(path.with_name(ROWS_FILE), dump_json(rows) + "\n", force=force)


def copy_feature_table(
    source: Path, target: Path, *, renamed: Mapping[str, str] | None = None, force: bool = False
) -> bool:
    """Copy the table of one folder into another, where it serves all corpora.

    If the target has the same features already, they stay, and new names of images are added.

    Returns:
        Whether there was a table to copy; False if both are the same folder.
    """
    source_rows = _rows_to_copy(source, target)
    if source_rows is None:
        return False
    renamed = renamed or {}
    copied = {renamed.get(name, name): row for name, row in source_rows.items()}
    target_rows = _rows_of_target(source, target, copied, force)
    if target_rows is None or not (target / TABLE_FILE).is_file():
        with (source / TABLE_FILE).open("rb") as stream, open_atomic(target / TABLE_FILE, force=force) as file:
            shutil.copyfileobj(stream, file, 1 << 20)
            if target_rows is None:  # if killed now, the new features must not have the old names
                (target / ROWS_FILE).unlink(missing_ok=True)
    rows = (target_rows or {}) | copied
    if rows != target_rows or not (target / ROWS_FILE).is_file():
        write_text(target / ROWS_FILE, dump_json(rows) + "\n", force=True)
    return True


def check_copy(source: Path, target: Path, *, force: bool = False) -> None:
    """Check whether ``copy_feature_table`` would fail, before long work that ends with copying."""
    source_rows = _rows_to_copy(source, target)
    if source_rows is not None:
        _rows_of_target(source, target, source_rows, force)


def _rows_to_copy(source: Path, target: Path) -> dict[str, int] | None:
    """Return the rows of the table in a folder; None if there is no table to copy."""
    table, rows = source / TABLE_FILE, source / ROWS_FILE
    if target.resolve() == source.resolve() or not (table.is_file() or rows.is_file()):
        return None
    if not table.is_file():
        raise CorpusError(f"{table}: not found, though {ROWS_FILE} is there; features need both")
    return read_rows(rows)


def _rows_of_target(source: Path, target: Path, row_of: Mapping[str, int], force: bool) -> dict[str, int] | None:
    """Return the rows that the target already has of the same table: empty without one, None if it is to be replaced.

    Raises:
        OutputError: The target has another table, and ``force`` is False.
    """
    table, rows = target / TABLE_FILE, target / ROWS_FILE
    with contextlib.suppress(CorpusError):
        existing = read_rows(rows) if os.path.lexists(rows) else {}
        same = _same_bytes(source / TABLE_FILE, table) if os.path.lexists(table) else existing.items() <= row_of.items()
        if same and all(row_of.get(name, row) == row for name, row in existing.items()):
            return existing
    for file in (table, rows):
        if file.is_file() and not force:
            raise OutputError(
                f"{file}: is there already, of another data set, and all corpora of a folder share one table "
                "of features: write to another folder; the option force replaces it"
            )
        check_overwrite(file, force)
    return None


def _same_bytes(one: Path, other: Path) -> bool:
    filecmp.clear_cache()  # from the cache, a changed file of the same size and time would get the old answer
    try:
        return other.is_file() and filecmp.cmp(one, other, shallow=False)
    except OSError as error:
        raise CorpusError(f"{error.filename}: cannot be read: {error.strerror or error}") from error
