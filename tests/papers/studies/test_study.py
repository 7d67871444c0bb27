from __future__ import annotations

import multiprocessing
import os
import shutil
import sqlite3
import threading
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from iconotext.errors import IconotextError, OutputError, SettingError, StudyError
from iconotext.papers.studies.results import study_results
from iconotext.papers.studies.study import (
    create_study,
    find_studies,
    next_pair,
    progress,
    shown_images,
    transaction,
    undo,
    vote,
)
from tests.support.small_studies import contenders, picture, study


def stored(path, columns="query, first, second, identical", table="pairs"):
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.execute(f"SELECT {columns} FROM {table}"))


def all_judged(path, rater):
    """The pairs in the order in which a rater saw them, and whether A was the image of the second model."""
    seen = []
    while (shown := next_pair(path, rater)) is not None:
        seen.append((shown.number, shown.a.name.startswith("second")))
        vote(path, shown.number, rater, "a")
    return seen


# Making


def test_the_same_study_has_the_same_bytes(tmp_path):
    one, other = (study(tmp_path / name, 30).read_bytes() for name in "ab")
    assert one == other


def test_each_rater_has_an_order_and_sides_of_their_own_by_seed(tmp_path):
    seen = {
        (rater, seed, again): all_judged(study(tmp_path / f"{rater}{seed}{again}", 10, seed=seed), rater)
        for rater, seed, again in (("ann", 0, 0), ("ann", 0, 1), ("ann", 1, 0), ("ben", 0, 0))
    }
    ann = seen["ann", 0, 0]
    assert ann == seen["ann", 0, 1]
    for each in seen.values():
        assert sorted(number for number, _ in each) == list(range(10))
        assert sum(swapped for _, swapped in each) == 5  # half of the sides, for everybody
    for other in (seen["ann", 1, 0], seen["ben", 0, 0]):
        assert [number for number, _ in ann] != [number for number, _ in other]
        assert dict(ann) != dict(other)


def test_sides_are_those_that_were_shown_and_are_kept(tmp_path):
    path = study(tmp_path, 10)
    for rater in ("ann", "ben"):
        assert dict(all_judged(path, rater)) == {
            number: bool(swapped)
            for number, who, swapped in stored(path, "pair, rater, swapped", "votes")
            if who == rater
        }
        for number in range(10):
            a, b = shown_images(path, number, rater)
            assert {a.name[:-5], b.name[:-5]} == {"first", "second"}
    with pytest.raises(StudyError, match="is not with cyd"):
        shown_images(path, 0, "cyd")


def test_identical_pictures_are_kept_and_marked_whatever_their_names(tmp_path):
    same = picture(tmp_path, "one.png", "bytes"), picture(tmp_path, "two.png", "bytes")
    pairs = [*contenders(tmp_path, 1), replace(contenders(tmp_path, 1)[0], query="same", first=same[0], second=same[1])]
    path = tmp_path / "s.sqlite"
    assert create_study(path, pairs, second="y") == 1
    marked = {row[0]: row[3] for row in stored(path)}
    assert marked == {"q0": 0, "same": 1}
    shown = [next_pair(path, "a b") for _ in range(1)]
    vote(path, shown[0].number, "a b", "same")
    shown.append(next_pair(path, "a b"))
    assert sorted(each.identical for each in shown) == [False, True]


def test_study_and_pictures_can_be_moved_together(tmp_path):
    folder = tmp_path / "here" / "deep"
    path = folder / "study.sqlite"
    create_study(path, contenders(tmp_path / "here" / "img", 1), second="y")
    shutil.move(tmp_path / "here", tmp_path / "there")
    shown = next_pair(tmp_path / "there" / "deep" / "study.sqlite", "ann")
    assert shown.a.is_file()
    assert shown.b.is_file()


