"""Regions in NPZ files, one per picture: layouts of the PyTorch ports of bottom-up attention, of MCAN and UNITER.

NumPy's own reader is not used, since it trusts the sizes that a file declares. Python objects in a file (the ports
store a dictionary ``info``) are never unpickled.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from iconotext.errors import FeatureError
from iconotext.features.regions.table import KNOWN, LARGEST, RegionTable, Stored, plain_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
    return RegionTable(path, files.keys(), partial(_read, files), partial(_digest, files))


def _read(files: Mapping[str, Path], ids: Sequence[str]) -> Iterator[Stored]:
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
