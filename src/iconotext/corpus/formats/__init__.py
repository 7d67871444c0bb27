"""Formats of corpora on disk: a module for each, with functions that read and write it."""
