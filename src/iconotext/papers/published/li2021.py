"""The results of Li 2021, as published; in percent.

The rows have names that say what was trained on what; the numbers before those of Table 3 and 4 are the paper's own.
"""

from __future__ import annotations

from iconotext.papers.published.figures import Table

TABLE_2: Table = {
    "Object detection": {
        "MSCOCO": (89.5, 67.7, 45.9),
        "Story-DII": (65.3, 50.2, 35.2),
        "Story-SIS": (58.4, 40.8, 28.6),
    },
    "NoStruct": {
        "MSCOCO": (87.4, 50.6, 34.3),
        "Story-DII": (77.0, 60.8, 46.3),
        "Story-SIS": (64.5, 42.8, 33.2),
    },
    "MulLink": {
        "MSCOCO": (99.0, 95.0, 81.1),
        "Story-DII": (82.9, 72.0, 55.8),
        "Story-SIS": (68.8, 51.8, 38.6),
    },
    "Ours": {
        "MSCOCO": (99.3, 97.6, 86.0),
        "Story-DII": (85.5, 77.2, 60.1),
        "Story-SIS": (70.2, 53.1, 39.8),
    },
}

# The caption says SIS; the text says DII, and row 1 is that of DII in Table 2.
TABLE_3: Table = {
    "1 Ours, C+I+D": {"Story-DII": (85.5, 77.2, 60.1)},
    "2 w/o Concept, C+I+D": {"Story-DII": (85.3, 75.8, 59.8)},
    "3 w/o T, C+I+D": {"Story-DII": (85.1, 75.0, 59.0)},
    "4 w/o T&Concept, C+I+D": {"Story-DII": (85.1, 74.6, 59.1)},
    "5 GRU+CNN, C+I+D": {"Story-DII": (84.0, 72.9, 58.0)},
    "6 Ours, C+I": {"Story-DII": (85.2, 75.9, 59.2)},
    "7 Ours, C+D": {"Story-DII": (85.4, 76.2, 59.9)},
    "8 Ours, I+D": {"Story-DII": (84.1, 73.4, 57.8)},
    "9 Ours, C": {"Story-DII": (85.0, 75.5, 59.4)},
}

TABLE_4: Table = {
    "1 Transfer": {"Story-DII": (78.6, 66.5, 49.5)},
    "2 Unsupervised": {"Story-DII": (85.5, 77.2, 60.1)},
}
"""The published transfer is from MSCOCO."""

# Fig. 5 is a drawing without figures, and its data set is not named.
FIGURE_5: Table = {
    "Supervised, 20 %": {},
    "Supervised, 40 %": {},
    "Supervised, 60 %": {},
    "Supervised, 80 %": {},
    "Supervised, 100 %": {},
    "MulLink": {},
    "Ours": {},
}

# "Bias Alleviation" tells no AUC of its own: these are the rows of Table 2 that it is about.
BIAS: Table = {
    name: {each: figures for each, figures in TABLE_2[name].items() if each != "MSCOCO"} for name in ("MulLink", "Ours")
}

TABLES: dict[str, Table] = {
    "li2021/2": TABLE_2,
    "li2021/3": TABLE_3,
    "li2021/4": TABLE_4,
    "li2021/5": FIGURE_5,
    "li2021/bias": BIAS,
}
"""Name of the comparison to its rows."""

EXPLAINED_BY_SPREAD = {"Story-DII": (42, 26), "Story-SIS": (23, 12)}
"""Share of the variance of the AUC that image and text spread explain, of MulLink and of Ours."""

ENOUGH_LABELS = {"MulLink": 20, "Ours": 40}
"""Share of the labelled documents beyond which the supervised model is better than these."""
