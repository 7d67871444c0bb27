"""One article, written in every format, reads the same."""

from __future__ import annotations

import io
import textwrap

import pytest
from docx.shared import Inches

from tests.support.docx import Making
from tests.support.epub import book
from tests.support.pdf import Sheet, jpeg, write_pdf
from tests.support.reading import read_as

TITLE = "How the bread is made"
FIRST = "The dough rests for one hour, as the first of the figures shows to everyone who looks."
SECOND = "It is then put to bake."
CAPTION = "Figure 1: The dough at rest."
THIRD = "After the oven it has to cool down for a while."
LAST = "Nobody has ever waited for that, it is said."
HTML = (
    f'<h1>{TITLE}</h1><p>{FIRST} {SECOND}</p><figure><img src="dough.jpg"/><figcaption>{CAPTION}</figcaption></figure>'
    f"<p>{THIRD} {LAST}</p>"
)


def as_docx() -> bytes:
    making = Making()
    making.file.add_heading(TITLE, 1)
    making.file.add_paragraph(f"{FIRST} {SECOND}")
    making.file.add_picture(io.BytesIO(jpeg()), width=Inches(2))
    making.file.add_paragraph(CAPTION, style="Caption")
    making.file.add_paragraph(f"{THIRD} {LAST}")
    return making.bytes()


def as_pdf() -> bytes:
    sheet = Sheet()
    sheet.text(72, 80, TITLE, size=18)
    y = sheet.lines(72, 110, textwrap.wrap(f"{FIRST} {SECOND}", 60))
    sheet.picture(72, y + 4, 160, 120, jpeg())
    sheet.text(72, y + 138, CAPTION, font="F3")
    sheet.lines(72, y + 170, textwrap.wrap(f"{THIRD} {LAST}", 60))
    return write_pdf([sheet])


VERSIONS = {
    "md": lambda: f"# {TITLE}\n\n{FIRST} {SECOND}\n\n![](dough.jpg)\n\n*{CAPTION}*\n\n{THIRD} {LAST}\n",
    "html": lambda: f"<html lang='en'><body>{HTML}</body></html>",
    "epub": lambda: book({"one": HTML}, members={"OEBPS/text/dough.jpg": jpeg()}),
    "docx": as_docx,
    "pdf": as_pdf,
}


@pytest.mark.parametrize("suffix", VERSIONS)
def test_every_version_reads_the_same(tmp_path, suffix):
    (tmp_path / "dough.jpg").write_bytes(jpeg())
    document = read_as(tmp_path / f"bread.{suffix}", VERSIONS[suffix]())
    assert document.language == "en"
    sentences = [("heading", TITLE), *(("paragraph", text) for text in (FIRST, SECOND, THIRD, LAST))]
    assert [(s.kind, s.text) for s in document.sentences] == sentences
    (image,) = document.images
    assert (image.caption, image.position, image.problem) == (CAPTION, 3, None)
    assert (image.file if isinstance(image.file, bytes) else image.file and image.file.read_bytes()) == jpeg()
