from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iconotext.serve.search_work import LibraryNames
from tests.support.counted import calls

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
