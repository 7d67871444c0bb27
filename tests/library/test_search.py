from __future__ import annotations

import math
import os
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iconotext.errors import ImageError, LibraryError, SettingError
from iconotext.library import search as search_module
from iconotext.library.candidates import Filters, make_filters
from iconotext.library.items import Compared, Item, Place
from iconotext.library.search import LEAST, WEIGHT, Query, firm_results, probabilities, refined, relation_scale, search
from iconotext.library.settings import LibrarySettings
from iconotext.library.store import Library, create_library, open_library
from tests.support.library import RELATIONS, Colours, Relations, paint, update

FOLDERS = ["plain", "it's", 'a"b', "50%_off", "a\\b", "x') OR (1=1", "ünï 図", "--drop", "a;b"]


def ask(lib: Path, text: str | None = "green", relations: Relations | None = None, **query):
    return search(open_library(lib), Query(text, **query), Colours().encoder(), relations)


def found(*asked, **query) -> list[str]:
    return [Path(result.image).name for result in ask(*asked, **query)]


@pytest.fixture
def lib(tmp_path) -> Path:
    return tmp_path / "lib"


# Filters


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_means_itself_and_what_lies_below_whatever_it_is_called(tmp_path, lib, folder):
    inside = paint(tmp_path / "photos" / folder / "deep" / "in.png", "green").parents[1]
    paint(tmp_path / "photos" / f"{folder}2" / "beside.png", "red")
    paint(tmp_path / "photos" / "out.png", "blue")
    update(lib, tmp_path / "photos")
    assert found(lib, filters=make_filters(inside)) == ["in.png"]
    assert found(lib, filters=make_filters(inside / "deep")) == ["in.png"]
    assert found(lib, filters=make_filters(inside / "deep" / "in.png")) == []
    assert len(found(lib, filters=make_filters(tmp_path))) == 3


def test_a_picture_counts_as_in_the_folder_of_the_document_that_shows_it_and_that_place_is_shown(tmp_path, lib):
    paint(tmp_path / "docs" / "img" / "a.png", "green")
    for name in ("one", "two"):
        (tmp_path / "docs" / name).mkdir()
        (tmp_path / "docs" / name / "a.md").write_text(f"![{name}](../img/a.png)\n\nText {name}.\n")

    def link(file, folder, asked):
        from iconotext.linked import LinkedDocument
        from iconotext.read import ReadSettings, read

        document = read(file, ReadSettings(root=tmp_path / "docs"))
        yield LinkedDocument(document, (), np.zeros((len(document.sentences), 1), np.float32), "")

    update(lib, tmp_path / "docs", link=link)
    for name in ("one", "two"):
        [result] = ask(lib, filters=make_filters(tmp_path / "docs" / name))
        assert (result.alt, result.places) == (name, 2)  # two documents; the file is what they show
        assert result.file == str(tmp_path / "docs" / "img" / "a.png")


def test_dates_are_whole_years_months_and_days(tmp_path, lib):
    for day in ("2023-12-31", "2024-01-01", "2024-02-29", "2024-12-31", "2025-01-01"):
        picture = paint(tmp_path / "photos" / f"{day}.png", (int(day[3]) * 30, int(day[6]) * 20, int(day[9]) * 20))
        time = datetime.fromisoformat(f"{day}T23:59:59").timestamp()
        os.utime(picture, (time, time))
    update(lib, tmp_path / "photos")

    def between(since: str | None = None, until: str | None = None) -> list[str]:
        return sorted(name[:-4] for name in found(lib, filters=make_filters(None, since, until)))

    assert between("2024", "2024") == ["2024-01-01", "2024-02-29", "2024-12-31"]
    assert between("2024-02", "2024-02") == ["2024-02-29"]
    assert between("2024-02-29", "2024-02-29") == ["2024-02-29"]
    assert between("2024-12") == ["2024-12-31", "2025-01-01"]
    assert between(None, "2023") == ["2023-12-31"]
    assert between("2026") == []


@pytest.mark.parametrize(
    "wrong", ["", "24", "2024-13", "2024-00", "2023-02-29", "yesterday", "2024-1-1-1", "0000", "2024-05-31 OR 1"]
)
def test_what_is_no_date_is_told(wrong):
    with pytest.raises(SettingError, match="not a date; write a year"):
        make_filters(None, wrong)


