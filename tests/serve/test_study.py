"""Studies over HTTP: raters are told nothing of the systems, votes survive a kill, the page has what `votes` prints."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest

from tests.support import program
from tests.support.server import Running
from tests.support.studies import Study, addresses, make_study


def table_cells(page: str) -> list[list[str]]:
    """The rows of the tables of a page."""
    rows = re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)
    return [
        [" ".join(unescape(cell).split()) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)] for row in rows
    ]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("studies")
    names = ("a-zeppelin", "b", "c", "d", "e")
    return [make_study(folder / f"{name}.sqlite", pairs=30 if name == "d" else 3) for name in names]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, files: list[Path]):
    with Running(tmp_path_factory.mktemp("serve") / "data", "--study", str(files[0].parent)) as server:
        yield server


@pytest.fixture
def study(request, running) -> Study:
    return Study(running, addresses(running)[request.param])


def test_the_terminal_says_which_study_is_which(running, files):
    told = re.findall(r"^Study (\d): (\S+)$", "".join(running.said), re.MULTILINE)
    assert told == [(str(n), str(file)) for n, file in enumerate(files, 1)]


@pytest.mark.parametrize("study", [0], indirect=True)
def test_nothing_tells_which_system_found_what_before_all_votes_are_in(study, files):
    ask, home = study.server.ask, f"/studies/{study.address}"
    turn = study.post("next", "ann")
    picture = ask("GET", f"/v1{home}/pairs/{turn['pair']['number']}/a?rater=ann")
    sent = [ask("GET", path) for path in ("/studies", home, f"{home}/result", "/openapi.json")] + [picture]
    sent += [ask("POST", f"/v1{home}/next", {"rater": "ann"})]
    study.judge_all("ann")
    sent += [
        ask("POST", f"/v1{home}/votes", {"rater": "ann", "pair": 999, "answer": "a"}),
        ask("GET", f"{home}/result"),
    ]
    for answer in sent:
        told = (str(answer.headers) + answer.body.decode("latin-1")).lower()
        assert not re.search("zeppelin|marzipan|-system", told)
    assert "3 of 6 answers are in" in sent[-1].body.decode()
    assert b"<table" not in sent[-1].body
    assert picture.body != (files[0].parent / "first-system.png").read_bytes()  # encoded anew


@pytest.mark.parametrize("study", [1], indirect=True)
def test_the_page_has_the_numbers_that_the_command_prints(study, files, monkeypatch):
    monkeypatch.setenv("COLUMNS", "250")
    assert study.judge_all("ann")["finished"] is False
    turn = study.judge_all("ben")
    assert (turn["finished"], turn["votes"], turn["wanted"], turn["judged"]) == (True, 6, 6, 3)
    page = study.server.ask("GET", f"/studies/{study.address}/result").body.decode()
    printed = " ".join(program.run("analyze", "votes", files[1]).output.split())
    shares, *rows = [row for row in table_cells(page) if row]
    assert shares[:3] == ["Relation", "Pairs", "Better"]
    assert ["Story", "2", "100 %", "0 %", "0 %", "0 %", "0 %", "40 / 10 / 33 / 17"] in rows  # published beside ours
    assert ["all", "3", "67 %", "0 %", "33 %", "0 %", "0 %", "–"] in rows
    for row in (shares, *rows):
        assert " ".join(row) in printed
    for note in re.findall("<p>(.*?)</p>", page):
        if "majority of 2" in note or "votes by" in note:
            assert " ".join(unescape(note).split()) in printed
    told = json.loads(program.run("analyze", "votes", files[1], "--json").output)
    assert (told["votes"], told["of_rater"], told["rows"][-1]["alpha"]) == (6, {"ann": 3, "ben": 3}, 1)


@pytest.mark.parametrize("study", [2], indirect=True)
def test_raters_undo_and_go_on_until_the_result_may_be_seen(study):
    first = study.post("next", "ann")["pair"]
    assert study.post("next", "ann")["pair"] == first
    second = study.post("votes", "ann", pair=first["number"], answer="neither")
    assert second["judged"] == 1
    back = study.post("undo", "ann")
    assert (back["pair"], back["judged"], back["votes"]) == (first, 0, 0)
    assert study.post("votes", "ann", pair=first["number"], answer="a")["pair"] == second["pair"]
    study.judge_all("ann")
    study.judge_all("ben")
    refused = study.server.ask("POST", f"/v1/studies/{study.address}/undo", {"rater": "ben"})
    assert (refused.status, refused.json["detail"][:31]) == (409, "all votes of this study are in,")


@pytest.mark.parametrize("study", [3], indirect=True)
def test_a_rater_sees_a_pair_on_the_same_sides_and_others_on_their_own(study):
    sides = {}
    for rater in ("ann", "ben"):
        turn = study.post("next", rater)
        for _ in range(29):
            if not turn["pair"]["identical"]:
                number = turn["pair"]["number"]
                shown = [study.colour(number, side, rater) for side in ("a", "b", "a")]
                assert shown[0] == shown[2] != shown[1]
                sides[rater, number] = shown[0]
            turn = study.post("votes", rater, pair=turn["pair"]["number"], answer="same")
    both = {n for rater, n in sides if rater == "ann"} & {n for rater, n in sides if rater == "ben"}
    assert {sides["ann", n] == sides["ben", n] for n in both} == {True, False}


@pytest.mark.parametrize("study", [4], indirect=True)
@pytest.mark.parametrize(
    ("what", "body", "status"),
    [
        ("next", {"rater": "=cmd()"}, 422),
        ("next", {"rater": ""}, 422),
        ("next", {}, 422),
        ("votes", {"rater": "ann", "pair": 0, "answer": "better"}, 422),
        ("votes", {"rater": "ann", "pair": 0, "answer": "a"}, 409),  # not with her
        ("votes", {"rater": "ann", "pair": 2**31 - 1, "answer": "a"}, 409),
        ("votes", {"rater": "ann", "pair": -1, "answer": "a"}, 422),
        ("next", {"rater": "\u1be6"}, 400),  # a sign that the two who check take for different things
    ],
)
def test_what_cannot_be_is_refused(study, what, body, status):
    answer = study.server.ask("POST", f"/v1/studies/{study.address}/{what}", body)
    assert answer.status == status, answer.body


def test_pictures_of_pairs_that_somebody_was_not_given_and_studies_that_are_not_there(running):
    (some, *_) = addresses(running)
    for path, status in ((f"{some}/pairs/0/a?rater=eve", 409), ("../../serve.sqlite/pairs/0/a?rater=eve", 404)):
        assert running.ask("GET", f"/v1/studies/{path}").status == status
    assert running.ask("GET", f"/v1/studies/{some}/pairs/{10**30}/a?rater=eve").status == 409
    assert running.ask("POST", "/v1/studies/00000000/next", {"rater": "eve"}).status == 404
    assert running.ask("GET", "/studies/00000000").status == 404
    assert running.ask("GET", "/studies/00000000/result").status == 404


def test_what_is_no_study_is_said_at_the_start(tmp_path):
    (tmp_path / "empty").mkdir()
    made = make_study(tmp_path / "made" / "study.sqlite")
    (made.parent / "second-system.png").unlink()
    for path, message in (
        (tmp_path / "empty", "no study lies in this folder"),
        (tmp_path / "gone.sqlite", "there is no such study"),
        (made, "1 of its 2 pictures are not there"),
    ):
        done = program.run("serve", "--study", path, "--data", tmp_path / "data", status=1)
        assert message in " ".join(done.output.split())
    assert not (tmp_path / "data").exists()
