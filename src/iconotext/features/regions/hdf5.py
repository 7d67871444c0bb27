"""Regions in HDF5 files: the arrays of the bottom-up VQA programs, or a group for each picture.

The VQA programs (Hu 2017; BAN, Kim 2018) keep ``image_features`` of (pictures, 36, dim), or of (all regions, dim) with
``pos_boxes`` (pictures, 2) for where those of a picture begin and end; their ids they pickle into another file, which
is never read: ids come from the HDF5 file, or from a JSON file beside it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.errors import FeatureError
from iconotext.extras import require
from iconotext.features.regions.row import FEATURES, KNOWN, LARGEST, OF_IMAGE, Stored
from iconotext.strict_json import parse_json

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Node = Any  # a file, group or dataset of h5py, which has no types

IDS = ("image_ids", "image_id", "img_ids", "ids")
BOUNDS = "pos_boxes"
_DAMAGE = (OSError, KeyError, RuntimeError, ValueError, TypeError)


@dataclass(frozen=True, slots=True, eq=False)
class Hdf5Table:
    """A file of HDF5, opened anew for each reading.

    Attributes:
        path: The file.
        rows: Row of each picture; None where it has a group of its own.
        groups: Names of the groups where there are some.
    """

    path: Path
    rows: Mapping[str, int] | None
    groups: frozenset[str]

    @property
    def ids(self) -> Collection[str]:
        """The pictures."""
        return self.groups if self.rows is None else self.rows.keys()

    def read(self, ids: Sequence[str]) -> Iterator[Stored]:
        """The arrays of some pictures; see ``RegionTable``."""
        with _opened(self.path) as file:
            for image in ids:
                where = f"{self.path}, image {image}"
                if self.rows is None:
                    yield _of_group(_node(file, image, self.path), where)
                else:
                    yield _of_row(file, self.rows[image], where)

    def digest(self) -> bytes:
        """Of all bytes, and of the ids beside them: a second a GB."""
        digest = hashlib.sha256()
        for path in (self.path, ids_file(self.path)):
            if path.is_file():
                with path.open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
        return digest.digest()


def ids_file(path: Path) -> Path:
    """Where the ids of a file lie that has none in it: ``train36.ids.json`` beside ``train36.hdf5``."""
    return path.with_suffix(".ids.json")


def open_hdf5(path: Path) -> Hdf5Table:
    """Find out which layout it is and which pictures there are.

    Raises:
        FeatureError: It is no HDF5 file, of no known layout, without ids, or ``h5py`` is not installed.
    """
    with _opened(path) as file:
        names = set(file)
        if not names & set(FEATURES):
            groups = frozenset(name for name in names if hasattr(_node(file, name, path), "keys"))
            if not groups:
                raise FeatureError(f"{path}: has neither {' nor '.join(FEATURES)}, nor a group for each picture")
            return Hdf5Table(path, None, groups)
        features = _node(file, next(name for name in FEATURES if name in names), path)
        if BOUNDS not in names and len(_shape(features)) != 3:
            raise FeatureError(
                f"{path}: {features.name} should be (pictures, regions, dim), or {BOUNDS} beside it should say where "
                "the regions of a picture begin and end"
            )
        total = _length(_node(file, BOUNDS, path) if BOUNDS in names else features)
        within = next((name for name in IDS if name in names), None)
        rows = _numbered(file, within, path) if within else _listed(path)
        wrong = [image for image, row in rows.items() if not 0 <= row < total]
        if wrong or (within and len(rows) != total):
            raise FeatureError(
                f"{path}: has {total} pictures, but {len(rows)} ids" + (f", {wrong[0]} in another row" * bool(wrong))
            )
        return Hdf5Table(path, rows, frozenset())


def _numbered(file: Node, name: str, path: Path) -> dict[str, int]:
    """Rows by the ids that the file has itself."""
    node = _node(file, name, path)
    numbers = getattr(node, "dtype", np.dtype(object)).kind in "iu"
    if len(_shape(node)) != 1 or not (numbers or import_module("h5py").check_string_dtype(node.dtype)):
        raise FeatureError(f"{path}: {name} must be texts or whole numbers, one a picture")
    ids = [str(value) for value in (node[:].tolist() if numbers else node.asstr()[:])]
    rows = {image: row for row, image in enumerate(ids)}
    if len(rows) != len(ids):
        twice = next(image for row, image in enumerate(ids) if rows[image] != row)
        raise FeatureError(f"{path}: image {twice} is there twice in {name}")
    return rows


def _listed(path: Path) -> dict[str, int]:
    """Rows by the ids in the JSON file: an object of rows, or a list in their order."""
    beside = ids_file(path)
    try:
        listed = parse_json(beside.read_text(encoding="utf-8-sig"))
    except FileNotFoundError as error:
        raise FeatureError(
            f"{path}: does not say which row is which picture; write {beside.name} beside it, an object of rows by id "
            f"(what the VQA programs pickled as {path.stem}_imgid2idx.pkl)"
        ) from error
    except (OSError, ValueError) as error:
        raise FeatureError(f"{beside}: cannot be read: {error}") from error
    if isinstance(listed, list) and all(isinstance(entry, str | int) for entry in listed):
        rows = {str(entry): row for row, entry in enumerate(listed)}
        if len(rows) == len(listed):
            return rows
    elif isinstance(listed, dict) and all(type(row) is int for row in listed.values()):
        return listed
    raise FeatureError(f"{beside}: expected an object of rows by id, or a list of different ids")


def _of_group(group: Node, where: str) -> Stored:
    names = KNOWN & set(group)
    return {name: _numbers(_node(group, name, where), (), where) for name in names}


def _of_row(file: Node, row: int, where: str) -> Stored:
    names = KNOWN & set(file)
    start, stop = row, row + 1
    if BOUNDS in file:
        bounds = _numbers(_node(file, BOUNDS, where), row, where)
        if bounds is None or bounds.shape != (2,) or bounds.dtype.kind not in "iu" or not 0 <= bounds[0] <= bounds[1]:
            raise FeatureError(f"{where}: {BOUNDS} must be where its regions begin and end")
        start, stop = map(int, bounds)
    stored = {}
    for name in names:
        node = _node(file, name, where)
        if BOUNDS not in file or name in OF_IMAGE:
            stored[name] = _numbers(node, row, where)
        elif stop > _length(node):
            raise FeatureError(f"{where}: its regions are to end at {stop}, but {name} has {_length(node)}")
        else:
            stored[name] = _numbers(node, slice(start, stop), where)
    return stored


def _numbers(node: Node, part: tuple[()] | int | slice, where: str) -> NDArray[Any] | None:
    """Some of a dataset; None where it is no array of numbers, which is not read."""
    shape = _shape(node)
    if getattr(node, "shape", None) is None or node.dtype.kind not in "fiub":
        return None
    if isinstance(part, slice):
        shape = (part.stop - part.start, *shape[1:])
    elif isinstance(part, int):
        if part >= _length(node):
            raise FeatureError(f"{where}: {node.name} has no row {part}")
        shape = shape[1:]
    if math.prod(shape) * node.dtype.itemsize > LARGEST:
        raise FeatureError(f"{where}: {node.name} is larger than {LARGEST >> 20} MB, more than a picture can have")
    return np.asarray(node[part])


def _shape(node: Node) -> tuple[int, ...]:
    """Of a dataset; of a group, and of a dataset without any values, that of a single number."""
    return getattr(node, "shape", None) or ()


def _length(node: Node) -> int:
    return _shape(node)[0] if _shape(node) else 0


def _node(parent: Node, name: str, where: object) -> Node:
    """A group or dataset that lies in this file: links may lead anywhere."""
    h5py = import_module("h5py")
    node = parent.get(name) if isinstance(parent.get(name, getlink=True), h5py.HardLink) else None
    if node is None or (isinstance(node, h5py.Dataset) and (node.is_virtual or node.external)):
        raise FeatureError(f"{where}: {name} lies in another file, or is missing; only what is in the file is read")
    return node


@contextmanager
def _opened(path: Path) -> Iterator[Node]:
    require("h5py", purpose=f"reading {path}")
    h5py = import_module("h5py")
    try:
        with h5py.File(path, "r") as file:
            yield file
    except _DAMAGE as error:
        lines = str(error).splitlines() or [type(error).__name__]
        raise FeatureError(f"{path}: not an HDF5 file that can be read ({lines[0]})") from error