def test_the_end_comes_after_the_beginning():
    with pytest.raises(SettingError, match="the earlier date comes first"):
        make_filters(None, "2025", "2024")
    assert Filters().condition is None


@pytest.mark.parametrize("end", ["9999", "9999-12", "9999-12-31"])
def test_the_last_year_of_the_calendar_is_a_date_and_so_is_an_early_one(tmp_path, lib, end):
    update(lib, paint(tmp_path / "a.png", "green"))
    assert found(lib, filters=make_filters(None, "0999", end)) == ["a.png"]
    assert found(lib, filters=make_filters(None, "9999", end)) == []
    assert make_filters(None, "0999").condition == "date >= TIMESTAMP '0999-01-01 00:00:00'"


def test_of_equals_those_whose_names_sort_first(lib):
    library = create_library(lib, LibrarySettings("m", "colours", 3))
    for names in (range(39, 19, -1), range(20)):
        library.insert([item(f"{name:02}", (0.1, 1, 0.1)) for name in names])
    library.insert([item("far", (1, 0, 0)), item("near", (0, 1, 0))])
    for top in (2, 5, 39, 41, 60):
        expected = ["near", *(f"{name:02}" for name in range(40)), "far"][:top]
        assert found(lib, top=top) == expected


def test_the_place_that_is_shown_is_there(tmp_path, lib):
    paint(tmp_path / "photos" / "a.png", "green")
    gone = tmp_path / "docs"
    paint(gone / "a.png", "green")
    (gone / "a.md").write_text("![A meadow](a.png)\n\nIt is green.\n")
    update(lib, tmp_path)

    def shown() -> tuple[str, str | None]:
        [result] = ask(lib)
        return result.image, result.alt

    assert shown() == (str(gone / "a.png"), "A meadow")
    gone.rename(tmp_path / "elsewhere")
    assert shown() == (str(tmp_path / "photos" / "a.png"), None)
    (tmp_path / "photos" / "a.png").unlink()
    assert shown() == (str(gone / "a.png"), "A meadow")  # none is there


# Search


def test_search_by_picture_and_by_both(tmp_path, lib):
    for name in ("red", "green", "blue", "yellow"):
        paint(tmp_path / "photos" / f"{name}.png", name)
    update(lib, tmp_path / "photos")
    like = paint(tmp_path / "like.jpg", "red")
    assert found(lib, None, picture=like)[0] == "red.png"
    assert found(lib, "green", picture=like)[0] == "yellow.png"  # half way between red and green
    assert found(lib, "green", picture=like.read_bytes(), top=1) == ["yellow.png"]
    like.write_text("no picture")
    with pytest.raises(ImageError, match=r"like\.jpg"):
        found(lib, None, picture=like)


def test_what_cannot_be_searched_for_is_told(tmp_path, lib):
    update(lib, paint(tmp_path / "a.png"))
    with pytest.raises(SettingError, match="nothing to search for"):
        found(lib, None)
    with pytest.raises(SettingError, match="the sentence is empty"):
        found(lib, "  ")
    with pytest.raises(SettingError, match="without a relation model"):
        found(lib, relation="Story")
    update(lib, relations=Relations())
    with pytest.raises(LibraryError, match="bring it up to date"):
        found(lib, relation="Story", relations=Relations("another"))
    with pytest.raises(SettingError, match="among the relations: Visible, Story"):
        found(lib, relation="Meta", relations=Relations())
    (tmp_path / "a.png").unlink()
    update(lib, tmp_path)
    with pytest.raises(LibraryError, match="the library is empty; add pictures"):
        found(lib)


def test_the_same_question_has_the_same_answer(tmp_path, lib):
    for number in range(30):  # only ten colours, so many equals
        paint(tmp_path / "photos" / f"{number}.png", (25 * (number % 10), 90, 10), size=(70 + number, 70))
    update(lib, tmp_path / "photos")
    first = found(lib, "green", top=15)
    assert all(found(lib, "green", top=15) == first for _ in range(3))
    assert found(lib, "green", top=7) == first[:7]


# Relations


