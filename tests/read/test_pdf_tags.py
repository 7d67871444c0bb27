from __future__ import annotations

import time

import pytest

from iconotext.check import CheckSettings, check
from iconotext.read import read
from iconotext.read.pdf import tags
from iconotext.read.pdf.document import read_document
from iconotext.read.settings import ReadSettings
from iconotext.types import Image
from tests.support.pdf import Element, Sheet, image_object, jpeg, stream, tagged_pdf, write_pdf

ALT = "/Alt (A red tram at a stop)"


def pictures(tmp_path, data: bytes) -> tuple[Image, ...]:
    (tmp_path / "a.pdf").write_bytes(data)
    return read(tmp_path / "a.pdf").images


def findings(tmp_path, data: bytes, *rules: str) -> list[tuple[str, str]]:
    (tmp_path / "a.pdf").write_bytes(data)
    checked = check([tmp_path / "a.pdf"], CheckSettings(rules=rules or ("alt", "file-untagged")))
    assert checked.failures == ()
    return [(finding.rule, finding.source) for finding in checked.findings]


def two_pictures() -> Sheet:
    sheet = Sheet()
    with sheet.marked(0):
        sheet.text(72, 80, "A tram waits at the stop, and the driver drinks coffee.")
    with sheet.marked(1, "Figure"):
        sheet.picture(72, 100, 160, 120, jpeg(1))
    with sheet.marked(2, "Figure"):
        sheet.picture(72, 300, 160, 120, jpeg(2))
    return sheet


P: Element = ("P", "", [0])


@pytest.mark.parametrize(
    "figure",
    [
        ("Figure", ALT, [1]),
        ("Figure", "/ActualText (A red tram at a stop)", [1]),
        ("Div", "", [("Figure", ALT, [("Span", "", [1])])]),
        ("Chart", ALT, [1]),  # the role map says that it is a figure
        ("Link", ALT, [1]),
        ("Figure", ALT, [("Figure", "/Alt (The inner text)", [1])]),
    ],
)
def test_the_alternative_text_of_a_tag(tmp_path, figure):
    data = tagged_pdf(
        two_pictures(), ("Document", "", [P, figure, ("Figure", "", [2])]), entries="/RoleMap << /Chart /Figure >>"
    )
    first, second = pictures(tmp_path, data)
    assert (first.alt, second.alt) == ("A red tram at a stop", None)
    assert findings(tmp_path, data) == [("alt-missing", "page 1, picture 2")]


def test_the_text_of_another_language(tmp_path):
    text = "Ein Zug fährt über die Brücke"
    data = tagged_pdf(
        two_pictures(), P, ("Figure", f"/Alt <FEFF{text.encode('utf-16-be').hex()}>", [1]), ("Figure", "", [2])
    )
    assert pictures(tmp_path, data)[0].alt == text


def test_an_artifact_is_decoration(tmp_path):
    sheet = two_pictures()
    with sheet.marked(None, "Artifact"):
        sheet.picture(300, 300, 160, 120, jpeg(3))
    with sheet.marked(3, "Artifact"):
        sheet.picture(300, 500, 160, 120, jpeg(4))
    data = tagged_pdf(sheet, P, ("Figure", ALT, [1]), ("Figure", "/Alt (A bus)", [2]))
    assert [image.decorative for image in pictures(tmp_path, data)] == [False, False, True, True]
    assert findings(tmp_path, data) == []


def test_a_picture_outside_of_the_tags_has_no_text(tmp_path):
    sheet = two_pictures()
    sheet.picture(300, 300, 160, 120, jpeg(3))
    data = tagged_pdf(sheet, P, ("Figure", ALT, [1]), ("Figure", "/Alt (A bus)", [2]))
    assert findings(tmp_path, data) == [("alt-missing", "page 1, picture 3")]


def test_a_pdf_without_tags_is_told_once(tmp_path):
    data = write_pdf([two_pictures(), two_pictures()])
    assert findings(tmp_path, data) == [("file-untagged", "page 1, picture 1")]
    assert {image.alt for image in pictures(tmp_path, data)} == {None}


def test_a_picture_that_is_shown_twice_may_keep_its_text(tmp_path):
    sheet, picture = two_pictures(), jpeg(3)
    for content in (3, 4):
        with sheet.marked(content):
            sheet.picture(300, 100 * content, 100, 75, picture)
    logo = [("Figure", "/Alt (The logo of the railway)", [content]) for content in (3, 4)]
    other = [("Figure", "/Alt (A bus)", [content]) for content in (1, 2)]
    assert findings(tmp_path, tagged_pdf(sheet, P, *other, *logo)) == [("alt-duplicate", "page 1, picture 2")]


def curves() -> Sheet:
    sheet = Sheet()
    with sheet.marked(0):
        sheet.lines(72, 80, ["The speed rises with the slope, as Figure 1 shows, and the brakes hold it."])
    with sheet.marked(1, "Figure"):
        sheet.curve(100, 120, 200, 150)
        sheet.text(110, 140, "speed")
        sheet.curve(100, 130, 150, 100)
    with sheet.marked(2):
        sheet.text(100, 290, "Figure 1: Speed and slope.", size=8)
    return sheet


def test_a_drawn_figure_is_a_picture(tmp_path):
    data = tagged_pdf(curves(), P, ("Figure", "/Alt (A rising curve)", [1]), ("Caption", "", [2]))
    (image,) = pictures(tmp_path, data)
    assert (image.alt, image.caption, image.problem) == ("A rising curve", "Figure 1: Speed and slope.", None)
    assert image.box == pytest.approx((100 / 612, 120 / 792, 300 / 612, 270 / 792), abs=0.01)
    assert findings(tmp_path, tagged_pdf(curves(), P, ("Figure", "", [1]))) == [("alt-missing", "page 1, picture 1")]


