"""What a library is, and how it is searched: the file ``library.json`` in its folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from iconotext.errors import LibraryError, OutputError
from iconotext.write import write_bytes

FORMAT = 3
"""Version of the files in the folder."""

SETTINGS = "library.json"


@dataclass(frozen=True, slots=True)
class Background:
    """Cosines with sentences that nobody asked: their means and standard deviations.

    Attributes:
        picture: Mean and deviation of the cosines with the pictures of a library.
        text: Mean and deviation of the cosines with what is said of the pictures.
    """

    picture: tuple[float, float]
    text: tuple[float, float]


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """How the approximate index is searched, and how well it finds.

    Attributes:
        pictures: How many it was made of.
        partitions: Into how many it is divided.
        probes: How many of them a search looks into.
        refine: How many times as many pictures as wanted are compared exactly in the end.
        recall: The share of the ten nearest pictures that is found, measured against exact search.
        queries: With how many queries.
    """

    pictures: int
    partitions: int
    probes: int
    refine: int
    recall: float = 0.0
    queries: int = 0


@dataclass(frozen=True, slots=True)
class LibrarySettings:
    """What a library is: the content of ``library.json``.

    Attributes:
        model: What ``library_encoder`` is given for it.
        space: Name of the space, which its vectors belong to.
        dim: Length of a vector.
        relation_model: Name of the relation model that its offsets come from; None without one.
        relations: Names of the relations, in the order of the offsets.
        relations_from: Where the relation model is: ``default``, a folder, or ``none``.
        roots: The files and folders that were added.
        asked: The settings of reading and linking that were asked for, by the path that they were asked for.
        index: How the approximate index is searched; None while search is exact.
        background: What its cosines are compared with; None before the first run that adds is through.
        format: Version of the files.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

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
    """What the library in a folder is; ``LibraryError`` where there is none, or one of an unknown format."""
    try:
        settings = _JSON.validate_json((path / SETTINGS).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise LibraryError(
            f"{path}: not a library; make one with: iconotext library add {path} FOLDER-OF-PICTURES"
        ) from None
    except OSError as error:
        raise LibraryError(f"{path / SETTINGS}: cannot be read: {error.strerror or error}") from error
    except ValidationError as error:
        what = error.errors()[0]["msg"]
        raise LibraryError(f"{path / SETTINGS}: damaged ({what}); make the library again") from error
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
    """Write what a library is; ``LibraryError`` where it cannot be written."""
    try:
        write_bytes(path / SETTINGS, _JSON.dump_json(settings, indent=1) + b"\n", force=True)
    except OutputError as error:
        raise LibraryError(str(error)) from error


def is_library(path: Path) -> bool:
    """Whether a folder is a library."""
    return (path / SETTINGS).is_file()
