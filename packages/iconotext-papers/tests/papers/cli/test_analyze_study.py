from __future__ import annotations

import json
import re

import pytest

from iconotext_papers.studies.study import read_study
from papers.support.small_studies import answered
from tests.support.coherent import coherent_model
from tests.support.program import printed as run


@pytest.fixture
def study(pairs, model, tmp_path):
    other = coherent_model(tmp_path / "agnostic", seed=1)
    path = tmp_path / "study.html"
    arguments = ("papers", "study", "write", model, other, pairs, "--relation", "story", "--relation", "Visible")
    run(*arguments, "--count", 2, "--output", path)
    return path


def test_from_two_models_to_the_table(study, tmp_path):
    key, files = read_study(study), []
    for rater in ("ann", "ben", "cyd"):
        files.append(tmp_path / f"{rater}.json")
        files[-1].write_text(answered(key, rater, lambda n: "both good" if key.pairs[n].identical else "better"))
    count = ("papers", "study", "count", study, *files)
    found = json.loads(run(*count, "--json"))
    assert found["models"] == [str(tmp_path / "model")]
    assert found["votes"] == found["wanted"] == 3 * found["rows"][-1]["pairs"]
    rows = {row["relation"]: row for row in found["rows"]}
    assert set(rows) == {"Story", "Visible", "all"}
    assert rows["Story"]["pairs"] == rows["Visible"]["pairs"] == 2
    for row in rows.values():
        assert sum(row["counts"].values()) == row["pairs"]
        assert row["counts"]["both good"] == row["identical"]
        assert row["preference"]["smallest_effect"] > 0
    table = run(*count)
    assert "majority" in table
    assert "40 / 10 / 33 / 17" in table  # published, of Story
    assert "by majority of 3" in " ".join(table.split())


def test_a_study_is_of_the_test_split_and_of_as_many_models_as_are_named(pairs, model, tmp_path):
    others = [coherent_model(tmp_path / f"m{seed}", seed=seed, relations=("Story",)) for seed in (1, 2)]
    path = tmp_path / "s.html"
    run("papers", "study", "write", *others, model, pairs, "--relation", "own", "--output", path, "--raters", 1)
    nobody = tmp_path / "nobody.json"
    nobody.write_text(answered(read_study(path), "ann", lambda _: None))
    rows = json.loads(run("papers", "study", "count", path, nobody, "--json"))["rows"]
    assert [(row["model"], row["relation"]) for row in rows] == [
        (str(other), relation) for other in others for relation in ("Story", "all")
    ]
    in_test = [row for row in map(json.loads, pairs.read_text().splitlines()) if row["split"] == "test"]
    told = sum(row["relations"]["Story"] is True for row in in_test if row["id"] != "gone")
    assert {row["open"] for row in rows} == {told}
    assert "Published" in " ".join(run("papers", "study", "count", path, nobody).split())


def test_equal_models_find_identical_pictures(pairs, model, tmp_path):
    path = tmp_path / "s.html"
    run("papers", "study", "write", model, coherent_model(tmp_path / "same"), pairs, "--output", path, "--raters", "1")
    key = read_study(path)
    assert all(pair.identical for pair in key.pairs)
    (tmp_path / "ann.json").write_text(answered(key, "ann", lambda _: "both good"))
    (row,) = json.loads(run("papers", "study", "count", path, tmp_path / "ann.json", "--json"))["rows"]
    assert row["pairs"] == 8  # of the test split
    assert row["shares"]["both good"] == 1
    assert row["preference"]["t"] is None


def test_known_errors_are_one_line(pairs, model, study, tmp_path):
    other = coherent_model(tmp_path / "other", seed=3)
    assert "exists" in run("papers", "study", "write", model, other, pairs, "--output", study, status=1)
    new = tmp_path / "new.html"
    output = run("papers", "study", "write", model, other, pairs, "--relation", "love", "--output", new, status=1)
    assert "love: not among the relations: visible (Visible), story (Story)" in output
    output = run("papers", "study", "write", model, other, pairs, "--relation", "meta", "--output", new, status=1)
    assert "meta: not among the relations" in output
    assert "named twice" in run("papers", "study", "write", model, model, pairs, "--output", new, status=1)
    assert "at least two" in run("papers", "study", "write", model, pairs, "--output", new, status=1)
    assert not new.exists()
    nobody = tmp_path / "nobody.json"
    nobody.write_text(answered(read_study(study), "ann", lambda _: None))
    assert "cannot be read" in run("papers", "study", "count", new, new, status=1)
    assert "power" in run("papers", "study", "count", study, study, "--power", "2", status=2)
    assert "0 < significance < power < 1" in run(
        "papers", "study", "count", study, nobody, "--significance", "0.99", status=1
    )


def test_a_page_with_the_best_pictures_of_several_models(pairs, model, tmp_path):
    other, page = coherent_model(tmp_path / "agnostic", seed=1), tmp_path / "top.html"
    run("papers", "analyze", "top", model, other, pairs, "--count", 9, "--pictures", 3, "--output", page)
    text = page.read_text(encoding="utf-8")
    assert text.count("<section") == 4  # with Visible, Story, or both
    assert text.count('<ol class="strip">') == 8  # two models each
    assert text.count("<li class=") == 24
    assert text.count('src="data:image/') == 28
    assert "drawn at random (seed 0), not chosen" in text
    assert re.search(r"labelled: .*Story", text)
    assert re.search(r"tells of text and own picture: (Visible|Story) 0\.\d\d", text)
    assert re.search(r"own picture: place \d of 7", text)  # of the test split, where two texts share one
    assert "exists" in run("papers", "analyze", "top", model, other, pairs, "--output", page, status=1)
    run("papers", "analyze", "top", model, pairs, "--document", "p1", "--output", page, "--force")
    assert page.read_text(encoding="utf-8").count("<section") == 1
    assert "no text 'p0'" in run(
        "papers", "analyze", "top", model, pairs, "--document", "p0", "-o", tmp_path / "n.html", status=1
    )
