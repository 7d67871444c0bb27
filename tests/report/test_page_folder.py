from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import starmap
from pathlib import Path

import pytest
from lxml import html

from iconotext import save
from iconotext.errors import DocumentError, OutputError
from iconotext.linked import LinkedDocument
from iconotext.read import Failure
from iconotext.report.page import is_untouched
from iconotext.report.page_folder import (
    INDEX,
    Origin,
    PageFolder,
    Record,
    Source,
    WithoutPictures,
    card_image,
    index_page,
    page_name,
)
from iconotext.report.terminal import count
from iconotext.types import Document
from tests.support.linked import photograph


def parse(page):
    return html.document_fromstring(page.read_bytes(), parser=html.HTMLParser(encoding="utf-8"))


def update(folder: Path, *documents: LinkedDocument, force: bool = False) -> list[str]:
    """Bring the pages of some documents up to date; the names of the pages."""
    pages = PageFolder(folder, force=force)
    (folder.parent / "docs").mkdir(exist_ok=True)
    answers = {id(linked.document): linked for linked in documents}

    def source(number: int, linked: LinkedDocument) -> Source:
        file = folder.parent / "docs" / f"{number}.md"
        file.write_text("x")
        return Source(file, linked.document.id, lambda: [linked.document])

    names = []
    for made in pages.update(starmap(source, enumerate(documents)), lambda some: (answers[id(each)] for each in some)):
        if isinstance(made, Failure):
            raise made.error
        assert not isinstance(made, WithoutPictures)
        names.append(made[1].page)
    pages.finish()
    return names


def test_pages_and_their_index(linked, tmp_path):
    other = replace(linked, document=replace(linked.document, id="Doc", title="<Other>"))
    folder = tmp_path / "linked"
    assert update(folder, linked, other) == ["doc.html", "docs-1.html"]
    tree = parse(folder / INDEX)
    assert tree.xpath("//ul/li/a/@href") == ["doc.html", "docs-1.html"]
    assert [e.text for e in tree.find_class("name")] == ["On cats", "<Other>"]
    assert "2 documents · 6 pictures · 4 linked" in tree.find_class("quiet")[0].text_content()
    assert [e.text for e in tree.find_class("path")] == ["0.md", "1.md"]
    assert {e.text_content() for e in tree.find_class("counts")} == {"3 pictures · 2 linked"}
    assert "index.html" in (folder / "doc.html").read_text(encoding="utf-8")
    assert update(folder, linked) == ["doc.html"]
    assert {p.name for p in folder.glob("*.html")} == {"doc.html", "docs-1.html", "index.html"}
    (folder / INDEX).write_text("the user's")
    with pytest.raises(OutputError, match="the option force"):
        update(folder, linked)
    update(folder, linked, force=True)
    assert is_untouched(folder / INDEX)


def test_documents_of_one_title_are_told_apart_by_their_paths(linked, tmp_path):
    origin = Origin("../docs/README.md", "", 0, 1, "", "", {})
    sources = ("../docs/README.md", "../docs/caf%C3%A9/README.md", "../docs/%3Cb%3E/c/README.md")
    record = Record("a.html", origin, count(linked), "en", None)
    records = [replace(record, origin=replace(origin, source=source, part="#2")) for source in sources]
    tree = html.document_fromstring(index_page(records))
    assert tree.xpath("//*[contains(@class, 'path')]/text()") == [
        "README.md#2",
        "café/README.md#2",
        "<b>/c/README.md#2",
    ]


def test_the_index_of_many_pages_is_small(linked, tmp_path):
    large = replace(linked.document.images[0], file=photograph(3, (1600, 1200)))
    linked = replace(linked, document=replace(linked.document, images=(large, *linked.document.images[1:])))
    picture = card_image(linked)
    assert picture is not None
    assert len(picture.uri) < 10_000  # of noise, which no encoding makes small
    record = Record("a.html", Origin("a.md", "", 0, 1, "", "", {}), count(linked), "en", None)
    assert len(index_page([record] * 401)) - len(index_page([record])) < 400 * 400


def test_linking_may_look_ahead_and_everything_comes_in_order(linked, tmp_path):
    """Of five files the first has not changed, the third cannot be read, and the fourth not be linked."""
    folder, files = tmp_path / "linked", [tmp_path / f"{name}.md" for name in "abcde"]

    def source(file: Path) -> Source:
        file.write_text("x")
        documents = [replace(linked.document, id=file.stem)]

        def broken() -> list[Document]:
            raise DocumentError("broken")

        return Source(file, file.stem, broken if file.stem == "c" else lambda: documents)

    def link_all(documents: Iterable[Document]) -> Iterator[LinkedDocument | Failure]:
        for document in list(documents):
            asked.append(document.id)
            failed = Failure(Path("?"), DocumentError("no links"))
            yield failed if document.id == "d" else replace(linked, document=document)

    asked: list[str] = []
    list(PageFolder(folder).update([source(files[0])], link_all))
    pages = PageFolder(folder).update(map(source, files), link_all)
    found = [each for each in pages if not isinstance(each, WithoutPictures)]  # none of them
    assert len(found) == 5
    assert asked == ["a", "b", "d", "e"]
    assert [(each.path, str(each.error)) for each in found if isinstance(each, Failure)] == [
        (files[2], "broken"),
        (files[3], "no links"),
    ]
    kinds = [None if isinstance(each, Failure) else each[2] is not None for each in found]
    assert kinds == [False, True, None, None, True]
    assert [each[0] for each in found if not isinstance(each, Failure)] == [files[0], files[1], files[4]]


def test_without_documents_nothing_is_written(tmp_path):
    assert update(tmp_path / "none") == []
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("identifier", "name"),
    [
        ("a/b/../c", "a-b-..-c"),
        ("../../etc", "etc"),
        ("index", "index-2"),
        ("", "document"),
        ("\x00", "document"),
        ("größe 1", "größe-1"),
        ("x" * 200, "x" * 60),
    ],
)
def test_page_names_fit_every_file_system(identifier, name):
    assert page_name(identifier, {"index"}) == name


def test_longer_names_go_before_numbers():
    taken = {"index", "a-index"}
    names = [page_name("index", taken, "a/index", "b/a/index") for _ in range(3)]
    assert names == ["b-a-index", "index-2", "index-3"]


def test_a_page_knows_whether_it_was_changed(linked, tmp_path):
    page = tmp_path / "a.html"
    save(linked, page)
    data = page.read_bytes()
    assert is_untouched(page)
    for changed in (data + b" ", data.replace(b"cat", b"dog", 1), data[:-1], data.replace(b"sha256", b"sha257"), b""):
        page.write_bytes(changed)
        assert not is_untouched(page)
    assert not is_untouched(tmp_path / "gone.html")
    assert not is_untouched(tmp_path)
