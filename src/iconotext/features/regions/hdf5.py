"""Regions in HDF5 files: the arrays of the bottom-up VQA programs, or a group for each picture.

The VQA programs (Hu 2017; BAN, Kim 2018) have ``image_features`` of shape (pictures, 36, dim), or (all regions, dim)
with ``pos_boxes`` (pictures, 2), begin and end of each picture's regions. They pickle ids into another file, which is
never read: ids come from the HDF5 file, or from a JSON file beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.errors import FeatureError
from iconotext.extras import require
from iconotext.features.fingerprint import digest_of
from iconotext.features.regions.table import FEATURES, KNOWN, LARGEST, OF_IMAGE, RegionTable, Stored
from iconotext.strict_json import parse_json

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Node = Any  # a file, group or dataset of h5py, which has no types

IDS = ("image_ids", "image_id", "img_ids", "ids")
BOUNDS = "pos_boxes"


def ids_file(path: Path) -> Path:
    """File with the ids for a file without ids: ``train36.ids.json`` beside ``train36.hdf5``."""
    return path.with_suffix(".ids.json")


def open_hdf5(path: Path) -> RegionTable:
    """Find the layout and the pictures of a file.

    Raises:
        FeatureError: Not an HDF5 file, of unknown layout, without ids, or ``h5py`` is not installed.
    """
    digest = partial(digest_of, *filter(Path.is_file, (path, ids_file(path))))
    with _opened(path) as file:
        name = next((name for name in FEATURES if name in file), None)
        if name is None:
            groups = frozenset(each for each in file if hasattr(_node(file, each, path), "keys"))
            if not groups:
                raise FeatureError(f"{path}: has neither {' nor '.join(FEATURES)}, nor a group for each picture")
            return RegionTable(path, groups, partial(_read_groups, path), digest)
        features = _node(file, name, path)
        if BOUNDS not in file and len(_shape(features)) != 3:
            raise FeatureError(
                f"{path}: {features.name} should be (pictures, regions, dim), or {BOUNDS} beside it should say where "
                "the regions of a picture begin and end"
            )
        total = (*_shape(_node(file, BOUNDS, path) if BOUNDS in file else features), 0)[0]
        within = next((name for name in IDS if name in file), None)
        rows = _numbered(file, within, path) if within else _listed(path)
    wrong = [image for image, row in rows.items() if not 0 <= row < total]
    if wrong or (within and len(rows) != total):
        beyond = f", {wrong[0]} in another row" if wrong else ""
        raise FeatureError(f"{path}: has {total} pictures, but {len(rows)} ids{beyond}")
    return RegionTable(path, rows.keys(), partial(_read_rows, path, rows), digest)


def _numbered(file: Node, name: str, path: Path) -> dict[str, int]:
    """Id to row, from the file itself."""
    node = _node(file, name, path)
    numbers = getattr(node, "dtype", np.dtype(object)).kind in "iu"
    if len(_shape(node)) != 1 or not (numbers or import_module("h5py").check_string_dtype(node.dtype)):
        raise FeatureError(f"{path}: {name} must be texts or whole numbers, one a picture")
    rows: dict[str, int] = {}
    for row, value in enumerate(node[:].tolist() if numbers else node.asstr()[:]):
        if rows.setdefault(str(value), row) != row:
            raise FeatureError(f"{path}: image {value} is there twice in {name}")
    return rows


def _listed(path: Path) -> dict[str, int]:
    """Id to row, from the JSON file: an object of rows, or a list in their order."""
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


def _read_groups(path: Path, ids: Sequence[str]) -> Iterator[Stored]:
    with _opened(path) as file:
        for image in ids:
            where = f"{path}, image {image}"
            group = _node(file, image, path)
            yield {name: _numbers(_node(group, name, where), (), where) for name in KNOWN & set(group)}


def _read_rows(path: Path, rows: Mapping[str, int], ids: Sequence[str]) -> Iterator[Stored]:
    with _opened(path) as file:
        for image in ids:
            where, row = f"{path}, image {image}", rows[image]
            bounds = _bounds(file, row, where) if BOUNDS in file else row
            yield {
                name: _numbers(_node(file, name, where), row if name in OF_IMAGE else bounds, where)
                for name in KNOWN & set(file)
            }


def _bounds(file: Node, row: int, where: str) -> slice:
    """The rows of a picture's regions."""
    bounds = _numbers(_node(file, BOUNDS, where), row, where)
    if bounds is None or bounds.shape != (2,) or bounds.dtype.kind not in "iu" or not 0 <= bounds[0] <= bounds[1]:
        raise FeatureError(f"{where}: {BOUNDS} must be where its regions begin and end")
    return slice(int(bounds[0]), int(bounds[1]))


def _numbers(node: Node, part: tuple[()] | int | slice, where: str) -> NDArray[Any] | None:
    """A part of a dataset; None if it is not an array of numbers."""
    shape = _shape(node)
    length = shape[0] if shape else 0
    if isinstance(part, slice) and part.stop > length:
        raise FeatureError(f"{where}: its regions are to end at {part.stop}, but {node.name} has {length}")
    if getattr(node, "shape", None) is None or node.dtype.kind not in "fiub":
        return None
    if isinstance(part, slice):
        shape = (part.stop - part.start, *shape[1:])
    elif isinstance(part, int):
        if part >= length:
            raise FeatureError(f"{where}: {node.name} has no row {part}")
        shape = shape[1:]
    if math.prod(shape) * node.dtype.itemsize > LARGEST:
        raise FeatureError(f"{where}: {node.name} is larger than {LARGEST >> 20} MB, more than a picture can have")
    return np.asarray(node[part])


def _shape(node: Node) -> tuple[int, ...]:
    """The shape of a dataset; () for a group, and for a dataset without values."""
    return getattr(node, "shape", None) or ()


def _node(parent: Node, name: str, where: object) -> Node:
    """A group or dataset that is in this file; links are refused, since they may lead anywhere."""
    h5py = import_module("h5py")
    node = parent.get(name) if isinstance(parent.get(name, getlink=True), h5py.HardLink) else None
    if node is None or (isinstance(node, h5py.Dataset) and (node.is_virtual or node.external)):
        raise FeatureError(f"{where}: {name} lies in another file, or is missing; only what is in the file is read")
    return node


@contextmanager
def _opened(path: Path) -> Iterator[Node]:
    require("papers", "h5py", purpose=f"reading {path}")
    h5py = import_module("h5py")
    try:
        with h5py.File(path, "r") as file:
            yield file
    except (OSError, KeyError, RuntimeError, ValueError, TypeError) as error:
        lines = str(error).splitlines() or [type(error).__name__]
        raise FeatureError(f"{path}: not an HDF5 file that can be read ({lines[0]})") from error
