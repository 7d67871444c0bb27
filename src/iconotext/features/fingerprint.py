"""Names for models that lie in a folder, such that other weights get another name."""

from __future__ import annotations

import hashlib
from pathlib import Path

WEIGHTS_AND_SETTINGS = (
    "*.json",
    "*.safetensors",
    "*.bin",
    "*.model",
    "*.txt",
    "*/*.json",
    "*/*.safetensors",
    "*/*.bin",
)


def folder_name(folder: Path) -> str:
    """The folder's name and a digest of the files that decide what the model computes.

    Reads all of them (about a second for 1 GB): a model that is trained on in the same folder must not be answered
    from the cache of the old one.
    """
    digest = hashlib.sha256()
    files = {file for pattern in WEIGHTS_AND_SETTINGS for file in folder.glob(pattern)}
    for file in sorted(files):
        digest.update(file.relative_to(folder).as_posix().encode())
        with file.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return f"{folder.resolve().name}@{digest.hexdigest()[:16]}"
