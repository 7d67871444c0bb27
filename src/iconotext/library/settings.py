"""What a library is, and how it is searched: the file ``library.json`` in its folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from iconotext.errors import LibraryError, OutputError
from iconotext.library.match import Background
from iconotext.write import write_text

FORMAT = 2
"""Version of the files in the folder. Format 1 knew no words, and is brought up to date by the next run that adds."""

SETTINGS = "library.json"


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
    recall: float
    queries: int


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


def read_settings(path: Path) -> LibrarySettings:
    """What the library in a folder is.

    Raises:
        LibraryError: There is none, or one of a format that only a later iconotext knows.
    """
    try:
        text = (path / SETTINGS).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        raise LibraryError(
            f"{path}: not a library; make one with: iconotext library add {path} FOLDER-OF-PICTURES"
        ) from None
    except OSError as error:
        raise LibraryError(f"{path / SETTINGS}: cannot be read: {error.strerror or error}") from error
    try:
        values = json.loads(text)
        if values["format"] not in range(1, FORMAT + 1):
            raise LibraryError(
                f"{path}: a library of format {values['format']}, and this iconotext knows {FORMAT}: upgrade iconotext"
            )
        index, known = values.pop("index"), values.pop("background", None)
        values |= {name: tuple(values[name]) for name in ("relations", "roots")}
        return LibrarySettings(
            index=IndexSettings(**index) if index else None,
            background=Background(tuple(known["picture"]), tuple(known["text"])) if known else None,
            **values,
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LibraryError(f"{path / SETTINGS}: damaged ({error}); make the library again") from error


def write_settings(path: Path, settings: LibrarySettings) -> None:
    """Write what a library is.

    Raises:
        LibraryError: It cannot be written.
    """
    text = json.dumps(asdict(settings), indent=1, ensure_ascii=False) + "\n"
    try:
        write_text(path / SETTINGS, text, force=True)
    except OutputError as error:
        raise LibraryError(str(error)) from error


def is_library(path: Path) -> bool:
    """Whether a folder is a library."""
    return (path / SETTINGS).is_file()
