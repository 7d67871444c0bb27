from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from iconotext.errors import CorpusError, SettingError
from iconotext_papers.analyses.top_images import Search, best_images, check_same_pairs, chosen_queries
from iconotext_papers.studies.results import (
    OUTCOMES,
    majority,
    outcome_of,
    preference,
    study_grids,
    study_results,
)
from iconotext_papers.studies.study import ANSWERS, Answers, Study, read_study, write_study
from iconotext_papers.studies.study import contenders as contenders_of
from papers.support.small_studies import all_answers, contenders
from tests.support.pairs import pair, stand_in


def test_outcomes_are_seen_from_the_first_model():
    assert [outcome_of(answer, swapped=False) for answer in ANSWERS] == ["better", "worse", "both good", "both bad"]
    assert [outcome_of(answer, swapped=True) for answer in ANSWERS] == ["worse", "better", "both good", "both bad"]


@pytest.mark.parametrize(
    ("votes", "expected"),
    [
        (["better", "better", "worse"], "better"),
        (["both bad"] * 3, "both bad"),
        (["better", "worse", "both good"], "no majority"),
        (["better", "worse"], "no majority"),
        (["better", "better", "worse", "both good"], "no majority"),  # half is no majority
        ([], "no majority"),
    ],
)
def test_majority(votes, expected):
    assert majority(votes) == expected


def judged(folder, wanted, **changes) -> tuple[Study, list[Answers]]:
    """A study, and answers of its raters: for each pair the outcomes of its votes, seen from the first model."""
    pairs = [
        replace(each, relations=("Story",) if n % 2 else ("Story", "Meta"), **changes)
        for n, each in enumerate(contenders(folder, len(wanted)))
    ]
    write_study(folder / "study.html", pairs, second="cmca", seed=3)
    study = read_study(folder / "study.html")
    return study, all_answers(folder, study, wanted)


def test_the_table_by_hand(tmp_path):
    study = judged(
        tmp_path,
        [
            ["better", "better", "worse"],
            ["better"] * 3,
            ["worse", "worse", "both bad"],
            ["both good", "both good", "better"],
            ["better", "worse", "both bad"],
            ["both bad"] * 3,
        ],
    )
    found = study_results(*study)
    rows = {row.relation: row for row in found.rows}
    assert set(rows) == {"Story", "Meta", "all"}
    assert found.rows[-1].relation == "all"
    everything = rows["all"]
    assert everything.counts == {"better": 2, "worse": 1, "both good": 1, "both bad": 1, "no majority": 1}
    assert (everything.pairs, everything.open, everything.identical) == (6, 0, 0)
    assert everything.share("better") == pytest.approx(1 / 3)
    assert rows["Story"].counts == everything.counts
    # q0, q2, q4
    assert rows["Meta"].counts == {"better": 1, "worse": 1, "both good": 0, "both bad": 0, "no majority": 1}
    assert everything.preference == preference([1, 1, -1, 0, 0, 0])
    assert (found.about.models, found.about.second, found.about.raters) == (("cmcm",), "cmca", 3)
    assert found.progress.complete == 6
    # Of 18 votes 7 say better, 4 worse, 5 both bad, 2 both good. Ordered pairs that differ within a text, over the 2 that
    # each vote stands beside: bbw 4, bbb 0, wwn 4, ggb 4, bwn 6, nnn 0. Expected: 18 * 18 - (49 + 16 + 25 + 4) = 230.
    assert everything.alpha == pytest.approx(1 - 17 * ((4 + 4 + 4 + 6) / 2) / 230)
    printed = found.as_dict()
    assert printed["rows"][-1]["shares"]["worse"] == pytest.approx(1 / 6)
    assert printed["rows"][-1]["preference"]["p_sign"] == 1


def test_pairs_that_lack_votes_are_not_counted(tmp_path):
    study = judged(tmp_path, [["better", "better", "better"], ["better", "better"]])
    (*_, everything) = study_results(*study).rows
    assert (everything.pairs, everything.open) == (1, 1)


def test_a_study_without_votes_has_a_table_without_figures(tmp_path):
    write_study(tmp_path / "s.html", [replace(each, relations=()) for each in contenders(tmp_path, 2)], second="y")
    study = read_study(tmp_path / "s.html")
    (row,) = study_results(study, []).rows
    assert (row.relation, row.pairs, row.open, row.preference, row.share("better")) == ("all", 0, 2, None, None)
    assert row.alpha is None
    assert row.as_dict()["shares"] == dict.fromkeys(OUTCOMES)
    with pytest.raises(SettingError, match="power"):
        study_results(study, [], power=2)


# Several models, and the published table


def several(folder):
    """Two models against a third, the first better in all pairs, the second in none."""
    one = [replace(each, model="cmcm-story", relations=("Story",)) for each in contenders(folder, 3)]
    other = [replace(each, model="cmcm-meta", relations=("Meta",)) for each in contenders(folder, 2)]
    write_study(folder / "several.html", [*one, *other], second="cmca", raters=1)
    study = read_study(folder / "several.html")
    return study, all_answers(folder, study, [["better"]] * 5)


