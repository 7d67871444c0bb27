"""What training minimises, one file each, and how negatives and single pairs are drawn.

Every objective takes the similarities of D documents, cell (i, j) the similarity of the sentences of document i with
the images of document j, of which the first P are the positives, and two (P, D) masks: for document i, whose images and
whose sentences are its negatives. It gives one loss a positive; the caller averages. With single sentences and images
in place of whole sets (``draw_single_pairs``) the same objectives train the baseline NoStruct.
"""

from iconotext.objectives.hinge import hinge
from iconotext.objectives.logistic import logistic
from iconotext.objectives.negatives import sample_negatives
from iconotext.objectives.single_pair import draw_single_pairs
from iconotext.objectives.softmax import softmax

__all__ = ["draw_single_pairs", "hinge", "logistic", "sample_negatives", "softmax"]
