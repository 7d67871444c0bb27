from __future__ import annotations

import json
import os
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow

from iconotext.errors import LibraryError
from iconotext.retrieve.items import Place, Said, places_from, places_text
from iconotext.retrieve.library.describe import describe
from iconotext.retrieve.library.files import picture_date
from iconotext.retrieve.library.ledger import held_ledger
from iconotext.retrieve.library.store import check_new, open_library, quoted
from iconotext.retrieve.search import Query, search
from tests.retrieve.library_fakes import Colours, Relations, content, names, paint, update


@pytest.fixture
def photos(tmp_path) -> Path:
    for name in ("red", "green", "blue"):
        paint(tmp_path / "photos" / f"{name}.png", name)
    return tmp_path / "photos"


@pytest.fixture
def lib(tmp_path) -> Path:
    return tmp_path / "lib"


@pytest.fixture
def article(tmp_path) -> Path:
    paint(tmp_path / "docs" / "img" / "blue.png", "blue")
    path = tmp_path / "docs" / "article.md"
    path.write_text("Once we painted the wall. It took a day.\n\n![A wall](img/blue.png)\n*Then the wall was blue.*\n")
    return path


def files(lib: Path) -> list[str]:
    return sorted(path.name for path in lib.iterdir())


def test_a_folder_of_pictures_becomes_a_library_that_answers(photos, lib):
    report = update(lib, photos)
    assert (report.added, report.encoded, report.left_out, report.failures) == (3, 3, [], [])
    assert names(lib) == ["blue.png", "green.png", "red.png"]
    found = search(open_library(lib), Query("something green", top=1), Colours().space())
    assert [Path(result.image).name for result in found] == ["green.png"]
    assert found[0].score == pytest.approx(1, abs=1e-3)
    assert found[0].document is None
    assert files(lib) == ["ledger.sqlite", "library.json", "pictures.lance"]


def test_what_has_not_changed_is_not_looked_at_again(photos, lib):
    update(lib, photos)
    before = content(lib)
    colours = Colours()
    report = update(lib, photos, colours=colours)
    assert (report.added, report.encoded, report.unchanged, colours.looked) == (0, 0, 3, [])
    os.utime(photos / "red.png")  # another time, the same bytes: read, but not encoded
    report = update(lib, photos, colours=colours)
    assert (report.added, report.encoded, report.unchanged, colours.looked) == (0, 0, 2, [])
    assert content(lib) == before


def test_changed_pictures_are_encoded_anew_and_the_old_ones_go(photos, lib):
    update(lib, photos)
    paint(photos / "red.png", "yellow", size=(90, 90))
    report = update(lib, photos)
    assert (report.added, report.encoded, report.removed, report.unchanged) == (1, 1, 1, 2)
    assert names(lib) == ["blue.png", "green.png", "red.png"]
    found = search(open_library(lib), Query("yellow", top=1), Colours().space())[0]
    assert (Path(found.image).name, round(found.score, 2)) == ("red.png", 1.0)


def test_deleted_pictures_go_but_only_below_what_is_named(photos, lib, tmp_path):
    other = paint(tmp_path / "other" / "white.png", "white").parent
    update(lib, photos, other)
    (photos / "red.png").unlink()
    (other / "white.png").unlink()
    assert update(lib, photos).removed == 1
    assert names(lib) == ["blue.png", "green.png", "white.png"]
    assert update(lib).removed == 1  # no path: all that was ever added
    assert names(lib) == ["blue.png", "green.png"]


def test_a_folder_that_is_gone_is_an_error_and_costs_no_picture(photos, lib):
    update(lib, photos)
    photos.rename(photos.with_name("elsewhere"))
    with pytest.raises(LibraryError, match="no such file or folder"):
        update(lib, photos)
    with pytest.raises(LibraryError, match="no such file or folder"):
        update(lib)
    assert len(content(lib)) == 3


def test_a_picture_in_several_places_is_kept_once_with_all_of_them(photos, lib, article):
    paint(photos / "again" / "ünï code 図.png", "blue")
    report = update(lib, photos, article.parent)
    assert report.added == 3
    assert names(lib) == ["blue.png", "blue.png", "blue.png", "green.png", "red.png", "ünï code 図.png"]
    (photos / "blue.png").unlink()
    assert update(lib).removed == 0  # it is still elsewhere
    assert names(lib) == ["blue.png", "blue.png", "green.png", "red.png", "ünï code 図.png"]


def test_the_order_of_adding_does_not_matter(photos, tmp_path, article):
    paint(photos / "again.png", "blue")
    update(tmp_path / "a", photos, article, relations=Relations())
    for path in (article, photos / "again.png", photos):
        update(tmp_path / "b", path, relations=Relations())
    a, b = (
        {digest: item.places for digest, item in opened.items(content(opened.path)).items()}
        for opened in map(open_library, (tmp_path / "a", tmp_path / "b"))
    )
    assert a == b


