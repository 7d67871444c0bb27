"""The words in the row of a table that a picture stands in, and labels between pictures, in every format."""

from __future__ import annotations

import io

import pytest

from iconotext.evidence.reference import DIRECTED, reference_evidence
from tests.support.docx import Making
from tests.support.odt import write_odt
from tests.support.pdf import Sheet, jpeg, write_pdf
from tests.support.reading import read_as, texts

PARTS = ("Extruder carriage", "Hot end", "Filament guide")
HTML_ROW = '<tr><td><img src="a{0}.jpg"></td><td>{1}</td><td>{2} g</td></tr>'
ODT_ROW = (
    '<table:table-row><table:table-cell><text:p><draw:frame><draw:image xlink:href="Pictures/a{0}.jpg"/></draw:frame></text:p>'
    "</table:table-cell><table:table-cell><text:p>{1}</text:p></table:table-cell>"
    "<table:table-cell><text:p>{2}</text:p></table:table-cell></table:table-row>"
)


def rows(row: str) -> str:
    return "\n".join(row.format(number, name, number + 1) for number, name in enumerate(PARTS))


def word() -> bytes:
    made = Making()
    table = made.file.add_table(rows=0, cols=3)
    for number, name in enumerate(PARTS):
        cells = table.add_row().cells
        cells[0].paragraphs[0].add_run().add_picture(io.BytesIO(jpeg(number)))
        cells[1].text, cells[2].text = name, str(number + 1)
    return made.bytes()


def pdf(baseline: float) -> bytes:
    sheet = Sheet()
    sheet.text(60, 80, "All printed parts of the machine are in the list.")
    for number, name in enumerate(PARTS):
        sheet.picture(60, 100 + 85 * number, 100, 75, jpeg(number))
        sheet.text(200, 100 + 85 * number + baseline, name)
        sheet.text(420, 100 + 85 * number + baseline, str(number + 1))
    sheet.text(60, 400, "Then the assembly of the frame can begin.")
    return write_pdf([sheet])


TABLES = {
    "a.html": "<article><p>The parts.</p><table>" + rows(HTML_ROW) + "</table></article>",
    "a.md": "The parts.\n\n| Picture | Part | Amount |\n|---|---|---|\n" + rows("| ![](a{0}.jpg) | {1} | {2} |") + "\n",
    "name first.md": "| Part | Amount | Picture |\n|---|---|---|\n" + rows("| {1} | {2} | ![](a{0}.jpg) |") + "\n",
    "a.rst": "The parts.\n\n.. list-table::\n\n" + rows("   * - .. image:: a{0}.jpg\n     - {1}\n     - {2}") + "\n",
    "a.adoc": 'The parts.\n\n[cols="1,1,1"]\n|===\n' + rows("|image:a{0}.jpg[] |{1} |{2}") + "\n|===\n",
    "a.docx": word(),
    "a.odt": write_odt(
        "<table:table>" + rows(ODT_ROW) + "</table:table>", {f"Pictures/a{n}.jpg": jpeg(n) for n in range(3)}
    ),
    "top.pdf": pdf(10),
    "middle.pdf": pdf(42),
    "foot.pdf": pdf(74),
}


@pytest.mark.parametrize("name", TABLES)
def test_the_name_beside_a_picture_points_at_it(tmp_path, name):
    for number in range(3):
        (tmp_path / f"a{number}.jpg").write_bytes(jpeg(number))
    found = read_as(tmp_path / name, TABLES[name])
    assert len(found.images) == 3
    evidence = reference_evidence(found)
    for number, part in enumerate(PARTS):
        sentence = texts(found).index(part)
        assert evidence[:, number].nonzero()[0].tolist() == [sentence]
        assert evidence[sentence, number] == DIRECTED
        assert found.sentences[sentence].block == found.images[number].block
        assert found.images[number].position - sentence in (0, 1)


def test_text_that_flows_around_pictures_is_no_row(tmp_path):
    sheet = Sheet()
    for number in range(2):
        sheet.picture(60, 100 + 85 * number, 100, 75, jpeg(number))
    sheet.lines(180, 100, [f"The words of line {n} go on and on beside the pictures and" for n in range(14)])
    found = read_as(tmp_path / "a.pdf", write_pdf([sheet]))
    assert {sentence.kind for sentence in found.sentences} == {"paragraph"}
    assert not reference_evidence(found).any()


def test_a_page_laid_out_as_a_table_is_no_row(tmp_path):
    text = " ".join(["These are words of an article that goes on for long."] * 8)
    found = read_as(tmp_path / "a.html", f'<table><tr><td><img src="a.jpg"></td><td><p>{text}</p></td></tr></table>')
    assert found.images[0].block != found.sentences[0].block


@pytest.mark.parametrize(
    ("paragraph", "sentences"),
    [
        ("![](a.jpg) Front ![](b.jpg) Back", ["Front", "Back"]),
        ("![](a.jpg)\nFront view of it\n![](b.jpg)\nBack", ["Front view of it", "Back"]),
        ("Front ![](a.jpg) Back ![](b.jpg)", ["Front", "Back"]),
        ("![](a.jpg) Front. ![](b.jpg) Back.", ["Front.", "Back."]),
        ("![](a.jpg) 正面 ![](b.jpg) 背面", ["正面", "背面"]),
        ("Press ![](a.jpg) and then ![](b.jpg) twice", ["Press and then twice"]),
        ("Press ![](a.jpg) Start or ![](b.jpg) Stop", ["Press Start or Stop"]),
        ("Click ![](a.jpg) File ![](b.jpg) Save.", ["Click File Save."]),
        ("![](a.jpg) Front", ["Front"]),
    ],
)
def test_labels_between_pictures_are_sentences(tmp_path, paragraph, sentences):
    assert texts(read_as(tmp_path / "a.md", paragraph)) == sentences
