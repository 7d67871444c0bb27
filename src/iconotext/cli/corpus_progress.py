"""Progress of commands that read a corpus, or look at its pictures."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.cli.common import progress

if TYPE_CHECKING:
    from iconotext.features import ImageBackbone
    from iconotext.types import Document, FloatMatrix

IMAGES = 256
"""Pictures that are encoded before their features are used."""


def encoded(encoder: ImageBackbone, files: Sequence[Path], label: str) -> Iterator[FloatMatrix]:
    """Features of pictures, some at a time: (pictures, dim).

    Raises:
        CorpusError: A picture cannot be read.
    """
    from iconotext.errors import CorpusError

    starts = range(0, len(files), IMAGES)
    for start in progress(starts, total=len(starts), label=label):
        some = files[start : start + IMAGES]
        features = encoder.encode(some)
        for file, problem in zip(some, features.problems, strict=True):
            if problem is not None:
                raise CorpusError(f"{file}: {problem}; repair it or take it out: features need every picture")
        yield features.pooled


def total(path: Path) -> int:
    """Number of documents for a progress bar, 0 where there is none to be seen."""
    from iconotext.corpus.store import count_documents

    return count_documents(path) if sys.stderr.isatty() else 0


def watched(path: Path, label: str) -> Iterator[Document]:
    """The documents of a corpus, with a progress bar."""
    from iconotext.corpus.store import read_corpus

    return progress(read_corpus(path), total=total(path), label=label)
