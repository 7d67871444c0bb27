"""The images of a corpus: where each one is (file, tar, table of features, web, nowhere), and which are the same."""

from __future__ import annotations

import os
from collections.abc import Sequence
from enum import IntEnum
from functools import cached_property, lru_cache
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Literal

from iconotext.corpus.formats.webdataset import LARGEST, Tar
from iconotext.corpus.found_images import FoundImages, named_by_address
from iconotext.errors import CorpusError
from iconotext.features.feature_table import ROWS_FILE, read_rows
from iconotext.system.files import content_digest
from iconotext.system.object_store import joined, read_bytes
from iconotext.types import Image, Member

NOT_FOUND = "not found: {}"

REFUSED = "its name leads out of the folder of the shard"

Reach = Literal["anywhere", "folder", "tar"]
"""Where files of images may be: anywhere, in the folder of the corpus, or only in its tar."""

FOLDERS = 50_000  # number of folders for which it is cached whether they exist


class Whereabouts(IntEnum):
    """The kind of place where an image is.

    Attributes:
        NO_FILE: It needs none: its features are beside the corpus, or the format has no files.
        WEB: At an address, and not available here.
        LOST: Its file is missing.
        INSIDE: In a tar beside the corpus.
        ROW: Inside its row of a table; only the reader of the table knows this.
    """

    FILE = 0
    NO_FILE = 1
    WEB = 2
    LOST = 3
    INSIDE = 4
    ROW = 5


class ImageFiles:
    """Locates the images of a corpus; in the released format they are ids without files.

    Args:
        tar: Tar beside the corpus, preferred to files; opened when the first image is located, which raises
            ``CorpusError`` if the tar cannot be read at all.
        reach: Where files may be; a corpus from a stranger must not name files elsewhere.
    """

    def __init__(self, folder: Path, *, files: bool = True, tar: Path | None = None, reach: Reach = "anywhere") -> None:
        self._folder = folder
        self._tar_path = tar
        self._reach = reach
        self._files = files
        self._start = str(folder)
        # Checking a folder once saves checking each of its files: most often there is no folder "https:" at all.
        self._has_folder = lru_cache(FOLDERS)(lambda name: os.path.isdir(os.path.join(self._start, name)))

    @cached_property
    def _in_table(self) -> frozenset[str]:
        """Images with features beside the corpus; read when the first file is missing."""
        path = self._folder / ROWS_FILE
        return frozenset(read_rows(path)) if path.is_file() else frozenset()

    @cached_property
    def tar(self) -> Tar | None:
        """The tar beside the corpus."""
        return None if self._tar_path is None else Tar(self._tar_path)

    def whereabouts(self, source: str) -> Whereabouts:
        """Return where an image is, by its name in the corpus.

        An image with features beside the corpus needs no file. An image with an address is not available, unless a file
        has this very name.
        """
        if not self._files:
            return Whereabouts.NO_FILE
        if self.tar is not None and self.tar.find(source):
            return Whereabouts.INSIDE
        address = named_by_address(source)
        # Of an address only ``https:``, so that addresses of many hosts share one entry of the cache.
        folder = source.partition("/")[0] if address and "/" in source else source.rpartition("/")[0]
        possible = not self._refuses(source) and self._has_folder(folder)
        if possible and os.path.isfile(os.path.join(self._start, source)):
            return Whereabouts.FILE
        if source in self._in_table:
            return Whereabouts.NO_FILE
        return Whereabouts.WEB if address else Whereabouts.LOST

    def _refuses(self, source: str) -> bool:
        return self._reach == "tar" or (self._reach == "folder" and leads_out(source))

    def find(self, source: str) -> tuple[Path | bytes | None, str | None]:
        """Return (file, or bytes in a tar; None), (None, reason) if missing, (None, None) if it needs no file."""
        match self.whereabouts(source):
            case Whereabouts.INSIDE if self.tar is not None:
                return self.tar.read(self.tar.find(source) or source), None
            case Whereabouts.FILE:
                return self._folder / source, None
            case Whereabouts.WEB:
                return None, f"not at hand: {source} is an address"
            case Whereabouts.LOST:
                return None, self.not_found(source)
        return None, None

    def not_found(self, source: str) -> str:
        """Return the message for an image whose file is missing."""
        if self._reach == "tar":
            return f"not found in {self._tar_path}: {source}"
        if self._refuses(source):
            return f"{REFUSED}: {source}"
        rows = f", and {ROWS_FILE} beside the corpus has no row for it" if self._in_table else ""
        return NOT_FOUND.format(f"{self._folder / source}{rows}")


