"""Evidence to links: which sentences of a document each of its images belongs to, and how sure that is.

Four kinds of evidence, a module each: ``image``, ``caption``, ``layout``, ``reference``. ``combine`` makes one
probability of them, ``evidence`` does all that for a document, ``select`` takes the cells that become links;
``link_document`` is the whole of it.
"""
