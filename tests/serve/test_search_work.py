"""The functions of the processes that search, without a server around them: examples, pictures, names of files."""

from __future__ import annotations

import os
import sys
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from iconotext.errors import ImageError
from iconotext.images import decode
from iconotext.library.files import digest_of
from iconotext.serve import search_work
from iconotext.serve.search_work import LibraryNames
from tests.support.counted import calls
from tests.support.library import paint, update


def send(tmp_path, colour: tuple[int, int, int], **save: object) -> str:
    folder = tmp_path / "sent"
    paint(folder / "example.jpg", colour, size=(1200, 800), **save)
    return search_work.keep_example(str(folder), str(tmp_path / "examples"))


def test_an_example_is_kept_small_and_without_what_the_camera_wrote(tmp_path):
    exif = Image.Exif()
    exif[0x8825] = {1: "N", 2: (52.0, 31.0, 12.0)}  # where it was taken
    name = send(tmp_path, (10, 200, 30), exif=exif)
    kind, data = search_work.picture(name, "small", str(tmp_path / "examples"))
    assert digest_of(data) == name
    (file,) = (tmp_path / "examples").iterdir()
    assert file.name == f"{name}.{kind}"
    with Image.open(file) as kept:
        assert kept.size == (900, 600)
        assert not kept.getexif()
    assert send(tmp_path, (10, 200, 30)) == name  # the same again


def test_the_oldest_examples_go(tmp_path, monkeypatch):
    monkeypatch.setattr(search_work, "EXAMPLES", 3)
    names = []
    for number in range(5):
        names.append(send(tmp_path, (40 * number, 9, 9)))
        for age, name in enumerate(reversed(names)):
            for file in (tmp_path / "examples").glob(f"{name}.*"):
                os.utime(file, (1000 - age, 1000 - age))
    assert sorted(file.stem for file in (tmp_path / "examples").iterdir()) == sorted(names[2:])


def test_a_picture_within_a_document_is_shown_as_small_as_it_is_kept(tmp_path):
    from iconotext.library.items import Item, Place
    from iconotext.library.store import open_library
    from iconotext.report.embedded import embed
    from iconotext.types import Image as Shown
    from tests.support.library import Colours

    update(tmp_path / "lib", paint(tmp_path / "a.png", "red"))
    thumbnail = embed([Shown("", paint(tmp_path / "b.png", "blue", size=(50, 40)))], [0])[0].uri
    inside = Place(None, str(tmp_path / "a.docx"), 0)
    vector = Colours().texts(["blue"])[0]
    open_library(tmp_path / "lib").insert(
        [
            Item("a" * 32, (inside,), None, vector, thumbnail=thumbnail),
            Item("b" * 32, (inside,), None, vector),
        ]
    )
    search_work.prepare(str(tmp_path / "lib"))
    _, data = search_work.picture("a" * 32, "large", str(tmp_path / "examples"))
    assert decode(data).size == (50, 40)
    with pytest.raises(ImageError, match="its file is gone"):
        search_work.picture("b" * 32, "large", str(tmp_path / "examples"))


def test_without_the_extra_it_says_what_to_install(tmp_path, monkeypatch):
    from iconotext.errors import MissingPackageError
    from iconotext.serve.search import check_library

    monkeypatch.setitem(sys.modules, "lancedb", None)
    with pytest.raises(MissingPackageError, match=r'search in the browser needs lancedb, .*"iconotext\[library\]"$'):
        check_library(tmp_path)


ROOTS = ("/home/ada/photos", "/home/bob/photos", "/home/ada/report.docx", "/data")


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("/home/ada/photos/2024/a.jpg", "ada/photos/2024/a.jpg"),
        ("/home/bob/photos/a.jpg", "bob/photos/a.jpg"),
        ("/home/ada/report.docx", "report.docx"),
        ("/home/ada/report.docx#image-3", "report.docx#image-3"),
        ("/data2/secret/a.jpg", "secret/a.jpg"),  # elsewhere: a document shows it
        ("https://example.org/a.png", "https://example.org/a.png"),
    ],
)
def test_names_begin_with_what_was_added(place, name):
    assert LibraryNames(ROOTS).name(place) == name


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("ada/photos/2024/", "/home/ada/photos/2024"),
        (" data ", "/data"),
        ("photos", None),
        ("data2", None),
        ("/etc", None),
        ("", None),
    ],
)
def test_a_folder_is_found_by_its_name(name, folder):
    assert LibraryNames(ROOTS).folder(name) == folder


parts = st.lists(st.sampled_from("abc"), min_size=1, max_size=4)


def test_of_very_many_files_that_were_added_one_by_one_none_is_compared_with_each():
    def roots(number):
        return [f"/home/ada/{n % 100}/{n}.jpg" for n in range(number)] + ["/mnt/ada/7/7.jpg"]

    def name_some(number):
        names = LibraryNames(roots(number))
        found = [names.name(roots(number)[n]) for n in (7, number - 1, -1)]
        assert found == ["home/ada/7/7.jpg", f"{number - 1}.jpg", "mnt/ada/7/7.jpg"]

    assert calls(name_some, 2000) < 2.5 * calls(name_some, 1000)


@given(st.sets(parts.map(lambda some: "/" + "/".join(some)), min_size=1, max_size=5), parts)
def test_names_are_told_apart_and_lead_back(found, below):
    roots = [root for root in found if not any(PurePosixPath(other) in PurePosixPath(root).parents for other in found)]
    names = LibraryNames(roots)
    assert len(set(names.roots)) == len(roots)  # as a library keeps them, none lies in another
    for root in roots:
        assert names.folder(names.name(root)) == root
        assert root.endswith(names.name(root))
        assert names.name(f"{root}/{'/'.join(below)}") == f"{names.name(root)}/{'/'.join(below)}"