def test_a_document_gives_its_pictures_what_it_says_of_them(lib, article):
    report = update(lib, article, relations=Relations())
    assert (report.added, report.documents) == (1, 1)
    [item] = open_library(lib).items(content(lib)).values()
    [place] = item.places
    assert place == Place(
        file=str(article.parent / "img" / "blue.png"),
        document=str(article),
        number=0,
        source="img/blue.png",
        caption="Then the wall was blue.",
        alt="A wall",
        sentences=(Said("Once we painted the wall.", 0.9), Said("It took a day.", 0.8)),
        language="en",
        relations=(0.0, 3.0),  # of the caption: "then" 2, blue 1
    )
    assert item.offsets.tolist() == [0.0, 1.0]


def test_what_is_not_said_in_english_has_no_relations(lib, article):
    article.write_text(
        "---\nlang: de\n---\n\nDas Haus ist blau.\n\n![Ein Haus](img/blue.png)\n*Then the wall was blue.*\n"
    )
    update(lib, article, relations=Relations())
    [item] = open_library(lib).items(content(lib)).values()
    assert [(place.language, place.relations) for place in item.places] == [("de", None)]


def test_documents_are_read_again_when_they_or_their_pictures_or_the_settings_change(lib, article):
    update(lib, article)
    assert update(lib, article).documents == 0
    article.write_text(article.read_text().replace("Then the wall was blue", "The wall was nice"))
    assert update(lib, article).documents == 1
    [item] = open_library(lib).items(content(lib)).values()
    assert [place.caption for place in item.places] == ["The wall was nice."]
    paint(article.parent / "img" / "blue.png", "red")
    report = update(lib, article)
    assert (report.documents, report.added, report.removed) == (1, 1, 1)
    assert update(lib, article, link_settings="k=5").documents == 1
    assert update(lib, article, link_settings="k=5").documents == 0
    article.write_text("No picture any more.\n")
    assert update(lib, article).removed == 1
    assert content(lib) == {}


def test_a_missing_picture_of_a_document_is_found_when_it_comes(lib, article):
    picture = article.parent / "img" / "blue.png"
    data = picture.read_bytes()
    picture.unlink()
    report = update(lib, article)
    assert (report.added, len(report.left_out)) == (0, 1)
    picture.write_bytes(data)
    assert update(lib, article).added == 1


def test_a_document_that_fails_stops_nothing(lib, article, photos):
    (article.parent / "broken.docx").write_bytes(b"PK nonsense")
    report = update(lib, article.parent, photos)
    assert report.added == 3
    assert [Path(place).name for place, _ in report.failures] == ["broken.docx"]
    assert [Path(place).name for place, _ in update(lib).failures] == ["broken.docx"]  # told every time


def test_pictures_that_cannot_be_read_are_told_and_stop_nothing(photos, lib):
    (photos / "text.jpg").write_text("no picture")
    (photos / "empty.png").write_bytes(b"")
    (photos / "cut.png").write_bytes((photos / "red.png").read_bytes()[:120])
    paint(photos / "icon.png", size=(16, 16))
    (photos / "loop.png").symlink_to(photos / "loop.png")
    (photos / "notes.txt").write_text("not looked at")
    (photos / ".hidden.png").write_bytes(b"not looked at")
    report = update(lib, photos)
    assert report.added == 3
    told = {Path(place).name: why for place, why in report.left_out}
    assert sorted(told) == ["cut.png", "empty.png", "icon.png", "loop.png", "text.jpg"]
    assert "icon or a spacer" in told["icon.png"]
    assert not any(str(photos) in why for why in told.values())
    assert names(lib) == ["blue.png", "green.png", "red.png"]
    paint(photos / "text.jpg", "white")
    assert update(lib, photos).added == 1


@pytest.mark.skipif(os.name != "posix", reason="names are bytes on POSIX alone")
def test_a_name_that_is_no_text_is_told(photos, lib):
    try:
        os.rename(os.fsencode(photos / "red.png"), os.fsencode(photos) + b"/r\xe9d.png")
    except OSError:
        pytest.skip("this file system knows only UTF-8")
    report = update(lib, photos)
    assert (report.added, len(report.left_out)) == (2, 1)
    assert "not UTF-8" in report.left_out[0][1]


def test_the_library_itself_is_not_looked_into(photos):
    assert update(photos / "lib", photos).added == 3
    assert update(photos / "lib", photos).unchanged == 3


