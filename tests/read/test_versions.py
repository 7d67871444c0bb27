"""One article, written in every format, reads the same."""

from __future__ import annotations

import io

import docx
import pytest
from docx.shared import Inches

from iconotext.read import read
from tests.support.epub import book
from tests.support.pdf import Sheet, jpeg, write_pdf

TITLE = "How the bread is made"
FIRST = "The dough rests for one hour, as the first of the figures shows to everyone who looks. It is then put to bake."
CAPTION = "Figure 1: The dough at rest."
SECOND = "After the oven it has to cool down for a while. Nobody has ever waited for that, it is said."


def as_markdown() -> bytes:
    return f"# {TITLE}\n\n{FIRST}\n\n![](dough.jpg)\n\n*{CAPTION}*\n\n{SECOND}\n".encode()


def html_body() -> str:
    figure = f'<figure><img src="dough.jpg"/><figcaption>{CAPTION}</figcaption></figure>'
    return f"<h1>{TITLE}</h1><p>{FIRST}</p>{figure}<p>{SECOND}</p>"


def as_html() -> bytes:
    return f"<html lang='en'><body>{html_body()}</body></html>".encode()


def as_epub() -> bytes:
    return book({"one": html_body()}, members={"OEBPS/text/dough.jpg": jpeg()})


def as_docx() -> bytes:
    file = docx.Document()
    file.add_heading(TITLE, 1)
    file.add_paragraph(FIRST)
    file.add_picture(io.BytesIO(jpeg()), width=Inches(2))
    file.add_paragraph(CAPTION, style="Caption")
    file.add_paragraph(SECOND)
    buffer = io.BytesIO()
    file.save(buffer)
    return buffer.getvalue()


def as_pdf() -> bytes:
    sheet = Sheet()
    sheet.text(72, 80, TITLE, size=18)
    y = sheet.lines(72, 110, folded(FIRST))
    sheet.picture(72, y + 4, 160, 120, jpeg())
    sheet.text(72, y + 138, CAPTION, font="F3")
    sheet.lines(72, y + 170, folded(SECOND))
    return write_pdf([sheet])


def folded(text: str) -> list[str]:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) > 60:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


@pytest.mark.parametrize(
    ("suffix", "make"), [("md", as_markdown), ("html", as_html), ("epub", as_epub), ("docx", as_docx), ("pdf", as_pdf)]
)
def test_every_version_reads_the_same(tmp_path, suffix, make):
    (tmp_path / "dough.jpg").write_bytes(jpeg())
    path = tmp_path / f"bread.{suffix}"
    path.write_bytes(make())
    document = read(path)
    assert document.language == "en"
    assert [(s.kind, s.text) for s in document.sentences] == [
        ("heading", TITLE),
        ("paragraph", FIRST[: FIRST.index(" It is then")]),
        ("paragraph", "It is then put to bake."),
        ("paragraph", SECOND[: SECOND.index(" Nobody")]),
        ("paragraph", "Nobody has ever waited for that, it is said."),
    ]
    (image,) = document.images
    assert (image.caption, image.position, image.problem) == (CAPTION, 3, None)
    assert (image.file if isinstance(image.file, bytes) else image.file and image.file.read_bytes()) == jpeg()
