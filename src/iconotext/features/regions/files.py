"""Regions that another program has computed, in the layouts in which bottom-up features are published."""

from __future__ import annotations

import hashlib
import logging
import os
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import groupby
from pathlib import Path

from iconotext.errors import FeatureError
from iconotext.features.regions import Regions, RegionSource
from iconotext.features.regions.hdf5 import ids_file, open_hdf5
from iconotext.features.regions.lmdb import DATA, open_lmdb
from iconotext.features.regions.npz import open_npz_folder
from iconotext.features.regions.row import RegionRow, RegionTable, empty_row, joined_rows, region_row
from iconotext.features.regions.tsv import open_tsv
from iconotext.types import Image

logger = logging.getLogger(__name__)

VOCABULARY = "objects_vocab.txt"
"""Names of the 1,600 objects of Visual Genome, as the first release calls the file."""

_TSV = re.compile(r"\.tsv(\.\d+)?$")  # published in parts as .tsv.0, .tsv.1
_HDF5 = re.compile(r"\.(h5|hdf5)$")
_LMDB = re.compile(r"\.lmdb$")
_COCO_NUMBER = re.compile(r"(?:^|[^0-9])([0-9]{12})$|^([0-9]+)$")
"""The number of a picture in its name: all of it, or as COCO writes it. Fewer digits after other letters would make a
``figure-3.png`` the third picture of a file that has nothing to do with it."""


class RegionFiles:
    """Regions from one or more files. Use ``load_region_file``.

    Args:
        path: What was asked for.
        tables: The files.
        concepts: Names of what the detector can see, None where they are not known.
    """

    def __init__(self, path: Path, tables: Sequence[RegionTable], concepts: tuple[str, ...] | None) -> None:
        self._path = path
        self._tables = tables
        self.concepts = concepts
        self._place_of: dict[str, int] = {}  # of a picture among those of all tables
        self._starts: list[int] = []  # place of the first one of each table
        for table in tables:
            if twice := self._place_of.keys() & set(table.ids):
                other = tables[self._table(min(twice))].path
                raise FeatureError(f"{table.path}: image {min(twice)} is in {other.name} too; a picture must be in one")
            self._starts.append(len(self._place_of))
            self._place_of |= {picture: place for place, picture in enumerate(table.ids, len(self._place_of))}
        self.dim = self._probed()

    @cached_property
    def name(self) -> str:
        """Name of the file and a digest of what is in it, a second a GB when first asked for."""
        digest = hashlib.sha256(repr(self.concepts).encode("utf-8", "surrogatepass"))
        with _readable(self._path):
            for table in self._tables:
                digest.update(table.digest())
        return f"{self._path.resolve().name}@{digest.hexdigest()[:16]}"

    def regions(self, images: Sequence[Image]) -> Regions:
        """The regions of some images, found by their ``source``; one that is not in the file has a problem.

        Raises:
            FeatureError: More than one picture of the file may be meant, or two different ones mean the same, or the
                file is damaged.
        """
        found = [self._find(image.source) for image in images]
        _one_name_each([image.source for image in images], found)
        wanted = sorted({i for i in found if i is not None}, key=self._place_of.__getitem__)
        with _readable(self._path):
            row_of = dict(self._rows(wanted))
        empty = empty_row(self.dim)
        rows = [row_of[i] if i is not None else empty for i in found]
        problems = [
            f"{self._path.name} has no regions of it" if i is None or not len(row.boxes) else None
            for i, row in zip(found, rows, strict=True)
        ]
        return joined_rows(rows, problems, self.dim)

    def _rows(self, ids: Sequence[str]) -> Iterator[tuple[str, RegionRow]]:
        """The pictures by id, which come in the order of the files."""
        for number, group in groupby(ids, key=self._table):
            table, some = self._tables[number], list(group)
            for picture, stored in zip(some, table.read(some), strict=True):
                where = f"{table.path}, image {picture}"
                row = region_row(stored, self.concepts, where)
                if len(row.boxes) and row.features.shape[1] != self.dim:
                    raise FeatureError(f"{where}: features of length {row.features.shape[1]}, others have {self.dim}")
                yield picture, row

    def _table(self, picture: str) -> int:
        return bisect_right(self._starts, self._place_of[picture]) - 1

    def _probed(self) -> int:
        """Length of a feature vector, of the first picture that has a region; says what is not read there."""
        for table in self._tables:
            for picture, stored in zip(table.ids, table.read(list(table.ids)), strict=True):
                row = region_row(stored, self.concepts, f"{table.path}, image {picture}")
                if len(row.boxes):
                    if skipped := sorted(name for name, array in stored.items() if array is None):
                        logger.warning(
                            "%s: %s: not an array of numbers, so not read (Python objects are never unpickled); %s",
                            *(self._path, ", ".join(skipped)),
                            "regions have no concepts" if row.concepts.max() < 0 else "all that is needed is there",
                        )
                    return int(row.features.shape[1])
        raise FeatureError(f"{self._path}: has no region of any picture")

    def _find(self, source: str) -> str | None:
        """The id of a picture by its address in the document."""
        if source in self._place_of:
            return source
        name = re.split(r"[/\\]", source)[-1]
        stem = os.path.splitext(name)[0]
        number = _COCO_NUMBER.search(stem)
        # UNITER writes names in small letters.
        forms = {name, stem, stem.lower(), *([(number[1] or number[2]).lstrip("0")] if number else [])}
        found = sorted(forms & self._place_of.keys())
        if len(found) > 1:
            raise FeatureError(
                f"{self._path}: {source} may be any of {', '.join(found)}; name one of them in the corpus"
            )
        return found[0] if found else None