def test_a_folder_with_other_things_is_no_place_for_a_library(photos, tmp_path):
    with pytest.raises(LibraryError, match="with other things in it"):
        update(photos, tmp_path)
    with pytest.raises(LibraryError, match="no library yet"):
        update(tmp_path / "new")
    (tmp_path / "half" / "pictures.lance").mkdir(parents=True)  # what a program killed at its start leaves
    check_new(tmp_path / "half")
    assert update(tmp_path / "half", photos).added == 3


def test_there_is_one_writer(photos, lib):
    update(lib, photos)
    with held_ledger(lib), pytest.raises(LibraryError, match="another process is adding"):
        update(lib, photos)
    assert update(lib, photos).unchanged == 3


def test_another_model_is_refused(photos, lib):
    update(lib, photos)
    with pytest.raises(LibraryError, match="vectors of two models do not compare"):
        update(lib, photos, colours=Colours("other"))
    with pytest.raises(LibraryError, match="made with the model"):
        search(open_library(lib), Query("red"), Colours("other").space())


def test_another_relation_model_renews_the_offsets(photos, lib, article):
    update(lib, photos, article)
    assert open_library(lib).settings.relations == ()
    report = update(lib, relations=Relations())
    assert (report.added, report.encoded) == (0, 3)
    items = open_library(lib).items(content(lib)).values()
    assert {item.relation_model for item in items} == {"relations-1"}
    assert [place.relations for item in items for place in item.places if place.document] == [(0.0, 3.0)]
    assert update(lib, relations=Relations()).encoded == 0
    assert update(lib, relations=Relations("relations-2")).encoded == 3


def test_libraries_that_are_none_say_so(tmp_path, photos, lib):
    with pytest.raises(LibraryError, match="no library; make one with"):
        open_library(tmp_path / "nothing")
    update(lib, photos)
    text = (lib / "library.json").read_text()
    (lib / "library.json").write_text(text.replace('"format": 1', '"format": 9'))
    with pytest.raises(LibraryError, match="format 9"):
        open_library(lib)
    for damaged in ("{", "[]", "{}", '{"format": 1, "more": 2}'):
        (lib / "library.json").write_text(damaged)
        with pytest.raises(LibraryError, match="damaged"):
            open_library(lib)
    (lib / "ledger.sqlite").write_bytes(b"no database" * 100)
    (lib / "library.json").write_text(text)
    with pytest.raises(LibraryError, match="delete this file"):
        update(lib, photos)
    (lib / "ledger.sqlite").unlink()
    report = update(lib, photos)  # nothing is lost with the ledger
    assert (report.added, report.encoded) == (0, 0)


def test_list_says_what_is_there(photos, lib, article):
    update(lib, photos, article)
    told = describe(open_library(lib))
    assert (told["pictures"], told["documents"], told["index"], told["space"]) == (3, 1, None, "colours")
    assert told["folders"] == [
        {"path": str(article), "pictures": 1},
        {"path": str(photos), "pictures": 3},
    ]
    assert told["bytes"] > 1000
    assert told["single_pictures"] == 0
    update(lib, paint(photos.parent / "one.png", "white"))
    assert describe(open_library(lib))["single_pictures"] == 1
    json.dumps(told)
    update(lib, photos.parent)
    assert [Path(each["path"]).name for each in describe(open_library(lib))["folders"]] == [photos.parent.name]


def test_places_survive_their_text():
    places = (
        Place(file="/a'b\"c\\.png"),
        Place(document="/d", number=0, sentences=(Said("ß\n", 0.5),), relations=(1.0,)),
    )
    assert places_from(places_text(places)) == places
    assert quoted("a'b") == "'a''b'"


def test_dates_are_those_of_the_camera_else_of_the_file(tmp_path):
    exif = Pillow.Exif()
    exif.get_ifd(0x8769)[0x9003] = "2019:08:07 06:05:04"
    taken = paint(tmp_path / "taken.jpg", exif=exif)
    assert picture_date(taken, otherwise=taken) == datetime(2019, 8, 7, 6, 5, 4)
    plain = paint(tmp_path / "plain.jpg")
    os.utime(plain, (1e9, 1e9))
    assert picture_date(plain, otherwise=plain) == datetime.fromtimestamp(1e9)
    exif.get_ifd(0x8769)[0x9003] = "0000:00:00 00:00:00"
    unset = paint(tmp_path / "unset.jpg", exif=exif)
    os.utime(unset, (1e9, 1e9))
    assert picture_date(unset.read_bytes(), otherwise=unset) == datetime.fromtimestamp(1e9)
    assert picture_date(b"", otherwise=tmp_path / "nothing") is None


def test_vectors_are_stored_as_they_are(photos, lib):
    update(lib, photos)
    colours = Colours()
    expected, _ = colours.pictures(sorted(photos.iterdir()))
    stored = np.vstack([vectors for _, vectors in open_library(lib).vectors()])
    assert sorted(map(tuple, stored.tolist())) == sorted(map(tuple, expected.tolist()))
