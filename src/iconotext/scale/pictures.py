"""Finds the pictures of a shard's documents: in a tar beside it, as files beside it, or in a folder of pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from iconotext.corpus.builders.find_images import FoundImages
from iconotext.corpus.image_files import REFUSED, ImageFiles, leads_out, named_by_address
from iconotext.corpus.tar import LARGEST, Tar
from iconotext.errors import CorpusError
from iconotext.scale.store import joined, read_bytes
from iconotext.types import Member

NOT_FOUND = "not found: {}"


class ShardPictures:
    """Finds the pictures of a shard.

    Args:
        tars: The tars beside the shard.
        remote: Address of the shard's folder, if it is in a store.
        found: A folder of pictures, searched last.
        outside: Whether names may lead out of the folder.
        files: Whether documents of this format refer to pictures as files.
    """

    def __init__(
        self,
        folder: Path,
        tars: Sequence[Tar],
        *,
        remote: str | None = None,
        found: FoundImages | None = None,
        outside: bool = False,
        files: bool = True,
    ) -> None:
        self._tars, self._remote, self._found, self._outside = tars, remote, found, outside
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
                problem = NOT_FOUND.format(source)  # without the folder: results must not depend on where the shard is
        else:
            file, problem = self._fetched(source, self._remote)
        if file is None and problem and self._found is not None:
            kept = self._found.find(source)
            return (kept, None) if kept is not None else (None, problem)
        return file, problem

    def member(self, source: str) -> Member | None:
        """The place of a picture in a tar; None if it is in none."""
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
