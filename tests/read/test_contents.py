"""Tables of contents, lists of figures, indexes and menus are neither text nor references; what is like them stays."""

from __future__ import annotations

import pytest

from iconotext.check.page import read_page
from iconotext.evidence.reference import EXPLICIT, reference_evidence
from iconotext.linker import Linker
from iconotext.read import ReadSettings, contents
from iconotext.read.blocks import Block
from iconotext.read.contents import before_page, without_contents
from iconotext.types import Document
from tests.support.pdf import Sheet, jpeg, write_pdf
from tests.support.reading import read_as, texts

PARTS = ("Piezas impresas", "El circuito", "La caja")


def targets(document: Document) -> list[str]:
    return [name for sentence in document.sentences for name in sentence.targets]


def pointed(document: Document) -> list[str]:
    """The sentences that surely point at a picture."""
    rows = (reference_evidence(document) == EXPLICIT).any(axis=1)
    return [sentence.text for sentence, row in zip(document.sentences, rows, strict=True) if row]


def page(listed: str, text: str = "", titles: tuple[str, ...] = PARTS) -> str:
    """A web page with contents that lead to places right before pictures."""
    parts = "".join(
        f'<h2>{title}</h2><a id="s{n}"></a><img src="{n}.png" alt=""><p>Aquí está la parte número {n} de todas.</p>'
        for n, title in enumerate(titles)
    )
    return f"<html><body><h1>El robot</h1>{listed}{text}{parts}</body></html>"


LINKS = [f'<a href="#s{n}">{title}</a>' for n, title in enumerate(PARTS)]
LISTS = {
    "list": f"<ul>{''.join(f'<li>{link}</li>' for link in LINKS)}</ul>",
    "numbered": f"<ol>{''.join(f'<li>{n}. {link}</li>' for n, link in enumerate(LINKS, 1))}</ol>",
    "table": "<table>"
    + "".join(f"<tr><td>{link}</td><td>{n}</td></tr>" for n, link in enumerate(LINKS, 7))
    + "</table>",
    "pages": "<table>"
    + "".join(f'<tr><td>{title}</td><td><a href="#s{n}">{n + 7}</a></td></tr>' for n, title in enumerate(PARTS))
    + "</table>",
    "one line": f"<p>{' | '.join(LINKS)}</p>",
    "Word": "".join(
        f'<p class=MsoToc1><a href="#s{n}">{title}........{n + 7}</a></p>' for n, title in enumerate(PARTS)
    ),
    "parts": f"<p>{LINKS[0]}</p><p>Segunda parte</p><p>{LINKS[1]}</p><p>{LINKS[2]}</p>",
}


@pytest.mark.parametrize("listed", LISTS.values(), ids=LISTS)
def test_contents_of_a_page_are_left_out(tmp_path, listed):
    document = read_as(tmp_path / "a.html", page(listed))
    assert pointed(document) == targets(document) == []
    assert [text for text in texts(document) if text in PARTS] == list(PARTS)  # the headings alone
    assert not any(part in text and text != part for part in PARTS for text in texts(document))


def test_contents_in_markdown_are_left_out(tmp_path):
    links = "\n".join(f"- [{title}](#s{n})" for n, title in enumerate(PARTS))
    parts = "\n\n".join(f'## {title}\n\n<a id="s{n}"></a>![]({n}.png)\n\nTexto.' for n, title in enumerate(PARTS))
    document = read_as(tmp_path / "a.md", f"# El robot\n\n{links}\n\n{parts}\n")
    assert targets(document) == []
    assert texts(document) == ["El robot", "Piezas impresas", "Texto.", "El circuito", "Texto.", "La caja", "Texto."]


def test_a_list_of_figures_is_left_out(tmp_path):
    figures = "".join(
        f'<figure id="f{n}"><img src="{n}.png" alt=""><figcaption>Figure {n}: {title} (seen from above).</figcaption></figure>'
        for n, title in enumerate(PARTS, 1)
    )
    links = "".join(f'<li><a href="#f{n}">Figure {n}: {title}</a></li>' for n, title in enumerate(PARTS, 1))
    document = read_as(tmp_path / "a.html", f"<body><h1>A</h1><ul>{links}</ul>{figures}<p>Some text.</p></body>")
    assert texts(document) == ["A", "Some text."]


