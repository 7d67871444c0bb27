"""The settings of a library: the file ``library.json`` in its folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from iconotext.errors import LibraryError, OutputError
from iconotext.system.files import write_bytes

FORMAT = 4
"""Version of the file format."""

SETTINGS = "library.json"


@dataclass(frozen=True, slots=True)
class Background:
    """Mean and standard deviation of the cosines of made-up sentences with a library's pictures and texts."""

    picture: tuple[float, float]
    text: tuple[float, float]


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """How the approximate index is searched, and its recall.

    Attributes:
        pictures: Number of pictures when it was built.
        partitions: Number of partitions.
        probes: Number of partitions that a search looks into.
        refine: A search for n pictures compares n times this many exactly.
        recall: The share of the ten nearest pictures that is found, compared with exact search.
        queries: Number of queries with which recall was measured.
    """

    pictures: int
    partitions: int
    probes: int
    refine: int
    recall: float = 0.0
    queries: int = 0


@dataclass(frozen=True, slots=True)
class LibrarySettings:
    """The content of ``library.json``.

    Attributes:
        model: The argument of ``library_encoder``.
        space: Name of the space of its vectors.
        dim: Length of a vector.
        relation_model: Name of the relation model of its offsets; None without one.
        relations: Names of the relations, in the order of the offsets.
        relations_from: Where the relation model is: ``default``, a folder, or ``none``.
        roots: The files and folders that were added.
        asked: Path to the user's settings of reading and linking for it.
        index: How the approximate index is searched; None while search is exact.
        background: Cosines with made-up sentences; None until the first run that adds pictures has ended.
        format: Version of the file format.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", allow_inf_nan=False)

    model: str
    space: str
    dim: int
    relation_model: str | None = None
    relations: tuple[str, ...] = ()
    relations_from: str = "default"
    roots: tuple[str, ...] = ()
    asked: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    index: IndexSettings | None = None
    background: Background | None = None
    format: int = field(default=FORMAT)


_JSON = TypeAdapter(LibrarySettings)


def read_settings(path: Path) -> LibrarySettings:
    """Read the settings of a library; ``LibraryError`` if the folder is none, or of an unknown format."""
    try:
        settings = _JSON.validate_json((path / SETTINGS).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise LibraryError(
            f"{path}: not a library; make one with: iconotext library add {path} FOLDER-OF-PICTURES"
        ) from None
    except OSError as error:
        raise LibraryError(f"{path / SETTINGS}: cannot be read: {error.strerror or error}") from error
    except ValidationError as error:
        message = error.errors()[0]["msg"]
        raise LibraryError(f"{path / SETTINGS}: damaged ({message}); make the library again") from error
    if settings.format > FORMAT:
        raise LibraryError(
            f"{path}: a library of format {settings.format}, and this iconotext knows {FORMAT}: upgrade iconotext"
        )
    if settings.format < FORMAT:
        raise LibraryError(
            f"{path}: made by an earlier version; delete this folder and add the pictures again with:"
            f" iconotext library add {path} PATH... ({SETTINGS} in it names the paths as roots)"
        )
    return settings


def write_settings(path: Path, settings: LibrarySettings) -> None:
    """Write the settings of a library; ``LibraryError`` if they cannot be written."""
    try:
        write_bytes(path / SETTINGS, _JSON.dump_json(settings, indent=1) + b"\n", force=True)
    except OutputError as error:
        raise LibraryError(str(error)) from error


def is_library(path: Path) -> bool:
    """Return whether a folder is a library."""
    return (path / SETTINGS).is_file()
