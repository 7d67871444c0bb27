"""Reads precomputed regions, in the file layouts in which bottom-up features are published."""

from __future__ import annotations

import hashlib
import logging
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

from iconotext.errors import FeatureError
from iconotext.features.regions.classifier import CLASSIFIER, load_classifier, says_concepts
from iconotext.features.regions.hdf5 import ids_file, open_hdf5
from iconotext.features.regions.lmdb import DATA, open_lmdb
from iconotext.features.regions.npz import open_npz_folder
from iconotext.features.regions.regions import Regions, RegionSource
from iconotext.features.regions.row import region_row
from iconotext.features.regions.table import RegionTable
from iconotext.features.regions.tsv import open_tsv
from iconotext.types import Image

logger = logging.getLogger(__name__)

CONCEPTS, VOCABULARY = "concepts.txt", "objects_vocab.txt"
"""Files with the names of concepts: suffix after the regions' name; and the first release's name for Visual Genome."""

_TSV = re.compile(r"\.tsv(\.\d+)?$")  # published in parts as .tsv.0, .tsv.1
_OPENERS = {_TSV: open_tsv, re.compile(r"\.(h5|hdf5)$"): open_hdf5, re.compile(r"\.lmdb$"): open_lmdb}
"""Pattern of a file's name to the function that opens it."""

_COCO_NUMBER = re.compile(r"(?:^|[^0-9])([0-9]{12})$|^([0-9]+)$")
"""The number of an image in its name: the whole name, or COCO's twelve digits. With fewer digits, ``figure-3.png``
would count as the third picture of an unrelated file."""


class RegionFiles:
    """Regions from one or more files.

    Args:
        path: The file or folder as the user named it.
        tables: The files.
        concepts: Names of the detector's classes; None if unknown.

    Attributes:
        concepts: The same; also None if the files do not say which concept a region shows.
    """

    def __init__(self, path: Path, tables: Sequence[RegionTable], concepts: tuple[str, ...] | None) -> None:
        self._path = path
        self._tables = tables
        self.concepts = concepts
        self._place_of: dict[str, tuple[int, int]] = {}  # image id to table and number in the table
        for number, table in enumerate(tables):
            if twice := self._place_of.keys() & set(table.ids):
                other = tables[self._place_of[min(twice)][0]].path
                raise FeatureError(f"{table.path}: image {min(twice)} is in {other.name} too; a picture must be in one")
            self._place_of |= {image: (number, i) for i, image in enumerate(table.ids)}
        self.dim = self._probe()

    @property
    def name(self) -> str:
        """Name of the file and a digest of its contents; takes about a second per GB."""
        digest = hashlib.sha256(repr(self.concepts).encode("utf-8", "surrogatepass"))
        for table in self._tables:
            digest.update(table.digest())
        return f"{self._path.resolve().name}@{digest.hexdigest()[:16]}"

    def regions(self, images: Sequence[Image]) -> list[Regions | str]:
        """The regions of images, found by their ``source``.

        Raises:
            FeatureError: An image matches several entries of the file, two different images match the same entry, or
                the file is damaged.
        """
        found = [self._find(image.source) for image in images]
        _check_names([image.source for image in images], found)
        wanted = sorted({image for image in found if image is not None}, key=self._place_of.__getitem__)
        with _readable(self._path):
            row_of = {image: row for image, row in self._rows(wanted) if len(row)}
        missing = f"{self._path.name} has no regions of it"
        return [missing if image is None else row_of.get(image, missing) for image in found]

    def _rows(self, ids: Sequence[str]) -> Iterator[tuple[str, Regions]]:
        """Id and regions of images, in the order of the files."""
        for number, group in groupby(ids, key=lambda image: self._place_of[image][0]):
            table, some = self._tables[number], list(group)
            for image, stored in zip(some, table.read(some), strict=True):
                where = f"{table.path}, image {image}"
                row = region_row(stored, self.concepts, where)
                if len(row) and row.features.shape[1] != self.dim:
                    raise FeatureError(f"{where}: features of length {row.features.shape[1]}, others have {self.dim}")
                yield image, row

    def _probe(self) -> int:
        """Length of a feature vector, from the first image with a region; logs which arrays are not read."""
        for table in self._tables:
            for image, stored in zip(table.ids, table.read(list(table.ids)), strict=True):
                row = region_row(stored, self.concepts, f"{table.path}, image {image}")
                if len(row):
                    if not says_concepts(stored):
                        self.concepts = None
                    if skipped := sorted(name for name, array in stored.items() if array is None):
                        logger.warning(
                            "%s: %s: not an array of numbers, so not read (Python objects are never unpickled); %s",
                            *(self._path, ", ".join(skipped)),
                            "regions have no concepts" if self.concepts is None else "all that is needed is there",
                        )
                    return int(row.features.shape[1])
        raise FeatureError(f"{self._path}: has no region of any picture")

    def _find(self, source: str) -> str | None:
        """The id of an image in the files, by its address in the document."""
        if source in self._place_of:
            return source
        name = _file_name(source)
        stem = os.path.splitext(name)[0]
        number = _COCO_NUMBER.search(stem)
        # UNITER writes names in lower case.
        forms = {name, stem, stem.lower(), *([(number[1] or number[2]).lstrip("0")] if number else [])}
        found = sorted(forms & self._place_of.keys())
        if len(found) > 1:
            raise FeatureError(
                f"{self._path}: {source} may be any of {', '.join(found)}; name one of them in the corpus"
            )
        return found[0] if found else None


