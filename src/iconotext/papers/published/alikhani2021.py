"""The results of Alikhani 2021, as published.

Median ranks are places from 1 in pools of 500 images; recalls, shares of votes and positive rates are in percent;
average precisions go from 0 to 1. The paper's "0 ≤ MedR ≤ 1" is a slip: its median ranks are those below.

Relations of CITE++ have the names of Table 1, as everywhere in this package; the other tables call them by their
questions, Q2 to Q8.
"""

from __future__ import annotations

from typing import NamedTuple


class Ranks(NamedTuple):
    """How well a text finds its image.

    Attributes:
        median: Median rank of the right image, 1 for the best.
        deviation: Standard deviation of the median over repeated tests; None where it is not published.
        r1: R@1 in percent.
        r5: R@5 in percent.
        r10: R@10 in percent.
    """

    median: float
    deviation: float | None
    r1: float
    r5: float
    r10: float


class Votes(NamedTuple):
    """What people preferred, in percent of the examples: the retrieved image of CMCM_c against that of CMCA."""

    better: float
    worse: float
    both_good: float
    both_bad: float


CITE = (
    *("Expansion", "ImageNeeded", "Elaboration t", "Elaboration i-tool"),
    *("Temporal i<t", "Temporal i>t", "Temporal i=t"),
)
"""Q2 to Q8."""

CLUE = ("Visible", "Subjective", "Action", "Story", "Meta", "Irrelevant")

TABLE_1 = dict(zip(CITE, (82.1, 11.5, 32.9, 19.3, 15.8, 58.8, 31.3), strict=True))
"""Positive rates in CITE++."""

TABLE_2 = dict(zip(CLUE, (67.4, 6.6, 15.7, 24.3, 39.1, 8.7), strict=True))
"""Positive rates in Clue."""

TABLE_4: dict[str, dict[str, Ranks]] = {
    "Base": {"CITE++": Ranks(10.0, 3.7, 45.7, 48.4, 50.6)},
    "CMCA": {"CITE++": Ranks(5.4, 2.3, 46.0, 50.1, 53.8)},
    "CMCM-NoAttn": {"CITE++": Ranks(6.6, 2.5, 46.0, 49.5, 52.0)},
    "CMCM": {"CITE++": Ranks(4.2, 1.2, 46.5, 51.4, 53.9)},
    "CMCM Expansion": {"CITE++": Ranks(4.7, 2.0, 46.4, 50.6, 53.4)},
    "CMCM ImageNeeded": {"CITE++": Ranks(4.2, 1.3, 46.2, 51.1, 54.2)},
    "CMCM Elaboration t": {"CITE++": Ranks(4.2, 1.3, 46.2, 51.2, 54.2)},
    "CMCM Elaboration i-tool": {"CITE++": Ranks(3.7, 1.3, 46.6, 51.5, 54.4)},
    "CMCM Temporal i<t": {"CITE++": Ranks(4.6, 1.4, 45.9, 50.8, 53.4)},
    "CMCM Temporal i>t": {"CITE++": Ranks(3.9, 1.7, 46.9, 51.2, 54.1)},
    "CMCM Temporal i=t": {"CITE++": Ranks(5.0, 1.7, 46.4, 50.8, 53.8)},
}

TABLE_5: dict[str, dict[str, Ranks]] = {
    "Base": {"Clue": Ranks(19.8, 1.9, 11.6, 28.6, 38.3)},
    "CMCA": {"Clue": Ranks(19.3, 2.0, 13.2, 30.6, 40.0)},
    "CMCM-NoAttn": {"Clue": Ranks(20.6, 2.6, 12.4, 28.9, 38.8)},
    "CMCM": {"Clue": Ranks(18.7, 1.6, 13.8, 31.6, 40.6)},
    "CMCM Visible": {"Clue": Ranks(19.6, 3.1, 13.4, 31.7, 41.1)},
    "CMCM Subjective": {"Clue": Ranks(25.0, 3.1, 12.9, 29.4, 38.0)},
    "CMCM Action": {"Clue": Ranks(20.9, 2.1, 11.7, 28.4, 38.0)},
    "CMCM Story": {"Clue": Ranks(17.7, 1.7, 13.0, 30.7, 41.5)},
    "CMCM Meta": {"Clue": Ranks(19.2, 1.5, 13.1, 31.0, 40.7)},
    "CMCM Irrelevant": {"Clue": Ranks(20.3, 1.9, 12.6, 31.1, 40.9)},
}

