"""A file of regions in any layout, and the names that programs give to the arrays in it."""

from __future__ import annotations

import binascii
import hashlib
import io
import logging
import math
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from iconotext.errors import FeatureError
from iconotext.features.model_folder import digest_of
from iconotext.features.regions import Regions, RegionSource
from iconotext.types import Image

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEATURES = ("features", "x", "image_features")
SHARES = ("norm_bb", "spatial_features")
"""Boxes as shares of width and height; further columns have width and height of the box (and its area)."""
BOXES = ("boxes", "bbox", "image_bb")
OBJECTS = ("objects_id", "objects", "object_ids")
CONFIDENCES = ("objects_conf", "conf", "scores")
PROBABILITIES = ("cls_prob", "soft_labels")
COUNT = ("num_boxes", "num_bbox")
WIDTH = ("image_w", "img_w", "image_width", "img_width", "width")
HEIGHT = ("image_h", "img_h", "image_height", "img_height", "height")

OF_IMAGE = frozenset((*COUNT, *WIDTH, *HEIGHT))
"""One number per image; all others have a row per region."""

KNOWN = OF_IMAGE | {*FEATURES, *SHARES, *BOXES, *OBJECTS, *CONFIDENCES, *PROBABILITIES}
"""All names that are read; others (attributes, relations) are ignored."""

LARGEST = 1 << 28
"""Maximum size of one image's array in bytes; 1,000 regions of 2,048 numbers are 8 MB. Larger ones are damaged."""

Stored = Mapping[str, "NDArray[Any] | None"]
"""Name to array, of one image; None for a pickled Python object, which is never read."""


def first_array(stored: Stored, names: Sequence[str]) -> NDArray[Any] | None:
    """The image's array under the first of ``names`` that it has; None if it has none of them."""
    return next((array for name in names if (array := stored.get(name)) is not None), None)


@dataclass(frozen=True, slots=True, eq=False)
class RegionTable:
    """A file or folder in one layout; opened again for each reading.

    Attributes:
        read: The arrays of some images, in order, one image in memory at a time. Raises ``FeatureError`` if the file is
            damaged, or has changed since it was opened.
        digest: Changes with the contents.
    """

    path: Path
    ids: Collection[str]
    read: Callable[[Sequence[str]], Iterator[Stored]]
    digest: Callable[[], bytes]


def plain_array(data: bytes | memoryview, dtype: np.dtype[Any], shape: Sequence[int], where: str) -> NDArray[Any]:
    """An array from its bytes, checked against dtype and shape; only numbers are allowed.

    Raises:
        FeatureError: They do not fit.
    """
    numbers = dtype.kind in "fiub" and not dtype.hasobject
    if not numbers or min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(data):
        raise FeatureError(f"{where}: {len(data)} bytes are not {dtype} of shape {tuple(shape)}: cut off or damaged")
    return np.frombuffer(data, dtype).reshape(shape) if len(data) else np.zeros(shape, dtype)


BACKGROUND = "__background__"
"""Name of the background class in lists of the original detector's classes."""


def region_row(stored: Stored, names: Sequence[str] | None, where: str) -> Regions:
    """Check and convert the arrays of one image.

    Args:
        names: Of the concepts; None if unknown, then no region has one.
        where: File and image, for error messages.

    Raises:
        FeatureError: An array is missing, of a wrong kind or size, or has impossible numbers.
    """
    boxes = _boxes(stored, where)
    features = _features(stored, len(boxes), where)
    concepts, scores = _concepts(stored, names, len(boxes), where)
    count = _number(stored, COUNT, where)
    total = len(boxes) if count is None else int(count)
    if count is not None and not (0 <= count <= len(boxes) and count == total):
        raise FeatureError(f"{where}: says that it has {count:g} regions, but there are {len(boxes)} boxes")
    return Regions(features, boxes, concepts, scores)[:total]  # the rest is padding