def test_a_menu_with_other_words_keeps_them_without_its_links(tmp_path):
    menu = "".join(
        f'<li><a href="#{name}">{title}</a></li>' for name, title in (("s0", "Print"), ("b", "Buy"), ("c", "Ask"))
    )
    document = read_as(tmp_path / "a.html", page(f"<ul>{menu}</ul>"))
    assert texts(document)[:4] == ["El robot", "Print", "Buy", "Ask"]
    assert targets(document) == []


HONEST = {
    "a link in each sentence": [f'See <a href="#s{n}">the {part}</a>.' for n, part in enumerate("abc")],
    "steps that lead to their pictures": [
        f'<a href="#s{n}">{step}</a>' for n, step in enumerate(("Saw the wood", "Glue it", "Paint it red"))
    ],
    "two links alone": LINKS[:2],
    "labels": [f'<a href="#s{n}">Figure {n}</a>' for n in range(3)],
}


@pytest.mark.parametrize("lines", HONEST.values(), ids=HONEST)
def test_references_in_lists_stay(tmp_path, lines):
    document = read_as(tmp_path / "a.html", page("<ul>" + "".join(f"<li>{line}</li>" for line in lines) + "</ul>"))
    assert len(pointed(document)) == len(targets(document)) == len(lines)


def test_footnote_marks_make_no_index(tmp_path):
    text = "".join(f'<p>This is said.<a href="#n{n}">{n}</a></p>' for n in range(1, 8))
    assert len(texts(read_as(tmp_path / "a.html", page("", text)))) == 1 + 7 + 6


def test_a_title_and_the_number_of_its_page():
    assert before_page("La caja ........ 12") == ("La caja", True)
    assert before_page("La caja … xiv") == ("La caja", True)
    assert before_page("Version 2 12") == ("Version 2", False)
    assert before_page("La caja") is None


def book(lines: tuple[str, ...], *, linked: bool = True, left: float = 70, titles: tuple[str, ...] = PARTS) -> bytes:
    """A PDF: a page of contents, and for each title a page with it, a picture right below it and a sentence.

    Args:
        lines: Of the contents; what follows a tab is set at the right.
        linked: Whether each line leads to the title of the same number, from ``left`` on.
    """
    first = Sheet()
    first.text(72, 60, "El robot", size=20)
    objects = {}
    for n, line in enumerate(lines):
        y = 120 + 20 * n
        for x, part in zip((72, 500), line.split("\t"), strict=False):
            first.text(x, y, part)
        if linked and n < len(titles):
            box, target = f"[{left} {792 - y - 3} 540 {792 - y + 9}]", 14 + 3 * n
            objects[900 + n] = (
                f"<< /Type /Annot /Subtype /Link /Rect {box} /Dest [{target} 0 R /XYZ 72 702 0] >>".encode()
            )
    first.extra = f"/Annots [{' '.join(f'{number} 0 R' for number in objects)}]"
    first.lines(72, 500, ["El robot es pequeño, y todas sus partes se pueden hacer en casa."])
    sheets = [first]
    for n, title in enumerate(titles):
        sheet = Sheet()
        sheet.text(72, 100, title, size=16)
        sheet.picture(72, 115, 200, 150, jpeg(n + 1))
        sheet.lines(72, 300, [f"Aquí está la parte {'abcde'[n]} de todas las que tiene el robot."])
        sheets.append(sheet)
    return write_pdf(sheets, objects=objects)


CONTENTS = {
    "dots": tuple(f"{title}{'.' * 40}{n + 2}" for n, title in enumerate(PARTS)),
    "spaced dots": tuple(f"{n + 1} {title} {'. ' * 30}{n + 2}" for n, title in enumerate(PARTS)),
    "numbers apart": tuple(f"{title}\t{n + 2}" for n, title in enumerate(PARTS)),
    "links alone": PARTS,
}


