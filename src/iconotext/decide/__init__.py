"""The decision about links: from evidence to weights, probabilities, selected links, and promises about them.

Begin with ``combine.weigh`` (evidence to probabilities), ``choose.choose_links`` (probabilities to links) and
``false_discovery.control_among_documents`` (a bound on the share of wrong links).
"""
