"""Turns vectors of sentences and images into similarities of whole sets, as PyTorch tensors with gradients.

``SIMILARITIES`` lists the ways in which the cosines of a document's sentences and images become one number;
``unit_rows`` makes vectors whose products are cosines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix


@dataclass(frozen=True, slots=True)
class Similarity:
    """A way in which cosines become one similarity; ``similarity.kind`` of a recipe.

    Attributes:
        settings: Settings of ``[similarity]`` that it uses.
        function: Chooses the cells of a matrix whose weighted sum is the similarity (see ``similarity.cells``). It
            takes the matrix, its two axes, and ``k`` and ``links`` if these are settings of the kind. Empty for the
            kinds that train on pairs of one sentence and one image instead of sets.
    """

    name: str
    summary: str
    paper: str
    settings: tuple[str, ...] = ()
    function: str = ""


_HESSEL = "Hessel 2019, §3.2"

SIMILARITIES = {
    row.name: row
    for row in (
        Similarity(
            "dense",
            "Every sentence has its best image, and every image its best sentence: the means of both.",
            f"{_HESSEL}, DC",
            ("directions",),
            "iconotext.similarity.sets:dense_cells",
        ),
        Similarity(
            "top-k",
            "The same, but in each direction only the k highest count.",
            f"{_HESSEL}, TK; Li 2021",
            ("k", "directions"),
            "iconotext.similarity.sets:top_k_cells",
        ),
        Similarity(
            "assignment",
            "The best matching of up to k links, with at most one partner for each sentence and image.",
            f"{_HESSEL}, AP",
            ("k", "links"),
            "iconotext.similarity.assignment:assignment_cells",
        ),
        Similarity(
            "single-pair",
            "One random sentence and one random image stand for the document: right for documents of one picture.",
            "Hessel 2019, the baseline NoStruct",
        ),
        Similarity(
            "labelled-pairs",
            "Supervised: every gold link is a pair of its own.",
            "Li 2021, Fig. 5",
        ),
    )
}


def unit_rows(vectors: FloatMatrix) -> FloatMatrix:
    """(n, dim) rows scaled to length 1, whose dot products are cosines; rows of zeros stay."""
    import numpy as np  # here, since recipes are read without it

    lengths = np.sqrt(np.square(vectors).sum(axis=1, keepdims=True))
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)
