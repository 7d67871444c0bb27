from __future__ import annotations

import pytest

from iconotext.train.summary import notes

STARTED = {"before": {"validation_loss": 2.0, "validation_auc": None}, "best_epoch": 3, "validation_loss": 1.5}
FIRST = "before training: validation loss 2.0000"
NOT_MEASURED = (
    "not measured: whether the links are better, since no validation document has known links; look at some, or write "
    "known links by hand and run `iconotext evaluate --compare`"
)


@pytest.mark.parametrize(
    ("metrics", "expected"),
    [
        ({}, []),
        ({"validated_on": {"documents": 9, "images": 20}}, []),
        (
            {"validated_on": {"documents": 1, "images": 2}},
            ["validated on 2 pictures of 1 document: too few to tell whether training helped. Give more documents, "
             "and their captions (iconotext corpus build pairs)"],
        ),
        (
            STARTED | {"before": {"validation_loss": 2.0, "validation_auc": 0.546},
                       "validation": {"auc": 0.61, "documents": 9, "undefined": 2}},
            [FIRST, "AUC of the known links by the picture alone in 7 documents not trained on: 54.6 before, 61.0 "
             "now; `iconotext evaluate --compare` says whether that may be chance"],
        ),
        (STARTED | {"validation": {"median_rank": 3.0}}, [FIRST]),
        (STARTED, [FIRST, NOT_MEASURED]),
        (
            STARTED | {"best_epoch": 0, "validation_loss": 2.0, "last_loss": 2.5},
            [FIRST, "no epoch lowered the validation loss (the last: 2.5000): the model is unchanged"],
        ),
        (
            STARTED | {"validation_loss": 1.99},
            [FIRST, "it is now less than 1 % better: training changed little", NOT_MEASURED],
        ),
    ],
)  # fmt: skip
def test_what_is_said_of_a_training(metrics, expected):
    assert list(notes(metrics)) == expected
