"""LangChain: a loader that returns chunks with their pictures; ``iconotext[langchain]``."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Unpack

from iconotext.adapters import described_chunks
from iconotext.excerpts import ChunkOptions
from iconotext.extras import require
from iconotext.linked import LinkedDocument
from iconotext.linker import Linker
from iconotext.read import Failure, ReadSettings, find_documents, read_files
from iconotext.read.find import no_documents

try:
    from langchain_core.document_loaders import BaseLoader
    from langchain_core.documents import Document
except ModuleNotFoundError:
    require("langchain", purpose="iconotext.adapters.langchain")
    raise

logger = logging.getLogger(__name__)


def documents(linked: LinkedDocument, words: int | None = None, **options: Unpack[ChunkOptions]) -> Iterator[Document]:
    """The chunks of a linked document, cut as ``LinkedDocument.chunks`` does.

    ``metadata`` has the other fields of a slim chunk, ``source`` (the document's origin), its ``title`` and
    ``language``;
    ``images`` is a list of objects, for stores that accept lists.
    """
    for name, text, metadata in described_chunks(linked, "source", words, **options):
        yield Document(id=name, page_content=text, metadata=metadata)


class PictureLoader(BaseLoader):
    """Loads files, and folders of them, as chunks with their pictures, cut as ``LinkedDocument.chunks`` does.

    Attributes:
        failures: The documents of the last run that could not be read or linked, also logged as warnings.
    """

    def __init__(
        self,
        *paths: Path | str,
        words: int | None = None,
        linker: Linker | None = None,
        settings: ReadSettings | None = None,
        **options: Unpack[ChunkOptions],
    ) -> None:
        self._paths, self._words, self._options = paths, words, options
        self._linker, self._settings = linker, settings
        self.failures: list[Failure] = []

    def lazy_load(self) -> Iterator[Document]:
        """The chunks, one document in memory at a time.

        Raises:
            IconotextError: There are no documents, or none of them could be linked.
        """
        self.failures = []
        self._linker = self._linker or Linker.load()
        linked_any = False
        settings, skipped = self._settings or ReadSettings(), Counter[str]()
        files = list(find_documents(self._paths, settings, skipped=skipped))
        for linked in self._linker.link_all(read_files(files, settings)):
            if isinstance(linked, Failure):
                self.failures.append(linked)
                logger.warning("left out: %s", linked.error)
            else:
                linked_any = True
                yield from documents(linked, self._words, **self._options)
        if not linked_any:
            raise self.failures[0].error if self.failures else no_documents(self._paths, settings, skipped)