def test_probabilities_average_the_log_odds_of_the_witnesses():
    query, offsets = np.array([1.0, -2.0], np.float32), np.array([0.5, 0.0], np.float32)
    own = (0.5, 4.0)
    assert probabilities(query, offsets, own).tolist() == pytest.approx([sigmoid((1.5 + 0.5) / 2), sigmoid(1.0)])
    assert probabilities(query, offsets, None).tolist() == pytest.approx([sigmoid(1.5), sigmoid(-2)])
    assert probabilities(None, offsets, own).tolist() == pytest.approx([sigmoid(0.5), sigmoid(4)])
    assert probabilities(None, offsets, None) is None
    assert probabilities(query, None, None) is None


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def test_scores_by_hand():
    similarities = np.array([0.5, 0.4, 0.3, 0.2], np.float32)
    deviation = math.sqrt((0.15**2 + 0.05**2) / 2)
    assert relation_scale(similarities) == pytest.approx(WEIGHT * deviation)
    scores = refined(similarities, np.array([0.1, 1.0, 0.5, 0.0], np.float32))
    expected = [s + WEIGHT * deviation * math.log(p) for s, p in ((0.5, 0.1), (0.4, 1), (0.3, 0.5), (0.2, LEAST))]
    assert scores.tolist() == pytest.approx(expected, abs=1e-6)
    assert scores[1] > scores[0]  # 0.400 against 0.371: the relation decides between two that fit
    assert refined(np.zeros(0, np.float32), np.zeros(0, np.float32)).shape == (0,)


scores = st.lists(st.floats(-1, 1), min_size=1, max_size=12)


@given(st.data(), scores)
def test_a_relation_lowers_by_a_bounded_amount_and_never_raises(data, similarities):
    ordered = np.array(sorted(similarities, reverse=True), np.float32)
    wanted = np.array(data.draw(st.lists(st.floats(0, 1), min_size=len(ordered), max_size=len(ordered))), np.float32)
    moved = refined(ordered, wanted) - ordered
    assert (moved <= 1e-6).all()
    assert (moved >= -1.5 * ordered.std() - 1e-5).all()
    assert refined(ordered, np.ones_like(ordered)).tolist() == ordered.tolist()
    more = np.minimum(wanted + data.draw(st.floats(0, 1)), 1).astype(np.float32)
    assert (refined(ordered, more) >= refined(ordered, wanted) - 1e-6).all()  # monotone


def item(
    name: str, vector: tuple[float, float, float], own: tuple[float, float] | None = None, offset: float = 0
) -> Item:
    row = np.array(vector, np.float32)
    place = Place(
        file=f"/{name}", document=None if own is None else f"/{name}.md", caption=None if own is None else name
    )
    place = Place(place.file, place.document, None if own is None else 0, caption=place.caption, relations=own)
    return Item(name, (place,), None, row / np.linalg.norm(row), np.array([0, offset], np.float32), "relations-1")


@pytest.fixture
def stories(lib):
    """Two pictures fit "green" equally well; of one its document tells a story. A third fits somewhat less, and a
    fourth, with a story, not at all."""
    library = create_library(lib, LibrarySettings("m", "colours", 3, "relations-1", RELATIONS))
    library.insert(
        [
            item("a-plain", (0.1, 1, 0.1)),
            item("b-story", (0.11, 1, 0.11), (-1.0, 3.0)),
            item("c-less", (0.3, 1, 0.3)),
            item("d-unfit", (1, 0.05, 1), (-1.0, 6.0)),
        ]
    )
    return lib


def test_a_picture_whose_own_text_stands_in_the_relation_gains_among_those_that_fit(stories):
    assert found(stories, relations=Relations(), anyway=True) == ["a-plain", "b-story", "c-less", "d-unfit"]
    told = found(stories, relation="Story", relations=Relations(), anyway=True)
    assert told == ["b-story", "a-plain", "c-less", "d-unfit"]
    results = ask(stories, relations=Relations(), relation="Story", anyway=True)
    similarities = [result.similarity for result in results]
    tau = WEIGHT * float(np.std(sorted(similarities)))
    assert [result.relations["Story"] for result in results] == pytest.approx(
        [sigmoid((-2 + 3) / 2), sigmoid(-2), sigmoid(-2), sigmoid((-2 + 6) / 2)], abs=1e-6
    )
    for result in results:
        expected = result.similarity + tau * math.log(result.relations["Story"])
        assert result.score == pytest.approx(expected, abs=1e-6)


