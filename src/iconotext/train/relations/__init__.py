"""Training the relation model that ships: how a text and a picture relate, from published labels.

``data`` reads labelled pairs and divides them into folds; ``text`` fits the text side, ``network`` and ``logistic`` its
two experts; ``pictures`` finds what a picture adds; ``training`` does it all, and ``folder`` writes the model.
"""

from iconotext.train.relations.training import train_relations

__all__ = ["train_relations"]
