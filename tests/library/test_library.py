from __future__ import annotations

import importlib
import json
import os
import shutil
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow

from iconotext.encoders.load import load_encoder
from iconotext.errors import DocumentError, FeatureError, LibraryError, SettingError, UnreachableError
from iconotext.features import FeatureCache
from iconotext.features.backbone import ImageFeatures
from iconotext.images import kind_of
from iconotext.library.commit import held_ledger
from iconotext.library.files import image_date
from iconotext.library.items import Place
from iconotext.library.models import DocumentLinker, default_pooled
from iconotext.library.search import Query, search
from iconotext.library.store import PLACES, Library, check_new, describe, open_library, quoted
from iconotext.library.update import add_paths, remove_from_library
from iconotext.read import Failure
from iconotext.types import LinkedSentence
from tests.support.library import Colours, Relations, content, link_all, link_every, names, paint, stored, update


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
    found = search(open_library(lib), Query("something green", top=1), Colours().encoder())
    assert [Path(result.image).name for result in found] == ["green.png"]
    assert found[0].similarity == pytest.approx(1, abs=1e-3)
    assert found[0].document is None
    assert files(lib) == ["ledger.sqlite", "library.json", "pictures.lance", "sums.json"]


@pytest.mark.slow
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
    found = search(open_library(lib), Query("yellow", top=1), Colours().encoder())[0]
    assert (Path(found.image).name, round(found.score, 2)) == ("red.png", 1.0)


def test_pages_that_the_program_made_are_not_added(photos, lib):
    page = '<head><meta name="generator" content="iconotext"></head><p>Red.</p><img src="../red.png">'
    (photos / "linked").mkdir()
    (photos / "linked" / "page.html").write_text(page)
    (photos / "own.html").write_text(page.replace("generator", "author").replace("../", ""))
    assert update(lib, photos).documents == 1


def test_what_is_left_out_is_not_added_and_what_is_left_out_later_goes(photos, lib, article):
    paint(photos / "private" / "white.png", "white")
    paint(photos / "node_modules" / "yellow.png", "yellow")
    update(lib, photos, asked={"exclude": ["private/", "g*.png"]})
    assert names(lib) == ["blue.png", "red.png"]
    assert update(lib).unchanged == 2  # what was said of a folder holds in later runs
    report = update(lib, photos, article, asked={"include": ["*.png", "*.md"], "exclude": ["red.png"]})
    assert (report.added, report.removed, report.documents) == (2, 1, 1)
    assert names(lib) == ["blue.png", "blue.png", "green.png", "white.png"]
    assert update(lib, article.parent, asked={"exclude": ["*.md"]}).removed == 0  # its picture lies in the photos, too
    assert "article.md" not in str(content(lib))
    with pytest.raises(SettingError, match=r"written as in a \.gitignore"):
        update(lib, asked={"exclude": ["!"]})


def test_a_folder_that_cannot_be_listed_is_told_and_costs_no_picture(photos, lib, monkeypatch):
    paint(photos / "closed" / "white.png", "white")
    update(lib, photos)
    listed = os.scandir

    def closed(path):
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    with monkeypatch.context() as patched:  # undone before pytest lists the folders of this test to remove them
        patched.setattr(os, "scandir", closed)
        patched.setattr(os, "listdir", closed)
        report = update(lib, photos)
    assert report.failures == [(str(photos / "closed"), "cannot be listed: Permission denied")]
    assert (report.unchanged, report.removed) == (3, 0)


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
    assert len(content(lib)) == 3


def test_a_folder_that_is_gone_is_told_and_stops_nothing_else(photos, lib, tmp_path):
    other = paint(tmp_path / "other" / "white.png", "white").parent
    update(lib, photos, other)
    photos.rename(tmp_path / "elsewhere")
    paint(other / "yellow.png", "yellow")
    report = update(lib)
    assert (report.added, report.removed) == (1, 0)
    [(where, why)] = report.failures
    assert where == str(photos)
    assert f"iconotext library remove {lib} {photos}" in why
    assert len(content(lib)) == 5  # a disk that is not there today may come back
    (tmp_path / "elsewhere").rename(photos)
    assert update(lib).failures == []
    photos.rename(tmp_path / "elsewhere")
    assert remove_from_library(lib, [photos]).removed == 3
    assert names(lib) == ["white.png", "yellow.png"]
    assert open_library(lib).settings.roots == (str(other),)
    assert update(lib).failures == []


