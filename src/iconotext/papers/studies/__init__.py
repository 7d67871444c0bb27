"""Studies of human preference between the best images of models (Alikhani 2021, Table 6).

``study`` makes a study, one SQLite file, and takes the answers of raters, from any number of processes; ``results``
counts majorities, tests whether the difference could be chance, and writes the raw votes.
"""

from iconotext.papers.studies.results import StudyResults, export_votes, study_results
from iconotext.papers.studies.study import (
    ANSWERS,
    Contenders,
    Progress,
    ShownPair,
    create_study,
    find_studies,
    next_pair,
    progress,
    shown_images,
    undo,
    vote,
)

__all__ = [
    "ANSWERS",
    "Contenders",
    "Progress",
    "ShownPair",
    "StudyResults",
    "create_study",
    "export_votes",
    "find_studies",
    "next_pair",
    "progress",
    "shown_images",
    "study_results",
    "undo",
    "vote",
]
