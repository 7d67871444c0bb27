"""Corpora: many documents on disk."""