TABLE_6: dict[str, Votes] = {
    "Visible": Votes(24, 17, 46, 13),
    "Subjective": Votes(53, 10, 7, 30),
    "Story": Votes(40, 10, 33, 17),
    "Meta": Votes(56, 9, 25, 10),
    "Temporal i>t": Votes(43, 17, 27, 13),
}

TABLE_7: dict[str, dict[str, Ranks]] = {
    "CMCA": {
        "Expansion": Ranks(3.0, None, 37.0, 54.0, 58.0),
        "ImageNeeded": Ranks(2.0, None, 43.0, 59.0, 61.0),
        "Elaboration t": Ranks(4.0, None, 35.0, 50.0, 55.0),
        "Elaboration i-tool": Ranks(2.0, None, 48.0, 60.0, 65.0),
        "Temporal i<t": Ranks(2.0, None, 42.0, 52.0, 56.0),
        "Temporal i>t": Ranks(5.0, None, 36.0, 48.0, 52.0),
        "Temporal i=t": Ranks(2.0, None, 42.0, 54.0, 57.0),
        "Visible": Ranks(12.0, None, 11.0, 34.0, 48.0),
        "Subjective": Ranks(28.0, None, 4.0, 24.0, 40.0),
        "Action": Ranks(12.0, None, 17.0, 36.0, 47.0),
        "Story": Ranks(25.0, None, 5.0, 20.0, 30.0),
        "Meta": Ranks(9.0, None, 12.0, 40.0, 52.0),
        "Irrelevant": Ranks(15.0, None, 17.0, 43.0, 48.0),
    },
    "CMCM": {
        "Expansion": Ranks(3.0, None, 37.0, 55.0, 58.0),
        "ImageNeeded": Ranks(2.0, None, 45.0, 61.0, 61.0),
        "Elaboration t": Ranks(5.0, None, 35.0, 50.0, 52.0),
        "Elaboration i-tool": Ranks(2.0, None, 48.0, 64.0, 67.0),
        "Temporal i<t": Ranks(2.0, None, 42.0, 54.0, 56.0),
        "Temporal i>t": Ranks(4.0, None, 38.0, 51.0, 55.0),
        "Temporal i=t": Ranks(2.0, None, 42.0, 56.0, 60.0),
        "Visible": Ranks(11.0, None, 12.0, 35.0, 50.0),
        "Subjective": Ranks(22.0, None, 5.0, 21.0, 29.0),
        "Action": Ranks(18.0, None, 10.0, 32.0, 42.0),
        "Story": Ranks(28.0, None, 6.0, 25.0, 37.0),
        "Meta": Ranks(9.0, None, 13.0, 41.0, 56.0),
        "Irrelevant": Ranks(4.0, None, 21.0, 54.0, 62.0),
    },
}
"""Over the texts of the test set that have the relation."""

TABLE_8: dict[str, dict[str, float]] = {
    "CMCM-NoAttn": dict(zip(CLUE, (0.82, 0.24, 0.47, 0.51, 0.71, 0.36), strict=True)),
    "CMCM": dict(zip(CLUE, (0.82, 0.28, 0.47, 0.50, 0.71, 0.36), strict=True)),
    "CMCM Visible": {"Visible": 0.83},
    "CMCM Subjective": {"Subjective": 0.18},
    "CMCM Action": {"Action": 0.52},
    "CMCM Story": {"Story": 0.55},
    "CMCM Meta": {"Meta": 0.72},
    "CMCM Irrelevant": {"Irrelevant": 0.41},
}

# Fig. 5 is a drawing without figures. Its bars without refinement are the median ranks of Tables 4 and 5, as far as
# the eye can tell; of those with refinement the text says only that almost all of CITE++ and most of Clue are lower,
# and that CMCM Irrelevant of Clue is much worse.
FIGURE_5: dict[str, dict[str, float]] = {
    f"{row}, refined": {} for row in TABLE_4 | TABLE_5 if row.startswith("CMCM") and row != "CMCM-NoAttn"
}

ALIKHANI = {
    "alikhani2021/4": TABLE_4,
    "alikhani2021/5": TABLE_5,
    "alikhani2021/6": TABLE_6,
    "alikhani2021/7": TABLE_7,
    "alikhani2021/8": TABLE_8,
    "alikhani2021/fig5": FIGURE_5,
}
"""Name of the table to its rows; each table has figures of its own kind."""

POOL = 500
"""Images among which the right one is looked for ("retrieval range")."""

SMALLEST_EFFECT = 0.17
"""What the sensitivity power analysis of Table 6 reports, at a power of 95 % and a significance level of 5 %; neither
the test nor the number of examples is told."""

LOWEST_T = 14.1
"""Of the t-tests of Table 6; neither kind nor degrees of freedom are told."""
