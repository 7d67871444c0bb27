"""Training: from documents through batches and the training loop to a model folder."""

from iconotext.train.run import train

__all__ = ["train"]
