"""Turns evidence into links: which sentences of a document each image belongs to, with a probability.

Each kind of evidence has a module: ``image``, ``caption``, ``text``, ``layout``, ``reference``. ``combine`` turns them
into one probability, ``weighing`` does so for whole documents, ``choose_links`` picks the pairs that become links, and
``link_windows`` runs all of it.
"""
