"""Photographs with captions, in the formats they come in, and the documents made of them."""
