"""Studies of human preference between the best images of models (Alikhani 2021, Table 6).

``study`` writes a study, one HTML file with its key, and reads the answers that its page saves; ``results`` counts
majorities, tests whether the difference could be chance, and writes the raw votes.
"""