@pytest.mark.parametrize("lines", CONTENTS.values(), ids=CONTENTS)
def test_contents_of_a_pdf_are_left_out(tmp_path, lines):
    document = read_as(tmp_path / "a.pdf", book(lines))
    assert len(document.images) == 3
    assert pointed(document) == targets(document) == []
    assert texts(document)[:3] == [
        "El robot",
        "El robot es pequeño, y todas sus partes se pueden hacer en casa.",
        PARTS[0],
    ]


def test_contents_of_a_pdf_without_links_are_left_out(tmp_path):
    document = read_as(tmp_path / "a.pdf", book(CONTENTS["dots"], linked=False))
    assert texts(document)[1].startswith("El robot es pequeño")


def test_a_price_list_stays(tmp_path):
    document = read_as(
        tmp_path / "a.pdf", book(tuple(f"{name} ........ {n}" for n, name in enumerate("xyz")), linked=False)
    )
    assert texts(document)[1].startswith("x ........ 0")


def test_the_beginning_of_a_long_title_is_left_out(tmp_path):
    titles = ("A long title of the first part", *PARTS)
    lines = ("1 A long title of the", f"first part{'.' * 40}2", *CONTENTS["dots"])
    document = read_as(tmp_path / "a.pdf", book(lines, linked=False, titles=titles))
    assert texts(document)[1].startswith("El robot es pequeño")


def test_an_index_of_a_pdf_is_left_out(tmp_path):
    entries = ("arms, 2, 3", "battery, 2", "camera, 3", "diode, 2, 4", "eyes, 2")
    document = read_as(tmp_path / "a.pdf", book(entries, left=100, titles=(*PARTS, "Uno", "Dos")))
    assert len(targets(document)) == 0
    assert texts(document)[1].startswith("El robot es pequeño")


def test_a_list_that_a_sentence_goes_on_with_is_text(tmp_path):
    text = "<p>La casa tiene todas las partes que siguen:</p>"
    document = read_as(tmp_path / "a.html", page(text + LISTS["list"]))
    assert texts(document)[1:5] == ["La casa tiene todas las partes que siguen:", *PARTS]
    assert targets(document) == []


def test_no_chunk_and_no_link_has_contents(tmp_path):
    (tmp_path / "a.html").write_text(page(LISTS["list"]))
    linked = Linker.load().link(tmp_path / "a.html")
    assert "El circuito" not in linked.chunks()[0].text.partition("Piezas impresas")[0]
    assert all(chunk.text.count("El circuito") <= 1 for chunk in linked.chunks())


def test_contents_mention_no_figure(tmp_path):
    figures = "".join(
        f'<figure id="fig-{n}"><img src="{n}.png" alt="a"><figcaption>Figure {n}: {title}</figcaption></figure>'
        for n, title in enumerate(PARTS, 1)
    )
    links = "".join(f'<li><a href="#fig-{n}">Figure {n}: {title}</a></li>' for n, title in enumerate(PARTS, 1))
    (tmp_path / "a.html").write_text(f"<ul>{links}</ul><p>See Figure 1 and Figure 2.</p>{figures}")
    page_of_check = read_page("html", tmp_path / "a.html", ReadSettings())
    assert [reference.source for reference in page_of_check.references] == ["Figure 1", "Figure 2"]


def test_many_lines_take_work_in_proportion(monkeypatch):
    looked_at = 0
    keys = contents.keys

    def counted(text: str) -> set[tuple[str, ...]]:
        nonlocal looked_at
        looked_at += 1
        return keys(text)

    monkeypatch.setattr(contents, "keys", counted)
    blocks = [Block(str(n), "cell", targets=[(0, 1, "a")]) for n in range(20_000)]
    blocks += [Block("Piezas", "item", targets=[(0, 6, "a")]) for _ in range(20_000)]
    assert len(without_contents(blocks)) == 40_000
    assert looked_at <= 5 * 40_000
