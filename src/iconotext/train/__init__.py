"""Training: documents → batches → loop → a model folder."""

from iconotext.train.run import train

__all__ = ["train"]