def _one_name_each(sources: Sequence[str], found: Sequence[str | None]) -> None:
    """Pictures of different names must not become one."""
    source_of: dict[str, str] = {}
    for source, picture in zip(sources, found, strict=True):
        if picture is not None:
            other = source_of.setdefault(picture, source)
            if re.split(r"[/\\]", other)[-1] != re.split(r"[/\\]", source)[-1]:
                raise FeatureError(f"{other} and {source} would both be image {picture} of the region file; rename one")


def is_region_file(path: Path) -> bool:
    """Whether this is a file of regions by its suffix, or a folder that holds some."""
    try:
        return bool(_suffixed(path)) or (path.is_dir() and bool(_inside(path)))
    except OSError:  # whoever opens it will say what is wrong
        return False


def load_region_file(path: Path) -> RegionSource:
    """Precomputed regions.

    Args:
        path: A file ``.tsv`` (``.tsv.0``), ``.h5``, ``.hdf5`` or ``.lmdb``; the folder of an LMDB; or a folder with
            ``.npz`` files, or with several of the others. Names of concepts lie beside it in ``NAME.concepts.txt`` or
            ``objects_vocab.txt``, one a line.

    Raises:
        FeatureError: It is missing, damaged, of no known layout, or needs a package that is not installed.
    """
    with _readable(path):
        tables = [open_table(file) for file in ([path] if _suffixed(path) or not path.is_dir() else _inside(path))]
        return RegionFiles(path, tables, _concept_names(path))


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Say in one line why a file cannot be read."""
    try:
        yield
    except OSError as error:
        raise FeatureError(f"{error.filename or path}: cannot be read: {error.strerror or error}") from error


def open_table(path: Path) -> RegionTable:
    """One file, or folder of NPZ files, by its kind."""
    if not path.exists():
        raise FeatureError(f"{path}: not found")
    kind = _suffixed(path)
    if kind == "tsv":
        return open_tsv(path)
    if kind == "hdf5":
        return open_hdf5(path)
    if kind == "lmdb" or (path / DATA).is_file():
        return open_lmdb(path)
    if path.is_dir():
        return open_npz_folder(path)
    raise FeatureError(f"{path}: not a file of regions: .tsv, .h5, .hdf5, .lmdb, or a folder of .npz")


_KINDS: Mapping[str, re.Pattern[str]] = {"tsv": _TSV, "hdf5": _HDF5, "lmdb": _LMDB}


def _suffixed(path: Path) -> str | None:
    return next((kind for kind, suffix in _KINDS.items() if suffix.search(path.name.lower())), None)


def _inside(folder: Path) -> list[Path]:
    """The tables in a folder: itself, for an LMDB and for NPZ files."""
    names = os.listdir(folder)
    if DATA in names or any(name.endswith(".npz") for name in names):
        return [folder]
    return sorted(folder / name for name in names if _suffixed(Path(name)))


def files_beside(path: Path) -> list[Path]:
    """Files that say more of a file or folder of regions, if they are there: names of concepts, ids of pictures."""
    stem = path.name if path.is_dir() else _TSV.sub("", path.name)
    names = [path.with_name(f"{Path(stem).stem}.concepts.txt"), path.with_name(VOCABULARY)]
    if path.is_dir():
        names = [path.with_name(f"{path.name}.concepts.txt"), path / VOCABULARY, path.with_name(VOCABULARY)]
    return [*names, ids_file(path)]


def _concept_names(path: Path) -> tuple[str, ...] | None:
    file = next((place for place in files_beside(path)[:-1] if place.is_file()), None)
    if file is None:
        return None
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise FeatureError(f"{file}: is not UTF-8: save it as UTF-8") from error
    names = tuple(line.split(",")[0].strip() for line in lines)
    if not names or not all(names):
        number = names.index("") + 1 if names else 1
        raise FeatureError(f"{file}, line {number}: empty; each line must name a concept")
    return names