def test_a_study_of_several_models_has_rows_for_each(tmp_path):
    found = study_results(*several(tmp_path))
    assert found.about.models == ("cmcm-story", "cmcm-meta")
    assert [(row.model, row.relation, row.pairs, row.share("better")) for row in found.rows] == [
        ("cmcm-story", "Story", 3, 1), ("cmcm-story", "all", 3, 1), ("cmcm-meta", "Meta", 2, 1),
        ("cmcm-meta", "all", 2, 1),
    ]  # fmt: skip
    assert [row["model"] for row in found.as_dict()["rows"]] == ["cmcm-story"] * 2 + ["cmcm-meta"] * 2


def test_the_published_shares_stand_beside_ours(tmp_path):
    shares, _ = study_grids(study_results(*several(tmp_path)))
    assert [row[0] for row in shares.rows][:2] == ["cmcm-story: Story", "cmcm-story: all"]
    assert shares.columns[-1] == "Published"
    assert [row[-1] for row in shares.rows] == ["40 / 10 / 33 / 17", "–", "56 / 9 / 25 / 10", "–"]
    assert "better, worse, both good, both bad, of CMCM_c against CMCA" in shares.notes[0]
    write_study(tmp_path / "s.html", [replace(each, relations=()) for each in contenders(tmp_path, 2)], second="y")
    assert (
        len(study_grids(study_results(read_study(tmp_path / "s.html"), []))[0].columns) == 7
    )  # nothing published of it


# From models to a study


def test_the_best_images_of_each_query(monkeypatch):
    from iconotext.evaluate import retrieval

    monkeypatch.setattr(retrieval, "CELLS", 7)
    similarities = np.random.default_rng(0).normal(size=(20, 6))
    similarities[3] = 0

    def score(queries, images):
        return similarities[np.ix_(queries, images)]

    found, values = best_images(score, np.arange(20), np.array([1, 2, 5]))
    assert found[:, 0].tolist() == [[1, 2, 5][row[[1, 2, 5]].argmax()] for row in similarities]
    assert found[3] == 1
    assert values[:, 0].tolist() == similarities[:, [1, 2, 5]].max(axis=1).tolist()
    three, _ = best_images(score, np.arange(20), np.arange(6), 3)
    assert three.tolist() == [sorted(range(6), key=lambda image: -row[image])[:3] for row in similarities]
    assert best_images(score, np.arange(0), np.arange(6), 9)[0].shape == (0, 6)


def test_texts_are_drawn_for_each_relation(image):
    from iconotext.evaluate.pair_vectors import pair_vectors

    relations = [{"Story": n % 2 == 0, "Meta": n % 3 == 0, "Visible": None} for n in range(12)]
    pairs = pair_vectors(stand_in(), [pair(f"d{n}", "A.", image(f"{n}.png"), each) for n, each in enumerate(relations)])
    everything = chosen_queries(pairs)
    assert everything == dict.fromkeys(range(12), ())
    both = chosen_queries(pairs, relations=["Story", "Meta"])
    assert both[0] == ("Story", "Meta")
    assert both[2] == ("Story",)
    assert both[3] == ("Meta",)
    assert 1 not in both
    few = chosen_queries(pairs, relations=["Story", "Meta"], count=3, seed=1)
    assert few == chosen_queries(pairs, relations=["Story", "Meta"], count=3, seed=1)
    assert Counter(name for names in few.values() for name in names) == {"Story": 3, "Meta": 3}
    for wrong in ("Visible", "Action"):
        with pytest.raises(SettingError, match=f"{wrong}: not among the relations"):
            chosen_queries(pairs, relations=[wrong])
    nobody = replace(pairs, labels=np.zeros_like(pairs.labels))
    with pytest.raises(CorpusError, match="no pair has the relation Story"):
        chosen_queries(nobody, relations=["story"])


def test_contenders_are_the_best_images_of_both_models(image):
    from iconotext.evaluate.pair_vectors import pair_vectors

    pairs = pair_vectors(stand_in(), [pair(f"d{n}", f"Text {n}.", image(f"{n}.png")) for n in range(4)])
    right = np.eye(4)
    mine = Search("mine", stand_in(), pairs, lambda q, i: right[np.ix_(q, i)])
    found = contenders_of(mine, mine._replace(score=lambda q, i: -right[np.ix_(q, i)]), {1: ("Story",), 3: ()})
    assert [(each.model, each.query, each.text, each.first.name, each.relations) for each in found] == [
        ("mine", "d1", "Text 1.", "1.png", ("Story",)), ("mine", "d3", "Text 3.", "3.png", ()),
    ]  # fmt: skip
    assert [each.second.name for each in found] == ["0.png", "0.png"]


def test_models_that_read_other_pictures_are_not_compared(image):
    from iconotext.evaluate.pair_vectors import pair_vectors

    documents = [pair(f"d{n}", f"Text {n}.", image(f"{n}.png")) for n in range(3)]
    one, other = (pair_vectors(stand_in(), some) for some in (documents, documents[:2]))
    searches = [Search(name, stand_in(), pairs, None) for name, pairs in (("one", one), ("other", other))]
    check_same_pairs([searches[0], searches[0]])
    with pytest.raises(CorpusError, match="one and other could not read the same pictures"):
        check_same_pairs(searches)
