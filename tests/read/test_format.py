"""The table of formats: formats by suffix and by first bytes, readers, and formats of other packages."""

from __future__ import annotations

from dataclasses import replace
from pkgutil import resolve_name

import pytest

from iconotext.errors import DocumentError
from iconotext.read import ReadSettings, read_all
from iconotext.read.format import FORMATS, DocumentFormat, file_format, reader_of
from tests.fuzz.seeds import packed as zipped
from tests.support.reading import read_as

READERS = """
from iconotext.read.blocks import Block, Flow
from iconotext.read.format import DocumentFormat


class TwoArgumentsError(Exception):
    def __init__(self, one, two):
        super().__init__(one)


def read_lines(path, settings):
    return [Flow([Block(line) for line in path.read_text().splitlines()], language="en")]


def read_nothing(path, settings):
    raise TwoArgumentsError("no lines", 2)


def read_texts(path, settings):
    return path.read_text().splitlines()


lines, broken, texts = (
    DocumentFormat(name=f"{name}", title="Lines", suffixes=(f".{name}", ".md"), reader=f"lines_reader:{function}", summary="")
    for name, function in (("lines", "read_lines"), ("broken", "read_nothing"), ("texts", "read_texts"))
)
missing = DocumentFormat(name="missing", title="Missing", suffixes=(".missing",), reader="no_module:read", summary="")
"""


@pytest.fixture
def other_package(tmp_path, install_package):
    """A package with readers of four suffixes, also in the process that reads."""
    entries = {name: f"lines_reader:{name}" for name in ("lines", "broken", "texts", "missing")}
    install_package("lines_reader", READERS, "iconotext.readers", **entries)
    return tmp_path


def test_a_format_of_another_package_is_read_like_ours(other_package):
    (other_package / "a.lines").write_text("The old tram.\nThe new tram.")
    (other_package / "b.md").write_text("# Ours")
    documents = {document.id: document for document in read_all([other_package]) if hasattr(document, "id")}
    assert [s.text for s in documents["a"].sentences] == ["The old tram.", "The new tram."]
    assert documents["b"].sentences[0].heading  # suffixes of ours stay ours
    with pytest.raises(DocumentError, match=r"AsciiDoc, Lines, .*\.lines"):
        read_as(other_package / "a.unknown", "Words.")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("broken", r"a\.broken: the reader lines_reader:read_nothing of another package failed \(TwoArgumentsError"),
        ("missing", r"a\.missing: the reader no_module:read of another package failed \(ModuleNotFoundError"),
        ("texts", r"a\.texts: the reader lines_reader:read_texts of another package returns something else"),
    ],
)
def test_a_reader_of_another_package_that_fails_costs_its_document(other_package, name, message):
    with pytest.raises(DocumentError, match=message):
        read_as(other_package / f"a.{name}", "Words.")


@pytest.mark.parametrize("wrong", [{"suffixes": (".MD",)}, {"suffixes": ("md",)}, {"reader": "x"}, {"extra": "y"}])
def test_a_row_that_cannot_work_is_refused(wrong):
    with pytest.raises(ValueError, match="format x: give"):
        replace(DocumentFormat(name="x", title="X", suffixes=(".x",), reader="x:x", summary=""), **wrong)


def test_every_row_has_a_reader_and_suffixes_of_its_own():
    for row in FORMATS:
        assert callable(resolve_name(row.reader))
        assert row.summary.endswith(".")
    suffixes = [suffix for row in FORMATS for suffix in row.suffixes]
    assert len(suffixes) == len(set(suffixes))
    assert reader_of("markdown").__module__ == "iconotext.read.markdown"


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"%PDF-1.4", "pdf"),
        (b"{\\rtf1 a}", "rtf"),
        (b"\xef\xbb\xbf \n<!DOCTYPE HTML>", "html"),
        (b"<?xml version='1.0'?>\n<html>", "html"),
        (b"words " * 30 + b"<html>", "html"),
        (b"words " * 40 + b"<html>", None),
        (b'<?xml version="1.0"?><book xmlns="http://docbook.org/ns/docbook">', "docbook"),
        (b'<?xml version="1.0"?><article x="1" dtd-version="1.3">', "jats"),
        (b"PK\x03\x04 nothing", None),
        ({"word/document.xml": b"x"}, "docx"),
        ({"ppt/slides.xml": b"x"}, "pptx"),
        ({"mimetype": b"application/epub+zip", "word/a.xhtml": b"x"}, "epub"),
        ({"mimetype": b"application/vnd.oasis.opendocument.text", "ppt/x": b"x"}, "odt"),
    ],
)
def test_the_first_bytes_of_a_file_without_suffix_show_its_format(tmp_path, head, name):
    path = tmp_path / "file"
    path.write_bytes(zipped(head) if isinstance(head, dict) else head)
    if name is None:
        with pytest.raises(DocumentError, match="not a format iconotext reads"):
            file_format(path, ReadSettings())
    else:
        assert file_format(path, ReadSettings()) == (name, path.stat().st_size)
