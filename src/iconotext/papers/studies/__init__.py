"""Studies of human preference between the best images of models (Alikhani 2021, Table 6).

``study`` makes a study, one SQLite file, and takes the answers of raters, from any number of processes; ``results``
counts majorities, tests whether the difference could be chance, and writes the raw votes.
"""
