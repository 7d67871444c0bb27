"""Comparisons of the papers, tables and figures, from a corpus: train every row, score it, set it beside the paper."""