def test_results_tell_their_relations_even_if_none_is_wanted(stories):
    results = ask(stories, "green once", Relations())
    assert {tuple(result.relations) for result in results} == {RELATIONS}
    told = {result.image: result.relations["Story"] for result in results}
    assert told["/a-plain"] == pytest.approx(sigmoid(2))
    assert told["/b-story"] == pytest.approx(sigmoid(2.5))
    assert all(result.score == pytest.approx(result.similarity, abs=1e-6) for result in results)
    # Without the model, what the library has of the pictures' own texts.
    expected = [{}, {"Visible": sigmoid(-1), "Story": sigmoid(3)}, {}, {"Visible": sigmoid(-1), "Story": sigmoid(6)}]
    without = [result.relations for result in ask(stories, anyway=True)]
    assert without == [pytest.approx(relations) for relations in expected]


def test_a_relation_chooses_among_more_than_are_shown(stories):
    assert found(stories, relation="Story", relations=Relations(), top=1) == ["b-story"]


def test_relations_are_read_of_as_few_as_can_be_and_choose_as_if_read_of_all(lib, monkeypatch):
    draw = np.random.default_rng(0)
    library = create_library(lib, LibrarySettings("m", "colours", 3, "relations-1", RELATIONS))
    vectors, odds = draw.random((150, 3)) + np.eye(3)[1], draw.normal(-1, 3, (150, 2))
    odds[:, 1].sort()  # the last ones tell stories
    library.insert([item(f"{n:03}", tuple(vectors[n]), tuple(odds[n]) if n % 3 else None) for n in range(150)])
    read: list[int] = []
    told = Library.details

    def counted(self: Library, pictures: Iterable[Compared]) -> dict[str, Item]:
        read.append(len(some := list(pictures)))
        return told(self, some)

    monkeypatch.setattr(Library, "details", counted)
    for top in (1, 10, 140):
        results = []
        for at_once in (1000, 1, 20):
            monkeypatch.setattr(search_module, "DETAILS_BATCH", at_once)
            read.clear()
            results.append(ask(lib, "green once", Relations(), relation="Story", top=top, anyway=True))
            assert len(results[-1]) == top
            assert sum(read) == 150 if at_once == 1000 else top <= sum(read) < (150 if top < 100 else 151)
        assert results[0] == results[1] == results[2]


def test_what_the_picture_adds_counts(lib):
    library = create_library(lib, LibrarySettings("m", "colours", 3, "relations-1", RELATIONS))
    library.insert([item("a", (0.1, 1, 0.1)), item("b", (0.11, 1, 0.11), None, 3.0), item("c", (1, 0, 0))])
    assert found(lib, relations=Relations()) == ["a", "b", "c"]
    assert found(lib, relation="Story", relations=Relations()) == ["b", "a", "c"]


def test_json_has_the_fields_of_the_documentation(stories):
    [result] = ask(stories, relations=Relations(), relation="Story", top=1)
    told = result.as_json()
    assert list(told)[:5] == ["image", "score", "document", "caption", "relations"]
    assert (told["image"], told["document"], told["caption"]) == ("/b-story", "/b-story.md", "b-story")
    assert list(told["relations"]) == list(RELATIONS)


@pytest.mark.slow
def test_a_query_in_another_language_is_no_witness(tmp_path, lib):
    update(lib, paint(tmp_path / "photos" / "a.png", "green"), relations=Relations())
    for text, told in {"The green dog and the red ball": True, "Zwei grüne Hunde spielen im Schnee": False}.items():
        [result] = ask(lib, text, Relations())
        assert bool(result.relations) == told


@pytest.mark.parametrize(
    ("levels", "shown"),
    [
        (["strong"] * 2 + ["weak"] * 20, 8),
        (["good"] * 10 + ["weak"] * 3, 10),
        (["strong", "weak", "good"] * 4 + ["weak"], 12),
        (["good"] + ["weak"] * 5, 6),
        (["weak"] * 20, 20),
        ([None] * 20, 20),
        ([], 0),
    ],
)
def test_weak_matches_at_the_end_are_folded_after_some_results(levels, shown):
    results = [SimpleNamespace(match=level and SimpleNamespace(level=level)) for level in levels]
    assert firm_results(results) == shown