def _features(stored: Stored, total: int, where: str) -> NDArray[np.float16]:
    features = first_array(stored, FEATURES)
    if features is None:
        raise FeatureError(f"{where}: has no features, which would be called {' or '.join(FEATURES)}")
    if features.ndim == 2 and len(features) != total and features.shape[1] == total:
        features = features.T  # MCAN's files have a column per region
    fits = features.ndim == 2 and len(features) == total and (features.shape[1] > 0 or not total)
    if features.dtype.kind != "f" or not fits:
        wanted = f"floating-point numbers of shape ({total}, dim) are needed"
        raise FeatureError(f"{where}: features are {_kind(features)}; {wanted}")
    with np.errstate(over="ignore"):  # numbers beyond float16 become infinite
        halves = features.astype(np.float16)
    if not np.isfinite(halves).all():
        raise FeatureError(f"{where}: features are not all finite numbers up to 65,504; compute them again")
    return halves


def _boxes(stored: Stored, where: str) -> NDArray[np.float32]:
    shares = first_array(stored, SHARES)
    boxes = shares if shares is not None else first_array(stored, BOXES)
    if boxes is None:
        names = " or ".join((*BOXES, *SHARES))
        raise FeatureError(f"{where}: has no boxes, which would be called {names}")
    wide = boxes.ndim == 2 and (boxes.shape[1] == 4 or (shares is not None and boxes.shape[1] >= 4))
    if boxes.dtype.kind not in "fiu" or not wide:
        raise FeatureError(f"{where}: boxes are {_kind(boxes)}; numbers of shape (regions, 4) are needed")
    edges = boxes[:, :4].astype(np.float64)
    if not np.isfinite(edges).all():
        raise FeatureError(f"{where}: boxes are not all finite numbers")
    if (edges[:, 2:] < edges[:, :2]).any():
        raise FeatureError(f"{where}: a box ends before it begins; boxes must be left, top, right, bottom")
    if shares is None and edges.size and edges.max() > 1:
        sides = [_number(stored, WIDTH, where), _number(stored, HEIGHT, where)]
        if sides[0] is None or sides[1] is None:
            raise FeatureError(
                f"{where}: boxes are in pixels, and the picture's width and height are not there; "
                f"store them as {WIDTH[0]} and {HEIGHT[0]}, or the boxes as shares of them"
            )
        edges /= np.array(sides * 2, np.float64)
    return edges.clip(0, 1).astype(np.float32)


