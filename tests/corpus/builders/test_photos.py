"""Photographs with captions: their lines of JSON, and how they lie on disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iconotext.corpus.builders.build import Build
from iconotext.corpus.builders.photos import Annotations, Photo, captions_of, clean, read_photos, usable_photos
from iconotext.corpus.builders.report import BuildReport
from iconotext.corpus.found_images import ImageFolders
from iconotext.corpus.row import SPLITS
from iconotext.errors import CorpusError
from tests.support.shards import write_jsonl


def lines(tmp_path, *values):
    return write_jsonl(tmp_path / "captions.jsonl", values)


def test_photographs_are_read(tmp_path, picture):
    picture("img/a.png")
    path = lines(tmp_path, {"image": "img/a.png", "captions": [" A \n dog. "], "split": "test", "source": "x"}, "")
    (photo,) = read_photos(path)
    assert photo == Photo(str(tmp_path / "img/a.png"), ("A dog.",), "test")
    assert photo.file == tmp_path / "img/a.png"
    path = lines(tmp_path, {"image": "a.png", "captions": ["A."]})
    assert [photo.file for photo in read_photos(path, folder=tmp_path / "img")] == [tmp_path / "img/a.png"]


BAD = [
    ("{", "line 2: not JSON"),
    ({"image": "a.png"}, "line 2, field captions"),
    ({"image": "a.png", "captions": []}, "line 2, field captions"),
    ({"image": "a.png", "captions": [" "]}, "line 2, field captions.0"),
    ({"image": "a.png", "captions": ["\ud800"]}, "line 2, field captions.0"),
    ({"image": "a.png", "captions": ["A."], "split": "dev"}, "line 2, field split"),
    ({"image": "gone.png", "captions": ["A."]}, "line 2, field image: not found"),
    ({"image": "\0", "captions": ["A."]}, "line 2, field image: not found"),
]


@pytest.mark.parametrize(
    ("value", "message"),
    [*BAD, ({"image": "./a.png", "captions": ["A."]}, "line 2, field image: ./a.png is also in line 1")],
)
def test_bad_photographs_are_errors(tmp_path, picture, value, message):
    picture("a.png")
    with pytest.raises(CorpusError, match=message):
        list(read_photos(lines(tmp_path, {"image": "a.png", "captions": ["A."]}, value)))


@pytest.mark.parametrize("value", [value for value, _ in BAD])
def test_bad_photographs_are_left_out_where_somebody_is_told(tmp_path, picture, value):
    picture("a.png")
    told = []
    good = {"image": "a.png", "captions": ["A."]}
    photos = list(read_photos(lines(tmp_path, good, value, good), drop=lambda *what: told.append(what)))
    assert len(photos) == 2
    assert len(told) == 1
    assert told[0][1] == "captions.jsonl, line 2"


def test_addresses_are_images_only_where_they_may(tmp_path):
    path = lines(tmp_path, {"image": "https://a.example/1.jpg", "captions": ["A."]})
    assert list(read_photos(path, addresses=True)) == [Photo("https://a.example/1.jpg", ("A.",))]
    with pytest.raises(CorpusError, match="not found"):
        list(read_photos(path))


@pytest.mark.parametrize(
    ("text", "wanted"), [(" a\r\n b\t", "a b"), ("", None), (" \n", None), (None, None), (3, None)]
)
def test_captions_are_collapsed(text, wanted):
    assert clean(text) == wanted


PHOTOS = st.lists(
    st.builds(
        Photo,
        st.text(st.characters(exclude_categories=["Cs"]), max_size=4).map("pic:{}".format),
        st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), min_size=1, max_size=3).map(tuple),
        st.sampled_from([None, *SPLITS]),
    ),
    max_size=12,
)


@settings(max_examples=80, deadline=None)
@given(photos=PHOTOS, data=st.data())
def test_what_is_stored_comes_back_without_repeats(tmp_path_factory, photos, data):
    folder = tmp_path_factory.mktemp("photos")
    report = BuildReport("x", {}, [])
    build = Build(folder / "c.jsonl", folder, 1, report)
    images = [photo.image for photo in photos]
    good = [photo for i, photo in enumerate(photos) if photo.image not in images[:i]]
    with build.opened:
        found, read = usable_photos(build, photos, verify=False)
        assert (read, len(found), list(found)) == (len(photos), len(good), good)
        assert report.dropped["photographs that come twice"] == len(photos) - len(good)
        some = sorted(data.draw(st.sets(st.integers(0, len(good) - 1)))) if good else []
        pool = captions_of(build, found, some)
        wanted = [text for i in some for text in good[i].captions]
        assert list(pool) == wanted


@settings(max_examples=60, deadline=None)
@given(
    images=st.lists(st.integers(0, 5) | st.sampled_from("ab"), max_size=8),
    captions=st.lists(
        st.tuples(st.integers(0, 6), st.none() | st.integers(0, 4), st.text("xy", max_size=2)), max_size=12
    ),
    source=st.none() | st.integers(0, 1),
)
def test_captions_come_to_their_images(images, captions, source):
    first: dict[int | str, int] = {}
    annotations = Annotations()
    for i, (key, number, text) in enumerate(captions):
        annotations.add_caption(key, number, text)
        for image in images[i : i + 1]:
            annotations.add_image(image, f"{image}.jpg", source=i % 2)
            first.setdefault(image, i % 2)
    for image in images[len(captions) :]:
        annotations.add_image(image, f"{image}.jpg", source=1)
        first.setdefault(image, 1)
    found = {each.key: each.captions for each in annotations.captioned(source=source)}
    order = list(found)
    assert annotations.count_images() == len(first)
    assert annotations.count_images(source=source) == len(found)
    assert sorted(annotations.unlisted(), key=str) == sorted(
        ((key, number) for key, number, _ in captions if key not in first), key=str
    )
    wanted = {}
    for image in sorted(first, key=lambda key: (isinstance(key, str), key)):
        if source is None or first[image] == source:
            numbered: dict[int, str] = {}
            for key, number, text in captions:
                if key == image and number is not None:
                    numbered.setdefault(number, text)
            rest = [text for key, number, text in captions if key == image and number is None]
            wanted[image] = (*(numbered[number] for number in sorted(numbered)), *rest)
    assert found == wanted
    assert order == list(wanted)


def test_pictures_are_found_below_a_folder_and_nowhere_else(tmp_path, picture):
    picture("in/a.png")
    picture("in/x/y/b.png")
    picture("in/.hidden/h.png")
    picture("secret.png")
    folders = ImageFolders(tmp_path / "in")
    assert folders.find(["gone.png", "a.png"]) == tmp_path / "in/a.png"
    for name in ("x/y/b.png", "b.png", "other/b.png"):
        assert folders.find([name]) == tmp_path / "in/x/y/b.png"
    for place in ("in/b.png", "in/w/b.png", "in/x/c.png", "in/w/c.png"):
        picture(place)
    folders = ImageFolders(tmp_path / "in")
    for _ in range(2):  # whatever was found before
        assert folders.find(["x/c.png"]) == tmp_path / "in/x/c.png"
        assert folders.find(["b.png"]) == tmp_path / "in/b.png"
        assert folders.find(["c.png"]) == tmp_path / "in/w/c.png"
    for bad in ("h.png", "../secret.png", str(tmp_path / "secret.png"), "..", "", "\0", "a" * 5000, "x"):
        assert folders.find([bad]) is None
    with pytest.raises(CorpusError, match="not a folder"):
        ImageFolders(Path(tmp_path / "gone"))
