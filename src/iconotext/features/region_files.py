"""Precomputed regions in files: ``load_region_file`` opens TSV files, or folders of NPZ files.

``RegionFiles`` finds the regions of an image in them. The names of arrays in the files are in ``features.regions``.
"""

from __future__ import annotations

import binascii
import hashlib
import io
import logging
import os
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from iconotext.errors import FeatureError
from iconotext.features.model_folder import digest_of
from iconotext.features.regions import (
    KNOWN,
    LARGEST,
    OBJECTS,
    OF_IMAGE,
    PROBABILITIES,
    Regions,
    RegionSource,
    RegionTable,
    Stored,
    first_array,
    plain_array,
    region_row,
)
from iconotext.types import Image

if TYPE_CHECKING:
    from numpy.typing import NDArray


_ANDERSON = ("image_id", "image_w", "image_h", "num_boxes", "boxes", "features")
_LXMERT = (
    *("img_id", "img_h", "img_w", "objects_id", "objects_conf", "attrs_id", "attrs_conf"),
    *("num_boxes", "boxes", "features"),
)
COLUMNS: Mapping[int, tuple[str, ...]] = {len(names): names for names in (_ANDERSON, (*_ANDERSON, "cls_prob"), _LXMERT)}
"""Names of the columns by their number."""


def open_tsv(path: Path) -> RegionTable:
    """Find the line of every picture, reading the file once without decoding it."""
    offsets: dict[str, int] = {}
    columns = offset = number = 0
    with path.open("rb") as file:
        while line := file.readline(LARGEST):
            number += 1
            where = f"{path}, line {number}"
            if len(line) == LARGEST:
                raise FeatureError(f"{where}: is longer than {LARGEST >> 20} MB: not a file of region features")
            if line.strip(b"\r\n"):
                found_columns = line.count(b"\t") + 1
                columns = columns or found_columns
                if found_columns not in COLUMNS or found_columns != columns:
                    needed = columns if columns in COLUMNS else " or ".join(map(str, COLUMNS))
                    raise FeatureError(f"{where}: has {found_columns} columns, expected {needed}; is the file whole?")
                picture = _id(line[: line.index(b"\t")])
                if not picture or picture in offsets:
                    fault = f"image {picture} is there twice" if picture else "has no image id"
                    raise FeatureError(f"{where}: {fault}; every line must be a picture of its own")
                offsets[picture] = offset
            offset += len(line)
    return RegionTable(path, offsets.keys(), partial(_read_tsv, path, offsets), partial(digest_of, path))


def _read_tsv(path: Path, offsets: Mapping[str, int], ids: Sequence[str]) -> Iterator[Stored]:
    with path.open("rb") as file:
        for picture in ids:
            file.seek(offsets[picture])
            fields = file.readline(LARGEST).rstrip(b"\r\n").split(b"\t")
            if len(fields) not in COLUMNS or _id(fields[0]) != picture:
                raise FeatureError(f"{path}: changed while it was read: start again")
            yield _arrays(dict(zip(COLUMNS[len(fields)], fields, strict=True)), f"{path}, image {picture}")


def _id(field: bytes) -> str:
    text = field.decode("utf-8", "replace")
    if len(text) > 1 and text[0] == text[-1] == '"':  # as Python's csv writes a value with a quotation mark in it
        return text[1:-1].replace('""', '"')
    return text


def _arrays(columns: Mapping[str, bytes], where: str) -> Stored:
    stored: dict[str, NDArray[Any]] = {}
    for name in OF_IMAGE & columns.keys():
        try:
            stored[name] = np.array(float(columns[name]))
        except ValueError as error:
            text = columns[name][:20].decode("ascii", "replace")
            raise FeatureError(
                f"{where}: {name} is {text!r}, expected a number; remove the header line, if there is one"
            ) from error
    regions = int(stored["num_boxes"]) if 0 <= stored["num_boxes"] < LARGEST else -1
    for name, field in columns.items():
        if name in OF_IMAGE or name not in KNOWN:
            continue
        try:
            data = binascii.a2b_base64(field, strict_mode=True)
        except ValueError as error:  # includes binascii.Error
            raise FeatureError(f"{where}: {name} are not base64 ({error}): cut off or damaged") from error
        dtype = np.dtype("<i8" if name == "objects_id" else "<f4")
        size, rest = divmod(len(data), dtype.itemsize * max(regions, 1))
        if rest or regions < 0 or (data and not regions):
            count = columns["num_boxes"].decode()
            raise FeatureError(
                f"{where}: {name} have {len(data)} bytes, which are not those of {count} regions: cut off or damaged"
            )
        values = np.frombuffer(data, dtype) if data else np.zeros(0, dtype)
        stored[name] = values if name.startswith("objects") else values.reshape(regions, size)
    if not regions:
        stored["boxes"] = np.zeros((0, 4), np.float32)
    return stored


