"""Pages of studies and their keys, and the files that raters save."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from iconotext.errors import OutputError, SettingError, StudyError
from iconotext_papers.studies.study import key_path, progress_of, read_answers, read_study, write_study
from papers.support.small_studies import answered, contenders, picture, study


def data_of(page):
    (data,) = re.findall(r'<script type="application/json" id="study">(.*?)</script>', page.read_text("utf-8"))
    return json.loads(data)


def test_the_same_study_has_the_same_bytes(tmp_path):
    one, other = (study(tmp_path / name, 30) for name in "ab")
    assert one == other
    assert (tmp_path / "a/study.html").read_bytes() == (tmp_path / "b/study.html").read_bytes()


def test_the_page_does_not_tell_which_model_found_what_and_the_key_does(tmp_path):
    found = study(tmp_path, 10)
    page = (tmp_path / "study.html").read_text("utf-8")
    assert [word for word in ("cmcm", "cmca", "first0", "second0", "Story", str(tmp_path)) if word in page] == []
    data = data_of(tmp_path / "study.html")
    assert (data["study"], len(data["pairs"])) == (found.study, 10)
    assert sum(pair.x == "first" for pair in found.pairs) == 5
    # The order of the pictures tells nothing either.
    assert data["pictures"] == sorted(data["pictures"])


def test_another_seed_gives_other_sides(tmp_path):
    assert [p.x for p in study(tmp_path / "a", 20).pairs] != [p.x for p in study(tmp_path / "b", 20, seed=1).pairs]


def test_texts_do_not_end_the_block_of_data(tmp_path):
    text = "</script><script>alert(1)</script><!-- & \u2028"
    write_study(tmp_path / "s.html", [replace(contenders(tmp_path, 1)[0], text=text)], second="b")
    assert data_of(tmp_path / "s.html")["pairs"][0]["text"] == text
    assert (tmp_path / "s.html").read_text("utf-8").count("<script") == 2


def test_identical_pictures_are_kept_and_marked_whatever_their_names(tmp_path):
    one, other = contenders(tmp_path, 2)
    same = picture(tmp_path, "copy.png", (200, 0, 30))
    assert write_study(tmp_path / "s.html", [replace(one, second=same), other], second="b") == 1
    assert [pair.identical for pair in read_study(tmp_path / "s.html").pairs] == [True, False]
    assert [pair["identical"] for pair in data_of(tmp_path / "s.html")["pairs"]] == [True, False]


def test_a_study_is_replaced_only_when_asked(tmp_path):
    pairs = contenders(tmp_path, 1)
    write_study(tmp_path / "s.html", pairs, second="b")
    with pytest.raises(OutputError, match="exists"):
        write_study(tmp_path / "s.html", pairs, second="b")
    (tmp_path / "s.html").unlink()
    with pytest.raises(OutputError, match=r"s\.key\.json"):
        write_study(tmp_path / "s.html", pairs, second="b")
    write_study(tmp_path / "s.html", pairs, second="b", force=True)


def test_what_makes_no_study(tmp_path):
    one, other = contenders(tmp_path, 2)
    (tmp_path / "broken.png").write_text("no picture")
    for pairs, message in (
        ([], "at least one pair"),
        ([one, replace(other, query=one.query)], "two queries of cmcm have this name"),
        ([replace(one, second=tmp_path / "gone.png")], r"gone\.png cannot be shown"),
        ([replace(one, first=tmp_path / "broken.png")], r"broken\.png cannot be shown"),
    ):
        with pytest.raises(StudyError, match=message):
            write_study(tmp_path / "s.html", pairs, second="b")
    with pytest.raises(SettingError, match="at least 1"):
        write_study(tmp_path / "s.html", [one], second="b", raters=0)
    assert not (tmp_path / "s.html").exists()
    assert not key_path(tmp_path / "s.html").exists()


def test_answers_are_counted_by_rater(tmp_path):
    found = study(tmp_path, 3, raters=2)
    (tmp_path / "ann").write_text(answered(found, " ann ", lambda _: "better"))
    (tmp_path / "ben").write_text(answered(found, "ben", lambda number: "better" if number else None))
    counts = progress_of(found, read_answers(found, [tmp_path / "ben", tmp_path / "ann"]))
    assert (counts.pairs, counts.complete, counts.needed, counts.votes) == (3, 2, 6, 5)
    assert counts.of_rater == {"ann": 3, "ben": 2}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace('"study": "', '"study": "0'), "answers to another study"),
        (lambda text: text.replace('"pair": 1', '"pair": 0'), "pair 0 is answered twice"),
        (lambda text: text.replace('"pair": 1', '"pair": 7'), "pair 7 .*is not in the study"),
        (lambda text: text.replace('"answer": "same"', '"answer": "c"'), r"answers\.0\.answer"),
        (lambda text: text.replace("2026-", "then-"), r"answers\.0\.shown"),
        (lambda text: text[:-9], "is not a file of answers"),
        (lambda _: "[]", "is not a file of answers"),
    ],
)
def test_what_is_no_file_of_answers_is_one_clear_error(tmp_path, change, message):
    found = study(tmp_path, 2)
    file = tmp_path / "answers.json"
    file.write_text(change(answered(found, "ann", lambda _: "both good")))
    with pytest.raises(StudyError, match=message):
        read_answers(found, [file])


def test_two_files_of_one_rater_are_refused(tmp_path):
    found = study(tmp_path, 1)
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for file in files:
        file.write_text(answered(found, "ann", lambda _: "better"))
    with pytest.raises(StudyError, match=r"b\.json: answers of ann are in .*a\.json"):
        read_answers(found, files)
    with pytest.raises(StudyError, match="cannot be read"):
        read_answers(found, [tmp_path / "gone.json"])


@pytest.mark.parametrize("rater", ["", "=1+1", "x" * 101, "a\x00", "<b>"])
def test_names_that_are_none_are_refused(tmp_path, rater):
    found = study(tmp_path, 1)
    (tmp_path / "a.json").write_text(answered(found, rater, lambda _: "better"))
    with pytest.raises(SettingError, match="rater"):
        read_answers(found, [tmp_path / "a.json"])


def test_what_is_no_key_is_one_clear_error(tmp_path):
    (tmp_path / "s.key.json").write_text("{}")
    with pytest.raises(StudyError, match="is not the key of a study"):
        read_study(tmp_path / "s.html")
    with pytest.raises(StudyError, match="cannot be read"):
        read_study(tmp_path / "gone.key.json")
