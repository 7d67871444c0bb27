"""Regions in tab-separated files with base64: the first published layout of bottom-up features.

Three programs write it, none with a header line: Anderson 2018 (6 columns), ViLBERT (7: probabilities of all classes
besides), and LXMERT (10: numbers and confidences of objects and attributes). Numbers are little-endian.
"""

from __future__ import annotations

import binascii
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.errors import FeatureError
from iconotext.features.fingerprint import digest_of
from iconotext.features.regions.table import KNOWN, LARGEST, OF_IMAGE, RegionTable, Stored

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
    return RegionTable(path, offsets.keys(), partial(_read, path, offsets), partial(digest_of, path))


def _read(path: Path, offsets: Mapping[str, int], ids: Sequence[str]) -> Iterator[Stored]:
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
