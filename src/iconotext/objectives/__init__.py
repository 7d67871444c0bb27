"""What training minimises, one file each, and how negatives and single pairs are drawn.

Every objective takes the similarities of D documents, cell (i, j) the similarity of the sentences of document i with
the images of document j, of which the first P are the positives, and two (P, D) masks: for document i, whose images and
whose sentences are its negatives. It gives one loss a positive; the caller averages. With single sentences and images
in place of whole sets (``draw_single_pairs``) the same objectives train the baseline NoStruct; with the similarities of
random parts of the positives (``draw_members``) they are the sub-document objective. ``intra_document`` (Li 2021),
``order`` and ``posterior`` look at nothing but the positives themselves, ``coherence`` at no similarities at all, but
at what the vectors of a text and its image say about how the two relate (Alikhani 2021).
"""

from iconotext.objectives.coherence import coherence, relation_weights
from iconotext.objectives.hinge import hinge
from iconotext.objectives.intra_document import intra_document
from iconotext.objectives.logistic import logistic
from iconotext.objectives.negatives import sample_negatives
from iconotext.objectives.no_information import loss_without_information
from iconotext.objectives.order import order
from iconotext.objectives.posterior import posterior
from iconotext.objectives.single_pair import draw_single_pairs
from iconotext.objectives.softmax import softmax
from iconotext.objectives.sub_document import draw_members

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
