"""How alike are a set of sentences and a set of images? Three answers (Hessel 2019) to one matrix of cosines.

Prints

    dense 1.267
    top-k 1.45
    assignment 0.6
"""

from typing import get_args

import torch

from iconotext.similarity.sets import SimilarityKind, set_similarity

cosines = torch.tensor([[0.9, 0.1], [0.8, 0.2], [0.0, 0.3]])  # three sentences, two images
for kind in get_args(SimilarityKind):
    print(kind, round(float(set_similarity(cosines, kind=kind)), 3))
