"""Turns vectors of sets of sentences and images into similarities of the sets, as PyTorch tensors with gradients."""
