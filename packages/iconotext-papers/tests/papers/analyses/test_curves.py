from __future__ import annotations

import math

import pytest

from iconotext.errors import CorpusError, SettingError
from iconotext_papers.analyses.curves import Curve, read_curve, write_curves

HEAD = "epoch,step,learning_rate,train_loss,validation_loss,validation_auc,seconds\n"


@pytest.fixture
def folder(tmp_path):
    def make(name, rows, head=HEAD):
        (tmp_path / name).mkdir()
        (tmp_path / name / "log.csv").write_text(head + rows)
        return tmp_path / name

    return make


def test_read(folder):
    path = folder("dc", "1,10,1e-4,0.4,0.38,0.6,2.5\n2,20,1e-4,0.3,0.30,,5\n3,30,1e-4,0.2,0.25,0.8,7\n")
    curve = read_curve(path)
    assert (curve.name, curve.epochs, curve.values["objective"]) == ("dc", (1, 2, 3), (-0.38, -0.30, -0.25))
    assert curve.values["auc"][::2] == (0.6, 0.8)
    assert math.isnan(curve.values["auc"][1])
    assert (
        read_curve(path / "log.csv").values["objective"] == curve.values["objective"]
    )  # the file itself may be named, too


@pytest.mark.parametrize(
    ("rows", "head", "message"),
    [
        ("", HEAD, "no epochs yet"),
        ("1,2\n", "epoch,step\n", "column validation_loss is missing"),
        ("1,10,1e-4,0.4,abc,0.6,2.5\n", HEAD, "line 2, column validation_loss: 'abc'"),
        (",10,1e-4,0.4,0.1,0.6,2.5\n", HEAD, "line 2, column epoch: empty"),
    ],
)
def test_a_log_that_is_none_is_named(folder, rows, head, message):
    with pytest.raises(CorpusError, match=message):
        read_curve(folder("m", rows, head))


def test_a_folder_without_a_log(tmp_path):
    with pytest.raises(CorpusError, match=r"log\.csv: cannot be read"):
        read_curve(tmp_path)


def test_values_that_hardly_differ_stand_at_the_axis_as_they_are(tmp_path):
    write_curves([Curve("m", (1, 2), {"objective": (-0.39965, -0.39963), "auc": (0.52, 0.53)})], tmp_path / "c.svg")
    assert "−0.39965" in (text := (tmp_path / "c.svg").read_text())
    assert "1e−5" not in text


def test_no_curve_cannot_be_drawn(tmp_path):
    with pytest.raises(SettingError, match="no curves"):
        write_curves([], tmp_path / "c.svg")