def test_a_study_is_never_replaced(tmp_path):
    path = study(tmp_path)
    before = path.read_bytes()
    with pytest.raises(OutputError, match="may hold votes"):
        create_study(path, contenders(tmp_path, 2), second="y")
    assert path.read_bytes() == before
    # What is left of a transaction would be taken for that of the new study.
    (tmp_path / "new.sqlite-journal").write_text("left over")
    with pytest.raises(OutputError, match="exists"):
        create_study(tmp_path / "new.sqlite", contenders(tmp_path, 2), second="y")


def test_what_makes_no_study(tmp_path):
    path = tmp_path / "s.sqlite"
    pairs = contenders(tmp_path, 2)
    with pytest.raises(StudyError, match="at least one"):
        create_study(path, [], second="y")
    with pytest.raises(StudyError, match="two queries of cmcm have this name"):
        create_study(path, [*pairs, pairs[0]], second="y")
    with pytest.raises(SettingError, match="raters is 0"):
        create_study(path, pairs, second="y", raters=0)
    pairs[1].second.unlink()
    with pytest.raises(StudyError, match=r"'q1': the picture .*second1\.png is not there"):
        create_study(path, pairs, second="y")
    assert not path.exists()


def another_database(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE votes (x)")
        connection.commit()


def another_version(path):
    study(path.parent).rename(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 1")


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda path: None, "there is no such study"),
        (lambda path: path.write_bytes(b""), "is not a study of iconotext"),
        (lambda path: path.write_bytes(b"no database at all, but long enough" * 100), "cannot be .* as a study"),
        (another_database, "is not a study of iconotext"),
        (another_version, r"of another version of iconotext \(1\): make it anew"),
    ],
)
def test_what_is_no_study_is_one_clear_error(tmp_path, write, message):
    path = tmp_path / "s.sqlite"
    write(path)
    existed = path.exists()
    for call in (lambda: next_pair(path, "ann"), lambda: progress(path), lambda: study_results(path)):
        with pytest.raises(StudyError, match=message):
            call()
    assert path.exists() == existed


def test_studies_are_found_by_themselves_and_in_folders(tmp_path):
    one, two = study(tmp_path / "all"), study(tmp_path / "other")
    two.rename(tmp_path / "all" / "cmcm-against-cmca.sqlite")
    (tmp_path / "all" / "notes.txt").write_text("No study.")
    (tmp_path / "all" / "short").write_bytes(b"")
    for image in (tmp_path / "other").glob("*.png"):
        assert (tmp_path / "all" / image.name).is_file()  # the moved study finds its pictures beside it
    found = find_studies([tmp_path / "all"])
    assert [path.name for path in found.values()] == ["cmcm-against-cmca.sqlite", "study.sqlite"]
    assert find_studies([one]) == {name: path for name, path in found.items() if path == one}
    assert all(len(name) == 8 and "cmc" not in name for name in found)


def test_places_without_studies_and_studies_without_pictures_are_refused(tmp_path):
    (tmp_path / "none").mkdir()
    with pytest.raises(StudyError, match="no study lies in this folder"):
        find_studies([tmp_path / "none"])
    with pytest.raises(StudyError, match="there is no such study"):
        find_studies([tmp_path / "gone.sqlite"])
    path = study(tmp_path)
    (tmp_path / "second2.png").unlink()
    with pytest.raises(StudyError, match=r"1 of its 8 pictures are not there, such as .*second2\.png"):
        find_studies([path])


