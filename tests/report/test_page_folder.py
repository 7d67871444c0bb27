from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from lxml import html

from iconotext.errors import OutputError
from iconotext.read import Failure
from iconotext.report.page import is_untouched
from iconotext.report.page_folder import INDEX, PageFolder, page_name
from iconotext.report.reading_page import write_page
from iconotext.types import Document, LinkedDocument


def parse(page):
    return html.document_fromstring(page.read_bytes(), parser=html.HTMLParser(encoding="utf-8"))


def always(linked: LinkedDocument) -> Callable[[Document], LinkedDocument]:
    """A linker with one answer."""
    return lambda document: linked


def update(folder: Path, *documents: LinkedDocument, force: bool = False) -> list[str]:
    """Bring the pages of some documents up to date; the names of the pages."""
    pages = PageFolder(folder, force=force)
    names = []
    for number, linked in enumerate(documents):
        file = folder.parent / "docs" / f"{number}.md"
        file.parent.mkdir(exist_ok=True)
        file.write_text("x")
        for made in pages.update(file, linked.document.id, partial(list, [linked.document]), partial(always, linked)):
            if isinstance(made, Failure):
                raise made.error
            names.append(made[0].page)
    pages.finish()
    return names


def test_pages_and_their_index(linked, tmp_path):
    other = replace(linked, document=replace(linked.document, id="Doc", title="<Other>"))
    folder = tmp_path / "linked"
    assert update(folder, linked, other) == ["doc.html", "docs-1.html"]
    tree = parse(folder / INDEX)
    assert tree.xpath("//ul/li/a/@href") == ["doc.html", "docs-1.html"]
    assert [e.text for e in tree.find_class("name")] == ["On cats", "<Other>"]
    assert "2 documents · 6 pictures · 6 links" in tree.find_class("numbers")[0].text_content()
    assert "index.html" in (folder / "doc.html").read_text(encoding="utf-8")
    assert update(folder, linked) == ["doc.html"]
    assert {p.name for p in folder.glob("*.html")} == {"doc.html", "docs-1.html", "index.html"}
    (folder / INDEX).write_text("the user's")
    with pytest.raises(OutputError, match="force=True"):
        update(folder, linked)
    update(folder, linked, force=True)
    assert is_untouched(folder / INDEX)


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
    write_page(linked, page)
    data = page.read_bytes()
    assert is_untouched(page)
    for changed in (data + b" ", data.replace(b"cat", b"dog", 1), data[:-1], data.replace(b"sha256", b"sha257"), b""):
        page.write_bytes(changed)
        assert not is_untouched(page)
    assert not is_untouched(tmp_path / "gone.html")
    assert not is_untouched(tmp_path)
