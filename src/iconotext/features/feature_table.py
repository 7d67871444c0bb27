"""Tables with the features of a corpus's images: ``features.npy``, with ``id2row.json`` beside it.

``load_feature_table`` opens a table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, StrictInt, TypeAdapter, ValidationError

from iconotext.errors import CorpusError
from iconotext.features.model_folder import digest_of
from iconotext.system.strict_json import parse_json

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