def _concepts(
    stored: Stored, names: Sequence[str] | None, total: int, where: str
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The concept of each region, -1 if unknown, and the detector's confidence, 0 if unknown."""
    objects, probabilities, scores = (first_array(stored, known) for known in (OBJECTS, PROBABILITIES, CONFIDENCES))
    if names is not None and objects is None and probabilities is not None:
        if probabilities.ndim != 2 or probabilities.shape[1] not in (len(names), len(names) + 1):
            raise FeatureError(
                f"{where}: probabilities are {_kind(probabilities)}, which does not fit {len(names)} names of concepts"
            )
        probabilities = probabilities[:, probabilities.shape[1] - len(names) :]  # the first class may be the background
        objects, scores = probabilities.argmax(1), probabilities.max(1, initial=0)
    if scores is None:
        scores = np.full(total, 0 if names is None or objects is None else 1, np.float32)
    if scores.dtype.kind != "f" or scores.shape != (total,) or not ((scores >= 0) & (scores < 1.001)).all():
        raise FeatureError(f"{where}: confidences are {_kind(scores)}; {total} numbers from 0 to 1 are needed")
    sure = scores.astype(np.float32).clip(0, 1)  # a softmax may round to slightly more than 1
    if names is None or objects is None:
        return np.full(total, -1, np.int32), sure
    if objects.dtype.kind not in "iu" or objects.shape != (total,):
        raise FeatureError(f"{where}: objects are {_kind(objects)}; whole numbers of shape ({total},) are needed")
    if total and not (objects.min() >= 0 and objects.max() < len(names)):
        raise FeatureError(
            f"{where}: objects {objects.min()} to {objects.max()} do not fit {len(names)} names of concepts; "
            f"if the detector counts the background as 0, make {BACKGROUND} the first name"
        )
    nothing = np.array([name == BACKGROUND for name in names])[objects]
    return np.where(nothing, -1, objects).astype(np.int32), np.where(nothing, 0, sure).astype(np.float32)


def _number(stored: Stored, names: Sequence[str], where: str) -> float | None:
    array = first_array(stored, names)
    if array is None:
        return None
    value = float(array.reshape(())) if array.size == 1 and array.dtype.kind in "fiu" else math.nan
    if not math.isfinite(value) or value < 0 or (value == 0 and names is not COUNT):
        what = array.item() if array.size == 1 else _kind(array)
        raise FeatureError(f"{where}: {names[0]} is {what}; one positive number is needed")
    return value


def _kind(array: NDArray[Any]) -> str:
    return f"{array.dtype} of shape {array.shape}"


_ANDERSON = ("image_id", "image_w", "image_h", "num_boxes", "boxes", "features")
_LXMERT = (
    *("img_id", "img_h", "img_w", "objects_id", "objects_conf", "attrs_id", "attrs_conf"),
    *("num_boxes", "boxes", "features"),
)
COLUMNS: Mapping[int, tuple[str, ...]] = {len(names): names for names in (_ANDERSON, (*_ANDERSON, "cls_prob"), _LXMERT)}
"""Number of columns to their names."""


def open_tsv(path: Path) -> RegionTable:
    """Find the line of every picture, reading the file once without decoding it.

    Raises:
        FeatureError: A line has another number of columns than the first or is too long, or a picture has two lines.
    """
    offsets: dict[str, int] = {}
    columns = offset = number = 0
    with path.open("rb") as file:
        while line := file.readline(LARGEST):
            number += 1
            where = f"{path}, line {number}"
            if len(line) == LARGEST:
                raise FeatureError(f"{where}: is longer than {LARGEST >> 20} MB: not a file of region features")
            if line.strip(b"\r\n"):
                found = line.count(b"\t") + 1
                columns = columns or found
                if found not in COLUMNS or found != columns:
                    needed = columns if columns in COLUMNS else " or ".join(map(str, COLUMNS))
                    raise FeatureError(f"{where}: has {found} columns, expected {needed}; is the file whole?")
                picture = _id(line[: line.index(b"\t")])
                if not picture or picture in offsets:
                    what = f"image {picture} is there twice" if picture else "has no image id"
                    raise FeatureError(f"{where}: {what}; every line must be a picture of its own")
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
            said = columns["num_boxes"].decode()
            raise FeatureError(
                f"{where}: {name} have {len(data)} bytes, which are not those of {said} regions: cut off or damaged"
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
    """Find the NPZ files in a folder and below; they are named after their pictures.

    Raises:
        FeatureError: Two files in different folders have the same name.
    """
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
    """A digest of the checksums that each file has of its arrays, so that nothing is decompressed."""
    digest = hashlib.sha256()
    for image, path in files.items():
        with path.open("rb") as file, _opened(file, str(path)) as archive:
            members = [(info.filename, info.CRC, info.file_size) for info in archive.infolist()]
        digest.update(repr((image, members)).encode("utf-8", "surrogatepass"))
    return digest.digest()


def npz_arrays(file: BinaryIO, where: str) -> Stored:
    """The arrays of an NPZ file that have known names.

    Raises:
        FeatureError: Not an NPZ file, damaged, or larger when decompressed than a picture's regions can be.
    """
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
                data = stream.read(LARGEST + 1)  # whatever size the directory declares
        except _DAMAGE as error:
            raise FeatureError(f"{where}: {info.filename} in it is damaged ({error})") from error
        if len(data) <= LARGEST:
            return data
    raise FeatureError(
        f"{where}: {info.filename} unpacks to more than {LARGEST >> 20} MB, more than a picture can have"
    )


def _array(data: bytes, where: str) -> NDArray[Any] | None:
    """The array of an NPY file; None for Python objects."""
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


CLASSIFIER = "classifier.safetensors"
"""A file with ``weight`` (classes, features) and ``bias`` (classes,); the first class may be the background."""


@dataclass(frozen=True, slots=True, eq=False)
class Classifier:
    """A linear layer with a softmax: weight (classes, features) and bias (classes,)."""

    path: Path
    weight: NDArray[np.float32]
    bias: NDArray[np.float32]

    def named(self, table: RegionTable) -> RegionTable:
        """Wrap a file of regions so that it also names them."""

        def read(ids: Sequence[str]) -> Iterator[Stored]:
            return (stored if says_concepts(stored) else self._named(stored) for stored in table.read(ids))

        def digest() -> bytes:
            return hashlib.sha256(table.digest() + digest_of(self.path)).digest()

        return replace(table, read=read, digest=digest)

    def _named(self, stored: Stored) -> Stored:
        """The arrays of an image, with class probabilities of its regions."""
        features = first_array(stored, FEATURES)
        if features is None or features.ndim != 2 or not features.size:
            return stored
        if features.shape[1] != self.weight.shape[1]:
            features = features.T  # MCAN's files have a column per region
        if features.shape[1] != self.weight.shape[1]:
            raise FeatureError(f"{self.path}: is for features of length {self.weight.shape[1]}, not {len(features)}")
        with np.errstate(invalid="ignore", over="ignore"):  # reported when the features are read
            logits = features.astype(np.float32) @ self.weight.T + self.bias
            exponents = np.exp(logits - logits.max(axis=1, keepdims=True))
            return {**stored, PROBABILITIES[0]: exponents / exponents.sum(axis=1, keepdims=True)}


def says_concepts(stored: Stored) -> bool:
    """Whether a file names the regions of an image."""
    return first_array(stored, (*OBJECTS, *PROBABILITIES)) is not None


def load_classifier(path: Path, names: int) -> Classifier:
    """Read the weights of a classifier.

    Raises:
        FeatureError: The file cannot be read, or does not have ``names`` classes.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(os.fspath(path), framework="np") as file:
            weight, bias = file.get_tensor("weight"), file.get_tensor("bias")
    except (OSError, SafetensorError, TypeError) as error:
        raise FeatureError(f"{path}: cannot be read as a classifier (tensors weight and bias): {error}") from error
    if weight.ndim != 2 or bias.shape != weight.shape[:1] or not (weight.dtype.kind == bias.dtype.kind == "f"):
        raise FeatureError(
            f"{path}: weight is {weight.dtype} of shape {weight.shape}, bias {bias.dtype} of shape {bias.shape}; "
            "floating-point numbers of shape (classes, features) and (classes,) are needed"
        )
    if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
        raise FeatureError(f"{path}: weight and bias are not all finite numbers")
    if len(weight) not in (names, names + 1):
        raise FeatureError(
            f"{path}: has {len(weight)} classes, which does not fit {names} names of concepts, or one more, the "
            "background, first"
        )
    return Classifier(path, weight.astype(np.float32), bias.astype(np.float32))


logger = logging.getLogger(__name__)

CONCEPTS, VOCABULARY = "concepts.txt", "objects_vocab.txt"
"""Files with the names of concepts: suffix after the regions' name; and the first release's name for Visual Genome."""

_TSV = re.compile(r"\.tsv(\.\d+)?$")  # published in parts as .tsv.0, .tsv.1

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
        path: A file ``.tsv`` (``.tsv.0``), or a folder with ``.npz`` files or several files ``.tsv``. Names of concepts
            may be beside it in ``NAME.concepts.txt`` or ``objects_vocab.txt``, one per line. If the file does not say
            which concept a region shows, the detector's last layer may be beside it in
            ``NAME.classifier.safetensors`` or ``classifier.safetensors``.

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
    """Paths of files beside regions that belong to them: concepts and classifier."""
    return [*_places(path, CONCEPTS, VOCABULARY), *_places(path, CLASSIFIER)]


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
