"""Reads the bytes of a picture in the library from its place, if the content has not changed."""

from __future__ import annotations

from pathlib import Path

from iconotext.corpus.formats.table import files_of_row
from iconotext.errors import CorpusError
from iconotext.library.files import digest_of
from iconotext.scale.store import located
from iconotext.types import Member

LARGEST = 256 * 2**20
"""Largest picture that is shown, in bytes."""


def file_content(file: Path, digest: str) -> bytes | None:
    """The contents of a file, if its digest is still the same; else None, since another file must not be shown."""
    try:
        if not file.is_file() or file.stat().st_size > LARGEST:
            return None
        return _if_still(file.read_bytes(), digest)
    except OSError:
        return None


def member_content(member: Member, digest: str) -> bytes | None:
    """The contents of a picture in a tar or a table, if its digest is still the same; else None."""
    try:
        store, path = located(member.file)
        with store.open_input_file(path) as file:
            if member.file.endswith(".tar"):
                file.seek(member.start)
                return _if_still(file.read(min(member.part, LARGEST)), digest)
            files = files_of_row(file, member.start)
    except (OSError, CorpusError):
        return None
    data = files[member.part] if member.part < len(files) else None
    return None if data is None else _if_still(data, digest)


def _if_still(data: bytes, digest: str) -> bytes | None:
    return data if digest_of(data) == digest else None
