"""Formats of corpora on disk."""