def test_what_is_taken_out_takes_only_its_own_places(photos, lib, article):
    update(lib, photos, article, asked={"k": 2})
    (lib / "ledger.sqlite").unlink()  # which costs nothing
    assert remove_from_library(lib, [photos]).removed == 2
    assert names(lib) == ["blue.png"]
    settings = open_library(lib).settings
    assert (settings.roots, dict(settings.asked)) == ((str(article),), {str(article): {"k": 2}})
    assert update(lib, photos).added == 2
    assert remove_from_library(lib, [photos.parent]).removed == 3  # all that was added below
    assert (content(lib), open_library(lib).settings.roots) == ({}, ())


def test_what_cannot_be_taken_out_is_told(photos, lib, tmp_path):
    with pytest.raises(LibraryError, match="not a library; make one"):
        remove_from_library(lib, [photos])
    assert not lib.exists()
    update(lib, photos)
    with pytest.raises(LibraryError, match="would come back with it"):
        remove_from_library(lib, [photos / "red.png"])
    with pytest.raises(LibraryError, match="nothing was added from there"):
        remove_from_library(lib, [photos, tmp_path / "nothing"])
    assert len(content(lib)) == 3


def test_a_file_that_comes_back_after_a_kill_while_it_was_taken_out_is_looked_at(photos, lib, monkeypatch):
    update(lib, photos)
    (photos / "red.png").rename(photos / "hidden")

    remove = Library.remove

    def die(self, digests):
        remove(self, digests)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Library, "remove", die)
        with pytest.raises(KeyboardInterrupt):
            update(lib)
    (photos / "hidden").rename(photos / "red.png")
    assert update(lib).added == 1
    assert names(lib) == ["blue.png", "green.png", "red.png"]


def test_what_was_asked_for_a_path_holds_in_later_runs(lib, article, tmp_path):
    (tmp_path / "docs" / "deep").mkdir()
    path = article.rename(tmp_path / "docs" / "deep" / "article.md")
    path.write_text(path.read_text().replace("img/", "../img/"))
    asked = {"root": str(tmp_path / "docs")}
    assert update(lib, path).added == 0  # its picture lies outside of its folder
    assert update(lib, path, asked=asked).added == 1
    for paths in ((), (path,), (path.parent,), ()):
        report = update(lib, *paths)
        assert (report.removed, report.unchanged) == (0, 1)
    assert update(lib, asked={"captions": True}).documents == 1
    assert dict(open_library(lib).settings.asked[str(path)]) == asked | {"captions": True}
    report = update(lib, asked={"root": None})
    assert (report.documents, report.removed) == (1, 1)
    (lib / "library.json").write_text((lib / "library.json").read_text().replace('"asked"', '"other"'))
    with pytest.raises(LibraryError, match="damaged"):
        open_library(lib)


def test_what_was_deleted_while_there_was_no_ledger_is_taken_out(photos, lib, article):
    update(lib, photos, article)
    (lib / "ledger.sqlite").unlink()
    (photos / "red.png").unlink()
    article.write_text("No picture any more.\n")
    colours = Colours()
    report = update(lib, colours=colours)
    assert (report.removed, report.added, colours.looked) == (1, 0, [])
    assert names(lib) == ["blue.png", "green.png"]
    assert update(lib).unchanged == 3


def test_what_cannot_be_read_for_a_moment_keeps_its_pictures(photos, lib, article, monkeypatch):
    update(lib, photos, article, relations=Relations())
    before = content(lib)

    def fail(file, folder, asked):
        yield Failure(file, DocumentError("the disk has gone to sleep"))

    os.utime(photos / "red.png")

    def asleep(picture):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr("iconotext.library.changes.digest_of", asleep)
        report = update(lib, link=fail, asked={"k": 1}, relations=Relations())
    assert [Path(where).name for where, _ in report.left_out] == ["red.png"]
    assert [Path(where).name for where, _ in report.failures] == ["article.md"]
    assert (report.removed, content(lib)) == (0, before)
    report = update(lib, relations=Relations())
    assert (report.documents, report.unchanged, report.left_out, report.failures) == (1, 2, [], [])
    assert content(lib) == before
    with monkeypatch.context() as patch:
        patch.setattr("iconotext.library.changes.digest_of", asleep)
        report = update(lib, paint(photos.parent / "new.png", "white"))
    assert (report.added, len(report.left_out)) == (0, 1)
    assert update(lib).added == 1
    article.unlink()
    assert update(lib, article.parent).removed == 0  # the picture is in the photos, too
    assert {place.document for item in stored(lib).values() for place in item.places} == {None}