MEMBERS = 1_000
"""Maximum number of arrays in a file; published ones have up to ten."""

PICKLED = "info"
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError, KeyError)


def open_npz_folder(path: Path) -> RegionTable:
    """Find the NPZ files in a folder and below; they are named after their pictures."""
    files: dict[str, Path] = {}
    for file in sorted(path.rglob("*.npz")):
        if file.stem in files:
            raise FeatureError(f"{file}: another file of this name is {files[file.stem]}; a picture must have one")
        files[file.stem] = file
    return RegionTable(path, files.keys(), partial(_read_npz, files), partial(_digest, files))


def _read_npz(files: Mapping[str, Path], ids: Sequence[str]) -> Iterator[Stored]:
    for image in ids:
        with files[image].open("rb") as file:
            yield npz_arrays(file, str(files[image]))


def _digest(files: Mapping[str, Path]) -> bytes:
    """Compute a digest of the arrays' checksums in each file, so that no array is decompressed."""
    digest = hashlib.sha256()
    for image, path in files.items():
        with path.open("rb") as file, _opened(file, str(path)) as archive:
            members = [(info.filename, info.CRC, info.file_size) for info in archive.infolist()]
        digest.update(repr((image, members)).encode("utf-8", "surrogatepass"))
    return digest.digest()


def npz_arrays(file: BinaryIO, where: str) -> Stored:
    """Read the arrays of an NPZ file that have known names."""
    stored: dict[str, NDArray[Any] | None] = {}
    with _opened(file, where) as archive:
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            if name == PICKLED:
                stored[name] = None
            elif name in KNOWN:
                if name in stored:
                    raise FeatureError(f"{where}: has two arrays {name}")
                stored[name] = _array(_unpacked(archive, info, where), f"{where}, array {name}")
    return stored


def _opened(file: BinaryIO, where: str) -> zipfile.ZipFile:
    try:
        archive = zipfile.ZipFile(file)
    except _DAMAGE as error:
        raise FeatureError(f"{where}: not an NPZ file, or cut off ({error}); write it with numpy.savez") from error
    if len(archive.infolist()) > MEMBERS:
        raise FeatureError(f"{where}: holds {len(archive.infolist())} arrays, more than the limit of {MEMBERS}")
    return archive


def _unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo, where: str) -> bytes:
    if info.file_size <= LARGEST:
        try:
            with archive.open(info) as stream:
                data = stream.read(LARGEST + 1)  # the size in the directory may be wrong
        except _DAMAGE as error:
            raise FeatureError(f"{where}: {info.filename} in it is damaged ({error})") from error
        if len(data) <= LARGEST:
            return data
    raise FeatureError(
        f"{where}: {info.filename} unpacks to more than {LARGEST >> 20} MB, more than a picture can have"
    )


def _array(data: bytes, where: str) -> NDArray[Any] | None:
    """Read the array of an NPY file; None for Python objects."""
    stream = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(stream)
    except (ValueError, EOFError, SyntaxError, RecursionError, MemoryError) as error:
        raise FeatureError(f"{where}: not an array of NumPy ({str(error).splitlines()[0]})") from error
    if dtype.hasobject:
        return None
    array = plain_array(memoryview(data)[stream.tell() :], dtype, shape[::-1] if fortran else shape, where)
    return array.T if fortran else array


logger = logging.getLogger(__name__)

CONCEPTS, VOCABULARY = "concepts.txt", "objects_vocab.txt"
"""Files with the names of concepts: the suffix after the regions' name, and the name of the first release for Visual
Genome."""

_TSV = re.compile(r"\.tsv(\.\d+)?$")  # published in parts as .tsv.0, .tsv.1

_COCO_NUMBER = re.compile(r"(?:^|[^0-9])([0-9]{12})$|^([0-9]+)$")
"""The number of an image in its name: the whole name, or COCO's twelve digits. With fewer digits, ``figure-3.png``
would count as the third picture of an unrelated file."""


