"""Training: from documents through batches and the training loop to a model folder."""

from iconotext.extras import require

require("train", "torch", "scipy", "lap", purpose="training")

from iconotext.train.run import train  # noqa: E402 - after the line above, which says what to install

__all__ = ["train"]