def test_a_picture_that_cannot_be_encoded_at_present_stays(photos, lib):
    update(lib, photos)

    class Blind(Colours):
        def look(self, files):
            vectors, features = super().look(files)
            return vectors * 0, ImageFeatures(features.pooled, problems=("no memory left",) * len(files))

    report = update(lib, colours=Blind(), relations=Relations())
    assert (report.removed, len(report.left_out)) == (0, 3)
    assert names(lib) == ["blue.png", "green.png", "red.png"]
    assert update(lib, relations=Relations()).encoded == 3
    (photos / "red.png").unlink()
    assert update(lib, relations=Relations()).removed == 1


def test_a_picture_of_a_document_that_cannot_be_opened_at_present_stays(lib, article, monkeypatch):
    update(lib, article)
    article.write_text(article.read_text() + "\nMore.\n")
    opened, picture = Path.open, article.parent / "img" / "blue.png"

    def denied(self, *args, **more):
        if self == picture:
            raise PermissionError(13, "Permission denied")
        return opened(self, *args, **more)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", denied)
        report = update(lib)
    assert (report.documents, report.removed, names(lib)) == (1, 0, ["blue.png"])
    assert [why for _, why in report.left_out] == ["cannot be read: Permission denied"]
    assert update(lib).documents == 1  # tried again
    assert update(lib).unchanged == 1
    picture.unlink()
    assert update(lib).removed == 1  # gone is gone


def test_a_picture_from_the_web_is_tried_again_and_stays_while_it_cannot_be_had(lib, article, monkeypatch):
    article.write_text("Once we painted the wall.\n\n![A wall](https://example.org/a.png)\n")
    data = (article.parent / "img" / "blue.png").read_bytes()
    answers = []

    def fetch(address):
        answers.append(address)
        if len(answers) != 2:
            raise UnreachableError("not fetched: the network is down")
        return data

    monkeypatch.setattr(importlib.import_module("iconotext.read.web.fetch"), "fetch", fetch)
    assert update(lib, article, paint(article.parents[1] / "white.png", "white")).added == 1
    assert (update(lib).unchanged, answers) == (2, [])  # nobody wants it fetched
    assert (update(lib, asked={"fetch": True}).added, len(answers)) == (0, 1)
    assert (update(lib).added, len(answers)) == (1, 2)
    assert (update(lib).unchanged, len(answers)) == (2, 2)
    article.write_text(article.read_text() + "\nMore.\n")
    for _ in range(2):
        report = update(lib)
        assert (report.removed, [why for _, why in report.left_out]) == (0, ["not fetched: the network is down"])
    assert update(lib, asked={"fetch": False}).removed == 0
    assert names(lib) == ["a.png", "white.png"]
    article.write_text("No picture any more.\n")
    assert update(lib).removed == 1


def test_a_file_that_is_neither_picture_nor_document_is_refused(photos, lib):
    notes = photos.parent / "notes.txt"
    notes.write_text("nothing to see")
    with pytest.raises(LibraryError, match="neither a document nor a picture"):
        update(lib, photos, notes)
    assert not lib.exists()
    picture = (photos / "red.png").rename(photos.parent / "picture-without-suffix")
    assert update(lib, picture).added == 1


