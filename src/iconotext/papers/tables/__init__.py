"""The results tables of the papers, made anew: one runner, one renderer.

What the tables are stands in ``iconotext.papers.published``. ``rows`` makes the recipe of each row, ``runs`` one
training for each seed, ``runner`` does it all: ``processes`` runs ``job`` for each, ``links`` and ``retrieval`` measure
a model and say what is written, ``iconotext.papers.render`` writes it.
"""
