"""Builders: corpora made from data sets and from files of other kinds, one module for each."""