def test_documents_are_committed_from_time_to_time(lib, tmp_path, monkeypatch):
    for number in range(4):
        paint(tmp_path / "docs" / f"{number}.png", (60 * number, 90, 0))
        (tmp_path / "docs" / f"{number}.md").write_text(f"![Picture]({number}.png)\n\nText.\n")
    (tmp_path / "lib").mkdir()
    now = iter(range(0, 10**6, 6))
    monkeypatch.setattr("iconotext.library.update.time.monotonic", lambda: next(now))
    inserted = []
    insert = Library.insert

    def counted(self, items):
        inserted.append(len(items))
        insert(self, items)

    monkeypatch.setattr(Library, "insert", counted)
    update(lib, *sorted((tmp_path / "docs").glob("*.md")))
    assert [count for count in inserted if count] == [2, 2]  # every twelve seconds


def test_a_library_without_its_table_says_what_to_do(photos, lib):
    update(lib, photos)
    shutil.rmtree(lib / "pictures.lance")
    for work in (lambda: update(lib), lambda: search(open_library(lib), Query("red"), Colours().encoder())):
        with pytest.raises(LibraryError, match=r"are gone; delete this folder and add them again"):
            work()


def test_errors_of_lancedb_are_one_short_line(photos, lib):
    update(lib, photos)
    library = open_library(lib)
    with pytest.raises(LibraryError, match="cannot be read or written") as told:
        library.count("nonsense(")
    assert ".rs" not in str(told.value)
    (lib / "sums.json").unlink()  # as libraries were made before
    for file in (lib / "pictures.lance" / "data").iterdir():
        file.write_bytes(b"broken")
    with pytest.raises(LibraryError, match="cannot be read or written") as told:
        list(library.vectors())
    assert ".rs" not in str(told.value)
    assert "\n" not in str(told.value)


