"""Vectors of sets of sentences and images → numbers that say how well they fit, on PyTorch tensors with gradients."""