def test_a_damaged_study_is_one_clear_error(tmp_path):
    path = study(tmp_path, 40)
    content = bytearray(path.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(StudyError, match="cannot be"):
        next_pair(path, "ann")


# Voting


def test_a_rater_finds_the_same_pair_until_they_vote(tmp_path):
    path = study(tmp_path)
    first = next_pair(path, "ann")
    assert next_pair(path, " ann ") == first  # after a reload; spaces around a name are nobody else's
    vote(path, first.number, "ann", "same")
    assert next_pair(path, "ann") != first


def test_each_pair_gets_exactly_three_raters_and_nobody_judges_twice(tmp_path):
    path = study(tmp_path, 5)
    raters = ["ann", "ben", "cyd", "dan"]
    given: list[tuple[int, str]] = []
    waiting = list(raters)
    while waiting:
        for rater in list(waiting):
            shown = next_pair(path, rater)
            if shown is None:
                waiting.remove(rater)
            else:
                given.append((shown.number, rater))
                vote(path, shown.number, rater, "a")
    assert len(set(given)) == len(given) == 15
    assert set(Counter(number for number, _ in given).values()) == {3}
    far = progress(path)
    assert (far.pairs, far.complete, far.needed, far.votes, far.finished) == (5, 5, 15, 15, True)
    assert sum(far.of_rater.values()) == 15


def test_begun_pairs_come_first(tmp_path):
    path = study(tmp_path, 6)
    first = next_pair(path, "ann")
    vote(path, first.number, "ann", "a")
    second = next_pair(path, "ann")
    assert next_pair(path, "ben").number == first.number
    assert next_pair(path, "cyd").number == first.number
    assert next_pair(path, "dan").number == second.number


def test_a_pair_that_was_left_goes_to_somebody_else_after_a_while(tmp_path):
    path = study(tmp_path, 1, raters=1)
    assert next_pair(path, "ann", now=0).number == 0
    assert next_pair(path, "ben", now=1000) is None  # ann may be looking at it
    assert next_pair(path, "ben", now=1800).number == 0
    with pytest.raises(StudyError, match="given to somebody else"):
        vote(path, 0, "ann", "a")
    vote(path, 0, "ben", "b")
    assert progress(path).of_rater == {"ben": 1}
    assert next_pair(path, "ann", now=9000) is None


def test_a_late_vote_counts_while_nobody_else_has_the_pair(tmp_path):
    path = study(tmp_path, 1, raters=2)
    next_pair(path, "ann", now=0)
    assert next_pair(path, "ben", now=5000).number == 0  # there is room for both
    vote(path, 0, "ann", "a", now=6000)
    vote(path, 0, "ben", "a", now=6000)
    assert progress(path).complete == 1


def test_voting_twice(tmp_path):
    path = study(tmp_path)
    shown = next_pair(path, "ann")
    vote(path, shown.number, "ann", "a", now=1)
    vote(path, shown.number, "ann", "a", now=2)  # a form that was sent twice
    assert progress(path).votes == 1
    with pytest.raises(StudyError, match="judged pair"):
        vote(path, shown.number, "ann", "b")
    assert progress(path).votes == 1


def test_a_vote_is_taken_back_and_its_pair_comes_again(tmp_path):
    path = study(tmp_path, 3, raters=2)
    first = next_pair(path, "ann", now=1)
    vote(path, first.number, "ann", "a", now=2)
    second = next_pair(path, "ann", now=3)
    vote(path, second.number, "ann", "b", now=4)
    third = next_pair(path, "ann", now=5)
    assert undo(path, "ann", now=6)
    assert undo(path, "ann", now=7)
    assert not undo(path, "ann", now=8)
    assert not undo(path, "ben", now=8)
    assert progress(path).votes == 0
    for expected in (first, second, third):  # the last that was taken back comes first, on the sides it had
        assert next_pair(path, "ann", now=9) == expected
        vote(path, expected.number, "ann", "neither", now=10)
    assert next_pair(path, "ann") is None


def test_nothing_is_taken_back_once_all_votes_are_in(tmp_path):
    path = study(tmp_path, 1, raters=1)
    vote(path, next_pair(path, "ann").number, "ann", "a")
    with pytest.raises(StudyError, match="all votes of this study are in"):
        undo(path, "ann")
    assert progress(path).finished


@pytest.mark.parametrize("answer", ["", "A", "c", "better", "a ", "a'; DROP TABLE votes; --", None, 1])
def test_unknown_answers_are_refused(tmp_path, answer):
    path = study(tmp_path)
    shown = next_pair(path, "ann")
    with pytest.raises(SettingError, match="a, b, same, neither"):
        vote(path, shown.number, "ann", answer)
    assert progress(path).votes == 0


@pytest.mark.parametrize("number", [-1, 99, 2**63, 10**30])
def test_pairs_that_were_not_given_are_refused(tmp_path, number):
    path = study(tmp_path)
    next_pair(path, "ann")
    with pytest.raises(StudyError, match="is not with ann"):
        vote(path, number, "ann", "a")
    with pytest.raises(StudyError, match="is not with ben"):
        vote(path, next_pair(path, "ann").number, "ben", "a")


@pytest.mark.parametrize("rater", ["", "  ", "=cmd()", "-x", "@x", "a\x00b", "a;b", "x" * 101, "\ud800", "'a"])
def test_names_that_are_none_are_refused(tmp_path, rater):
    path = study(tmp_path)
    for call in (lambda: next_pair(path, rater), lambda: vote(path, 0, rater, "a")):
        with pytest.raises(SettingError, match="rater"):
            call()
    assert progress(path).of_rater == {}


def test_names_of_all_languages_are_good(tmp_path):
    path = study(tmp_path)
    for rater in ("Zoë", "李明", "ann.b@example.org", "7 of 9", "C. O'Neil"):
        next_pair(path, rater)
    assert set(progress(path).of_rater) == {"Zoë", "李明", "ann.b@example.org", "7 of 9", "C. O'Neil"}


def judge(path: str, rater: str, answer: str) -> None:
    while (shown := next_pair(Path(path), rater)) is not None:
        vote(Path(path), shown.number, rater, answer)


@pytest.mark.slow
def test_processes_that_vote_at_once_lose_nothing_and_add_nothing(tmp_path):
    path = study(tmp_path, 12)
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=judge, args=(str(path), f"r{n}", "a")) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 4
    for n in range(4):  # the last ones may have found nothing while others still looked
        judge(str(path), f"r{n}", "a")
    far = progress(path)
    assert (far.votes, far.complete) == (36, 12)
    with closing(sqlite3.connect(path)) as connection:
        counts = connection.execute("SELECT COUNT(*), COUNT(DISTINCT rater) FROM votes GROUP BY pair").fetchall()
    assert counts == [(3, 3)] * 12


