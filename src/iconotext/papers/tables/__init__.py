"""Reproduces the results tables of the papers: ``runner.reproduce`` trains and measures the rows of a table.

The tables are described in ``iconotext.papers.published``. ``rows`` makes the recipe of each row, ``runs`` trains one
model for each seed, ``links`` and ``retrieval`` measure a model and make the report, and ``iconotext.papers.render``
writes it.
"""
