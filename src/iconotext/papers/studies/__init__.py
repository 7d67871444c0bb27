"""What people prefer: the best images of models and of the one they are compared with (Alikhani 2021, Table 6).

``study`` makes a study, one SQLite file; ``voting`` hands its pairs to raters and takes their answers, from as many
processes at once as there are; ``results`` counts majorities and writes the raw votes; ``preference`` says whether the
difference could be chance, and how small a difference the study could have seen.
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
