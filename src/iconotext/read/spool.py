"""Documents that are walked several times and need not fit into memory: they lie in a file that nobody else sees."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import Self

from iconotext.errors import IconotextError
from iconotext.read import Failure
from iconotext.read.given import given_document
from iconotext.types import Document


class Spool:
    """Documents in a temporary file, which is gone at the end of the ``with`` block.

    Args:
        documents: Documents, the files that hold them, or what ``read_all`` gives; walked once.
    """

    def __init__(self, documents: Iterable[Document | Path | str | Failure]) -> None:
        self._file = TemporaryFile(prefix="iconotext-")  # noqa: SIM115  # closed at the end of the block
        self._places: list[int] = []
        for given in documents:
            try:
                document = given if isinstance(given, Failure) else given_document(given)
            except IconotextError as error:
                document = Failure(Path(str(given)), error)
            self._places.append(self._file.tell())
            pickle.dump(document, self._file, protocol=pickle.HIGHEST_PROTOCOL)

    def __enter__(self) -> Self:
        """The spool itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Take the file away."""
        self._file.close()

    def __len__(self) -> int:
        """Number of documents."""
        return len(self._places)

    def __iter__(self) -> Iterator[Document | Failure]:
        """One document in memory at a time."""
        for place in self._places:
            self._file.seek(place)
            document: Document | Failure = pickle.load(self._file)
            yield document
