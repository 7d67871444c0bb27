"""What captions, layout and references say of the documents of a corpus, in an array on disk."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.links.evidence import weigh_evidence
from iconotext.links.language import is_foreign, no_meaning
from iconotext.train.arrays import ArrayWriter
from iconotext.train.prepare_sentences import caption_backbone

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from iconotext.recipe import Recipe
    from iconotext.types import Document, Evidence

TEACHERS: tuple[Evidence, ...] = ("caption", "layout", "reference")
"""The evidence that the picture learns from: never itself."""


class PosteriorWriter:
    """Writes the probability of each sentence and image, for the posterior objective; nothing without it.

    Attributes:
        arrays: Names of what it writes.
    """

    def __init__(self, recipe: Recipe, work: Path, stack: ExitStack) -> None:
        self.arrays: tuple[str, ...] = ("posteriors",) if recipe.objective.posterior else ()
        if self.arrays:
            self._values = stack.enter_context(ArrayWriter(work / "posteriors", "<f2"))
            self._text = caption_backbone(recipe)

    def append(self, document: Document, rows: NDArray[np.int64]) -> None:
        """Write a document.

        Args:
            rows: (images,) rows of its images, -1 for those that are left out.
        """
        if self.arrays:
            encode = no_meaning if is_foreign(document, self._text.language) else self._text.encode
            found = weigh_evidence(document, None, encode, evidence=TEACHERS)
            self._values.append(found.confidence[:, rows >= 0].ravel())
