"""Chunks and contexts in the words of other programs; each module needs its own package, which an extra brings."""
