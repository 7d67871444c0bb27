"""The decision about links: from evidence to weights, probabilities, selected links, and promises about them.

Begin with ``combine.weigh`` (evidence to probabilities), ``choose.choose_links`` (probabilities to links) and
``promise.control_false_discoveries`` (a bound on the share of wrong links).
"""