def test_what_cannot_be_read_of_a_library_is_told(photos, lib, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(LibraryError, match="cannot be a library"):
        check_new(tmp_path / "file")
    with pytest.raises(LibraryError, match="not a library"):
        open_library(tmp_path / "file")
    (tmp_path / "odd" / "library.json").mkdir(parents=True)
    with pytest.raises(LibraryError, match="cannot be read"):
        open_library(tmp_path / "odd")
    with pytest.raises(LibraryError, match="cannot write"), held_ledger(tmp_path / "file"):
        pass


def test_a_model_that_was_moved_is_the_same(photos, lib, tmp_path, models):
    for name in ("one", "two"):
        shutil.copytree(models / "clip", tmp_path / name)

    def run(*paths, **more):
        return add_paths(lib, paths, link=link_all, load_relations=lambda *_: None, **more)

    assert run(photos, model=str(tmp_path / "one")).added == 3
    shutil.rmtree(tmp_path / "one")
    with pytest.raises(FeatureError, match=r"the model's folder is gone.*library add LIB --model FOLDER"):
        run()
    assert run(model=str(tmp_path / "two")).unchanged == 3
    assert run().unchanged == 3
    assert open_library(lib).settings.model == str(tmp_path / "two")
    encoder = load_encoder(open_library(lib).settings.model)
    assert len(search(open_library(lib), Query("a cat"), encoder)) == 3


def test_a_relation_model_sees_with_its_own_backbone_beside_another_model(photos, lib, models):
    asked = []

    class Told(Relations):
        def image_offsets(self, pooled):
            asked.append(pooled.shape[1])
            return np.zeros((len(pooled), 2), np.float32)

    add_paths(lib, [photos], link=link_all, model=str(models / "clip"), load_relations=lambda *_: Told())
    assert set(asked) == {1280}
    assert open_library(lib).settings.dim == 5
    encoder = load_encoder(str(models / "clip"))
    assert default_pooled(Colours().encoder()) is None
    assert default_pooled(encoder).name == default_pooled(encoder, FeatureCache()).name


@pytest.mark.slow
def test_an_index_is_made_while_adding_and_given_up_when_few_remain(photos, lib, monkeypatch):
    for module in ("index", "update"):
        monkeypatch.setattr(f"iconotext.library.{module}.ABOVE", 300)
    monkeypatch.setattr("iconotext.library.index.SENTENCES", 40)
    monkeypatch.setattr("iconotext.library.candidates.ABOVE", 300)
    draw = np.random.default_rng(0)
    for number in range(320):
        paint(photos / "many" / f"{number}.png", tuple(draw.integers(0, 256, 3).tolist()))
    told: list[str] = []
    update(lib, photos, say=told.append)
    assert told == ["making the index of 323 pictures, and trying it out"]
    index = open_library(lib).settings.index
    assert (index.pictures, index.queries) == (323, 25)
    assert index.recall > 0.9
    assert len(search(open_library(lib), Query("red", anyway=True), Colours().encoder())) == 10
    for number in range(50):
        (photos / "many" / f"{number}.png").unlink()
    update(lib)
    assert open_library(lib).settings.index is None


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
    a, b = ({digest: item.places for digest, item in stored(tmp_path / name).items()} for name in "ab")
    assert a == b


def test_a_document_gives_its_pictures_what_it_says_of_them(lib, article):
    report = update(lib, article, relations=Relations())
    assert (report.added, report.documents) == (1, 1)
    [item] = stored(lib).values()
    [place] = item.places
    assert place == Place(
        file=str(article.parent / "img" / "blue.png"),
        document=str(article),
        number=0,
        source="img/blue.png",
        caption="Then the wall was blue.",
        alt="A wall",
        sentences=(LinkedSentence("Once we painted the wall.", 0.9), LinkedSentence("It took a day.", 0.8)),
        around=("Once we painted the wall.", "It took a day."),
        language="en",
        relations=(0.0, 3.0),  # of the caption: "then" 2, blue 1
    )
    assert item.offsets.tolist() == [0.0, 1.0]


def test_what_is_not_said_in_english_has_no_relations(lib, article):
    article.write_text(
        "---\nlang: de\n---\n\nDas Haus ist blau.\n\n![Ein Haus](img/blue.png)\n*Then the wall was blue.*\n"
    )
    update(lib, article, relations=Relations())
    [item] = stored(lib).values()
    assert [(place.language, place.relations) for place in item.places] == [("de", None)]


def test_documents_are_read_again_when_they_or_their_pictures_or_the_settings_change(lib, article):
    update(lib, article)
    assert update(lib, article).documents == 0
    article.write_text(article.read_text().replace("Then the wall was blue", "The wall was nice"))
    assert update(lib, article).documents == 1
    [item] = stored(lib).values()
    assert [place.caption for place in item.places] == ["The wall was nice."]
    paint(article.parent / "img" / "blue.png", "red")
    report = update(lib, article)
    assert (report.documents, report.added, report.removed) == (1, 1, 1)
    assert update(lib, article, asked={"k": 5}).documents == 1
    assert update(lib, article, asked={"k": 5}).documents == 0
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
        search(open_library(lib), Query("red"), Colours("other").encoder())


def test_another_relation_model_renews_the_offsets(photos, lib, article):
    update(lib, photos, article)
    assert open_library(lib).settings.relations == ()
    report = update(lib, relations=Relations())
    assert (report.added, report.encoded) == (0, 3)
    items = stored(lib).values()
    assert {item.relation_model for item in items} == {"relations-1"}
    assert [place.relations for item in items for place in item.places if place.document] == [(0.0, 3.0)]
    assert update(lib, relations=Relations()).encoded == 0
    assert update(lib, relations=Relations("relations-2")).encoded == 3


def test_libraries_that_are_none_say_so(tmp_path, photos, lib):
    with pytest.raises(LibraryError, match="not a library; make one with"):
        open_library(tmp_path / "nothing")
    update(lib, photos)
    text = (lib / "library.json").read_text()
    (lib / "library.json").write_text(text.replace('"format": 4', '"format": 9'))
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
    assert told["folders"] == [{"path": str(article), "pictures": 1}, {"path": str(photos), "pictures": 3}]
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
        Place(document="/d", number=0, sentences=(LinkedSentence("ß\n", 0.5),), relations=(1.0,)),
    )
    assert PLACES.validate_json(PLACES.dump_json(places, exclude_defaults=True)) == places
    assert quoted("a'b") == "'a''b'"


