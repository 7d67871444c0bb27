"""The data sets of the papers, built from their published files."""
