"""Vectors of sentences and images to numbers that say how well they fit."""

from iconotext.similarity.cosine import cosine_similarity

__all__ = ["cosine_similarity"]
