"""The decision about links: from evidence to weights, probabilities and selected links.

Begin with ``combine.weigh`` (evidence to probabilities) and ``choose.choose_links`` (probabilities to links).
"""
