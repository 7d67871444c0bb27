"""Whether the sources of a build are still what they were."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from iconotext.corpus.builders.frame.work_folder import BUILDING
from iconotext.corpus.builders.images.fetched import LEDGER
from iconotext.errors import CorpusError

IMAGES = frozenset((".jpg .jpeg .png .gif .webp .bmp .tif .tiff .avif .jp2 .svg .img").split())
"""Suffixes of files that may come and go without making a build another one: pictures are fetched by and by."""


def fingerprint(sources: Sequence[Path], *, written: Collection[Path] = ()) -> str:
    """Another one where a file of a source has another name, size or time.

    Args:
        sources: Files and folders. Pictures and hidden files in folders do not count.
        written: Files that the build writes, which do not count either where they lie in a source.

    Raises:
        CorpusError: A source is missing, or cannot be read.
    """
    digest = hashlib.sha256()
    own = {path.absolute() for path in written}
    for source in sources:
        if not source.exists():
            raise CorpusError(f"{source}: no such file or folder")
        for file in [source] if source.is_file() else _data_files(source):
            if file.absolute() in own:
                continue
            try:
                status = file.stat()
                state = f"{status.st_size} {status.st_mtime_ns}"
            except FileNotFoundError:  # a link to nowhere, or it went this moment
                state = "gone"
            except OSError as error:
                raise CorpusError(f"{file}: cannot be read: {error.strerror or error}") from error
            digest.update(f"{file.absolute()} {state}\n".encode("utf-8", "replace"))
    return digest.hexdigest()


def _data_files(folder: Path) -> Iterator[Path]:
    """The files in a folder and the folders in it that are no pictures."""
    for top, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and not name.endswith(BUILDING))
        for name in sorted(files):
            if not name.startswith(".") and os.path.splitext(name)[1].lower() not in IMAGES and name != LEDGER:
                yield Path(top, name)
