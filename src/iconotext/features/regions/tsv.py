"""Regions in tab-separated files with base64: the layout in which bottom-up features were first published.

Three programs write it, none with a header line: Anderson 2018 (6 columns), ViLBERT (7: probabilities of all classes
besides), and LXMERT (10: numbers and confidences of objects and attributes). Numbers are little-endian.
"""

from __future__ import annotations

import binascii
import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.errors import FeatureError
from iconotext.features.regions.row import LARGEST, OF_IMAGE, Stored

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ANDERSON = ("image_id", "image_w", "image_h", "num_boxes", "boxes", "features")
_LXMERT = (
    *("img_id", "img_h", "img_w", "objects_id", "objects_conf", "attrs_id", "attrs_conf"),
    *("num_boxes", "boxes", "features"),
)
COLUMNS: Mapping[int, tuple[str, ...]] = {len(names): names for names in (_ANDERSON, (*_ANDERSON, "cls_prob"), _LXMERT)}
"""Names of the columns by their number."""

_SKIPPED = ("attrs_id", "attrs_conf")


@dataclass(frozen=True, slots=True, eq=False)
class TsvTable:
    """A file whose lines are found by their pictures and read when asked for.

    Attributes:
        path: The file.
        offsets: Where the line of each picture begins, in bytes.
    """

    path: Path
    offsets: Mapping[str, int]

    @property
    def ids(self) -> Collection[str]:
        """The pictures, in the order of the file."""
        return self.offsets.keys()

    def read(self, ids: Sequence[str]) -> Iterator[Stored]:
        """The arrays of some pictures; see ``RegionTable``."""
        with self.path.open("rb") as file:
            for picture in ids:
                file.seek(self.offsets[picture])
                fields = _fields(file.readline(LARGEST))
                if len(fields) not in COLUMNS or _id(fields[0]) != picture:
                    raise FeatureError(f"{self.path}: changed while it was read: start again")
                yield _arrays(fields, f"{self.path}, image {picture}")

    def digest(self) -> bytes:
        """Of all bytes: a second a GB."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()


def open_tsv(path: Path) -> TsvTable:
    """Find the line of every picture, reading the file once without decoding it.

    Raises:
        FeatureError: A line has another number of columns than the first or is longer than any can be, or a picture
            has two of them.
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
    return TsvTable(path, offsets)


def _fields(line: bytes) -> list[bytes]:
    return line.rstrip(b"\r\n").split(b"\t")


def _id(field: bytes) -> str:
    text = field.decode("utf-8", "replace")
    if len(text) > 1 and text[0] == text[-1] == '"':  # as Python's csv writes one that has a quotation mark in it
        return text[1:-1].replace('""', '"')
    return text


def _arrays(fields: Sequence[bytes], where: str) -> dict[str, NDArray[Any]]:
    stored: dict[str, NDArray[Any]] = {}
    columns = dict(zip(COLUMNS[len(fields)], fields, strict=True))
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
        if name in OF_IMAGE or name in _SKIPPED or name == COLUMNS[len(fields)][0]:
            continue
        try:
            data = binascii.a2b_base64(field, strict_mode=True)
        except ValueError as error:  # binascii.Error is one
            raise FeatureError(f"{where}: {name} are not base64 ({error}): cut off or damaged") from error
        dtype = np.dtype("<i8" if name == "objects_id" else "<f4")
        size, rest = divmod(len(data), dtype.itemsize * max(regions, 1))
        if rest or regions < 0 or (data and not regions):
            raise FeatureError(
                f"{where}: {name} have {len(data)} bytes, which are not those of {columns['num_boxes'].decode()} "
                "regions: cut off or damaged"
            )
        values = np.frombuffer(data, dtype) if data else np.zeros(0, dtype)
        stored[name] = values if name.startswith("objects") else values.reshape(regions, size)
    if not regions:
        stored["boxes"] = np.zeros((0, 4), np.float32)
    return stored