def test_a_drawing_that_no_tag_calls_a_figure_is_none(tmp_path):
    assert pictures(tmp_path, tagged_pdf(curves(), P, ("P", "", [1]))) == ()


def test_several_images_of_a_figure_are_one_picture(tmp_path):
    data = tagged_pdf(two_pictures(), P, ("Figure", ALT, [1, 2]))
    (image,) = pictures(tmp_path, data)
    assert image.alt == "A red tram at a stop"
    assert image.box == pytest.approx((72 / 612, 100 / 792, 232 / 612, 420 / 792), abs=0.01)


def test_what_a_figure_draws_outside_of_its_place_is_clipped(tmp_path):
    placed = "/A << /O /Layout /BBox [100 572 300 672] >>"
    (image,) = pictures(tmp_path, tagged_pdf(curves(), P, ("Figure", placed, [1])))
    assert image.box == pytest.approx((100 / 612, 120 / 792, 300 / 612, 220 / 792), abs=0.01)
    elsewhere = "/A << /O /Layout /BBox [100 72 300 172] >>"
    (image,) = pictures(tmp_path, tagged_pdf(curves(), P, ("Figure", elsewhere, [1])))
    assert image.box == pytest.approx((100 / 612, 120 / 792, 300 / 612, 270 / 792), abs=0.01)


def test_a_tag_around_the_whole_page_is_no_picture(tmp_path):
    sheet = two_pictures()
    with sheet.marked(3):
        sheet.curve(10, 10, 590, 770)
    data = tagged_pdf(sheet, ("Figure", ALT, [0, 1, 2, 3]))
    assert [image.alt for image in pictures(tmp_path, data)] == ["A red tram at a stop"] * 2


def test_the_tags_of_forms(tmp_path):
    """A form in a figure has its text; one with marks of its own, which count anew, has tags that cannot be read."""
    sheet = Sheet(xobjects={"Fm1": 900, "Fm2": 901})
    with sheet.marked(0):
        sheet.text(72, 80, "A tram waits at the stop, and the driver drinks coffee.")
    with sheet.marked(1):
        sheet.content.append("/Fm1 Do")
    sheet.content.append("/Fm2 Do")
    head = "/Type /XObject /Subtype /Form /BBox [0 0 612 792] /Resources << /XObject << /Im 902 0 R >> >>"
    objects = {
        900: stream(head, b"q 160 0 0 120 72 500 cm /Im Do Q"),
        901: stream(head, b"/Figure << /MCID 0 >> BDC q 160 0 0 120 300 200 cm /Im Do Q EMC"),
        902: image_object(jpeg(1)),
    }
    data = tagged_pdf(sheet, P, ("Figure", ALT, [1]), objects=objects)
    assert [image.alt for image in pictures(tmp_path, data)] == ["A red tram at a stop", None]
    assert findings(tmp_path, data) == []


def nested(depth: int, times: int, parent: str = "990 0 R") -> bytes:
    """Tags within tags, each of which names the next one as often as ``times``; ``parent`` is that of the first."""
    first, last = 2000, 2000 + depth - 1
    objects = {}
    for number in range(first, last + 1):
        name, kids = ("Figure", "1") if number == last else ("Div", f"{number + 1} 0 R " * times)
        above = parent if number == first else f"{number - 1} 0 R"
        head = f"<< /Type /StructElem /S /{name} /P {above} /Pg 13 0 R"
        objects[number] = f"{head} /K [{kids}] >>".encode()
    objects[990] = f"<< /Type /StructTreeRoot /K [{f'{first} 0 R ' * times}] /ParentTree 991 0 R >>".encode()
    objects[991] = f"<< /Nums [0 [null {last} 0 R {first} 0 R]] >>".encode()
    sheet = two_pictures()
    sheet.extra += " /StructParents 0"
    return write_pdf([sheet], objects=objects, catalog="/MarkInfo << /Marked true >> /StructTreeRoot 990 0 R")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(nested(20_000, 1), id="deep"),
        pytest.param(nested(30, 2), id="2 to the power of 30"),
        pytest.param(nested(2, 100_000), id="wide"),
        pytest.param(nested(1, 1, "2000 0 R"), id="in itself"),
        pytest.param(nested(3, 1, "2002 0 R"), id="in a circle"),
    ],
)
def test_hostile_trees_end_soon(tmp_path, data):
    (tmp_path / "a.pdf").write_bytes(data)
    begun = time.monotonic()
    (flow,) = read_document(tmp_path / "a.pdf", ReadSettings())
    assert len([image for block in flow.blocks for _, image in block.images]) == 2
    assert time.monotonic() - begun < 10


def test_tags_are_read_up_to_a_number(tmp_path, monkeypatch):
    data = tagged_pdf(two_pictures(), P, ("Figure", ALT, [1]), ("Figure", "/Alt (A bus)", [2]))
    (tmp_path / "a.pdf").write_bytes(data)
    alts = []
    for limit in (tags.MAX_TAGS, 5, 3):
        monkeypatch.setattr(tags, "MAX_TAGS", limit)
        (flow,) = read_document(tmp_path / "a.pdf", ReadSettings())
        alts.append([image.alt for block in flow.blocks for _, image in block.images])
    assert alts == [["A red tram at a stop", "A bus"], ["A red tram at a stop", None], [None, None]]
