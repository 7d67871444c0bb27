"""Names for models in folders that change with the weights."""

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


def digest_of(*files: Path) -> bytes:
    """A digest of the contents of files: about a second for 1 GB."""
    digest = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.digest()


def folder_name(folder: Path) -> str:
    """The folder's name and a digest of the files that decide what the model computes.

    Reads all of them: after further training in the same folder, the cache of the old model must not be used.
    """
    digest = hashlib.sha256()
    for file in sorted({file for pattern in WEIGHTS_AND_SETTINGS for file in folder.glob(pattern)}):
        digest.update(file.relative_to(folder).as_posix().encode())
        with file.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return f"{folder.resolve().name}@{digest.hexdigest()[:16]}"


def content_name(name: str) -> str:
    """A name that changes with the contents: for a folder or a file it includes a digest, others stay the same."""
    path = Path(name)
    if not path.exists():
        return name
    # A model of ours has a recipe in its folder; a table of features has the names of its rows beside it.
    files = sorted(path.glob("*.toml")) if path.is_dir() else [path, *sorted(path.parent.glob("*.json"))]
    return f"{folder_name(path) if path.is_dir() else path.name}@{digest_of(*files).hex()[:16]}"