class ShardPictures:
    """Finds the pictures of a shard.

    Args:
        tars: The tars beside the shard.
        remote: Address of the shard's folder, if it is in a store.
        picture_folder: A folder of pictures, searched last.
        outside: Whether names may lead out of the folder.
        files: Whether documents of this format refer to pictures as files.
    """

    def __init__(
        self,
        folder: Path,
        tars: Sequence[Tar],
        *,
        remote: str | None = None,
        picture_folder: FoundImages | None = None,
        outside: bool = False,
        files: bool = True,
    ) -> None:
        self._tars, self._remote, self._picture_folder, self._outside = tars, remote, picture_folder, outside
        self._beside = ImageFiles(folder, files=files, reach="anywhere" if outside else "folder")

    def find(self, source: str) -> tuple[Path | bytes | None, str | None]:
        """(picture, None), or (None, reason); ``StoreError`` if the store does not answer."""
        for tar in self._tars:
            if name := tar.find(source):
                try:
                    return tar.read(name), None
                except CorpusError:  # changed since it was opened
                    return None, NOT_FOUND.format(source)
        if not self._outside and not named_by_address(source) and leads_out(source):
            return None, REFUSED
        file: Path | bytes | None
        if self._remote is None:
            file, problem = self._beside.find(source)
            if problem is not None and not named_by_address(source):
                # Without the folder's name, since results must not depend on the place of the shard.
                problem = NOT_FOUND.format(source)
        else:
            file, problem = self._fetched(source, self._remote)
        if file is None and problem and self._picture_folder is not None:
            file = self._picture_folder.find(source)
            return file, None if file is not None else problem
        return file, problem

    def member(self, source: str) -> Member | None:
        """The place of a picture in a tar; None if it is not in a tar."""
        return next((tar.member(name) for tar in self._tars if (name := tar.find(source))), None)

    def _fetched(self, source: str, folder: str) -> tuple[bytes | None, str | None]:
        if named_by_address(source):
            return None, f"not at hand: {source} is an address"
        if leads_out(source):  # a store has no parent folder
            return None, REFUSED
        address = joined(folder, source)
        data = read_bytes(address, LARGEST + 1)
        if data is not None and len(data) > LARGEST:
            return None, f"larger than {LARGEST // 2**20} MiB"
        return data, None if data is not None else NOT_FOUND.format(source)


def leads_out(source: str) -> bool:
    """Return whether a file name leads out of its folder."""
    path, windows = PurePosixPath(source), PureWindowsPath(source)
    if path.is_absolute() or bool(windows.drive) or "\0" in source:
        return True
    return os.path.normpath(source.replace("\\", "/")).split("/")[0] == ".."


class ImageKeys:
    """Gives images with the same bytes the same key, wherever they are; reads each file once."""

    def __init__(self) -> None:
        self._of_file: dict[Path, bytes] = {}

    def of(self, image: Image) -> bytes:
        """Return the key of an image; without a readable file, it depends on the document's name for the image."""
        if isinstance(image.file, bytes):
            return content_digest(image.file)
        source = f"source {image.source}".encode("utf-8", "surrogatepass")
        if image.file is None:
            return source
        if image.file not in self._of_file:
            self._of_file[image.file] = content_key(image.file) or source
        return self._of_file[image.file]


def content_key(file: Path) -> bytes | None:
    """Return a digest of the bytes of a file; None if it cannot be read."""
    try:
        return content_digest(file)
    except OSError:
        return None
