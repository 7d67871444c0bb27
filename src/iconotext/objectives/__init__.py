"""Training objectives, and functions that draw negatives and single pairs.

An objective takes the (D, D) similarities of D documents, where cell (i, j) is the similarity of the sentences of
document i and the images of document j, and the first P documents are the positives. Two (P, D) masks mark the
documents whose images, and whose sentences, are the negatives of document i. The result is one loss per positive; the
caller averages them.

With single sentences and images instead of whole sets (``draw_single_pairs``) the same objectives train the baseline
NoStruct; with random parts of the positives (``draw_members``) they are the sub-document objective. ``intra_document``
(Li 2021), ``order`` and ``posterior`` use only the positives themselves. ``coherence`` uses no similarities, but the
relation that is predicted from the vectors of a text and its image (Alikhani 2021).
"""

from iconotext.objectives.coherence import coherence, posterior, relation_weights
from iconotext.objectives.contrastive import (
    draw_single_pairs,
    hinge,
    logistic,
    loss_without_information,
    sample_negatives,
    softmax,
)
from iconotext.objectives.intra_document import draw_members, intra_document
from iconotext.objectives.order import order

__all__ = [
    "coherence",
    "draw_members",
    "draw_single_pairs",
    "hinge",
    "intra_document",
    "logistic",
    "loss_without_information",
    "order",
    "posterior",
    "relation_weights",
    "sample_negatives",
    "softmax",
]