class RegionFiles:
    """Regions from one or more files.

    Args:
        path: The file or folder as the user named it.
        concepts: Names of the detector's classes; None if unknown.

    Attributes:
        concepts: Names of the detector's classes; None if unknown, or if the files do not name the regions' concepts.
        dim: Length of a region's features.
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
        """Return the regions of images, which are found by their ``source``."""
        ids = [self._find(image.source) for image in images]
        _check_names([image.source for image in images], ids)
        names = sorted({image for image in ids if image is not None}, key=self._place_of.__getitem__)
        with _readable(self._path):
            row_of = {image: row for image, row in self._rows(names) if len(row)}
        missing = f"{self._path.name} has no regions of it"
        return [missing if image is None else row_of.get(image, missing) for image in ids]

    def _rows(self, ids: Sequence[str]) -> Iterator[tuple[str, Regions]]:
        """Yield id and regions of images, in the order of the files."""
        for number, group in groupby(ids, key=lambda image: self._place_of[image][0]):
            table, batch = self._tables[number], list(group)
            for image, stored in zip(batch, table.read(batch), strict=True):
                where = f"{table.path}, image {image}"
                row = region_row(stored, self.concepts, where)
                if len(row) and row.features.shape[1] != self.dim:
                    raise FeatureError(f"{where}: features of length {row.features.shape[1]}, others have {self.dim}")
                yield image, row

    def _probe(self) -> int:
        """Return the length of a feature vector, from the first image with a region.

        Without concepts there, ``concepts`` becomes None; arrays that are not read are logged.
        """
        for table in self._tables:
            for image, stored in zip(table.ids, table.read(list(table.ids)), strict=True):
                row = region_row(stored, self.concepts, f"{table.path}, image {image}")
                if not len(row):
                    continue
                if first_array(stored, (*OBJECTS, *PROBABILITIES)) is None:
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
        """Return the id of an image in the files, given its address in the document."""
        if source in self._place_of:
            return source
        name = _file_name(source)
        stem = os.path.splitext(name)[0]
        number = _COCO_NUMBER.search(stem)
        # UNITER writes names in lower case.
        forms = {name, stem, stem.lower(), *([(number[1] or number[2]).lstrip("0")] if number else [])}
        ids = sorted(forms & self._place_of.keys())
        if len(ids) > 1:
            raise FeatureError(f"{self._path}: {source} may be any of {', '.join(ids)}; name one of them in the corpus")
        return ids[0] if ids else None


def _check_names(sources: Sequence[str], ids: Sequence[str | None]) -> None:
    """Raise ``FeatureError`` if images with different names have the same entry."""
    source_of: dict[str, str] = {}
    for source, image in zip(sources, ids, strict=True):
        other = source_of.setdefault(image, source) if image is not None else source
        if _file_name(other) != _file_name(source):
            raise FeatureError(f"{other} and {source} would both be image {image} of the region file; rename one")


def _file_name(source: str) -> str:
    return re.split(r"[/\\]", source)[-1]


def is_region_file(path: Path) -> bool:
    """Tell whether a path is a file of regions, by its suffix, or a folder with such files."""
    try:
        return _has_suffix(path) or (path.is_dir() and bool(_inside(path)))
    except OSError:  # opening it will report the problem
        return False


def load_region_file(path: Path) -> RegionSource:
    """Open precomputed regions.

    Args:
        path: A file ``.tsv`` (``.tsv.0``), or a folder with ``.npz`` files or several files ``.tsv``. Names of concepts
            may be beside it in ``NAME.concepts.txt`` or ``objects_vocab.txt``, one per line.
    """
    with _readable(path):
        files = [path] if _has_suffix(path) or not path.is_dir() else _inside(path)
        tables, names = [_open_table(file) for file in files], _concept_names(path)
        region_files = RegionFiles(path, tables, names)
        return RegionSource(region_files.name, region_files.dim, region_files.concepts, region_files.regions)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Report in one line the reason why a file cannot be read."""
    try:
        yield
    except OSError as error:
        raise FeatureError(f"{error.filename or path}: cannot be read: {error.strerror or error}") from error


def _open_table(path: Path) -> RegionTable:
    if not path.exists():
        raise FeatureError(f"{path}: not found")
    if _has_suffix(path):
        return open_tsv(path)
    if path.is_dir():
        return open_npz_folder(path)
    raise FeatureError(f"{path}: not a file of regions: .tsv, or a folder of .npz")


def _has_suffix(path: Path) -> bool:
    return _TSV.search(path.name.lower()) is not None


def _inside(folder: Path) -> list[Path]:
    """The tables in a folder; for NPZ files the folder itself."""
    names = os.listdir(folder)
    if any(name.endswith(".npz") for name in names):
        return [folder]
    return sorted(folder / name for name in names if _has_suffix(Path(name)))


def files_beside(path: Path) -> list[Path]:
    """Return where the names of concepts may stand: with the name of the regions, in their folder, or beside it."""
    stem = path.name if path.is_dir() else Path(_TSV.sub("", path.name)).stem
    inside = [path / VOCABULARY] if path.is_dir() else []
    return [path.with_name(f"{stem}.{CONCEPTS}"), *inside, path.with_name(VOCABULARY)]


def _concept_names(path: Path) -> tuple[str, ...] | None:
    file = next((place for place in files_beside(path) if place.is_file()), None)
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