def test_dates_are_those_of_the_camera_else_of_the_file(tmp_path):
    exif = Pillow.Exif()
    exif.get_ifd(0x8769)[0x9003] = "2019:08:07 06:05:04"
    taken = paint(tmp_path / "taken.jpg", exif=exif)
    assert image_date(taken, otherwise=taken) == (datetime(2019, 8, 7, 6, 5, 4), True)
    plain = paint(tmp_path / "plain.jpg")
    os.utime(plain, (1e9, 1e9))
    assert image_date(plain, otherwise=plain) == (datetime.fromtimestamp(1e9), False)
    exif.get_ifd(0x8769)[0x9003] = "0000:00:00 00:00:00"
    unset = paint(tmp_path / "unset.jpg", exif=exif)
    os.utime(unset, (1e9, 1e9))
    assert image_date(unset.read_bytes(), otherwise=unset) == (datetime.fromtimestamp(1e9), False)
    assert image_date(b"", otherwise=tmp_path / "nothing") == (None, False)


def test_vectors_are_stored_as_they_are(photos, lib):
    update(lib, photos)
    colours = Colours()
    expected, _ = colours.look(sorted(photos.iterdir()))
    stored = np.vstack([vectors for _, vectors in open_library(lib).vectors()])
    assert sorted(map(tuple, stored.tolist())) == sorted(map(tuple, expected.tolist()))


def test_documents_are_encoded_together_and_linked_one_by_one(lib, tmp_path, monkeypatch):
    """What is linked is the same; only what is due is encoded ahead, and what cannot be read stops nothing."""
    ahead: list[list[str]] = []

    class Loaded:
        def encode_ahead(self, documents):
            ahead.append([document.id for document in documents])

        def link_all(self, documents):
            return map(link_every, documents)

    loaded = Loaded()
    monkeypatch.setattr("iconotext.library.models.Linker.load", lambda *_: loaded)
    monkeypatch.setattr("iconotext.library.update.AHEAD", 2)
    docs = tmp_path / "docs"
    for number, colour in enumerate(("red", "green", "blue")):
        paint(docs / f"{number}.png", colour)
        (docs / f"{number}.md").write_text(f"A {colour} thing.\n\n![]({number}.png)\n")
    (docs / "bad.md").write_bytes(b"")
    report = update(lib, docs, link=DocumentLinker("default"))
    assert (report.documents, len(report.failures)) == (3, 1)
    assert [sorted(some) for some in ahead] == [["0", "1"], ["2"]]
    one_by_one = tmp_path / "other"
    update(one_by_one, docs)
    assert content(lib) == content(one_by_one)
    (docs / "1.md").write_text("Now another green thing.\n\n![](1.png)\n")
    update(lib, docs, link=DocumentLinker("default"))
    assert ahead[2:] == [["1"]]


@pytest.mark.slow
def test_icons_and_copies_are_left_out_and_come_back(tmp_path):
    patches = np.random.default_rng(1).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    lake = Pillow.fromarray(patches).resize((640, 480), Pillow.Resampling.BICUBIC)
    photos = tmp_path / "photos"
    (photos / "thumbs").mkdir(parents=True)
    lake.save(photos / "lake.png")
    lake.resize((160, 120)).save(photos / "thumbs" / "lake.png")
    paint(photos / "apple-touch-icon.png", "red", size=(180, 180))
    paint(photos / "tiny.png", "blue", size=(20, 20))
    report = update(tmp_path / "lib", photos)
    why = {Path(where).relative_to(photos).as_posix(): kind_of(why) for where, why in report.left_out}
    assert why == {
        "apple-touch-icon.png": "named as an icon or a logo",
        "thumbs/lake.png": "a copy of a picture that is there as large or larger",
        "tiny.png": "smaller than 64 px",
    }
    assert report.added == 1
    again = update(tmp_path / "lib")
    assert (again.added, again.unchanged, len(again.left_out)) == (0, 1, 3)
    kept = update(tmp_path / "lib", photos, asked={"min_side": 1})
    assert (kept.added, kept.left_out) == (3, [])
    dropped = update(tmp_path / "lib", photos, asked={"min_side": 64})
    assert (dropped.removed, len(dropped.left_out)) == (3, 3)
    (photos / "lake.png").unlink()  # now the small one is the only one
    assert {Path(where).name for where, _ in update(tmp_path / "lib").left_out} == {"apple-touch-icon.png", "tiny.png"}
    lake.save(photos / "lake.png")
    assert (update(tmp_path / "lib").added, open_library(tmp_path / "lib").count()) == (1, 1)