def test_the_same_vote_from_many_threads_counts_once(tmp_path):
    path = study(tmp_path)
    shown = next_pair(path, "ann")
    failed: list[str] = []

    def send(answer):
        try:
            vote(path, shown.number, "ann", answer)
        except IconotextError:
            failed.append(answer)

    threads = [threading.Thread(target=send, args=("ab"[n % 2],)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(failed) == 4  # one of the two answers came first
    assert len(set(failed)) == 1
    assert progress(path).votes == 1


def test_what_fails_within_a_transaction_leaves_nothing(tmp_path, monkeypatch):
    path = study(tmp_path)
    before = path.read_bytes()
    from iconotext.papers.studies import study as voting

    monkeypatch.setattr(voting, "_ROOM", "DELETE FROM nothing")
    with pytest.raises(StudyError, match="cannot be written"):
        next_pair(path, "ann")
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.glob("study.sqlite*")] == ["study.sqlite"]  # one file


def die(path: str) -> None:
    with transaction(Path(path), writing=True) as connection:
        connection.execute("DELETE FROM votes")
        connection.execute("UPDATE pairs SET text = ''")
        os._exit(9)


def test_who_is_killed_while_voting_leaves_the_study_as_it_was(tmp_path):
    path = study(tmp_path)
    shown = next_pair(path, "ann")
    vote(path, shown.number, "ann", "a")
    worker = multiprocessing.get_context("spawn").Process(target=die, args=(str(path),))
    worker.start()
    worker.join()
    assert worker.exitcode == 9
    assert progress(path).votes == 1
    assert next_pair(path, "ben").text == shown.text
