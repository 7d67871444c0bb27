"""What is said of a picture counts in a search: captions, alternative texts, sentences, names of files."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow

from iconotext.errors import LibraryError
from iconotext.features.ocr import LineReader
from iconotext.library.candidates import (
    ALONE,
    CLEAR,
    GOOD,
    LEVELS,
    STRONG,
    deviations,
    has_every_word,
    in_cosines,
    limits,
    make_filters,
    match_of,
    query_stems,
    with_every_word,
)
from iconotext.library.changes import LONGEST, text_around
from iconotext.library.items import Item, Place, words_of
from iconotext.library.search import NEAREST, Query, has_good_match, search
from iconotext.library.settings import Background, LibrarySettings
from iconotext.library.store import Library, create_library, open_library
from iconotext.types import Document, Image, LinkedSentence, Sentence, TextLine
from tests.support.encoders import MadeUpEncoder
from tests.support.library import link_all, paint, unit, update

SUBJECTS = ("tram", "lake", "bread", "castle", "violin", "otter", "bridge", "lamp")


class Words:
    """Texts lie near to each other that share words; pictures are near to no text, all alike but for their colour."""

    def encoder(self) -> MadeUpEncoder:
        return MadeUpEncoder("words", 64, self.texts, self.pictures)

    def texts(self, texts):
        rows = np.zeros((len(texts), 64), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().replace(".", "").split():
                row[8 + sum(map(ord, word)) % 56] += 1
        return unit(rows + 1e-3)

    def pictures(self, files):
        rows = np.zeros((len(files), 64), np.float32)
        for row, file in zip(rows, files, strict=True):
            with Pillow.open(file) as picture:
                row[:3] = np.asarray(picture, np.float32).mean((0, 1))
        return unit(rows + 1e-3), (None,) * len(files)


def ask(lib: Path, text: str, **query):
    return search(open_library(lib), Query(text, **query), Words().encoder())


def found(lib: Path, text: str, **query) -> list[str]:
    return [Path(result.image).stem for result in ask(lib, text, anyway=True, **query)]


@pytest.fixture
def lib(tmp_path) -> Path:
    """Pictures of which each says something else in a document, and as many of which nothing is said."""
    for number, subject in enumerate(SUBJECTS):
        paint(tmp_path / "docs" / f"{number}.png", (20 * number, 100, 30))
        paint(tmp_path / "photos" / f"IMG_{number}00.png", (20 * number, 30, 200))
        text = f"![The old {subject}]({number}.png)\n\nWe went there {subject}wards.\n"
        (tmp_path / "docs" / f"{subject}.md").write_text(text)
    update(tmp_path / "lib", tmp_path / "docs", tmp_path / "photos", colours=Words())
    return tmp_path / "lib"


@pytest.mark.parametrize("number", range(len(SUBJECTS)))
def test_the_picture_whose_alternative_text_has_the_words_comes_first(lib, number):
    assert found(lib, f"An old {SUBJECTS[number]}")[0] == str(number)


def test_linked_sentences_are_searched(lib):
    assert found(lib, "going ottersward or otterwards")[0] == "5"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["old-harbour-crane", "old_harbour_crane", "OldHarbourCrane", "2024.harbour crane"])
def test_names_of_files_are_words(tmp_path, lib, name):
    paint(tmp_path / "photos" / f"{name}.png", (5, 5, 250))
    update(lib, colours=Words())
    [first] = ask(lib, "the crane in the harbour", top=1, anyway=True)
    assert Path(first.image).stem == name
    assert first.match is not None
    assert first.match.words == ("crane", "harbour")


def test_names_that_cameras_and_programs_give_are_no_words():
    names = ("693b08cb0e_1000268201", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "64238d9676f4a1")
    assert [words_of([Place(f"/x/{name}.jpg")]) for name in names] == [("", 0)] * 3
    assert words_of([Place("/x/BMW-2002tii.webp")]) == ("2002 bmw tii", 3)
    assert words_of([Place(None, "/d.docx", 0, "data:image/png;base64,iVBORw0KGgo")]) == ("", 0)


def test_words_in_a_picture_are_found_where_they_were_asked_for(tmp_path, monkeypatch):
    asked = []

    def read(files):
        asked.extend(files)
        box = (0.0, 0.0, 1.0, 1.0)
        return [(TextLine("Emergency", 0.9, box), TextLine("EXIT", 0.9, box)) if f.stem == "b" else () for f in files]

    monkeypatch.setattr("iconotext.library.update.load_line_reader", lambda: LineReader("made up", read))
    for number, name in enumerate("abc"):
        paint(tmp_path / "signs" / f"{name}.png", (20 * number, 100, 30))
    update(tmp_path / "lib", tmp_path / "signs", colours=Words())
    assert asked == []  # nobody asked for words
    report = update(tmp_path / "lib", tmp_path / "signs", colours=Words(), asked={"evidence": ("caption", "ocr")})
    assert sorted(file.stem for file in asked) == ["a", "b", "c"]
    assert (report.added, report.encoded) == (0, 0)
    best, *others = ask(tmp_path / "lib", "the emergency exit", anyway=True)
    assert (Path(best.image).stem, best.written) == ("b", "Emergency EXIT")
    assert best.match.words == ("emergency", "exit")
    assert best.as_json()["written"] == "Emergency EXIT"
    assert {other.written for other in others} == {None}
    assert update(tmp_path / "lib", colours=Words()).unchanged == 3  # what was asked for is remembered
    assert len(asked) == 3


def test_words_in_the_picture_of_a_document_come_with_its_links(tmp_path):
    def link(file, folder, asked):
        for linked in link_all(file, folder, asked):
            lines = (TextLine("Gleis 7", 0.9, (0.0, 0.0, 1.0, 1.0)),)
            images = tuple(replace(image, lines=lines) for image in linked.document.images)
            yield replace(linked, document=replace(linked.document, images=images))

    paint(tmp_path / "a.png")
    (tmp_path / "a.md").write_text("![](a.png)\n\nWe waited.\n")
    update(tmp_path / "lib", tmp_path / "a.md", colours=Words(), link=link)
    [found] = ask(tmp_path / "lib", "Gleis 7")
    assert found.written == "Gleis 7"
    assert found.match.words == ("Gleis", "7")


def test_where_nothing_is_said_the_picture_alone_decides(tmp_path):
    for number in range(12):
        paint(tmp_path / "photos" / f"{number:x}{number:x}a1b2c3d4.png", (20 * number, 30, 200 - 9 * number))
    update(tmp_path / "lib", tmp_path / "photos", colours=Words())
    results = ask(tmp_path / "lib", "a tram", anyway=True, top=12)
    assert [result.score for result in results] == pytest.approx([result.similarity for result in results], abs=1e-5)
    similarities = [result.similarity for result in results]
    assert similarities == sorted(similarities, reverse=True)


def test_filters_hold_for_words_too(tmp_path, lib):
    assert found(lib, "the old tram", filters=make_filters(tmp_path / "photos"))[0].startswith("IMG")
    assert found(lib, "the old tram", filters=make_filters(tmp_path / "docs")).count("0") == 1


def test_a_question_of_function_words_or_signs_is_answered(lib):
    for text in ("of the", "?!", '"AND" (OR: x* ~', "電車"):
        assert len(found(lib, text)) == 10


def test_nothing_that_matches_well_is_told_by_few_places(lib):
    results = ask(lib, "quantum chromodynamics")
    assert len(results) == NEAREST
    assert {result.match.level for result in results} == {"weak"}
    assert not has_good_match(results)
    assert len(ask(lib, "quantum chromodynamics", anyway=True)) == 10
    assert len(ask(lib, "quantum chromodynamics", top=1)) == 1
    good = ask(lib, "the old tram")
    assert has_good_match(good)
    assert (good[0].match.level != "weak", good[0].match.words, len(good)) == (True, ("old", "tram"), 10)


def test_a_document_that_goes_takes_its_words_with_it(tmp_path, lib):
    (tmp_path / "docs" / "twice.md").write_text("![A zeppelin](0.png)\n\nIt flew.\n")
    update(lib, colours=Words())
    assert found(lib, "zeppelin")[0] == "0"
    (tmp_path / "docs" / "twice.md").unlink()
    update(lib, colours=Words())
    [first] = ask(lib, "the old tram", top=1)
    assert (Path(first.image).stem, first.alt) == ("0", "The old tram")
    results = ask(lib, "zeppelin", anyway=True)
    assert not any(result.match.words for result in results)
    [item] = open_library(lib).items([first.digest]).values()
    assert len(item.text_vectors) == 2  # the alternative text and the sentence of the document that is left


def test_scores_by_hand():
    background = Background((0.1, 0.1), (0.2, 0.2))
    cosines, said = np.array([0.4, 0.4, 0.4], np.float32), np.array([np.nan, 0.6, 0.0], np.float32)
    whole, of_image, of_text = deviations(cosines, said, np.array([0, 4, 0], np.float32), background)
    from iconotext.library.candidates import IMAGE, SILENT, TEXT, WORDS

    assert of_image.tolist() == pytest.approx([3, 3, 3], abs=1e-5)
    assert of_text[1:].tolist() == pytest.approx([2, -1], abs=1e-5)
    assert whole.tolist() == pytest.approx(
        [3, 3 * IMAGE + 2 * TEXT + 2 * WORDS + SILENT, 3 * IMAGE - TEXT + SILENT], abs=1e-5
    )
    assert in_cosines(whole, background)[0] == pytest.approx(0.4)
    place = Place("/a.jpg", "/d.md", 0, caption="Two dogs in snow", sentences=(LinkedSentence("They ran.", 0.9),))
    has, lowest = set(words_of([place])[0].split()), limits(1)
    asked = "The dog's run in the SNOW"
    match = match_of(GOOD, 2.5, 1.0, asked, has, {*has, "run"}, every=False, lowest=lowest)
    assert (match.level, match.picture, match.text, match.words) == ("good", True, False, ("dog's", "SNOW"))
    assert match.why == "picture, words: dog's SNOW, words around it: run"
    nothing = match_of(GOOD - 0.1, 0, 0, "cats", has, has, every=False, lowest=lowest)
    assert (nothing.level, nothing.why) == ("weak", "no clear reason")
    assert query_stems("the of") == ""


def test_only_the_cameras_time_is_told_as_the_date(tmp_path):
    exif = Pillow.Exif()
    exif.get_ifd(0x8769)[0x9003] = "2019:08:07 06:05:04"
    paint(tmp_path / "photos" / "taken.jpg", exif=exif)
    plain = paint(tmp_path / "photos" / "plain.jpg", (1, 2, 3))
    os.utime(plain, (1e9, 1e9))
    update(tmp_path / "lib", tmp_path / "photos", colours=Words())
    results = ask(tmp_path / "lib", "a")
    assert {Path(r.image).stem: r.as_json()["date"] for r in results} == {"taken": "2019-08-07T06:05:04", "plain": None}
    assert found(tmp_path / "lib", "a", filters=make_filters(None, "2001", "2001")) == ["plain"]  # the file's time


def test_a_library_of_an_earlier_version_is_told_what_to_do(lib):
    settings = json.loads((lib / "library.json").read_text()) | {"format": 3}
    (lib / "library.json").write_text(json.dumps(settings))
    for work in (lambda: open_library(lib), lambda: update(lib, colours=Words())):
        with pytest.raises(LibraryError, match=r"earlier version; delete this folder and add the pictures again"):
            work()


def test_a_killed_first_run_leaves_a_library_that_is_searched_with_words(tmp_path):
    library = create_library(tmp_path / "lib", LibrarySettings("m", "words", 64))
    vectors = Words().texts(["x"] * 3)
    for number, caption in enumerate(("A red tram", "A lake", "Some bread")):
        place = Place(None, "/d.md", number, caption=caption, language="en")
        library.insert(
            [Item(f"{number}", (place,), datetime(2020, 1, 1), vectors[number], text_vectors=Words().texts([caption]))]
        )
    assert library.settings.background is None
    assert found(tmp_path / "lib", "red tram")[0] == "d"
    assert search(library, Query("red tram", top=1), Words().encoder())[0].caption == "A red tram"


def said(captions: dict[str, str]) -> list[Item]:
    """Pictures by their names with what is said of each; all look the same."""
    vector = unit(np.ones((1, 64), np.float32))
    places = {name: Place(None, "/d.md", number, caption=text) for number, (name, text) in enumerate(captions.items())}
    return [Item(name, (place,), None, vector[0], text_vectors=vector) for name, place in places.items()]


@pytest.mark.parametrize(("many", "found"), [(30, 30), (150, 38), (900, 38), (901, None)])
def test_of_pictures_whose_words_match_equally_well_the_first_come(tmp_path, monkeypatch, many, found):
    if found is None:  # more than are looked at
        monkeypatch.setattr("iconotext.library.store.MANY", 8)
    library = create_library(tmp_path / "lib", LibrarySettings("m", "words", 64))
    names = [sha256(bytes([number % 256, number // 256])).hexdigest() for number in range(many + 2)]
    captions = dict.fromkeys(names, "A tram") | {names[0]: "A tram bell", names[-1]: "The bell of a tram"}
    library.insert(said(captions | {"0": "Some bread"}))
    assert len(library.matching(query_stems("tram bell"), 40)) == min(40, many + 2)  # not in the index yet
    library.tidy()
    matching = library.matching(query_stems("tram bell"), 40)
    digests = [picture.digest for picture, _ in matching]
    assert digests[:2] == [names[0], names[-1]]
    if found is None:  # of so many, those of a share of all names, the first by their names
        assert digests[2:] == [name for name in names[1:-1] if name <= max(digests[2:])][:38]
    else:
        assert digests[2:] == names[1:-1][:38]
    assert len(digests) - 2 == found or (found is None and 20 < len(digests) <= 40)
    bm25 = library.relevance(query_stems("tram bell"), digests)
    assert [score for _, score in matching] == [bm25[digest] for digest in digests]
    assert [picture.words for picture, _ in matching] == ["bell tram"] * 2 + ["tram"] * (len(digests) - 2)


def test_what_is_told_of_a_picture_is_its_own_after_others_came_and_went(tmp_path):
    library = create_library(tmp_path / "lib", LibrarySettings("m", "words", 64))
    for some in range(3):
        library.insert(said({f"{number:x}{some}": f"Tram {number} of {some}" for number in range(10)}))
    library.remove(["31", "00", "92"])
    library.tidy()
    library.insert(said({"late": "A late tram"}))
    pictures = [picture for picture, _ in library.matching("tram", 50)]
    told = library.details(reversed(pictures))
    assert len(told) == 28
    for digest, item in library.items(told).items():
        assert (told[digest].places, told[digest].words, told[digest].date) == (item.places, item.words, item.date)
        np.testing.assert_array_equal(told[digest].text_vectors, item.text_vectors)
    assert library.details([]) == {}
    assert library.matching("quantum", 50) == []


def test_all_words_beat_some_where_the_picture_is_a_little_farther():
    some, all_ = (5.0, 4.2), 3.7
    every = np.array([False, False, True])
    raised = with_every_word(np.array([*some, all_], np.float32), every, every, 3, GOOD)
    assert raised.argmax() == 2


class Silent(Words):
    """Sentences lie nearer to brighter red, whatever they say; so a picture may be far ahead of one with their words."""

    def texts(self, texts):
        return unit(np.array([[1.0, *np.zeros(63)]] * len(texts), np.float32) + 1e-3)


def test_no_weak_match_stands_above_one_with_every_word(tmp_path):
    for number in range(12):
        paint(tmp_path / "photos" / f"{number:08}.png", (20 * number, 100, 30))
    paint(tmp_path / "photos" / "bread-crumbshot.png", (1, 100, 90))
    update(tmp_path / "lib", tmp_path / "photos", colours=Silent())
    library = open_library(tmp_path / "lib")
    for text in ("crumbshot", "Crumbshot of the bread"):
        results = search(library, Query(text, anyway=True, top=13), Silent().encoder())
        levels = [LEVELS.index(result.match.level) for result in results]
        assert Path(results[0].image).stem == "bread-crumbshot"
        assert results[0].similarity < min(result.similarity for result in results[1:5])
        assert levels == sorted(levels)
        assert levels[:2] == [2 if text == "crumbshot" else 1, 2]  # one word alone makes no good match


def test_every_word_lifts_above_the_limit_and_keeps_the_order():
    whole = np.array([-8, 1, 3, 6, 3], np.float32)
    most, around = np.array([True, True, True, True, False]), np.zeros(5, bool)
    raised = with_every_word(whole, most, around, 1, GOOD)
    assert raised.tolist() == [*sorted(raised[:4].tolist()), 3]
    assert all(raised[:4] >= np.float32(GOOD))
    assert raised[3] == pytest.approx(6, abs=0.15)
    every = np.ones(5, bool)
    three, two = (with_every_word(whole, every, every, words, GOOD) for words in (3, 2))
    assert all(three[1:] > two[1:])
    assert all(three > with_every_word(whole, around, every, 3, GOOD))  # its own words count twice
    assert not has_every_word({"crumbshot"}, set())


def level(whole: float, of_image: float, words: str, *, every: bool, pictures: int = 1, of_text: float = 0) -> str:
    return match_of(whole, of_image, of_text, words, {"shoe"}, {"shoe"}, every=every, lowest=limits(pictures)).level


def test_a_match_is_good_by_its_score_or_by_every_word_of_several():
    assert level(0, 0, "the shoes", every=True) == "weak"
    assert level(0, CLEAR, "the shoes", every=True) == "good"
    assert level(0, 0, "red shoes", every=True) == "good"
    assert level(GOOD, 0, "red shoes", every=False) == "good"
    assert level(STRONG, 0, "red shoes", every=False) == "strong"
    assert level(GOOD, 0, "red shoes", every=False, of_text=np.nan) == "weak"  # nothing is said of the picture
    assert level(STRONG + ALONE, 0, "red shoes", every=False, of_text=np.nan) == "strong"


def test_the_more_pictures_the_better_must_a_good_match_be():
    assert level(GOOD + 1, 0, "red shoes", every=False, pictures=5) == "good"
    assert level(GOOD + 1, 0, "red shoes", every=False, pictures=500) == "weak"
    assert level(STRONG + 1, 0, "red shoes", every=False, pictures=5) == "strong"
    assert level(STRONG + 1, 0, "red shoes", every=False, pictures=500) != "strong"


def test_the_paragraphs_around_a_picture_find_it(tmp_path):
    """The two paragraphs before a picture and after it count, and headings do not."""
    words = ("zebra", "yak", "walrus", "tapir", "sable")
    parts = [f"The {word} slept." for word in words]
    text = "\n\n".join([*parts[:3], "## Marmots", "![](7.png)", *parts[3:], "The quokka slept."])
    paint(tmp_path / "docs" / "7.png", (10, 100, 30))
    for number in range(4):
        paint(tmp_path / "docs" / f"8{number}.png", (60 * number, 30, 200))
    (tmp_path / "docs" / "a.md").write_text(text)

    def link(file, folder, asked):
        return (replace(linked, links=()) for linked in link_all(file, folder, asked))

    update(tmp_path / "lib", tmp_path / "docs", colours=Words(), link=link)
    [(item, around)] = [(i, p.around) for i in open_library(tmp_path / "lib").sample(9) for p in i.places if p.around]
    assert around == (parts[1], parts[2], parts[3], parts[4])
    assert item.words.split()[item.own :] == ["slept", "yak", "slept", "walru", "slept", "tapir", "sabl", "slept"]
    best = ask(tmp_path / "lib", "a yak, a walrus, a tapir")[0]
    assert (Path(best.image).stem, best.match.level, best.match.words) == ("7", "good", ())
    assert best.match.around == ("yak", "walrus", "tapir")
    assert best.as_json()["why"]["around"] == ["yak", "walrus", "tapir"]


def test_paragraphs_of_any_length_are_kept_in_part():
    sentences = tuple(Sentence(f"Sentence {number}.", number // 500) for number in range(2000))
    around = text_around(Document("d", sentences), Image("a.png", position=1000))
    assert around == tuple(sentence.text for sentence in sentences[1000 - LONGEST : 1000 + LONGEST])
    assert text_around(Document("d", sentences), Image("a.png")) == ()


def test_the_relation_model_of_each_picture_is_told_however_it_is_found_out(tmp_path):
    library = create_library(tmp_path / "lib", LibrarySettings("m", "words", 64, "one"))
    library.insert([replace(item, relation_model="one") for item in said({"a": "A tram", "b": "A tram"})])

    def told(opened: Library) -> dict[str, str]:
        pictures = opened.matching("tram", 9)
        return {name: item.relation_model for name, item in opened.details(each for each, _ in pictures).items()}

    assert told(library) == told(open_library(library.path)) == {"a": "one", "b": "one"}
    library.insert([replace(item, relation_model="two") for item in said({"c": "A tram"})])
    assert told(library) == told(open_library(library.path)) == {"a": "one", "b": "one", "c": "two"}
    library.save(relation_model="two")
    assert told(library) == told(open_library(library.path)) == {"a": "one", "b": "one", "c": "two"}
    library.update([replace(item, relation_model="two") for item in said({"a": "A tram", "b": "A tram"})])
    assert told(library) == told(open_library(library.path)) == {"a": "two", "b": "two", "c": "two"}
    assert library.details([]) == {}