def _check_names(sources: Sequence[str], found: Sequence[str | None]) -> None:
    """Raise ``FeatureError`` if images with different names have the same entry."""
    source_of: dict[str, str] = {}
    for source, image in zip(sources, found, strict=True):
        other = source_of.setdefault(image, source) if image is not None else source
        if _file_name(other) != _file_name(source):
            raise FeatureError(f"{other} and {source} would both be image {image} of the region file; rename one")


def _file_name(source: str) -> str:
    return re.split(r"[/\\]", source)[-1]


def is_region_file(path: Path) -> bool:
    """Whether a path is a file of regions, by its suffix, or a folder with such files."""
    try:
        return _has_suffix(path) or (path.is_dir() and bool(_inside(path)))
    except OSError:  # opening it will report the problem
        return False


def load_region_file(path: Path) -> RegionSource:
    """Open precomputed regions.

    Args:
        path: A file ``.tsv`` (``.tsv.0``), ``.h5``, ``.hdf5`` or ``.lmdb``; the folder of an LMDB; or a folder with
            ``.npz`` files, or with several of the others. Names of concepts may be beside it in ``NAME.concepts.txt``
            or ``objects_vocab.txt``, one per line. If the file does not say which concept a region shows, the
            detector's last layer may be beside it in ``NAME.classifier.safetensors`` or ``classifier.safetensors``.

    Raises:
        FeatureError: It is missing, damaged, of unknown layout, or needs a package that is not installed.
    """
    with _readable(path):
        files = [path] if _has_suffix(path) or not path.is_dir() else _inside(path)
        tables, names = [_open_table(file) for file in files], _concept_names(path)
        if names is not None and (file := _beside(path, CLASSIFIER)) is not None:
            classifier = load_classifier(file, len(names))
            tables = [classifier.named(table) for table in tables]
        found = RegionFiles(path, tables, names)
        return RegionSource(found.name, found.dim, found.concepts, found.regions)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Report in one line why a file cannot be read."""
    try:
        yield
    except OSError as error:
        raise FeatureError(f"{error.filename or path}: cannot be read: {error.strerror or error}") from error


def _open_table(path: Path) -> RegionTable:
    """Open one file, or a folder of NPZ files."""
    if not path.exists():
        raise FeatureError(f"{path}: not found")
    for suffix, opener in _OPENERS.items():
        if suffix.search(path.name.lower()):
            return opener(path)
    if (path / DATA).is_file():
        return open_lmdb(path)
    if path.is_dir():
        return open_npz_folder(path)
    raise FeatureError(f"{path}: not a file of regions: .tsv, .h5, .hdf5, .lmdb, or a folder of .npz")


def _has_suffix(path: Path) -> bool:
    return any(suffix.search(path.name.lower()) for suffix in _OPENERS)


def _inside(folder: Path) -> list[Path]:
    """The tables in a folder; for an LMDB or NPZ files the folder itself."""
    names = os.listdir(folder)
    if DATA in names or any(name.endswith(".npz") for name in names):
        return [folder]
    return sorted(folder / name for name in names if _has_suffix(Path(name)))


def files_beside(path: Path) -> list[Path]:
    """Existing files beside regions that belong to them: concepts, classifier, ids."""
    return [*_places(path, CONCEPTS, VOCABULARY), *_places(path, CLASSIFIER), ids_file(path)]


def _places(path: Path, own: str, shared: str | None = None) -> list[Path]:
    """Where a file that belongs to regions may be: with their name, in their folder, or for a whole folder."""
    shared = shared or own
    stem = path.name if path.is_dir() else Path(_TSV.sub("", path.name)).stem
    inside = [path / shared] if path.is_dir() else []
    return [path.with_name(f"{stem}.{own}"), *inside, path.with_name(shared)]


def _beside(path: Path, own: str, shared: str | None = None) -> Path | None:
    return next((place for place in _places(path, own, shared) if place.is_file()), None)


def _concept_names(path: Path) -> tuple[str, ...] | None:
    file = _beside(path, CONCEPTS, VOCABULARY)
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
