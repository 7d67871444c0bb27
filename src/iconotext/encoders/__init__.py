"""Encoders: sentences and images become vectors, and a document the matrix of its similarities."""
