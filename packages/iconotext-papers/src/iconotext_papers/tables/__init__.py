"""Reproduces the results tables of the papers: ``runner.reproduce`` trains and measures the rows of a table.

The tables are described in ``iconotext_papers.published``. ``rows`` makes the recipe of each row, ``links`` and
``retrieval`` measure a model and make the report, and ``corpora`` sets several corpora into one table.
"""
