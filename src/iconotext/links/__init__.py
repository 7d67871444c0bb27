"""Evidence to links: which sentences of a document each of its images belongs to, and how sure that is.

Four kinds of evidence, a module each: ``image``, ``caption``, ``layout``, ``reference``. ``combine`` makes one
probability of them, ``weighing`` does all that for documents, ``choose_links`` takes the cells that become links;
``link_windows`` is the whole of it.
"""
