from __future__ import annotations

import json

import pytest

from tests.support.program import printed as run

LOG = "epoch,likely_gold,unlikely_gold,gold,seconds\n1,0.25,0.18,0.2,1\n2,0.7,0.04,0.2,2\n"


@pytest.fixture
def model(tmp_path):
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours/log.csv").write_text(LOG)
    return tmp_path / "ours"


def test_what_training_chose_is_printed_and_drawn(model, tmp_path):
    found = json.loads(run("papers", "analyze", "sampling", model, "--json"))
    shares = {"likely_gold": [0.25, 0.7], "unlikely_gold": [0.18, 0.04], "gold": [0.2, 0.2]}
    assert found == [{"model": "ours", "epochs": [1, 2], **shares}]
    said = run("papers", "analyze", "sampling", model, "--output", tmp_path / "s.svg")
    assert [line.replace("%", "").split()[-3:] for line in said.splitlines() if "epoch" in line] == [
        ["25.0", "18.0", "20.0"], ["70.0", "4.0", "20.0"],
    ]  # fmt: skip
    drawn = (tmp_path / "s.svg").read_text()
    assert all(label in drawn for label in ("likely links (TK)", "unlikely links (NegTK)", "all pairs"))


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("epoch,likely_gold,unlikely_gold,gold\n1,,,\n", "training documents have no gold links"),
        ("epoch,validation_auc\n1,0.5\n", "column likely_gold is missing"),
    ],
)
def test_a_run_that_counted_nothing(model, log, said):
    (model / "log.csv").write_text(log)
    assert said in run("papers", "analyze", "sampling", model, status=1)
