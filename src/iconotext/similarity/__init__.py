"""Vectors of sentences and images → numbers that say how well they fit.

``cosine`` compares single sentences with single images, on arrays. ``sets`` compares whole sets of them, on PyTorch
tensors with gradients.
"""
